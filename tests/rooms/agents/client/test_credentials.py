"""Our client at a server that lets nobody in without a key."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.agentvault import KeyManager
from pentad.app import open_app
from pentad.http.application import http_application
from pentad.kernel.errors import Forbidden
from pentad.net.fetch import HttpFetcher
from pentad.rooms.agents.models import Dialect, Task
from pentad.settings.model import Settings
from tests.net.raw_http import running
from tests.rooms.agents.client.serving import HALL, fetching, remote_at, said

WAYS: list[tuple[Dialect, str]] = [("1.0", "JSONRPC"), ("1.0", "HTTP+JSON"), ("0.3", "JSONRPC")]


@pytest.fixture(scope="module")
async def closed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, str]]:
    """The address of a server, and a key to it."""
    settings = Settings(data=tmp_path_factory.mktemp("closed"), rooms=(HALL,))
    async with open_app(settings) as app:
        key = (await app.api_keys.create("me", scopes=["agents:read", "agents:write"])).token
        async with running(http_application(app), grace_seconds=1) as server:
            yield f"http://localhost:{server.port}", key


@pytest.fixture
async def fetcher() -> AsyncIterator[HttpFetcher]:
    async with fetching() as found:
        yield found


def keys(monkeypatch: pytest.MonkeyPatch, key: str, name: str) -> KeyManager:
    monkeypatch.setenv(f"AGENTVAULT_KEY_{name.upper()}", key)
    return KeyManager()


def service(site: str) -> str:
    """The name under which a card of a server asks for its key."""
    return site.removeprefix("http://").replace(":", "_")


@pytest.mark.anyio
@pytest.mark.parametrize("dialect", ["1.0", "0.3", "agentvault"])
async def test_a_key_opens_the_door_in_every_dialect(
    closed: tuple[str, str], fetcher: HttpFetcher, monkeypatch: pytest.MonkeyPatch, dialect: Dialect
):
    site, key = closed
    options: dict[str, Any] = {"trusted": True, "dialect": dialect}
    agent = await remote_at(f"{site}/agents/echo", fetcher, keys=keys(monkeypatch, key, service(site)), **options)
    task = await agent.send(said("hello"))
    assert isinstance(task, Task)
    assert task.state == "completed"
    named = keys(monkeypatch, key, "MINE")
    other = await remote_at(f"{site}/agents/echo", fetcher, keys=named, service="mine", **options)
    assert isinstance(await other.send(said("hello")), Task)


@pytest.mark.anyio
async def test_a_login_that_is_refused_is_not_our_callers_to_mend(
    closed: tuple[str, str], fetcher: HttpFetcher, monkeypatch: pytest.MonkeyPatch
):
    site, _ = closed
    url = f"{site}/agents/echo"
    nobody = await remote_at(url, fetcher, trusted=True)
    wrong = await remote_at(url, fetcher, trusted=True, keys=keys(monkeypatch, "pk_wrong", service(site)))
    for agent in (nobody, wrong):
        with pytest.raises(Forbidden) as caught:
            await agent.send(said("x"))
        assert (caught.value.details["reason"], caught.value.details["peer_code"]) == ("unauthenticated", 401)
        assert "rooms.agents.agent_keys" in (caught.value.hint or "")
        with pytest.raises(Forbidden):
            _ = [item async for item in agent.stream(said("x"))]
    empty = await remote_at(url, fetcher, trusted=True, keys=KeyManager(use_env_vars=False))
    with pytest.raises(Forbidden, match=f"no key for '{service(site)}'"):
        await empty.send(said("x"))
