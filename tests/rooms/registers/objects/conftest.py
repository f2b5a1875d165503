"""An open room over each store, empty for every test, with a clock that can be moved."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from pentad.jobs.queue import JobQueue
from pentad.kernel.default_limits import Limits
from pentad.kernel.ports import Embedder
from pentad.net.fetch import HttpFetcher
from pentad.platform import Platform
from pentad.rooms.registers.room import open_registers
from pentad.rooms.registers.service import Registers
from pentad.search.index import SearchIndex
from tests.rooms.registers.opening import SETS, TurnedClock
from tests.stores import Stores


@contextlib.asynccontextmanager
async def opened_idle(
    stores: Stores, clock: TurnedClock, embedder: Embedder | None = None
) -> AsyncGenerator[Registers]:
    """The room without workers: its jobs wait."""
    database = await stores.open(SETS)
    fetcher = HttpFetcher()
    index = SearchIndex(database, stores.data / "search", embedder)
    platform = Platform(database, clock, fetcher, stores.data, Limits(), {}, index, JobQueue(database, clock))
    try:
        async with open_registers(platform) as registers:
            yield registers
    finally:
        await fetcher.close()


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
async def registers(stores: Stores, clock: TurnedClock) -> AsyncIterator[Registers]:
    async with opened_idle(stores, clock) as registers:
        yield registers
