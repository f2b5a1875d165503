"""An index over a fresh store of each dialect."""

import pytest

from pentad.kernel.ports import Database
from pentad.search.index import SearchIndex
from tests.search.hashing import HashingEmbedder
from tests.search.opening import SETS
from tests.stores import Stores


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
async def database(stores: Stores) -> Database:
    return await stores.open(SETS)


@pytest.fixture
def index(database: Database, stores: Stores, embedder: HashingEmbedder) -> SearchIndex:
    return SearchIndex(database, stores.data / "search", embedder)
