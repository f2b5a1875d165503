"""A library over each store."""

from pathlib import Path

import pytest

from tests.rooms.avatars.folders import SETS, HashedWords, Library
from tests.stores import Stores


@pytest.fixture
async def library(stores: Stores, tmp_path: Path) -> Library:
    """One without an embedding model."""
    return Library(await stores.open(SETS), tmp_path)


@pytest.fixture
async def hybrid(stores: Stores, tmp_path: Path) -> Library:
    """One with a model for tests."""
    return Library(await stores.open(SETS), tmp_path, HashedWords())
