"""Rates by address and the slots for callers without credentials."""

import asyncio
import json

import pytest

from pentad.access import anonymous
from pentad.access.anonymous import AddressBuckets, SlotQueue
from pentad.kernel.errors import Overloaded
from tests.behaviour.clocks import TurnedClock

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("access:anonymous:turns")
async def test_slots_are_few_and_given_in_order() -> None:
    slots, begun = SlotQueue(2), list[int]()
    held = [await slots.take(), await slots.take()]

    async def work(number: int) -> None:
        slot = await slots.take()
        begun.append(number)
        slot.release()
        slot.release()

    waiting = [asyncio.create_task(work(number)) for number in range(6)]
    await asyncio.sleep(0)
    assert begun == []
    held[0].release()
    for _ in range(30):
        turn = len(begun)
        await asyncio.sleep(0)
        assert len(begun) - turn <= 1, "a slot that is left is free in the next turn of the loop, not in this one"
    assert begun == list(range(6))
    await asyncio.gather(*waiting)


@pytest.mark.requirement("access:anonymous:turns")
async def test_who_gives_up_waiting_does_not_lose_the_slot_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymous, "WAITING_MOST", 2)
    slots = SlotQueue(1)
    held = await slots.take()
    first, second = asyncio.create_task(slots.take()), asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await slots.take()
    first.cancel()
    held.release()
    async with asyncio.timeout(60):
        slot = await second
        slot.release()
        (await slots.take()).release()
        third = await slots.take()
    assert third is not None


@pytest.mark.requirement("access:anonymous:rate")
def test_the_table_of_addresses_is_bounded_and_forgets_the_quietest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymous, "ADDRESSES_MOST", 3)
    clock = TurnedClock()
    buckets = AddressBuckets(1, 1, clock)
    for address in ("a", "b", "c"):
        assert buckets.spend(address) == 0
    assert buckets.spend("a") == 1
    assert buckets.spend("d") == 0
    assert buckets.spend("a") == 1, "it was heard of after b"
    assert buckets.spend("b") == 0
    assert len(json.dumps(sorted(buckets._buckets))) == len('["a", "b", "d"]')
