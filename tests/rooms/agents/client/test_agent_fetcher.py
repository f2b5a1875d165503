"""Which hosts the requests to agents may reach."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pentad.kernel.errors import Forbidden, Misconfigured
from pentad.kernel.ports import Fetched, Streamed
from pentad.rooms.agents.client.agent_fetcher import AgentFetcher

pytestmark = pytest.mark.anyio


class Recording:
    """Says whether a request was trusted."""

    async def fetch(self, url: str, *, trusted: bool = False, **_options: Any) -> Fetched:
        return Fetched(200 if trusted else 403, {}, b"", url)

    async def check(self, url: str, *, trusted: bool = False) -> None:
        if not trusted:
            raise Forbidden("Plain http is not fetched.", hint="Use https, or set fetch.allow_http.")

    @asynccontextmanager
    async def stream(self, url: str, *, trusted: bool = False, **_options: Any) -> AsyncGenerator[Streamed]:
        async def nothing() -> AsyncGenerator[bytes]:
            return
            yield b""

        yield Streamed(200 if trusted else 403, {}, nothing(), url)


@pytest.mark.requirement("agents:elsewhere:local")
@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://localhost:9000/agents/a", 200),
        ("https://LOCALHOST:9000/", 200),
        ("http://agents.lan/x", 200),
        ("https://agents.lan/x", 200),
        ("http://localhost:9001/", 403),
        ("http://localhost/", 403),
        ("http://127.0.0.1:9000/", 403),
        ("http://localhost.example.com:9000/", 403),
        ("http://localhost:9000.example.com/", 403),
        ("http://agents.lan:8080/", 403),
    ],
)
async def test_only_listed_hosts_are_trusted(url: str, status: int) -> None:
    fetcher = AgentFetcher(Recording(), ["localhost:9000", "agents.lan"])
    if ".example" in url and ":9000." in url:
        with pytest.raises(Exception, match="URL"):
            await fetcher.fetch(url)
        return
    assert (await fetcher.fetch(url)).status == status
    async with fetcher.stream(url) as streamed:
        assert streamed.status == status
    if status == 200:
        await fetcher.check(url)
    else:
        with pytest.raises(Forbidden) as refused:
            await fetcher.check(url)
        assert "rooms.agents.local_agents" in (refused.value.hint or "")


@pytest.mark.requirement("agents:elsewhere:local")
@pytest.mark.parametrize("host", ["", "http://localhost", "localhost/agents", "a b", "user@localhost", "localhost:x"])
async def test_an_entry_that_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(Misconfigured, match="local_agents"):
        AgentFetcher(Recording(), [host])


async def test_refusals_of_the_agent_itself_keep_their_hint() -> None:
    fetcher = AgentFetcher(Recording(), ["localhost:9000"])
    with pytest.raises(Forbidden) as refused:
        async with fetcher.stream("http://localhost:9000/"):
            raise Forbidden("The agent refuses.", hint="Ask its owner.")
    assert refused.value.hint == "Ask its owner."
