"""How to install an MCP server of the directory: the entry for the configuration of each client."""

from collections.abc import Mapping
from typing import Any

from pentad.kernel.errors import PentadError
from pentad.kernel.pages import Block, Code, Hint, Note, Section, Tab, Tabs
from pentad.mcp_clients.clients import CLIENTS, Client


def install_blocks(record: Mapping[str, Any], cid: str, state: str) -> list[Block]:
    """A tab for each client that can use the server; nothing if the record is about none, or about one that must not
    be used. Secrets are never in it: a client asks for them, or its user writes them in."""
    if state == "withdrawn":
        return []
    tabs = [tab for client in CLIENTS.values() if (tab := _tab(client, record, cid)) is not None]
    if not tabs:
        return []
    warning = [] if state == "approved" else [Note(f"This version is {state}.", "bad")]
    return [Section("Install it", [*warning, Tabs(tabs)], folded=True)]


def _tab(client: Client, record: Mapping[str, Any], cid: str) -> Tab | None:
    from pentad.rooms.directory.translate.client_entries import client_entry

    asked: list[str] = []

    def ask(name: str) -> str:
        asked.append(name)
        return f"<{name}>"

    try:
        entry = client_entry(client, dict(record), ask)
    except PentadError:  # the client cannot reach it, or the record does not say how
        return None
    prompts = {"inputs": entry.prompts} if entry.prompts else {}
    snippet = client.editor.snippet({**prompts, client.servers: {entry.name: entry.members}})
    told = [
        *(Note(f"Set {name} in the environment that {client.title} starts in.") for name in entry.variables),
        *(Note(f"{client.title} asks for {one['id']} when it starts the server.") for one in entry.prompts),
        *(Note(f"Write your own value in place of <{name}>.") for name in asked),
    ]
    command = Hint("Or let it be written with", f"pentad directory install {cid} --client {client.name}")
    return Tab(f"install-{client.name}", client.title, [Code(snippet, copy=True), *told, command])
