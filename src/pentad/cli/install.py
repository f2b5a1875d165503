"""`pentad install`: add Pentad to an MCP client's configuration, or print what to add.

What differs between clients is data in `clients/`; this verb only puts the server into words and tells what it did.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from pentad.cli.clients.client import TOKEN_VARIABLE, Client, HttpServer, Machine, Server, StdioServer
from pentad.cli.clients.json_form import JsonForm
from pentad.kernel.errors import Misconfigured
from pentad.settings.model import Settings
from pentad.terminal.options import settings_options
from pentad.terminal.output import print_text, say, warn

CLIENT_NAMES: Final = ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini")


@click.command()
@click.argument("client", type=click.Choice(CLIENT_NAMES))
@click.option("--print", "only_print", is_flag=True, help="Show the snippet and change nothing.")
@click.option("--http", is_flag=True, help="Reach a running server instead of starting one for each client.")
@settings_options("rooms", "data")
def install(client: str, only_print: bool, http: bool, settings: Settings) -> None:
    """Add Pentad to an MCP client's configuration.

    The file is changed in one place only and whole or not at all; the old one is kept as FILE.bak. With --http the
    client reaches the address of the settings host and port (or public_url) with an API key.
    """
    from pentad.cli.clients.known import CLIENTS

    chosen = CLIENTS[client]
    servers = _http_servers(settings) if http else {"pentad": _stdio_server(settings)}
    if only_print:
        print_text(snippet(chosen, servers))
    else:
        _install(chosen, servers)
    if http:
        say(f"The client needs a key: make one with `pentad keys create NAME` and keep it in {TOKEN_VARIABLE}.")


def snippet(client: Client, servers: Mapping[str, Server]) -> str:
    """What a user would paste into the client's configuration."""
    entries = {
        name: {key: value for key, value in client.entry(server).items() if value is not None}
        for name, server in servers.items()
    }
    questions = [question for question in map(client.inputs, servers.values()) if question][:1]
    return client.form.snippet({**({"inputs": questions} if questions else {}), client.servers: entries})


def this_machine() -> Machine:
    """The machine and the user the command runs for."""
    return Machine(sys.platform, Path.home(), os.environ)


def _install(client: Client, servers: Mapping[str, Server]) -> None:
    from pentad.cli.clients.user_file import edit_file

    path = client.path(this_machine())

    def change(text: str) -> str:
        for name, server in servers.items():
            text = client.form.with_member(text, (client.servers, name), client.entry(server))
            if (question := client.inputs(server)) is not None and isinstance(client.form, JsonForm):
                text = client.form.with_element(text, ("inputs",), question)
        return text

    kept = edit_file(path, change)
    if kept is None:
        say(f"{client.title} has {', '.join(servers)} already: {path} is unchanged.")
        return
    say(f"Added {', '.join(servers)} to {client.title}: {path}")
    if kept.exists():
        say(f"The file as it was: {kept}")
    say(client.then)


def _stdio_server(settings: Settings) -> StdioServer:
    if settings.origin("database").layer == "environment":
        warn("The client does not know your PENTAD_DATABASE: give it that variable too.")
    command, *first = _command()
    args = [*first, "mcp", "serve"]
    if settings.origin("data").layer != "default":
        args += ["--data", str(settings.data)]
    if settings.rooms:
        args += ["--rooms", ",".join(settings.rooms)]
    return StdioServer(command, tuple(args))


def _http_servers(settings: Settings) -> dict[str, Server]:
    if not settings.rooms:
        return {"pentad": HttpServer(settings.url("/mcp"))}
    if foreign := [room for room in settings.rooms if ":" in room]:
        raise Misconfigured(f"{foreign[0]!r} has no address of its own.", hint="Name rooms as they are served.")
    return {f"pentad-{room}": HttpServer(settings.url(f"/rooms/{room}/mcp")) for room in settings.rooms}


def _command() -> list[str]:
    """How the client starts Pentad: by its full path, because a client rarely has the user's own search path."""
    script = Path(sys.executable).with_name("pentad.exe" if os.name == "nt" else "pentad")
    if "archive-v0" in script.parts:
        # Started by uvx: that environment is only a cache and may be gone tomorrow.
        return [shutil.which("uvx") or "uvx", "pentad"]
    if script.exists():
        return [str(script)]
    found = shutil.which("pentad")
    return [found] if found else [sys.executable, "-m", "pentad.cli.main"]
