"""The room over a real store, with a clock the tests can turn and a fetcher that may reach this machine."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from pentad.access.scopes import role_scopes
from pentad.access.secret_box import PLAIN, SecretBox
from pentad.app import CORE_SETS
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import SystemClock
from pentad.kernel.default_limits import Limits
from pentad.kernel.ports import Embedder
from pentad.kernel.principal import Principal
from pentad.net.addresses import networks
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from pentad.platform import Platform
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.room import ROOM, open_registers
from pentad.rooms.registers.service import Registers
from pentad.search.index import SearchIndex
from pentad.storage.migrations import MigrationSet
from tests.jobs.working import working
from tests.stores import Stores

SETS = (*CORE_SETS, MigrationSet("registers", "pentad.rooms.registers.schema"))
ADMIN = Caller(Principal("user:ada", "ada", role_scopes("admin")))
WRITER = Caller(Principal("user:wil", "wil", role_scopes("writer")))
OTHER = Caller(Principal("user:oda", "oda", role_scopes("writer")))

TREE: dict[str, Any] = {
    "title": "Tree",
    "slug": "tree",
    "required": ["number"],
    "properties": {
        "number": {"type": "string", "unique": True, "pattern": "^T-[0-9]+$"},
        "kind": {"enum": ["lime", "plane", "oak"], "facetable": True},
        "height": {"type": "number", "minimum": 0},
        "count": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"street": {"type": "string"}, "house": {"type": "integer"}}},
        "note": {"type": "string"},
    },
}


class TurnedClock(SystemClock):
    """The machine's clock, moved ahead by what a test adds."""

    __slots__ = ("ahead",)

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@asynccontextmanager
async def opened(
    stores: Stores,
    clock: SystemClock | None = None,
    embedder: Embedder | None = None,
    secret_box: SecretBox = PLAIN,
) -> AsyncGenerator[Registers]:
    """One more process's room on the store."""
    database = await stores.open(SETS)
    fetcher = HttpFetcher(FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True))
    index = SearchIndex(database, stores.data / "search", embedder)
    clock = clock or SystemClock()
    jobs = JobQueue(database, clock)
    platform = Platform(database, clock, fetcher, stores.data, Limits(), {}, index, jobs, secret_box=secret_box)
    try:
        async with open_registers(platform) as registers, working(jobs, ROOM.jobs, registers):
            yield registers
    finally:
        await fetcher.close()


async def with_trees(registers: Registers) -> Pair:
    """A register of trees, empty."""
    await registers.catalogue.schemas.create(ADMIN, TREE)
    await registers.catalogue.registers.create(ADMIN, {"title": "City", "slug": "city", "schemas": ["tree"]})
    return await registers.catalogue.pair(ADMIN, "city", "tree")
