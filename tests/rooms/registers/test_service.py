"""The room as a whole: what it says of its size."""

import pytest

from pentad.rooms.registers.room import health
from tests.rooms.registers.opening import ADMIN, opened, with_trees
from tests.stores import Stores

pytestmark = pytest.mark.anyio


async def test_the_size_of_the_room_is_what_lives_in_it(stores: Stores) -> None:
    async with opened(stores) as registers:
        assert await health(registers) == {"registers": 0, "schemas": 0, "objects": 0}
        pair = await with_trees(registers)
        made = [await registers.objects.create(ADMIN, pair, {"number": number}) for number in ("T-1", "T-2", "T-3")]
        await registers.objects.delete(ADMIN, pair, made[0].uuid)
        assert await health(registers) == {"registers": 1, "schemas": 1, "objects": 2}
