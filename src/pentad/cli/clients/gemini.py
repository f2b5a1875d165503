"""Gemini CLI: `.gemini/settings.json`, which may hold comments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pentad.cli.clients.client import TOKEN_VARIABLE, Client, Machine, Server, StdioServer
from pentad.cli.clients.json_form import JsonForm


def _path(machine: Machine) -> Path:
    return machine.home / ".gemini" / "settings.json"


def _entry(server: Server) -> Mapping[str, Any]:
    if isinstance(server, StdioServer):
        return {"command": server.command, "args": list(server.args), "httpUrl": None, "headers": None}
    headers = {"Authorization": f"Bearer ${TOKEN_VARIABLE}"}
    return {"httpUrl": server.url, "headers": headers, "command": None, "args": None}


GEMINI: Final = Client(
    name="gemini",
    title="Gemini CLI",
    form=JsonForm(comments=True),
    path=_path,
    servers="mcpServers",
    entry=_entry,
    then="Start gemini and type /mcp.",
)
