"""One piece of work serves all who ask while it is under way."""

import asyncio

import pytest

from pentad.access.single_flight import SingleFlight
from pentad.kernel.errors import Unavailable

pytestmark = pytest.mark.anyio


async def test_callers_at_once_share_one_piece_of_work() -> None:
    flight: SingleFlight[str, int] = SingleFlight()
    go, started = asyncio.Event(), 0

    async def work() -> int:
        nonlocal started
        started += 1
        await go.wait()
        return 7

    callers = [asyncio.create_task(flight.run("key", work)) for _ in range(5)]
    await asyncio.sleep(0)
    go.set()
    assert await asyncio.gather(*callers) == [7] * 5
    assert started == 1


async def test_work_is_done_anew_once_it_has_ended() -> None:
    flight: SingleFlight[str, int] = SingleFlight()
    answers = iter((1, 2))

    async def work() -> int:
        return next(answers)

    assert [await flight.run("key", work), await flight.run("key", work)] == [1, 2]


async def test_a_caller_that_gives_up_leaves_the_others_their_answer() -> None:
    flight: SingleFlight[str, int] = SingleFlight()
    go = asyncio.Event()

    async def work() -> int:
        await go.wait()
        return 7

    first = asyncio.create_task(flight.run("key", work))
    second = asyncio.create_task(flight.run("key", work))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    go.set()
    assert first.cancelled()
    assert await second == 7


async def test_a_failure_reaches_every_caller() -> None:
    flight: SingleFlight[str, int] = SingleFlight()

    async def work() -> int:
        await asyncio.sleep(0)
        raise Unavailable("away")

    outcomes = await asyncio.gather(*(flight.run("key", work) for _ in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 3
