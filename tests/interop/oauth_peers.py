"""Foreign OAuth clients and a user with a browser, as the tests use them: processes that receive orders.

Each runs in its own environment (`environments`); the scripts are in `oauth_clients`.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import urlopen

from tests.conformance.node import node, npm_folder
from tests.conformance.server import Served
from tests.interop.environments import fastmcp_python, playwright_python, sdk_1_python, sdk_python

SCRIPTS: Final = Path(__file__).with_name("oauth_clients")
TYPESCRIPT_1: Final = "@modelcontextprotocol/sdk@1.32.2"
TYPESCRIPT_2: Final = "@modelcontextprotocol/client@2.4.0"


class ClientFailed(Exception):
    """A foreign client could not carry out an order."""


class Peer:
    """A process that takes JSON lines and answers with JSON lines."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def tell(self, line: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise ClientFailed(f"The process ended with {self._process.wait()}.")
        return json.loads(line)


@contextmanager
def started(command: Sequence[str | Path], log: Path) -> Generator[Peer]:
    """Run such a process until the block ends."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sink, encoding="utf-8", env=_environment()
        )
    try:
        yield Peer(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _environment() -> dict[str, str]:
    """The environment without variables meant for Pentad's own processes."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PENTAD_", "PYTHONPATH"))}


@dataclass(frozen=True)
class Visit:
    """What a user saw: the text of the pages on the way, and where the browser ended up."""

    pages: list[str]
    landed: str


@dataclass(frozen=True)
class Person:
    """A user with a password and a browser that keeps its cookies."""

    browser: Peer
    name: str
    password: str

    def visit(self, address: str, press: str = "Allow") -> Visit:
        """Open an authorization URL, log in if asked to, press the button, and follow the redirect to the client."""
        until = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        order = {"visit": address, "press": press, "until": until, "name": self.name, "password": self.password}
        self.browser.tell({"browser": self.name, **order})
        answer = self.browser.hear()
        if "failed" in answer:
            raise AssertionError(f"{answer['failed']}\nat {answer['landed']}:\n{answer['pages'][-1]}")
        return Visit(answer["pages"], answer["landed"])


def chromium() -> str | None:
    """The machine's browser."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def browser(program: str, log: Path) -> Generator[Peer]:
    with started([playwright_python(), SCRIPTS / "chromium.py", program], log) as peer:
        yield peer


@dataclass
class ForeignClient:
    """An OAuth client at work for a user. `visits` are the logins it asked for."""

    peer: Peer
    person: Person
    visits: list[Visit] = field(default_factory=list[Visit])
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """The parameters of each authorization request."""

    def do(self, order: str, **details: Any) -> Any:
        self.peer.tell({"do": order, **details})
        while "done" not in (line := self.peer.hear()):
            if "failed" in line:
                raise ClientFailed(line["failed"])
            query = parse_qs(urlsplit(line["open"]).query)
            self.asked.append({name: values[0] for name, values in query.items()})
            self.visits.append(self.person.visit(line["open"]))
        return line["done"]

    def call(self, tool: str, **arguments: Any) -> str:
        return self.do("call", name=tool, arguments=arguments)


@contextmanager
def foreign_client(
    name: str, person: Person, url: str, log: Path, metadata_url: str | None = None
) -> Generator[ForeignClient]:
    """A client of this name (`CLIENTS`), not yet connected."""
    given = [url, *([metadata_url] if metadata_url else [])]
    with started([*CLIENTS[name](), *given], log) as peer:
        yield ForeignClient(peer, person)


def revoke(server: Served, tokens: dict[str, str]) -> int:
    """Revoke a client's refresh token as the client would (RFC 7009)."""
    form = {
        "token": tokens["refresh_token"],
        **{key: tokens[key] for key in ("client_id", "client_secret") if tokens.get(key)},
    }
    with urlopen(f"http://localhost:{server.port}/oauth/revoke", urlencode(form).encode()) as answer:
        return answer.status


def _typescript(version: str, package: str) -> list[str | Path]:
    """Modules are looked up in a script's own folder, so the scripts are copied next to the package."""
    folder = npm_folder(f"interop/typescript-{version}", [package])
    for script in SCRIPTS.glob("*.mjs"):
        shutil.copy(script, folder)
    return [node(folder), folder / f"typescript_{version}.mjs"]


CLIENTS: Final = {
    "python 1": lambda: [sdk_1_python(), SCRIPTS / "python_sdk.py"],
    "python 2": lambda: [sdk_python(), SCRIPTS / "python_sdk.py"],
    "typescript 1": lambda: _typescript("1", TYPESCRIPT_1),
    "typescript 2": lambda: _typescript("2", TYPESCRIPT_2),
    "fastmcp": lambda: [fastmcp_python(), SCRIPTS / "fastmcp_client.py"],
}
