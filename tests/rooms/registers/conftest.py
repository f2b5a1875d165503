"""What the tests of the registers room share."""

from collections.abc import AsyncIterator

import pytest

from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import opened, with_trees
from tests.rooms.registers.sites import fresh_site, site
from tests.stores import Stores

__all__ = ["fresh_site", "site"]


@pytest.fixture
async def registers(stores: Stores) -> AsyncIterator[Registers]:
    """The room over an empty store of each dialect."""
    async with opened(stores) as found:
        yield found


@pytest.fixture
async def trees(registers: Registers) -> Pair:
    """The trees of a city, none planted yet."""
    return await with_trees(registers)
