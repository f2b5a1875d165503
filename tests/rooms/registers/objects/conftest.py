"""An open room over each store, empty for every test, with a clock that can be moved; and the trees of a city in it.

A store is made once for a module and emptied between its tests: that is ten times cheaper than making one.
"""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from pentad.jobs.queue import JobQueue
from pentad.kernel.default_limits import Limits
from pentad.kernel.ports import Database, Embedder, Transaction
from pentad.net.fetch import HttpFetcher
from pentad.platform import Platform
from pentad.rooms.registers.room import open_registers
from pentad.rooms.registers.service import Registers
from pentad.search.index import SearchIndex
from tests.rooms.registers.opening import SETS, TurnedClock
from tests.stores import PostgresServer, Stores

TABLES = (
    "idempotency_keys", "plans", "views", "webhooks", "object_references", "object_changes", "object_text",
    "objects", "schemas", "registers", "organisation_members", "organisations",
)  # fmt: skip


class Shared:
    """One store of a module, with the handle all its tests use."""

    def __init__(self, stores: Stores, database: Database) -> None:
        self.stores = stores
        self.database = database

    def empty(self, tx: Transaction) -> None:
        if self.database.dialect == "sqlite":
            indexes = tx.all("SELECT name FROM sqlite_schema WHERE type = 'index' AND name GLOB '[ou]x_*'")
            tx.run("INSERT INTO object_text (object_text) VALUES ('delete-all')")
            tx.run("DELETE FROM sqlite_sequence")
        else:
            indexes = tx.all("SELECT indexname::text FROM pg_indexes WHERE indexname ~ '^[ou]x_'")
            for (name,) in tx.all("SELECT sequencename::text FROM pg_sequences WHERE sequencename !~ '^search'"):
                tx.run(f"ALTER SEQUENCE {name} RESTART")
        for table in TABLES:
            if table != "object_text" or self.database.dialect == "postgres":
                tx.run(f"DELETE FROM {table}")
        for (name,) in indexes:
            tx.run(f"DROP INDEX {name}")
        tx.run("UPDATE search_collections SET name = NULL")


@contextlib.asynccontextmanager
async def opened_over(
    shared: Shared, clock: TurnedClock, embedder: Embedder | None = None
) -> AsyncGenerator[Registers]:
    """The room over an emptied store."""
    await shared.database.write(shared.empty)
    fetcher = HttpFetcher()
    index = SearchIndex(shared.database, shared.stores.data / "search", embedder)
    platform = Platform(
        shared.database, clock, fetcher, shared.stores.data, Limits(), {}, index, JobQueue(shared.database, clock)
    )
    try:
        async with open_registers(platform) as registers:
            yield registers
    finally:
        await fetcher.close()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def shared(
    request: pytest.FixtureRequest, anyio_backend: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Shared]:
    with contextlib.ExitStack() as stack:
        url: str | None = None
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            url = stack.enter_context(server.empty_database())
        stores = Stores(url, tmp_path_factory.mktemp("registers"))
        try:
            yield Shared(stores, await stores.open(SETS))
        finally:
            await stores.close()


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
async def stores(shared: Shared) -> Stores:
    """For more handles on the store, as other processes would have them."""
    return shared.stores


@pytest.fixture
async def registers(shared: Shared, clock: TurnedClock) -> AsyncIterator[Registers]:
    async with opened_over(shared, clock) as registers:
        yield registers
