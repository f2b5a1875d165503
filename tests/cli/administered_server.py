"""A server with a login and an administrator, for verbs that ask it and verbs that work on its store."""

import base64
import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pentad.settings.sources import load_settings
from tests.cli.processes import ROOM, run
from tests.cli.server_thread import serving

PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Server:
    """`home` is the folder the verbs run in; the store is in its folder `d`."""

    home: Path
    site: str

    @property
    def url(self) -> str:
        return f"{self.site}/mcp"

    def basic(self, user: str = "root") -> str:
        return "Basic " + base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()

    def remote(self, *args: str, user: str = "root", stdin: str = "", code: int = 0) -> str:
        """Run a verb on the server; what it prints, or what it says about its error."""
        done = run(*args, "--url", self.url, "--login", f"{user}:{PASSWORD}", home=self.home, stdin=stdin)
        assert done.returncode == code, (args, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def local(self, *args: str) -> str:
        done = run(*args, "--data", "d", home=self.home)
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout

    def same(self, *args: str) -> Any:
        """What a verb lists, which is the same on the server and on the store."""
        found = json.loads(self.remote(*args, "--json"))
        assert found == json.loads(self.local(*args, "--json"))
        return found


@contextmanager
def administered_server(home: Path) -> Generator[Server]:
    """Serve with the administrator `root` until the block ends."""
    add = ("users", "add", "root", "--role", "admin", "--password-stdin", "--data", "d")
    assert run(*add, home=home, stdin=PASSWORD).returncode == 0
    with serving(load_settings({"data": home / "d", "rooms": (ROOM,)}, environ={})) as site:
        yield Server(home, site)
