"""Claude Desktop: its configuration file knows servers it starts itself, and no others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pentad.cli.clients.client import Client, Machine, Server, StdioServer
from pentad.cli.clients.json_form import JsonForm
from pentad.kernel.errors import Misconfigured


def _path(machine: Machine) -> Path:
    return machine.settings_folder() / "Claude" / "claude_desktop_config.json"


def _entry(server: Server) -> Mapping[str, Any]:
    if not isinstance(server, StdioServer):
        raise Misconfigured(
            "Claude Desktop's configuration file cannot name a server by its address.",
            hint="Leave --http out, or add the address in Claude Desktop under Settings > Connectors.",
        )
    return {"command": server.command, "args": list(server.args)}


CLAUDE_DESKTOP: Final = Client(
    name="claude-desktop",
    title="Claude Desktop",
    form=JsonForm(comments=False),
    path=_path,
    servers="mcpServers",
    entry=_entry,
    then="Quit Claude Desktop and start it again.",
)
