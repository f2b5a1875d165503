"""Requests to agents on this machine or in the operator's network (`local_agents`).

The fetcher refuses private addresses and plain http, because callers choose the target. The operator lists the hosts of
local agents; only requests to those may be private and unencrypted.
"""

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, Final

from pentad.kernel.errors import Forbidden, Misconfigured, PentadError
from pentad.kernel.ports import Fetched, Fetcher, Streamed
from pentad.net.urls import parse

_HINT: Final = "If it is an agent of yours, the operator can list its host in rooms.agents.local_agents."


class AgentFetcher:
    """Outgoing HTTP for agents: the server's fetcher, which also reaches local agents."""

    def __init__(self, fetcher: Fetcher, hosts: Sequence[str]) -> None:
        self._fetcher = fetcher
        self._origins = frozenset(origin for host in hosts for origin in _origins(host))

    async def fetch(self, url: str, *, trusted: bool = False, **options: Any) -> Fetched:
        with _named_setting():
            return await self._fetcher.fetch(url, trusted=trusted or self._is_local(url), **options)

    async def check(self, url: str, *, trusted: bool = False) -> None:
        with _named_setting():
            await self._fetcher.check(url, trusted=trusted or self._is_local(url))

    @asynccontextmanager
    async def stream(self, url: str, *, trusted: bool = False, **options: Any) -> AsyncGenerator[Streamed]:
        async with AsyncExitStack() as stack:
            with _named_setting():
                opened = self._fetcher.stream(url, trusted=trusted or self._is_local(url), **options)
                streamed = await stack.enter_async_context(opened)
            yield streamed

    def _is_local(self, url: str) -> bool:
        if not self._origins:
            return False
        target = parse(url)
        return (target.host, target.port) in self._origins


def _origins(host: str) -> list[tuple[str, int]]:
    """Host and port of an entry such as `localhost:9000`; without a port, the two default ports."""
    try:
        found = [parse(f"{scheme}://{host}/") for scheme in ("http", "https")]
    except PentadError:
        found = []
    if not found or any(target.path_and_query != "/" for target in found):
        raise Misconfigured(
            f"rooms.agents.local_agents: {host[:100]!r} is not a host.", hint="Write a host and a port: localhost:9000."
        )
    return [(target.host, target.port) for target in found]


@contextmanager
def _named_setting() -> Generator[None]:
    """Make errors about private addresses name the setting that allows them."""
    try:
        yield
    except Forbidden as error:
        if "fetch.allow_" in (error.hint or ""):
            error.hint = _HINT
        raise
