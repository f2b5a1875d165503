"""The OAuth clients of the SDKs and a user with a browser against Pentad: a URL, a login, a consent, and it works."""

import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.conformance.server import Served, password_of, serving
from tests.interop.client_document import NAME, Published, published
from tests.interop.oauth_peers import CLIENTS, ClientFailed, ForeignClient, Peer, Person, foreign_client, revoke
from tests.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

READ, WRITE = "test_echo", "test_trigger_tool_change"
STEPS_UP = {"python 1", "python 2", "typescript 2", "fastmcp"}
"""The first TypeScript client refreshes its token instead of asking for more."""
TOKEN_SECONDS = 3


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Generator[Published]:
    with published(tmp_path_factory.mktemp("document")) as where:
        yield where


@pytest.fixture(scope="module")
def guarded(document: Published) -> Generator[Served]:
    """A server where Ada may write and Bob may read."""
    with serving(users={"ada": "writer", "bob": "reader"}, settings=document.settings) as server:
        yield server


@pytest.fixture(scope="module")
def hurried() -> Generator[Served]:
    """A server whose access tokens expire at once."""
    with serving(
        users={"ada": "writer"}, settings={"PENTAD_LOGIN_ACCESS_TOKEN_MINUTES": str(TOKEN_SECONDS / 60)}
    ) as server:
        yield server


@pytest.fixture
def ada(chrome: Peer) -> Person:
    return Person(chrome, "ada", password_of("ada"))


@pytest.fixture
def bob(chrome: Peer) -> Person:
    return Person(chrome, "bob", password_of("bob"))


@pytest.fixture(params=CLIENTS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def client(kind: str, guarded: Served, ada: Person, tmp_path: Path) -> Generator[ForeignClient]:
    """Ada's client, connected with only the URL."""
    with foreign_client(kind, ada, guarded.url, tmp_path / "log") as client:
        client.do("connect")
        yield client


@pytest.mark.requirement("oauth:interop:clients")
def test_a_client_that_registers_itself_connects_with_nothing_but_the_url(client: ForeignClient) -> None:
    assert READ in client.do("tools")
    assert client.call(READ, text="hello")
    assert len(client.visits) == 1
    (asked,) = client.asked
    assert ":read" in asked["scope"]
    assert ":write" not in asked["scope"], "nobody asks for more than the first call needs"


@pytest.mark.parametrize("kind", ["python 2", "typescript 2"], indirect=True)
@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:{port}/mcp", "http://localhost:{port}/mcp/", "http://localhost:{port}/rooms/conformance/mcp"],
)
@pytest.mark.requirement("oauth:interop:clients")
def test_the_strictest_clients_connect_by_every_name_of_an_endpoint(
    kind: str, address: str, guarded: Served, ada: Person, tmp_path: Path
) -> None:
    with foreign_client(kind, ada, address.format(port=guarded.port), tmp_path / "log") as client:
        client.do("connect")
        assert client.call(READ, text="hello")


@pytest.mark.requirement("oauth:interop:clients")
def test_a_client_with_a_metadata_document_needs_no_registration(
    kind: str, guarded: Served, ada: Person, document: Published, tmp_path: Path
) -> None:
    with foreign_client(kind, ada, guarded.url, tmp_path / "log", document.url) as client:
        client.do("connect")
        assert READ in client.do("tools")
    assert [asked["client_id"] for asked in client.asked] == [document.url]
    consent = client.visits[0].pages[-1]
    assert NAME in consent
    assert "localhost" in consent


@pytest.mark.requirement("oauth:interop:step-up")
def test_a_call_that_needs_more_leads_to_another_consent(client: ForeignClient, kind: str) -> None:
    if kind not in STEPS_UP:
        with pytest.raises(ClientFailed):
            client.call(WRITE)
        return
    assert client.call(WRITE)
    assert len(client.visits) == 2
    assert ":write" in client.asked[1]["scope"]
    assert client.call(READ, text="hello"), "the token for writing is good for reading too"
    assert len(client.visits) == 2


@pytest.mark.requirement("oauth:interop:revoked")
def test_a_revoked_client_has_to_log_in_again(client: ForeignClient, guarded: Served) -> None:
    before = client.do("tokens")
    assert revoke(guarded, before) == 200
    client.do("connect")
    assert READ in client.do("tools")
    assert len(client.visits) == 2
    assert client.do("tokens")["access_token"] != before["access_token"]


@pytest.mark.requirement("oauth:interop:refresh")
def test_an_expired_token_is_refreshed_without_the_person(
    kind: str, hurried: Served, ada: Person, tmp_path: Path
) -> None:
    with foreign_client(kind, ada, hurried.url, tmp_path / "log") as client:
        client.do("connect")
        before = client.do("tokens")
        over = time.monotonic() + TOKEN_SECONDS + 1
        wait_until(lambda: time.monotonic() > over, "time stands still")
        assert READ in client.do("tools")
        after = client.do("tokens")
    assert len(client.visits) == 1
    assert after["access_token"] != before["access_token"]
    assert after["refresh_token"] != before["refresh_token"]


@pytest.mark.requirement("oauth:interop:step-up")
def test_a_person_cannot_consent_to_more_than_they_may_do(
    kind: str, guarded: Served, bob: Person, tmp_path: Path
) -> None:
    with foreign_client(kind, bob, guarded.url, tmp_path / "log") as client:
        client.do("connect")
        assert client.call(READ, text="hello")
        with pytest.raises(ClientFailed):
            client.call(WRITE)
        assert len(client.visits) <= 3, "the client gives up"
