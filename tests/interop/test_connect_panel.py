"""The connect panel in a real browser: its copy buttons, and the line that says which client has called."""

import json
from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.conformance.server import Served, password_of, serving
from tests.http.test_connect import REPORTED
from tests.interop.environments import sdk_1_python
from tests.interop.oauth_peers import SCRIPTS, Peer, started

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

Step = dict[str, Any]
Walk = Callable[..., list[dict[str, Any]]]
WATCHED = "No client has called since"
LATER: Step = {"pass": 3}
"""The page asks every three seconds."""


@pytest.fixture(scope="module")
def guarded() -> Generator[Served]:
    with serving(users={"ada": "writer"}) as server:
        yield server


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[Peer]:
    """A real MCP client that calls itself what the test wants."""
    with started([sdk_1_python(), SCRIPTS / "named_client.py"], tmp_path_factory.mktemp("client") / "log") as peer:
        yield peer


@pytest.fixture(scope="module")
def walk(chrome: Peer, guarded: Served) -> Walk:
    """Does steps on one page of a browser in which ada is logged in; the page after each. No script may fail."""

    def run(*steps: Step) -> list[dict[str, Any]]:
        chrome.tell({"browser": "connect panel", "steps": steps, "stay": True})
        answer = chrome.hear()
        assert "failed" not in answer, answer
        assert answer["errors"] == []
        return answer["seen"]

    login = {"fill": {"Name": "ada", "Password": password_of("ada")}, "press": "Log in"}
    home = run({"clock": True}, {"go": f"{guarded.site}/login"}, login)[-1]
    assert "Signed in as ada" in home["text"]
    return run


def connect(client: Peer, name: str, url: str, headers: dict[str, str]) -> None:
    client.tell({"name": name, "url": url, "headers": headers})
    answer = client.hear()
    assert answer.get("tools", 0) > 0, answer


def make_key(walk: Walk, guarded: Served) -> dict[str, Any]:
    """Create a key on the page; return the configuration for Cursor as the copy button puts it into the clipboard."""
    *_, copied, token = walk(
        {"go": f"{guarded.site}/console/account"},
        {"go": f"{guarded.site}/#cursor"},
        {"open": "With an API key instead", "press": "Make an API key"},
        {"copy": "mcpServers"},
        {"copy": "pentad_"},
    )
    for one in (copied, token):
        assert one["said"] == "Copied"
        assert one["clipboard"] == one["shown"]
    entry = json.loads(copied["clipboard"])["mcpServers"]["pentad"]
    assert entry["headers"] == {"Authorization": f"Bearer {token['clipboard']}"}
    return entry


@pytest.fixture(scope="module")
def entry(walk: Walk, guarded: Served) -> dict[str, Any]:
    return make_key(walk, guarded)


@pytest.mark.requirement("connect:copy", "connect:called")
def test_a_copied_configuration_connects_a_client_and_the_page_says_so(
    walk: Walk, client: Peer, guarded: Served
) -> None:
    entry = make_key(walk, guarded)
    (before,) = walk({"look": True})
    assert f"{WATCHED} the key was made." in before["text"]
    connect(client, "cursor-vscode", entry["url"], entry["headers"])
    _, after = walk(LATER, {"see": "Connected: Cursor"})
    assert WATCHED not in after["text"]


@pytest.mark.requirement("connect:copy")
@pytest.mark.parametrize(
    ("tab", "begins"),
    [
        ("claude-code", "claude mcp add"),
        ("cursor", "{"),
        ("vscode", "code --add-mcp"),
        ("codex", "codex mcp add"),
        ("gemini", "gemini mcp add"),
    ],
)
def test_each_tab_copies_its_own_text(walk: Walk, guarded: Served, tab: str, begins: str) -> None:
    *_, copied = walk(
        {"go": f"{guarded.site}/console/account"}, {"go": f"{guarded.site}/#{tab}"}, {"copy": guarded.url}
    )
    assert copied["said"] == "Copied"
    assert copied["clipboard"] == copied["shown"]
    assert copied["clipboard"].startswith(begins)
    assert guarded.url in copied["clipboard"]


@pytest.mark.requirement("connect:called")
@pytest.mark.parametrize(("reported", "title", "tab"), REPORTED)
def test_the_home_page_says_which_client_has_called_and_marks_its_tab(
    walk: Walk, client: Peer, guarded: Served, entry: dict[str, Any], reported: str, title: str, tab: str
) -> None:
    *_, before = walk({"go": f"{guarded.site}/console/account"}, {"go": f"{guarded.site}/"})
    assert f"{WATCHED} you opened this page." in before["text"]
    assert before["marked"] == []
    connect(client, reported, entry["url"], entry["headers"])
    _, after = walk(LATER, {"see": f"Connected: {title}"})
    assert after["marked"] == [tab]
    assert WATCHED not in after["text"]
