"""The MCP clients with a configuration file: where each keeps it and how it writes a server."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pentad.kernel.errors import Misconfigured
from pentad.mcp_clients.json_editor import JsonEditor
from pentad.mcp_clients.toml_editor import TomlEditor

TOKEN_VARIABLE: Final = "PENTAD_TOKEN"  # noqa: S105  the name of a variable, not a token
_PROMPT: Final = "pentad-token"


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server the client starts itself."""

    command: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server the client connects to, with a browser login unless it has a key."""

    url: str
    with_key: bool = False


Server = StdioServer | HttpServer


@dataclass(frozen=True, slots=True)
class Machine:
    """The system, home folder and environment of the user."""

    system: str
    home: Path
    environ: Mapping[str, str]

    def folder(self, variable: str, default: str = "") -> Path:
        """The folder that a variable names; otherwise the default in the home folder."""
        return Path(self.environ.get(variable) or self.home / default)

    def settings_folder(self) -> Path:
        """The folder in which desktop applications keep their settings on this system."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return self.folder("APPDATA", "AppData/Roaming")
        return self.folder("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True, slots=True)
class Client:
    """One client."""

    name: str
    title: str
    editor: JsonEditor | TomlEditor
    path: Callable[[Machine], Path]
    servers: str
    """The member that holds the servers."""
    next_step: str
    """What the user has to do after the file has been changed."""
    login_step: str = ""
    """What the user then has to do to log in to an HTTP server; `{name}` is the server's name."""
    url: str | None = "url"
    """The member for a server's URL; None if the client has no such member."""
    authorization: Mapping[str, Any] | None = None
    """The members that name the API key. The key itself stays in the environment or in the client's secret store."""
    has_type: bool = False
    """Whether a server's entry includes `type`."""
    prompt: Mapping[str, Any] | None = None
    """The client's prompt for the key, kept in the list `inputs` (VS Code)."""
    reference: str | None = None
    """How an entry refers to a value that is not in the file: to an environment variable, or to a question in `inputs`.
    `NAME` stands for the name. None if the client has no such references."""

    def entry(self, server: Server) -> dict[str, Any]:
        """The members of a server's entry; None for members it must not have."""
        if isinstance(server, StdioServer):
            kind, members = "stdio", {"command": server.command, "args": list(server.args)}
            others = (*((self.url,) if self.url else ()), *(self.authorization or {}))
        elif self.url is None:
            raise Misconfigured(
                f"{self.title}'s configuration file cannot name a server by its address.",
                hint=f"Leave --http out, or add the address in {self.title} under Settings > Connectors.",
            )
        else:
            kind, members = "http", {self.url: server.url, **((server.with_key and self.authorization) or {})}
            others = ("command", "args", *(name for name in self.authorization or {} if not server.with_key))
        return {**({"type": kind} if self.has_type else {}), **members, **dict.fromkeys(others)}

    def prompts(self, servers: Mapping[str, Server]) -> list[Mapping[str, Any]]:
        """The questions that these servers need: at most one."""
        has_key = any(isinstance(server, HttpServer) and server.with_key for server in servers.values())
        return [self.prompt] if self.prompt is not None and has_key else []

    def snippet(self, servers: Mapping[str, Server], **members: Any) -> str:
        """The text to paste into the configuration; `members` are set in every entry, or left out if None."""
        entries = {
            name: {key: value for key, value in {**self.entry(server), **members}.items() if value is not None}
            for name, server in servers.items()
        }
        prompts = self.prompts(servers) if not members else []
        return self.editor.snippet({**({"inputs": prompts} if prompts else {}), self.servers: entries})


def this_machine() -> Machine:
    """The machine and user the command runs for."""
    return Machine(sys.platform, Path.home(), os.environ)


def install_entries(
    client: Client, path: Path, entries: Mapping[str, Mapping[str, Any]], prompts: Iterable[Mapping[str, Any]]
) -> Path | None:
    """Put servers and questions into a client's file. Returns the backup's path, or None if nothing changed."""
    from pentad.mcp_clients.config_file import edit_file

    def change(text: str) -> str:
        for name, entry in entries.items():
            text = client.editor.with_member(text, (client.servers, name), entry)
        if isinstance(client.editor, JsonEditor):
            for prompt in prompts:
                text = client.editor.with_element(text, ("inputs",), prompt)
        return text

    return edit_file(path, change)


def _bearer(token: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


CLAUDE_CODE: Final = Client(
    name="claude-code",
    title="Claude Code",
    editor=JsonEditor(comments=False),
    path=lambda machine: machine.folder("CLAUDE_CONFIG_DIR") / ".claude.json",
    servers="mcpServers",
    next_step="Start a new session and type /mcp.",
    login_step="Choose {name} there and log in.",
    authorization=_bearer(f"${{{TOKEN_VARIABLE}}}"),
    has_type=True,
    reference="${NAME}",
)
CLAUDE_DESKTOP: Final = Client(
    name="claude-desktop",
    title="Claude Desktop",
    editor=JsonEditor(comments=False),
    path=lambda machine: machine.settings_folder() / "Claude" / "claude_desktop_config.json",
    servers="mcpServers",
    next_step="Quit Claude Desktop and start it again.",
    url=None,
)
CURSOR: Final = Client(
    name="cursor",
    title="Cursor",
    editor=JsonEditor(comments=True),
    path=lambda machine: machine.home / ".cursor" / "mcp.json",
    servers="mcpServers",
    next_step="Open Cursor's settings under MCP and switch pentad on.",
    login_step="Choose {name} there and log in.",
    authorization=_bearer(f"${{env:{TOKEN_VARIABLE}}}"),
    reference="${env:NAME}",
)
VSCODE: Final = Client(
    name="vscode",
    title="VS Code",
    editor=JsonEditor(comments=True),
    path=lambda machine: machine.settings_folder() / "Code" / "User" / "mcp.json",
    servers="servers",
    next_step="Run `MCP: List Servers` in VS Code and start pentad.",
    login_step="VS Code opens the browser for the login to {name}.",
    authorization=_bearer(f"${{input:{_PROMPT}}}"),
    has_type=True,
    prompt={"type": "promptString", "id": _PROMPT, "description": "Pentad API key", "password": True},
    reference="${input:NAME}",
)
CODEX: Final = Client(
    name="codex",
    title="Codex",
    editor=TomlEditor(),
    path=lambda machine: machine.folder("CODEX_HOME", ".codex") / "config.toml",
    servers="mcp_servers",
    next_step="Start codex and type /mcp.",
    login_step="Before that, log in with `codex mcp login {name}`.",
    authorization={"bearer_token_env_var": TOKEN_VARIABLE},
)
GEMINI: Final = Client(
    name="gemini",
    title="Gemini CLI",
    editor=JsonEditor(comments=True),
    path=lambda machine: machine.home / ".gemini" / "settings.json",
    servers="mcpServers",
    next_step="Start gemini and type /mcp.",
    login_step="Log in there with `/mcp auth {name}`.",
    url="httpUrl",
    authorization=_bearer(f"${TOKEN_VARIABLE}"),
    reference="${NAME}",
)

CLIENTS: Final[dict[str, Client]] = {
    client.name: client for client in (CLAUDE_CODE, CLAUDE_DESKTOP, CURSOR, VSCODE, CODEX, GEMINI)
}
"""All clients, in the order they are listed."""
