"""An open room over each store, with a clock that can be moved, and the trees of a city in it."""

from collections.abc import AsyncIterator

import pytest

from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import TurnedClock, opened, with_trees
from tests.stores import Stores


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
async def registers(stores: Stores, clock: TurnedClock) -> AsyncIterator[Registers]:
    async with opened(stores, clock) as registers:
        yield registers


@pytest.fixture
async def trees(registers: Registers) -> Pair:
    return await with_trees(registers)
