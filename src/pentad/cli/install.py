"""`pentad install`: add Pentad to an MCP client's configuration, or print what to add."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from pentad.kernel.errors import Misconfigured
from pentad.mcp.profiles import find_profile
from pentad.mcp_clients.clients import (
    CLIENTS,
    TOKEN_VARIABLE,
    Client,
    HttpServer,
    Server,
    StdioServer,
    install_entries,
    this_machine,
)
from pentad.settings.model import Settings
from pentad.terminal.options import profile_option, settings_options
from pentad.terminal.output import print_text, say, warn
from pentad.terminal.program import uvx_command


@click.command()
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--print", "only_print", is_flag=True, help="Show the snippet and change nothing.")
@click.option("--http", is_flag=True, help="Connect to a running server instead of starting one for each client.")
@click.option("--key", is_flag=True, help=f"With --http: an API key, kept in {TOKEN_VARIABLE}, instead of a login.")
@profile_option
@settings_options("rooms", "data")
def install(client: str, only_print: bool, http: bool, key: bool, profile: str | None, settings: Settings) -> None:
    """Add Pentad to an MCP client's configuration.

    Only Pentad's entry in the file changes; the old file is kept as FILE.bak. With --http the client connects to the
    address of the settings host and port (or public_url), and opens the browser for the login.
    """
    if key and not http:
        raise click.UsageError("--key needs --http: a server that the client starts itself has no login.")
    chosen = CLIENTS[client]
    if profile is not None:
        find_profile(profile, settings.profiles)
    servers = _http_servers(settings, profile, with_key=key) if http else {"pentad": _stdio_server(settings, profile)}
    if only_print:
        print_text(chosen.snippet(servers))
    else:
        _install(chosen, servers)
        if http and not key and settings.auth == "required":
            say("\n".join(chosen.login_step.format(name=name) for name in servers))
    if key:
        say(f"The client needs an API key: make one with `pentad keys create NAME` and keep it in {TOKEN_VARIABLE}.")


def _install(client: Client, servers: Mapping[str, Server]) -> None:
    path = client.path(this_machine())
    entries = {name: client.entry(server) for name, server in servers.items()}
    backup = install_entries(client, path, entries, client.prompts(servers))
    if backup is None:
        say(f"{client.title} has {', '.join(servers)} already: {path} is unchanged.")
        return
    say(f"Added {', '.join(servers)} to {client.title}: {path}")
    if backup.exists():
        say(f"Backup of the old file: {backup}")
    say(client.next_step)


def _stdio_server(settings: Settings, profile: str | None) -> StdioServer:
    if settings.origin("database").layer == "environment":
        warn("The client does not see your PENTAD_DATABASE: set that variable for it, too.")
    command, *first = _command()
    args = [*first, "mcp", "serve"]
    if settings.origin("data").layer != "default":
        args += ["--data", str(settings.data)]
    if settings.rooms:
        args += ["--rooms", ",".join(settings.rooms)]
    if profile is not None:
        args += ["--profile", profile]
    return StdioServer(command, tuple(args))


def _http_servers(settings: Settings, profile: str | None, *, with_key: bool) -> dict[str, Server]:
    if profile is not None and settings.rooms:
        raise Misconfigured("--rooms and --profile both choose an address.", hint="Leave one of them out.")
    if not settings.rooms:
        return {"pentad": HttpServer(settings.url("/mcp" if profile is None else f"/mcp/{profile}"), with_key)}
    if foreign := [room for room in settings.rooms if ":" in room]:
        raise Misconfigured(f"{foreign[0]!r} has no address of its own.", hint="Use the names of served rooms.")
    return {f"pentad-{room}": HttpServer(settings.url(f"/rooms/{room}/mcp"), with_key) for room in settings.rooms}


def _command() -> list[str]:
    """The command that starts Pentad, by full path because a client rarely has the user's PATH."""
    if (uvx := uvx_command()) is not None:
        return uvx
    script = Path(sys.executable).with_name("pentad.exe" if os.name == "nt" else "pentad")
    if script.exists():
        return [str(script)]
    found = shutil.which("pentad")
    return [found] if found else [sys.executable, "-m", "pentad.cli.main"]
