"""`pentad demo`: everything at once on this machine, with a login everybody knows and data to look at.

Because the login is known, the demo listens on loopback only, keeps its data in a folder of its own, and never touches
a store that has other users.
"""

import contextlib
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.terminal.options import read_settings
from pentad.terminal.output import print_text, warn

if TYPE_CHECKING:
    from pentad.app import App
    from pentad.settings.model import Settings

LOGIN: Final = "admin"
_HOST: Final = "127.0.0.1"


@click.command()
@click.option("--port", type=int, default=8700, show_default=True, help="The HTTP port; 0 picks a free one.")
@click.option("--grpc-port", type=int, default=8888, show_default=True, help="The gRPC port; 0 switches it off.")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="The demo's own folder, kept between runs.  [default: `demo` in the user's data folder]",
)
@click.option("--no-open", is_flag=True, help="Do not open the browser.")
def demo(port: int, grpc_port: int, data: Path | None, no_open: bool) -> None:
    """Start everything with demo data on this machine.

    The login is admin / admin. Ctrl-C stops the demo.
    """
    from pentad.cli.http_server import run_server
    from pentad.http.ports import port_address
    from pentad.logs import configure_logging
    from pentad.net.listen import bind

    settings = _demo_settings(port, grpc_port, data)
    configure_logging("warning", settings.log.format)

    def announce(app: "App") -> None:
        print_text(_welcome(app.settings, port_address(app.settings, [opened.room for opened in app.rooms])))
        sys.stdout.flush()
        if not no_open:
            _open_browser(app.settings.url("/"))

    with contextlib.suppress(KeyboardInterrupt):
        run_server(settings, bind(_HOST, port), prepare=_prepare, announce=announce)


def _demo_settings(port: int, grpc_port: int, data: Path | None) -> "Settings":
    """The user's own settings, but for those that could lead to their own store or beyond this machine."""
    from pentad.settings.model import user_data_folder

    folder = data or user_data_folder() / "demo"
    settings = read_settings(host=_HOST, port=port, grpc_port=grpc_port, data=folder, auth="required", workers=1)
    return dataclasses.replace(settings, database=None, public_url=None, demo=True)


async def _prepare(app: "App") -> None:
    await _ensure_login(app)
    for opened in app.rooms:
        if opened.room.demo is not None:
            await _fill(opened.room.name, opened.room.demo, opened.service)


async def _ensure_login(app: "App") -> None:
    from pentad.kernel.errors import Misconfigured

    if not await app.users.count():
        await app.users.add(LOGIN, LOGIN, role="admin", shortest=len(LOGIN))
    elif await app.users.verify(LOGIN, LOGIN) is None:
        raise Misconfigured(
            "That folder holds a store with users of its own, and the demo does not touch it.",
            hint="Choose another --data, or leave it out.",
        )


async def _fill(room: str, fill: Any, service: Any) -> None:
    """A room without its demo data is a lesser demo, not a reason for none."""
    from pentad.kernel.errors import PentadError

    try:
        await fill(service)
    except PentadError as error:
        warn(f"The room {room} has no demo data: {error.sentence()}")


def _welcome(settings: "Settings", grpc: str | None) -> str:
    from pentad.cli.snippets import snippets

    parts = [
        f"Pentad demo is ready: {settings.url('/')}",
        f"Login: {LOGIN} / {LOGIN} (from this machine only)",
        *([] if grpc is None else [f"gRPC:  {grpc} (the directory; no login needed from this machine)"]),
        f"Data:  {settings.data}",
        *(f"\n{title}\n{text}" for title, text in snippets(settings.url("/mcp"), LOGIN, LOGIN)),
        "\nCtrl-C stops the demo.",
    ]
    return "\n".join(parts)


def _open_browser(url: str) -> None:
    """Only where a window can appear: on a bare terminal a text browser would take it over."""
    import os
    import threading
    import webbrowser

    has_windows = sys.platform in ("darwin", "win32") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if has_windows and sys.stdout.isatty():
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
