"""Running a handler in the calling task: the first pause, the deadline, and cancellation in between."""

import asyncio
from types import coroutine
from typing import Any

import pytest

from pentad.mcp.deadlines import Deadline, FirstSuspend, absorb_cancellation

pytestmark = pytest.mark.anyio


class Told:
    """Counts how often it was called."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


async def quick() -> str:
    return "quick"


async def pausing(times: int = 1) -> str:
    for _ in range(times):
        await asyncio.sleep(0)
    return "paused"


@pytest.mark.requirement("mcp:supervision:first-pause")
async def test_a_handler_that_never_waits_is_never_noticed() -> None:
    told = Told()
    assert await FirstSuspend(quick(), told) == "quick"
    assert told.times == 0


@pytest.mark.parametrize("times", [1, 2, 20])
@pytest.mark.requirement("mcp:supervision:first-pause")
async def test_a_handler_that_waits_is_noticed_once(times: int) -> None:
    told = Told()
    assert await FirstSuspend(pausing(times), told) == "paused"
    assert told.times == 1


@pytest.mark.requirement("mcp:supervision:first-pause")
async def test_what_is_awaited_gives_its_value_and_runs_in_the_same_task() -> None:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    tasks: list[Any] = []

    async def work() -> str:
        tasks.append(asyncio.current_task())
        value = await future
        tasks.append(asyncio.current_task())
        return value

    asyncio.get_running_loop().call_soon(future.set_result, "given")
    assert await FirstSuspend(work(), Told()) == "given"
    assert set(tasks) == {asyncio.current_task()}


class Broken(Exception):
    pass


@pytest.mark.parametrize("pauses", [0, 1, 2])
@pytest.mark.requirement("mcp:supervision:first-pause")
async def test_an_exception_passes_as_it_is(pauses: int) -> None:
    async def work() -> None:
        await pausing(pauses)
        raise Broken("mine")

    with pytest.raises(Broken, match="mine"):
        await FirstSuspend(work(), Told())


@pytest.mark.requirement("mcp:supervision:first-pause")
async def test_an_exception_of_what_is_awaited_reaches_the_handler() -> None:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> str:
        try:
            return await future
        except Broken:
            await asyncio.sleep(0)
            return "caught"

    asyncio.get_running_loop().call_soon(future.set_exception, Broken())
    assert await FirstSuspend(work(), Told()) == "caught"


@pytest.mark.requirement("mcp:supervision:first-pause")
async def test_cancellation_reaches_the_handler_and_its_clean_up_may_wait() -> None:
    steps: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    async def run() -> None:
        await FirstSuspend(work(), Told())

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["cleaned up"]


@pytest.mark.requirement("mcp:supervision:first-pause")
async def test_a_handler_that_swallows_a_cancellation_goes_on() -> None:
    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            absorb_cancellation()
        await asyncio.sleep(0)
        return "went on"

    async def run() -> str:
        return await FirstSuspend(work(), Told())

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "went on"
    assert task.cancelling() == 0


@pytest.mark.requirement("mcp:supervision:first-pause")
async def test_values_sent_in_and_closing_reach_a_plain_coroutine() -> None:
    seen: list[Any] = []

    @coroutine
    def give() -> Any:
        try:
            seen.append((yield "first"))
            seen.append((yield "second"))
        finally:
            seen.append("closed")

    async def work() -> None:
        await give()

    steps = FirstSuspend(work(), Told()).__await__()
    assert next(steps) == "first"
    assert steps.send("answer") == "second"
    steps.close()
    assert seen == ["answer", "closed"]


@pytest.mark.requirement("mcp:limits:deadline")
async def test_a_deadline_cancels_what_waits_too_long_and_says_so() -> None:
    deadline = Deadline(0.001, Told())
    with pytest.raises(asyncio.CancelledError):
        await FirstSuspend(asyncio.Event().wait(), deadline.start)
    assert deadline.expired
    absorb_cancellation()
    assert "0.001 seconds" in deadline.error("It").message


@pytest.mark.requirement("mcp:limits:deadline")
async def test_no_deadline_runs_while_nothing_waits_or_while_it_is_disarmed() -> None:
    told = Told()
    deadline = Deadline(0.001, told)
    assert await FirstSuspend(quick(), deadline.start) == "quick"
    assert told.times == 0
    deadline.resume()
    deadline.cancel()
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, passed.set)
    await passed.wait()
    assert not deadline.expired


@pytest.mark.requirement("mcp:limits:deadline")
async def test_zero_seconds_means_no_deadline() -> None:
    deadline = Deadline(0, Told())
    assert await FirstSuspend(pausing(3), deadline.start) == "paused"
    assert not deadline.expired
