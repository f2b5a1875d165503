"""The pages of login, consent and logout in a real browser: they lead where they should, and no script fails."""

from collections.abc import Callable, Generator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conformance.server import Served, password_of, serving
from tests.interop.oauth_peers import Peer
from tests.oauth_client import authorization_url, register

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

Step = dict[str, Any]
Walk = Callable[..., list[dict[str, Any]]]
PASSWORD = password_of("ada")


@pytest.fixture(scope="module")
def guarded() -> Generator[Served]:
    with serving(users={"ada": "writer"}) as server:
        yield server


@pytest.fixture
def walk(chrome: Peer, request: pytest.FixtureRequest) -> Walk:
    """Does steps in the test's own browser; returns the pages after each. No script may fail on the way."""

    def run(*steps: Step) -> list[dict[str, Any]]:
        chrome.tell({"browser": request.node.name, "steps": steps})
        answer = chrome.hear()
        assert "failed" not in answer, answer
        assert answer["errors"] == []
        return answer["seen"]

    return run


def log_in(password: str = PASSWORD) -> Step:
    return {"fill": {"Name": "ada", "Password": password}, "press": "Log in"}


def asked(served: Served) -> str:
    """The URL to which a client sends Ada; it sends her back to an existing page of the same server."""
    back = f"{served.site}/console/account"
    return authorization_url(
        served.site,
        "conformance:read",
        "v" * 43,
        client_id=register(served.site, back),
        redirect_uri=back,
        resource=served.url,
        state="the state",
    )


@pytest.mark.requirement("login:browser")
def test_a_wrong_password_is_a_page_and_the_right_one_leads_on(guarded: Served, walk: Walk) -> None:
    first, wrong, home = walk({"go": f"{guarded.site}/console/account"}, log_in("wrong"), log_in())
    assert urlsplit(first["address"]).path == "/login"
    assert "password is wrong" not in first["text"]
    assert urlsplit(wrong["address"]).path == "/login"
    assert "password is wrong" in wrong["text"]
    assert home["address"] == f"{guarded.site}/console/account"
    assert "ada" in home["text"]


@pytest.mark.requirement("login:browser")
def test_logging_out_ends_the_session(guarded: Served, walk: Walk) -> None:
    *_, inside, out, again = walk(
        {"go": f"{guarded.site}/login"},
        log_in(),
        {"go": f"{guarded.site}/console/account"},
        {"press": "Log out"},
        {"go": f"{guarded.site}/console/account"},
    )
    assert "Account" in inside["title"]
    assert urlsplit(out["address"]).path == "/login"
    assert urlsplit(again["address"]).path == "/login"


@pytest.mark.requirement("login:browser")
@pytest.mark.parametrize("decision", ["Allow", "Deny"])
def test_consent_names_the_program_and_sends_the_answer_back(guarded: Served, walk: Walk, decision: str) -> None:
    login, consent, back = walk({"go": asked(guarded)}, log_in(), {"press": decision})
    assert urlsplit(login["address"]).path == "/login"
    assert urlsplit(consent["address"]).path == "/oauth/authorize"
    for told in ("Test", "not verified", "localhost", "ada"):
        assert told in consent["text"]
    landed = urlsplit(back["address"])
    answer = parse_qs(landed.query)
    assert landed.path == "/console/account"
    assert answer["state"] == ["the state"]
    assert ("code" in answer) == (decision == "Allow")
    assert answer.get("error") == (None if decision == "Allow" else ["access_denied"])


@pytest.mark.requirement("login:browser")
def test_the_home_page_runs_its_scripts_without_an_error(guarded: Served, walk: Walk) -> None:
    *_, home = walk({"go": f"{guarded.site}/login"}, log_in(), {"go": f"{guarded.site}/#connect"})
    assert home["scripts"] > 0
    assert guarded.url in home["text"]
