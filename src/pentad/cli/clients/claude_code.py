"""Claude Code: the user's own servers, in `.claude.json`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pentad.cli.clients.client import TOKEN_VARIABLE, Client, Machine, Server, StdioServer
from pentad.cli.clients.json_form import JsonForm


def _path(machine: Machine) -> Path:
    return Path(machine.environ.get("CLAUDE_CONFIG_DIR") or machine.home) / ".claude.json"


def _entry(server: Server) -> Mapping[str, Any]:
    if isinstance(server, StdioServer):
        return {"type": "stdio", "command": server.command, "args": list(server.args), "url": None, "headers": None}
    headers = {"Authorization": f"Bearer ${{{TOKEN_VARIABLE}}}"}
    return {"type": "http", "url": server.url, "headers": headers, "command": None, "args": None}


CLAUDE_CODE: Final = Client(
    name="claude-code",
    title="Claude Code",
    form=JsonForm(comments=False),
    path=_path,
    servers="mcpServers",
    entry=_entry,
    then="Start a new session and type /mcp.",
)
