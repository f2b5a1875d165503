"""Cursor: the user's own servers, in `.cursor/mcp.json`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pentad.cli.clients.client import TOKEN_VARIABLE, Client, Machine, Server, StdioServer
from pentad.cli.clients.json_form import JsonForm


def _path(machine: Machine) -> Path:
    return machine.home / ".cursor" / "mcp.json"


def _entry(server: Server) -> Mapping[str, Any]:
    if isinstance(server, StdioServer):
        return {"command": server.command, "args": list(server.args), "url": None, "headers": None}
    headers = {"Authorization": f"Bearer ${{env:{TOKEN_VARIABLE}}}"}
    return {"url": server.url, "headers": headers, "command": None, "args": None}


CURSOR: Final = Client(
    name="cursor",
    title="Cursor",
    form=JsonForm(comments=True),
    path=_path,
    servers="mcpServers",
    entry=_entry,
    then="Open Cursor's settings under MCP and switch pentad on.",
)
