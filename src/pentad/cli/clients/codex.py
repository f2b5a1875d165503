"""Codex: `config.toml`, where a key is named by its variable and never written down."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pentad.cli.clients.client import TOKEN_VARIABLE, Client, Machine, Server, StdioServer
from pentad.cli.clients.toml_form import TomlForm


def _path(machine: Machine) -> Path:
    return Path(machine.environ.get("CODEX_HOME") or machine.home / ".codex") / "config.toml"


def _entry(server: Server) -> Mapping[str, Any]:
    if isinstance(server, StdioServer):
        return {"command": server.command, "args": list(server.args), "url": None, "bearer_token_env_var": None}
    return {"url": server.url, "bearer_token_env_var": TOKEN_VARIABLE, "command": None, "args": None}


CODEX: Final = Client(
    name="codex",
    title="Codex",
    form=TomlForm(),
    path=_path,
    servers="mcp_servers",
    entry=_entry,
    then="Start codex and type /mcp.",
)
