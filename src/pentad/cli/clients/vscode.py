"""Visual Studio Code: `mcp.json` of the user's profile; a key is asked for once and kept in the editor's own safe."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pentad.cli.clients.client import Client, HttpServer, Machine, Server, StdioServer
from pentad.cli.clients.json_form import JsonForm

_INPUT: Final = "pentad-token"


def _path(machine: Machine) -> Path:
    return machine.settings_folder() / "Code" / "User" / "mcp.json"


def _entry(server: Server) -> Mapping[str, Any]:
    if isinstance(server, StdioServer):
        return {"type": "stdio", "command": server.command, "args": list(server.args), "url": None, "headers": None}
    headers = {"Authorization": f"Bearer ${{input:{_INPUT}}}"}
    return {"type": "http", "url": server.url, "headers": headers, "command": None, "args": None}


def _inputs(server: Server) -> Mapping[str, Any] | None:
    if not isinstance(server, HttpServer):
        return None
    return {"type": "promptString", "id": _INPUT, "description": "Pentad API key", "password": True}


VSCODE: Final = Client(
    name="vscode",
    title="VS Code",
    form=JsonForm(comments=True),
    path=_path,
    servers="servers",
    entry=_entry,
    inputs=_inputs,
    then="Run `MCP: List Servers` in VS Code and start pentad.",
)
