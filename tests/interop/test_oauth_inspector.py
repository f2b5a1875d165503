"""The Inspector's command line logs in at Pentad, keeps its tokens, and gives them back."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.server import REPOSITORY, Served, password_of, serving
from tests.interop.client_document import NAME, Published, published
from tests.interop.inspector import inspector_command
from tests.interop.oauth_peers import Peer, Person, Visit, revoke
from tests.ports import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

PLEASE = "Please navigate to: "


Inspect = Callable[..., tuple[Any, list[Visit]]]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Generator[Published]:
    with published(tmp_path_factory.mktemp("document")) as where:
        yield where


@pytest.fixture(scope="module")
def guarded(document: Published) -> Generator[Served]:
    with serving(users={"ada": "writer"}, settings=document.settings) as server:
        yield server


@pytest.fixture
def inspect(guarded: Served, chrome: Peer, tmp_path: Path) -> Inspect:
    """Runs the Inspector; the result, and the logins it took. Its home is the same each time, and nobody else's."""
    ada = Person(chrome, "ada", password_of("ada"))
    home = {"HOME": str(tmp_path), "MCP_INSPECTOR_SECRET_STORE": "file", "MCP_AUTO_OPEN_ENABLED": "true"}

    def run(*options: str) -> tuple[Any, list[Visit]]:
        back = f"http://127.0.0.1:{free_port()}/callback"
        command = [*inspector_command(), guarded.url, "--transport", "http", "--method", "tools/list"]
        visits: list[Visit] = []
        with subprocess.Popen(
            [*command, "--format", "json", "--callback-url", back, *options],
            cwd=REPOSITORY,
            env={**os.environ, **home, "BROWSER": "true"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as process:
            try:
                said = [_follow(line, ada, visits) for line in process.stderr or ()]
                answer = process.stdout.read() if process.stdout else ""
            except BaseException:
                process.kill()
                raise
        assert process.returncode == 0, "".join(said)
        return json.loads(answer)["result"], visits

    return run


def _follow(line: str, person: Person, visits: list[Visit]) -> str:
    if line.startswith(PLEASE):
        visits.append(person.visit(line.removeprefix(PLEASE).strip()))
    return line


@pytest.mark.requirement("oauth:interop:inspector")
def test_the_inspector_logs_in_once_and_remembers_it(inspect: Inspect) -> None:
    listed, visits = inspect()
    assert "test_echo" in {tool["name"] for tool in listed["tools"]}
    assert len(visits) == 1
    again, visits = inspect("--stored-auth-only")
    assert again == listed
    assert visits == []


@pytest.mark.requirement("oauth:interop:inspector")
def test_the_inspector_needs_no_registration_with_a_metadata_document(inspect: Inspect, document: Published) -> None:
    listed, visits = inspect("--client-metadata-url", document.url)
    assert listed["tools"]
    assert NAME in visits[0].pages[-1]


@pytest.mark.requirement("oauth:interop:inspector")
def test_the_inspector_logs_in_again_when_its_grant_is_revoked(
    inspect: Inspect, guarded: Served, tmp_path: Path
) -> None:
    inspect()
    kept = (tmp_path / ".mcp-inspector").rglob("*.json")
    stored = "".join(file.read_text(encoding="utf-8") for file in kept)
    token, client_id = re.findall(r"pentad-refresh-[\w-]+", stored)[0], re.findall(r"\bclient-[\w-]+", stored)[0]
    assert revoke(guarded, {"refresh_token": token, "client_id": client_id}) == 200
    listed, visits = inspect()
    assert listed["tools"]
    assert len(visits) == 1
