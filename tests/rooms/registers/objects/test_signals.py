"""Who follows an object or a pair hears of every change after it is durable, and of nothing that did not happen."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.kernel.errors import PentadError
from pentad.mcp.changes import CHANNEL
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN

pytestmark = pytest.mark.anyio


class Heard:
    """Everything told on MCP's channel, without the audiences; `so_far` waits for a mark that is sent last."""

    def __init__(self, registers: Registers) -> None:
        self._database = registers.platform.database
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self.stop = self._database.listen(CHANNEL, self._queue.put_nowait)

    async def so_far(self) -> list[str]:
        await self._database.write(lambda tx: tx.signal(CHANNEL, "mark"))
        heard: list[str] = []
        async with asyncio.timeout(60):
            while (told := await self._queue.get()) != "mark":
                heard.append(told.partition("\n")[0])
        return heard


@pytest.fixture
async def heard(registers: Registers, trees: Pair) -> AsyncIterator[Heard]:
    heard = Heard(registers)
    await heard.so_far()
    yield heard
    heard.stop()


async def test_a_change_is_told_for_the_object_and_its_pair(registers: Registers, trees: Pair, heard: Heard):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    assert await heard.so_far() == [f"resource {trees.uri}"]
    changes: list[Any] = [
        registers.objects.write(ADMIN, trees, Operation("patch", {"note": "x"}, made.uuid)),
        registers.objects.lock(ADMIN, trees, made.uuid),
        registers.objects.delete(ADMIN, trees, made.uuid),
        registers.objects.restore(ADMIN, trees, made.uuid),
        registers.history.revert(ADMIN, trees, made.uuid, version=1),
    ]
    for change in changes:
        await change
        assert sorted(await heard.so_far()) == [f"resource {trees.uri}", f"resource {made.uri}"]


async def test_nothing_is_told_of_what_did_not_happen(registers: Registers, trees: Pair, heard: Heard):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    await heard.so_far()
    await registers.objects.write(ADMIN, trees, Operation("patch", {"number": "T-1"}, made.uuid))
    with pytest.raises(PentadError):
        await registers.objects.bulk(
            ADMIN, trees, [Operation("patch", {"note": "x"}, made.uuid), Operation("create", {})], atomic=True
        )
    await registers.plans.make(ADMIN, trees, [Operation("patch", {"note": "x"}, made.uuid)])
    assert await heard.so_far() == []


async def test_what_a_cascade_touches_elsewhere_is_told_too(registers: Registers, trees: Pair, heard: Heard):
    tags = await pair_of(registers, "tag", {"tree": reference("tree", "SET_NULL")})
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    tag = await registers.objects.create(ADMIN, tags, {"tree": made.uuid})
    await heard.so_far()
    await registers.objects.delete(ADMIN, trees, made.uuid)
    assert {f"resource {tags.uri}", f"resource {tag.uri}", f"resource {trees.uri}"} <= set(await heard.so_far())


async def test_a_changed_catalogue_changes_the_list_of_resources(registers: Registers, heard: Heard):
    await registers.catalogue.registers.create(ADMIN, {"title": "New"})
    assert "list resources registers" in await heard.so_far()
