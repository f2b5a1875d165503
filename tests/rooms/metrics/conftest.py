"""A store with the tables of the room, in each dialect."""

import pytest

from pentad.kernel.ports import Database
from tests.rooms.metrics.history.samples import SETS
from tests.stores import Stores


@pytest.fixture
async def past(stores: Stores) -> Database:
    return await stores.open(SETS)
