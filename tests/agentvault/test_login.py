"""How the client logs in: which scheme it takes, where tokens come from, how long they are used."""

from typing import Any
from urllib.parse import parse_qs

import pytest
from aiohttp import web

from pentad.agentvault import (
    A2AAuthenticationError,
    A2ARemoteAgentError,
    AgentVaultClient,
    KeyManager,
    Message,
    TextPart,
)
from pentad.agentvault.credentials import Credentials, Scheme
from pentad.net.fetch import HttpFetcher
from tests.agentvault.agent_server import AgentServer, Received, agent, result

HELLO = Message(role="user", parts=[TextPart(content="hello")])
KEY = {"scheme": "apiKey"}
BEARER = {"scheme": "bearer", "service_identifier": "Acme-Bearer"}
NONE = {"scheme": "none"}


class Time:
    """A clock the test turns."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


def keys(monkeypatch: pytest.MonkeyPatch, **names: str) -> KeyManager:
    for name, value in names.items():
        monkeypatch.setenv(name.replace("__", "/"), value)
    return KeyManager()


def oauth(server: AgentServer, **more: Any) -> dict[str, Any]:
    return {"scheme": "oauth2", "tokenUrl": server.url.replace("/a2a", "/token"), **more}


def token(received: Received) -> dict[str, Any]:
    return {"access_token": "tok", "token_type": "Bearer", "expires_in": 3600}


async def sent_with(server: AgentServer, manager: KeyManager, *schemes: dict[str, Any]) -> dict[str, str]:
    """The headers a call arrives with."""
    async with AgentVaultClient() as client:
        await client.initiate_task(server.card(*schemes), HELLO, manager)
    return server.received[-1].headers


@pytest.mark.anyio
async def test_a_key_goes_into_its_header_before_anything_else(monkeypatch: pytest.MonkeyPatch):
    manager = keys(monkeypatch, AGENTVAULT_KEY_ACME__ECHO="k1", **{"AGENTVAULT_KEY_ACME-BEARER": "k2"})
    async with agent(result({"id": "t"})) as server:
        headers = await sent_with(server, manager, NONE, BEARER, oauth(server), KEY)
        assert headers["x-api-key"] == "k1"
        assert "authorization" not in headers
        assert (await sent_with(server, manager, KEY | {"service_identifier": "acme-bearer"}))["x-api-key"] == "k2"


@pytest.mark.anyio
async def test_a_bearer_key_is_used(monkeypatch: pytest.MonkeyPatch):
    manager = keys(monkeypatch, **{"AGENTVAULT_KEY_ACME-BEARER": "k2"})
    async with agent(result({"id": "t"})) as server:
        assert (await sent_with(server, manager, BEARER))["authorization"] == "Bearer k2"
        assert "authorization" not in await sent_with(server, KeyManager(use_env_vars=False), BEARER, NONE)
        assert "authorization" not in await sent_with(server, manager, NONE)


@pytest.mark.anyio
@pytest.mark.parametrize("schemes", [[KEY, NONE], [BEARER], ["oauth", NONE]])
async def test_missing_credentials_raise_before_anything_is_sent(schemes: list[Any]):
    async with agent(result({"id": "t"})) as server:
        named = [oauth(server) if scheme == "oauth" else scheme for scheme in schemes]
        with pytest.raises(A2AAuthenticationError, match=r"(?i)acme/echo|acme-bearer"):
            await sent_with(server, KeyManager(use_env_vars=False), *named)
        assert server.received == []


@pytest.mark.anyio
async def test_a_token_is_asked_for_once_and_used_for_many_calls(monkeypatch: pytest.MonkeyPatch):
    manager = keys(
        monkeypatch, AGENTVAULT_OAUTH_ACME__ECHO_CLIENT_ID="me", AGENTVAULT_OAUTH_ACME__ECHO_CLIENT_SECRET="s3 cret"
    )
    async with agent(result({"id": "t"}), token=token) as server, AgentVaultClient() as client:
        card = server.card(oauth(server, scopes=["read", "write"]))
        for _ in range(3):
            await client.initiate_task(card, HELLO, manager)
    asked, *calls = server.received
    assert parse_qs(asked.body.decode()) == {
        "grant_type": ["client_credentials"],
        "client_id": ["me"],
        "client_secret": ["s3 cret"],
        "scope": ["read write"],
    }
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert [call.path for call in calls] == ["/a2a"] * 3
    assert {call.headers["authorization"] for call in calls} == {"Bearer tok"}


@pytest.mark.anyio
@pytest.mark.parametrize(("expires_in", "lasts"), [(3600, 3540), ("120", 60), (None, 300), ("soon", 300), (30, 0)])
async def test_a_token_is_renewed_before_it_ends(monkeypatch: pytest.MonkeyPatch, expires_in: Any, lasts: float):
    manager = keys(monkeypatch, AGENTVAULT_OAUTH_X_CLIENT_ID="i", AGENTVAULT_OAUTH_X_CLIENT_SECRET="s")
    numbers = iter("123")

    def tokens(received: Received) -> dict[str, Any]:
        return {"access_token": next(numbers)} | ({} if expires_in is None else {"expires_in": expires_in})

    fetcher, time = HttpFetcher(), Time()
    async with agent(tokens) as server:
        login = Credentials(fetcher, trusted=True, clock=time)
        scheme = Scheme("oauth2", "x", token_url=server.url)
        assert await login.headers("x", [scheme], manager) == {"Authorization": "Bearer 1"}
        time.seconds += max(lasts - 1, 0)
        again = await login.headers("x", [scheme], manager)
        assert again == {"Authorization": "Bearer 1" if lasts else "Bearer 2"}
        time.seconds += 2
        renewed = await login.headers("x", [scheme], manager)
        assert renewed == {"Authorization": "Bearer 2" if lasts else "Bearer 3"}
    await fetcher.close()


@pytest.mark.anyio
async def test_a_refused_token_is_renewed_once(monkeypatch: pytest.MonkeyPatch):
    manager = keys(
        monkeypatch, AGENTVAULT_OAUTH_ACME__ECHO_CLIENT_ID="me", AGENTVAULT_OAUTH_ACME__ECHO_CLIENT_SECRET="s"
    )
    numbers = iter("123456")
    wanted = {"Bearer 2"}

    def tokens(received: Received) -> dict[str, Any]:
        return {"access_token": next(numbers), "expires_in": 3600}

    def guarded(received: Received) -> Any:
        if received.headers["authorization"] not in wanted:
            return web.Response(status=401, text="expired")
        return result({"id": "t"})(received)

    async with agent(guarded, token=tokens) as server, AgentVaultClient() as client:
        card = server.card(oauth(server))
        assert await client.initiate_task(card, HELLO, manager) == "t"
        wanted.clear()
        with pytest.raises(A2ARemoteAgentError, match="401"):
            await client.initiate_task(card, HELLO, manager)
    assert [one.path for one in server.received] == ["/token", "/a2a", "/token", "/a2a", "/a2a", "/token", "/a2a"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda _: web.Response(status=400, text="wrong s3cret"), r"HTTP 400: wrong \*\*\*"),
        (lambda _: web.Response(text="plain"), "not JSON"),
        (lambda _: {"token_type": "bearer"}, "no access_token"),
        (lambda _: [], "no access_token"),
        (lambda _: {"access_token": "t", "token_type": "mac"}, "type"),
    ],
)
async def test_a_token_endpoint_that_gives_no_token_raises(monkeypatch: pytest.MonkeyPatch, answer: Any, says: str):
    manager = keys(
        monkeypatch, AGENTVAULT_OAUTH_ACME__ECHO_CLIENT_ID="me", AGENTVAULT_OAUTH_ACME__ECHO_CLIENT_SECRET="s3cret"
    )
    async with agent(result({"id": "t"}), token=answer) as server:
        with pytest.raises(A2AAuthenticationError, match=says) as caught:
            await sent_with(server, manager, oauth(server))
    assert "s3cret" not in str(caught.value)


@pytest.mark.anyio
async def test_a_token_endpoint_that_is_not_there_raises(monkeypatch: pytest.MonkeyPatch):
    manager = keys(
        monkeypatch, AGENTVAULT_OAUTH_ACME__ECHO_CLIENT_ID="me", AGENTVAULT_OAUTH_ACME__ECHO_CLIENT_SECRET="s"
    )
    async with agent(result({})) as gone:
        missing = oauth(gone)
    async with agent(result({"id": "t"})) as server:
        with pytest.raises(A2AAuthenticationError, match="No token"):
            await sent_with(server, manager, missing)


@pytest.mark.anyio
async def test_a_scheme_without_a_token_endpoint_cannot_be_used(monkeypatch: pytest.MonkeyPatch):
    manager = keys(monkeypatch, AGENTVAULT_OAUTH_X_CLIENT_ID="i", AGENTVAULT_OAUTH_X_CLIENT_SECRET="s")
    login = Credentials(HttpFetcher(), trusted=True)
    with pytest.raises(A2AAuthenticationError, match="token endpoint"):
        await login.headers("x", [Scheme("oauth2", "x")], manager)
    with pytest.raises(A2AAuthenticationError, match="no scheme at all"):
        await login.headers("x", [], manager)
