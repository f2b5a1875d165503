"""A store with the room's tables, in each dialect, and what stands on it."""

import pytest

from pentad.app import CORE_SETS
from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Database
from pentad.rooms.agents.context.context_store import ContentStore
from pentad.rooms.agents.context.versions import ContextVersions
from pentad.storage.migrations import MigrationSet
from tests.stores import Stores

AGENTS = MigrationSet("agents", "pentad.rooms.agents.schema")


class Turned(SystemClock):
    """A clock that goes on when told."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = 1_800_000_000.0

    def now(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Turned:
    return Turned()


@pytest.fixture
async def database(stores: Stores) -> Database:
    return await stores.open([*CORE_SETS, AGENTS])


@pytest.fixture
def contents(database: Database, clock: Turned) -> ContentStore:
    return ContentStore(database, clock)


@pytest.fixture
def contexts(database: Database, clock: Turned) -> ContextVersions:
    return ContextVersions(database, clock)
