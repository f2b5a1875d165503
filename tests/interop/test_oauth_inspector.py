"""The Inspector's command line logs in at Pentad, stores its tokens, and reuses them."""

import base64
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.server import CONFORMANCE_ROOM, REPOSITORY, Served, password_of, serving
from tests.interop.client_document import NAME, Published, published
from tests.interop.inspector import inspector_command
from tests.interop.oauth_peers import Peer, Person, Visit, revoke
from tests.ports import free_port
from tests.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

PLEASE = "Please navigate to: "


TOKEN_SECONDS = 3
READ, WRITE = "test_echo", "test_trigger_tool_change"
CREATE = ("--tool-name", "registers", "--tool-arg", "action=create", "--tool-arg", 'data={"title": "Park"}')


@dataclass
class Ran:
    """The outcome of one run of the Inspector. `result` is that of the method, or None if it failed."""

    result: Any
    visits: list[Visit]
    said: str


Inspect = Callable[..., Ran]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Generator[Published]:
    with published(tmp_path_factory.mktemp("document")) as where:
        yield where


@pytest.fixture(scope="module")
def guarded(document: Published) -> Generator[Served]:
    """A server where Ada may write and Bob may read."""
    rooms, users = f"{CONFORMANCE_ROOM},registers", {"ada": "writer", "bob": "reader"}
    with serving(rooms, users=users, settings=document.settings) as server:
        yield server


@pytest.fixture(scope="module")
def hurried() -> Generator[Served]:
    """A server whose access tokens expire at once."""
    lifetime = {"PENTAD_LOGIN_ACCESS_TOKEN_MINUTES": str(TOKEN_SECONDS / 60)}
    with serving(users={"ada": "writer"}, settings=lifetime) as server:
        yield server


@pytest.fixture
def inspect(guarded: Served, chrome: Peer, tmp_path: Path) -> Inspect:
    """Runs the Inspector for a user, always with the same private home folder."""
    home = {"HOME": str(tmp_path), "MCP_INSPECTOR_SECRET_STORE": "file", "MCP_AUTO_OPEN_ENABLED": "true"}

    def run(
        *options: str, method: str = "tools/list", user: str = "ada", server: Served = guarded, fails: bool = False
    ) -> Ran:
        back = f"http://127.0.0.1:{free_port()}/callback"
        command = [*inspector_command(), server.url, "--transport", "http", "--method", method]
        person, visits = Person(chrome, user, password_of(user)), list[Visit]()
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
                said = [_follow(line, person, visits) for line in process.stderr or ()]
                answer = process.stdout.read() if process.stdout else ""
            except BaseException:
                process.kill()
                raise
        text = "".join(said)
        assert (process.returncode != 0) == fails, f"{answer}\n{text}"
        return Ran(None if fails else json.loads(answer)["result"], visits, f"{answer}\n{text}")

    return run


def _follow(line: str, person: Person, visits: list[Visit]) -> str:
    if line.startswith(PLEASE):
        visits.append(person.visit(line.removeprefix(PLEASE).strip()))
    return line


@pytest.mark.requirement("oauth:interop:inspector")
def test_the_inspector_logs_in_once_and_remembers_it(inspect: Inspect) -> None:
    first = inspect()
    assert READ in {tool["name"] for tool in first.result["tools"]}
    assert len(first.visits) == 1
    again = inspect("--stored-auth-only")
    assert again.result == first.result
    assert again.visits == []


@pytest.mark.requirement("oauth:interop:inspector")
def test_the_inspector_needs_no_registration_with_a_metadata_document(inspect: Inspect, document: Published) -> None:
    ran = inspect("--client-metadata-url", document.url)
    assert ran.result["tools"]
    assert NAME in ran.visits[0].pages[-1]


@pytest.mark.requirement("oauth:interop:inspector")
def test_the_inspector_logs_in_again_when_its_grant_is_revoked(
    inspect: Inspect, guarded: Served, tmp_path: Path
) -> None:
    inspect()
    token, client_id = stored(tmp_path)
    assert revoke(guarded, {"refresh_token": token, "client_id": client_id}) == 200
    again = inspect()
    assert again.result["tools"]
    assert len(again.visits) == 1


@pytest.mark.requirement("oauth:interop:inspector", "oauth:interop:refresh")
def test_the_inspector_refreshes_an_expired_token_without_the_person(
    inspect: Inspect, hurried: Served, tmp_path: Path
) -> None:
    first = inspect(server=hurried)
    assert len(first.visits) == 1
    before, _ = stored(tmp_path)
    over = time.monotonic() + TOKEN_SECONDS + 1
    wait_until(lambda: time.monotonic() > over, "time stands still")
    again = inspect("--stored-auth-only", server=hurried)
    assert again.result == first.result
    assert again.visits == []
    assert stored(tmp_path)[0] != before, "a refresh token is good once"


@pytest.mark.requirement("oauth:interop:inspector", "oauth:interop:step-up")
def test_a_reader_is_offered_no_writing_tool_and_a_writing_call_fails(inspect: Inspect) -> None:
    read = inspect("--tool-name", READ, "--tool-arg", "text=hello", method="tools/call", user="bob")
    assert "hello" in json.dumps(read.result)
    hidden = inspect("--tool-name", WRITE, method="tools/call", user="bob", fails=True)
    assert f"Tool '{WRITE}' not found" in hidden.said
    refused = inspect("--stored-auth-only", *CREATE, method="tools/call", user="bob", fails=True)
    assert "auth_required" in refused.said, "the Inspector does not pass on what the server says"
    assert (hidden.visits, refused.visits) == ([], [])


@pytest.mark.requirement("oauth:interop:inspector")
def test_a_reader_with_a_password_is_told_which_scope_a_writing_call_needs(inspect: Inspect) -> None:
    login = base64.b64encode(f"bob:{password_of('bob')}".encode()).decode()
    told = inspect("--header", f"Authorization: Basic {login}", *CREATE, method="tools/call", fails=True)
    assert "It needs the scope registers:write" in told.said


def stored(home: Path) -> tuple[str, str]:
    """The refresh token and the client id that the Inspector has stored."""
    kept = "".join(file.read_text(encoding="utf-8") for file in (home / ".mcp-inspector").rglob("*.json"))
    return re.findall(r"pentad-refresh-[\w-]+", kept)[0], re.findall(r"\bclient-[\w-]+", kept)[0]
