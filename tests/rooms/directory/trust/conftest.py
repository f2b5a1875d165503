"""Trust on each store."""

from collections.abc import AsyncIterator

import pytest

from tests.rooms.directory.records.parts import SETS, parts_over
from tests.rooms.directory.trust.opening import Site, site_over
from tests.stores import Stores


@pytest.fixture
async def site(stores: Stores) -> AsyncIterator[Site]:
    parts = parts_over(await stores.open(SETS))
    yield site_over(parts)
    await parts.stop()
