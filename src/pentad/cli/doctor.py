"""`pentad doctor`: checks everything a start depends on, and suggests fixes."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

from pentad.terminal.client import Server, Target, login_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, visible, wants_colour
from pentad.terminal.program import with_program

if TYPE_CHECKING:
    from pentad.cli.checks import Finding
    from pentad.settings.model import Settings
    from pentad.terminal.running_servers import RunningServer

_COLOURS: Final = {"ok": "green", "warn": "yellow", "fail": "red"}
_LONGEST_TOKEN: Final = 64 * 1024
_CODES: Final = {"ok": 0, "warn": 1, "fail": 2}


@click.command()
@json_option
@click.option("--data", type=click.Path(path_type=Path), help="Pentad's data folder.")
@click.option("--database", metavar="URL", help="A postgresql:// address instead of SQLite.")
@click.option("--config", type=click.Path(path_type=Path), help="The configuration file (TOML).")
@click.option(
    "--token-file", type=click.File("r"), help="An access token to verify, to see why it is refused; - is stdin."
)
@click.option(
    "--check-seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Time limit in seconds for checking the whole store; 0 skips the check.",
)
@login_options()
def doctor(
    as_json: bool,
    data: Path | None,
    database: str | None,
    config: Path | None,
    token_file: TextIO | None,
    check_seconds: float,
    server: Server | None,
) -> None:
    """Check this machine, the store and the configuration.

    Reads the whole store to find damage. With --url, reports the health of a running server instead.

    The exit code is 0 if all is well, 1 if something needs attention, and 2 if something must be fixed.
    """
    from pentad.cli import checks
    from pentad.kernel.errors import PentadError
    from pentad.settings.sources import load_settings
    from pentad.terminal.running_servers import find_store

    flags = {"data": data, "database": database}
    try:
        loaded = load_settings(flags, config=config)
        if server is None:
            settings, running = find_store(loaded, "use", flags=flags, config=config)
            token = None if token_file is None else token_file.read(_LONGEST_TOKEN).strip()
            found = examine(settings, token, check_seconds, running)
        else:
            found = checks.server_health(Target(loaded, server).call_route("GET", "/api/admin/health"))
    except PentadError as error:
        what = "configuration" if server is None else "server"
        broken = checks.Finding(what, "fail", error.message, error.hint or "Correct it.")
        found = [checks.check_python(), checks.check_sqlite(), broken] if server is None else [broken]
    if as_json:
        print_json([finding.as_json() for finding in found])
    else:
        _print(found)
    click.get_current_context().exit(max(_CODES[finding.state] for finding in found))


def examine(
    settings: "Settings",
    token: str | None = None,
    check_seconds: float = 60.0,
    server: "RunningServer | None" = None,
) -> "list[Finding]":
    """Every finding, in report order. `server` is the running server whose store is examined, if any."""
    from pentad.cli import checks
    from pentad.mcp_clients.clients import CLIENTS, this_machine

    folder = checks.check_folder(settings.data)
    is_sound = settings.database is not None or all(finding.state != "fail" for finding in folder)
    return [
        checks.check_python(),
        checks.check_sqlite(),
        *checks.check_configuration(settings),
        *folder,
        *(asyncio.run(checks.check_store(settings, check_seconds, _progress)) if is_sound else []),
        *asyncio.run(checks.check_issuers(settings, token)),
        *asyncio.run(checks.check_provider(settings)),
        checks.check_search(settings),
        *(checks.check_ports(settings) if server is None else [checks.running_server(settings)]),
        *checks.check_clients(CLIENTS.values(), this_machine()),
    ]


def _progress(what: str) -> None:
    """Show the progress of the store check on a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[Kchecking the store: {what}" if what else "\r\x1b[K", nl=False, err=True)


def _print(found: "list[Finding]") -> None:
    width = max(len(finding.check) for finding in found)
    for finding in found:
        state = f"{finding.state:<4}"
        label = click.style(state, fg=_COLOURS[finding.state]) if wants_colour(sys.stdout) else state
        click.echo(f"{label}  {finding.check.ljust(width)}  {visible(with_program(finding.text))}")
        if finding.fix and finding.state != "ok":
            click.echo(f"{'':<4}  {'':<{width}}  -> {visible(with_program(finding.fix))}")
