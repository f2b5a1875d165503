"""`pentad serve`: all rooms over HTTP, in one process or several.

With several workers this process only supervises; each worker runs this command again with the listening socket.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pentad.terminal.options import settings_options
from pentad.terminal.output import print_text, say
from pentad.terminal.program import as_typed

if TYPE_CHECKING:
    from pentad.administration.services import Administration
    from pentad.app import App
    from pentad.net.supervisor import WorkerLink
    from pentad.platform import Room
    from pentad.settings.model import Settings

_STOP_SECONDS = 5.0
"""How much longer than `drain_seconds` the supervisor waits for a worker to end."""


@click.command()
@settings_options(
    "host",
    "port",
    "grpc_port",
    "data",
    "database",
    "auth",
    "workers",
    "rooms",
    "agent",
    logs_warnings=True,
    running="ignore",
)
def serve(settings: "Settings") -> None:
    """Serve all rooms over HTTP.

    The first start on a store without users creates the user admin and shows its password once.
    """
    from pentad.logs import configure_logging, log_warnings
    from pentad.net.supervisor import inherited

    configure_logging(settings.log.level, settings.log.format)
    link = inherited()
    if link is None:  # unless running as one of several workers
        log_warnings(settings.warnings)
    if link is not None:
        _work(settings, link)
    elif settings.workers > 1:
        _supervise(settings)
    else:
        _serve(settings)


def _serve(settings: "Settings") -> None:
    from pentad.cli.http_server import run_server
    from pentad.http.grpc_port import port_address
    from pentad.net.listen import bind
    from pentad.terminal.running_servers import server_file

    has_store = _has_store(settings)
    is_new = False

    async def prepare(app: "App") -> None:
        nonlocal is_new
        is_new = await _first_login(app.settings, app.administration) or not has_store

    def announce(app: "App") -> None:
        rooms = [opened.room for opened in app.rooms]
        written(app.settings)
        _print_address(app.settings, port_address(app.settings, rooms), rooms if is_new else None)

    with server_file() as written:
        run_server(settings, bind(settings.host, settings.port), prepare=prepare, announce=announce)


def _work(settings: "Settings", link: "WorkerLink") -> None:
    """Serve as one of several workers. The supervisor has prepared everything and prints the address."""
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

    from pentad.cli.local_administration import open_administration
    from pentad.http.grpc_port import check_free, port_address
    from pentad.net.listen import bind, bound_port
    from pentad.net.supervisor import supervise
    from pentad.rooms.finder import find_rooms
    from pentad.settings.rooms import resolve_room
    from pentad.terminal.running_servers import server_file

    async def run() -> None:
        with contextlib.closing(bind(settings.host, settings.port)) as listener, server_file() as written:
            known = dataclasses.replace(settings, port=bound_port(listener))
            rooms = find_rooms(known.rooms)
            for room in rooms:
                resolve_room(known, room.name, room.settings)  # before the password is shown, which happens only once
            grpc = port_address(known, rooms)
            if grpc is not None:
                check_free(known)
            has_store = _has_store(known)
            async with open_administration(known) as admin:
                is_new = await _first_login(known, admin) or not has_store

            def announce(_port: int) -> None:
                written(known)
                _print_address(known, grpc, rooms if is_new else None)

            command = [sys.executable, "-m", "pentad.cli.main", *sys.argv[1:]]
            patience = settings.drain_seconds + _STOP_SECONDS
            await supervise(command, listener, workers=settings.workers, ready=announce, stop_seconds=patience)

    asyncio.run(run())


def _has_store(settings: "Settings") -> bool:
    """Whether the store existed before this start. A PostgreSQL database counts as existing; its users tell whether it
    is new."""
    from pathlib import Path

    from pentad.storage.open import locate

    place = locate(settings.database, settings.data)
    return not isinstance(place, Path) or place.exists()


async def _first_login(settings: "Settings", admin: "Administration") -> bool:
    """Create the first user. Its password goes to stderr only: logs are kept, and passwords must not be."""
    from pentad.cli.http_server import login_link

    is_first = False
    if settings.auth == "required" and (password := await admin.accounts.ensure_first_admin()) is not None:
        is_first = True
        say(f"First start: log in as admin with the password {password}")
        say("It is shown only now; `pentad users passwd admin` changes it.")
    if (link := await login_link(settings, admin)) is not None:
        say(f"Log in with your browser, once within ten minutes: {link}")
    return is_first


def _print_address(settings: "Settings", grpc: str | None, empty: "Sequence[Room[Any]] | None") -> None:
    """Print the server's address and, on a new store, how to fill these empty rooms."""
    more = "" if grpc is None else f", gRPC: {grpc}"
    print_text(f"Pentad is ready at {settings.url('/')} (MCP: {settings.url('/mcp')}{more})")
    sys.stdout.flush()
    if empty is not None:
        say(_first_steps(settings, empty))


def _first_steps(settings: "Settings", rooms: "Sequence[Room[Any]]") -> str:
    login = " as admin" if settings.auth == "required" else ""
    commands = [as_typed(room.first_content) for room in rooms if room.first_content]
    return "\n".join(
        [
            "",
            "The store is new. What to do next:",
            f"  Log in{login} at {settings.url('/')}",
            f"  Connect a client to {settings.url('/mcp')}",
            f"    {settings.url('/#connect')} shows how, for each client",
            *(["  Fill a room, in another terminal:"] if commands else []),
            *(f"    {command}" for command in commands),
            "  Or stop this server and look at one with demo data:",
            f"    {as_typed('pentad demo')}",
        ]
    )
