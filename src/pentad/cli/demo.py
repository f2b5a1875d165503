"""`pentad demo`: all rooms on this machine, with demo data and a public login.

Because the login is public, the demo listens on loopback only, keeps its data in its own folder, and never touches a
store that has other users.
"""

import contextlib
import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.terminal.browser import open_browser
from pentad.terminal.options import read_settings
from pentad.terminal.output import print_text, say, warn
from pentad.terminal.program import as_typed, program

if TYPE_CHECKING:
    from pentad.app import App
    from pentad.settings.model import Settings

LOGIN: Final = "admin"
_HOST: Final = "127.0.0.1"
_COMMANDS: Final = (
    "pentad list tools",
    "pentad avatars ask --avatar charles-babbage 'Who assembled the engine?'",
    "pentad users list",
    "pentad keys create laptop",
    "pentad doctor",
)


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
    from pentad.cli.http_server import login_link, run_server
    from pentad.http.grpc_port import port_address
    from pentad.logs import configure_logging
    from pentad.net.listen import bind
    from pentad.terminal.running_servers import server_file

    settings = demo_settings(port, grpc_port, data)
    configure_logging("warning", settings.log.format)

    link: str | None = None

    async def prepare(app: "App") -> None:
        nonlocal link
        await _prepare(app)
        link = await login_link(app.settings, app.administration)

    def announce(app: "App") -> None:
        written(app.settings)
        print_text(_welcome(app.settings, port_address(app.settings, [opened.room for opened in app.rooms])))
        sys.stdout.flush()
        if link is not None:
            say(f"\nLog in with your browser, once within ten minutes: {link}")
        if not no_open:
            open_browser(link or app.settings.url("/"))

    with contextlib.suppress(KeyboardInterrupt), server_file() as written:
        run_server(settings, bind(_HOST, port), prepare=prepare, announce=announce)


def demo_settings(port: int, grpc_port: int, data: Path | None) -> "Settings":
    """The user's settings, except those that lead to their own store or beyond this machine. Room settings are left out
    entirely, because they may hold credentials of real systems."""
    from pentad.settings.model import user_data_folder

    folder = data or user_data_folder() / "demo"
    settings = read_settings(host=_HOST, port=port, grpc_port=grpc_port, data=folder, auth="required", workers=1)
    return dataclasses.replace(settings, database=None, public_url=None, demo=True, room_tables={}, environment={})


async def _prepare(app: "App") -> None:
    await _ensure_login(app)
    for opened in app.rooms:
        if opened.room.demo is not None:
            await _fill(opened.room.name, opened.room.demo, opened.service)


async def _ensure_login(app: "App") -> None:
    from pentad.kernel.errors import Misconfigured

    is_new = await app.administration.accounts.ensure_first_admin(LOGIN) is not None
    if not is_new and await app.users.verify(LOGIN, LOGIN) is None:
        raise Misconfigured(
            "That folder holds a store with other users, and the demo does not touch it.",
            hint="Choose another --data, or leave it out.",
        )


async def _fill(room: str, fill: Any, service: Any) -> None:
    """Fill one room. If that fails, the demo starts anyway."""
    from pentad.kernel.errors import PentadError

    try:
        await fill(service)
    except PentadError as error:
        warn(f"The room {room} has no demo data: {error.sentence()}")


def _welcome(settings: "Settings", grpc: str | None) -> str:
    """The text the demo prints, in 80 columns. Each command can be pasted as it is."""
    parts = [
        f"Pentad demo is ready: {settings.url('/')}",
        f"Login: {LOGIN} / {LOGIN} (from this machine only)",
        *([] if grpc is None else [f"gRPC:  {grpc} (the agents; the directory needs no login from this machine)"]),
        f"Data:  {settings.data}",
        "",
        f"Connect Claude Code (other clients: {settings.url('/#connect')}):",
        *_claude_code(settings.url("/mcp")),
        "",
        "Or Cursor; claude-desktop, vscode, codex and gemini work the same way:",
        f"  {as_typed('pentad install cursor')}",
        "",
        "Or nothing but curl:",
        *_curl(settings.url("/mcp")),
        "",
        "Look around from a second terminal" + (", in this folder:" if program().startswith(".") else ":"),
        *(f"  {as_typed(command)}" for command in _COMMANDS),
        "",
        "Ctrl-C stops the demo.",
    ]
    return "\n".join(parts)


def _claude_code(url: str) -> list[str]:
    from pentad.mcp_clients.connection_steps import claude_code_command
    from pentad.terminal.client import basic_authorization

    words = claude_code_command(url, basic_authorization(LOGIN, LOGIN))
    header = words.index("--header")
    return [f"  {shlex.join(words[:header])} \\", f"    {shlex.join(words[header:])}"]


def _curl(url: str) -> list[str]:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    return [
        f"  curl -u {LOGIN}:{LOGIN} {url} \\",
        "    -H 'Content-Type: application/json' \\",
        f"    -d {shlex.quote(body)}",
    ]
