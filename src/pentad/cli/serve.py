"""`pentad serve`: all rooms over HTTP, in one process or several.

With several workers this process only supervises; each worker runs this command again with the listening socket.
"""

import sys
from typing import TYPE_CHECKING

import click

from pentad.terminal.options import settings_options
from pentad.terminal.output import print_text, say

if TYPE_CHECKING:
    from pentad.access.browser_sessions import BrowserSessions
    from pentad.access.users import Users
    from pentad.app import App
    from pentad.net.supervisor import WorkerLink
    from pentad.settings.model import Settings


@click.command()
@settings_options(
    "host", "port", "grpc_port", "data", "database", "auth", "workers", "rooms", "agent", logs_warnings=True
)
def serve(settings: "Settings") -> None:
    """Serve all rooms over HTTP.

    The first start on a store without users creates the user admin and shows its password once.
    """
    from pentad.logs import configure_logging, log_warnings
    from pentad.net.supervisor import inherited

    configure_logging(settings.log.level, settings.log.format)
    link = inherited()
    if link is None:  # not in every worker
        log_warnings(settings.warnings)
    if link is not None:
        _work(settings, link)
    elif settings.workers > 1:
        _supervise(settings)
    else:
        _serve(settings)


def _serve(settings: "Settings") -> None:
    from pentad.cli.http_server import run_server
    from pentad.http.ports import port_address
    from pentad.net.listen import bind

    async def prepare(app: "App") -> None:
        await _first_login(app.settings, app.users, app.browser_sessions)

    def announce(app: "App") -> None:
        _print_address(app.settings, port_address(app.settings, [opened.room for opened in app.rooms]))

    run_server(settings, bind(settings.host, settings.port), prepare=prepare, announce=announce)


def _work(settings: "Settings", link: "WorkerLink") -> None:
    """Serve as one of several workers; the supervisor has prepared everything and prints the address."""
    from pentad.cli.http_server import run_server

    async def prepare(_app: "App") -> None:
        return None

    try:
        run_server(settings, link.listener, prepare=prepare, announce=lambda app: link.announce(app.settings.port))
    finally:
        link.close()


def _supervise(settings: "Settings") -> None:
    import asyncio
    import contextlib
    import dataclasses

    from pentad.cli.store import open_sessions, open_users
    from pentad.http.ports import check_free, port_address
    from pentad.net.listen import bind, bound_port
    from pentad.net.supervisor import supervise
    from pentad.rooms.finder import find_rooms

    async def run() -> None:
        with contextlib.closing(bind(settings.host, settings.port)) as listener:
            known = dataclasses.replace(settings, port=bound_port(listener))
            grpc = port_address(known, find_rooms(known.rooms))
            if grpc is not None:
                check_free(known)
            async with open_users(known) as users, open_sessions(known) as sessions:
                await _first_login(known, users, sessions)
            command = [sys.executable, "-m", "pentad.cli.main", *sys.argv[1:]]
            await supervise(command, listener, workers=settings.workers, ready=lambda _: _print_address(known, grpc))

    asyncio.run(run())


async def _first_login(settings: "Settings", users: "Users", sessions: "BrowserSessions") -> None:
    """Create the first user. Its password goes to stderr only: logs are kept, and a password must not be."""
    from pentad.cli.http_server import login_link

    if settings.auth == "required" and (password := await users.ensure_first_admin()) is not None:
        say(f"First start: log in as admin with the password {password}")
        say("It is shown only now; `pentad users passwd admin` changes it.")
    if (link := await login_link(settings, users, sessions)) is not None:
        say(f"Log in with your browser, once within ten minutes: {link}")


def _print_address(settings: "Settings", grpc: str | None) -> None:
    more = "" if grpc is None else f", gRPC: {grpc}"
    print_text(f"Pentad is ready at {settings.url('/')} (MCP: {settings.url('/mcp')}{more})")
    sys.stdout.flush()
