"""The Inspector's command line logs in at Pentad, keeps its tokens, and gives them back."""

import json
import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.server import REPOSITORY, Served, free_port, password_of, serving
from tests.interop.inspector import inspector_command
from tests.interop.oauth_peers import Peer, Person, Visit

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

PLEASE = "Please navigate to: "


@pytest.fixture(scope="module")
def guarded() -> Generator[Served]:
    with serving(users={"ada": "writer"}) as server:
        yield server


@pytest.fixture
def inspect(guarded: Served, chrome: Peer, tmp_path: Path) -> Callable[..., tuple[Any, list[Visit]]]:
    """Runs the Inspector; the result, and the logins it took. Its home is the same each time, and nobody else's."""
    ada = Person(chrome, "ada", password_of("ada"))
    home = {"HOME": str(tmp_path), "MCP_INSPECTOR_SECRET_STORE": "file", "MCP_AUTO_OPEN_ENABLED": "true"}

    def run(*options: str) -> tuple[Any, list[Visit]]:
        back = f"http://127.0.0.1:{free_port()}/oauth/callback"
        command = [*inspector_command(), guarded.url, "--transport", "http", "--method", "tools/list"]
        process = subprocess.Popen(
            [*command, "--format", "json", "--callback-url", back, *options],
            cwd=REPOSITORY,
            env={**os.environ, **home, "BROWSER": "true"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert process.stdout is not None
        assert process.stderr is not None
        visits: list[Visit] = []
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if line.startswith(PLEASE):
                visits.append(ada.visit(line.removeprefix(PLEASE).strip()))
        answer = process.stdout.read()
        assert process.wait() == 0, "".join(said)
        return json.loads(answer)["result"], visits

    return run


@pytest.mark.requirement("oauth:interop:inspector")
def test_the_inspector_logs_in_once_and_remembers_it(inspect: Callable[..., tuple[Any, list[Visit]]]) -> None:
    listed, visits = inspect()
    assert "test_echo" in {tool["name"] for tool in listed["tools"]}
    assert len(visits) == 1
    again, visits = inspect("--stored-auth-only")
    assert again == listed
    assert visits == []


@pytest.mark.requirement("oauth:interop:inspector")
def test_the_inspector_gives_its_tokens_back(inspect: Callable[..., tuple[Any, list[Visit]]]) -> None:
    inspect()
    _, visits = inspect("--relogin")
    assert len(visits) == 1
