"""Two real servers with logins follow each other, configured as documented, and are killed a hundred times in turn."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.server import REPOSITORY, environment, pentad
from tests.conformance.wire import Modern
from tests.ports import free_port
from tests.processes.servers import Server
from tests.rooms.directory.records.parts import agent
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1800)]

RESTARTS = 100
PAGE = (REPOSITORY / "docs/directory.md").read_text(encoding="utf-8")


class Node:
    """A server with a directory, and keys to use it with."""

    def __init__(self, folder: Path) -> None:
        self.data = folder
        self.grpc = free_port()
        self.server = Server(["--data", str(folder)], folder / "server.log", "required", rooms="directory")
        self.admin = self.command("keys", "create", "admin", "--scope", "directory:*", "--json")["token"]
        self.reader = self.command("keys", "create", "peer", "--scope", "directory:read", "--json")["token"]

    def command(self, *arguments: str, stdin: str = "") -> Any:
        """The JSON output of a command."""
        done = subprocess.run(
            [pentad(), *arguments, "--data", str(self.data)], input=stdin, capture_output=True, text=True,
            cwd=REPOSITORY, env=environment(), timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (arguments, done.stderr)
        return json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else done.stdout

    def start(self) -> None:
        self.server.start("--grpc-port", str(self.grpc), PENTAD_DIRECTORY_SYNC_HOSTS="127.0.0.1")

    def call(self, tool: str, **arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        login = {"Authorization": f"Bearer {self.admin}"}
        result = Modern(self.server.wire).call("tools/call", params, headers=login).result
        assert not result["isError"], result
        return result["structuredContent"]

    def push(self) -> str:
        return self.call("agntcy_dir_push_record", record_json=json.dumps(agent()))["cid"]

    def records(self) -> set[str]:
        found = self.call("agntcy_dir_search_local", names=["*"], limit=1000)
        assert not found["has_more"]
        return set(found.get("record_cids", ()))

    def trusted(self) -> set[str]:
        """The policy accepts records signed with another server's key."""
        found = self.call("agntcy_dir_search_local", trusted=True, limit=1000)
        return set(found.get("record_cids", ()))

    def key(self) -> str:
        """The public key that the server signs with. It is created for the first signature."""
        cid = self.push()
        made = self.call("directory_sign", reference=cid)["public_key"]
        self.call("directory_delete", reference=cid)
        return made


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    with ExitStack() as stack:
        made: list[Node] = []
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            made.append(Node(tmp_path / name))
        for node in made:
            stack.callback(node.server.stop)
            node.start()
        for node in made:
            node.server.wait_until_ready()
        yield made[0], made[1]


def follow(here: Node, there: Node) -> None:
    """The commands of the page, with this test's URLs and files."""
    (here.data / "acme.key").write_text(there.reader, encoding="ascii")
    (here.data / "acme.pem").write_text(there.key(), encoding="ascii")
    shown = re.search(r"<!-- follow -->\n```\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    for line in shown[1].splitlines():
        words = line.removeprefix("$ pentad ").split()
        names = {
            "https://directory.acme.example:8888": f"127.0.0.1:{there.grpc}",
            "acme.key": str(here.data / "acme.key"),
            "acme.pem": str(here.data / "acme.pem"),
            "acme.example": "example.org",
        }
        here.command(*(names.get(word, word) for word in words))


@pytest.mark.requirement("dir:federation:restarts", "dir:federation:trust")
def test_a_hundred_restarts_lose_nothing(nodes: tuple[Node, Node]) -> None:
    a, b = nodes
    follow(a, b)
    follow(b, a)
    here: set[str] = set()
    signed: dict[Node, set[str]] = {a: set(), b: set()}
    withdrawn: dict[Node, set[str]] = {a: set(), b: set()}
    latest: dict[Node, str] = {}
    for number in range(RESTARTS):
        alive, killed = (a, b) if number % 2 else (b, a)
        killed.server.kill()
        cid = alive.push()
        here.add(cid)
        if number % 3 == 0:
            alive.call("directory_sign", reference=cid)
            signed[alive].add(cid)
        gone = ""
        if number % 10 == 9:
            gone = cid
            alive.call("directory_delete", reference=gone)
        elif number % 10 in (4, 7):
            gone = latest[alive]  # the other server may have copied it
            alive.call("directory_set_state", reference=gone, state="withdrawn", reason="It is replaced.")
            withdrawn[alive].add(gone)
        here.discard(gone)
        signed[alive].discard(gone)
        latest[alive] = cid
        killed.start()
        killed.server.wait_until_ready()
    for node, other in ((a, b), (b, a)):
        wait_until(lambda node=node: node.records() == here | withdrawn[node], "the records differ", 120)
        wait_until(lambda node=node, other=other: node.trusted() == signed[other], "the trusted records differ", 120)
        peers = node.call("directory_peers")["peers"]
        assert [(one["name"], one.get("skipped", 0)) for one in peers] == [("acme", 0)]
        for cid in signed[other]:
            assert node.call("agntcy_dir_verify_record", cid=cid)["trusted_by"] == ["acme-release"]
