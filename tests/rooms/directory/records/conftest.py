"""The record parts on each store."""

from collections.abc import AsyncIterator

import pytest

from tests.rooms.directory.records.parts import SETS, Parts, parts_over
from tests.stores import Stores


@pytest.fixture
async def parts(stores: Stores) -> AsyncIterator[Parts]:
    made = parts_over(await stores.open(SETS))
    yield made
    await made.stop()
