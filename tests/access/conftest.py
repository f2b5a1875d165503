"""What the tests of access share: stores with its tables in both dialects, and hashes that cost next to nothing."""

from collections.abc import Iterator

import pytest

from pentad.access.passwords import HashCost, Passwords
from pentad.kernel.ports import Database
from pentad.storage.migrations import STORAGE, MigrationSet
from tests.stores import Stores

SETS = (STORAGE, MigrationSet("access", "pentad.access.schema"))


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    made = Passwords(HashCost(memory_kib=8, passes=1))
    yield made
    made.close()


@pytest.fixture
async def db(stores: Stores) -> Database:
    """An empty store, once for each dialect."""
    return await stores.open(SETS)


@pytest.fixture
async def other(db: Database, stores: Stores) -> Database:
    """The same store, as another process has it."""
    return await stores.open(SETS)
