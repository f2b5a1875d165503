"""What an MCP client is to `pentad install`: where its configuration lies and how one server is written in it.

The modules beside this one describe one client each, as data; none of them touches a file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pentad.cli.clients.json_form import JsonForm
from pentad.cli.clients.toml_form import TomlForm

TOKEN_VARIABLE: Final = "PENTAD_TOKEN"  # noqa: S105  the name of a variable, not a token


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server the client starts itself."""

    command: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server the client reaches; the key stays in the environment or in the client's own safe."""

    url: str


Server = StdioServer | HttpServer


@dataclass(frozen=True, slots=True)
class Machine:
    """Whose configuration it is: the system, the home and the environment."""

    system: str
    home: Path
    environ: Mapping[str, str]

    def settings_folder(self) -> Path:
        """Where desktop applications of this system keep their settings."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")


@dataclass(frozen=True, slots=True)
class Client:
    """One client. `entry` writes a server with the members the client knows, None for those it must not have."""

    name: str
    title: str
    form: JsonForm | TomlForm
    path: Callable[[Machine], Path]
    servers: str
    entry: Callable[[Server], Mapping[str, Any]]
    then: str
    inputs: Callable[[Server], Mapping[str, Any] | None] = lambda _: None
    """A question the client asks its user for, where it keeps such (VS Code)."""
