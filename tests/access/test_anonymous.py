"""Rates by address and the lane for callers without credentials."""

import asyncio
import json

import pytest

from pentad.access import anonymous
from pentad.access.anonymous import AddressBuckets, Lane
from pentad.kernel.errors import Overloaded
from tests.behaviour.clocks import TurnedClock

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("access:anonymous:turns")
async def test_a_lane_does_a_few_things_at_a_time_and_in_order() -> None:
    lane, begun = Lane(2), list[int]()
    places = [await lane.enter(), await lane.enter()]

    async def work(number: int) -> None:
        place = await lane.enter()
        begun.append(number)
        place.leave()
        place.leave()

    waiting = [asyncio.create_task(work(number)) for number in range(6)]
    await asyncio.sleep(0)
    assert begun == []
    places[0].leave()
    for _ in range(30):
        turn = len(begun)
        await asyncio.sleep(0)
        assert len(begun) - turn <= 1, "a place that is left is free in the next turn of the loop, not in this one"
    assert begun == list(range(6))
    await asyncio.gather(*waiting)


@pytest.mark.requirement("access:anonymous:turns")
async def test_who_gives_up_waiting_does_not_lose_the_place_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymous, "WAITING_MOST", 2)
    lane = Lane(1)
    held = await lane.enter()
    first, second = asyncio.create_task(lane.enter()), asyncio.create_task(lane.enter())
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await lane.enter()
    first.cancel()
    held.leave()
    async with asyncio.timeout(60):
        place = await second
        place.leave()
        (await lane.enter()).leave()
        third = await lane.enter()
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
