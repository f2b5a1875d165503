"""Polls run on schedule, in one of several processes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from pentad.jobs.job import Schedule
from pentad.jobs.leases import CHANNEL
from pentad.jobs.queue import JobQueue
from pentad.kernel.errors import Unavailable
from pentad.kernel.ports import Row
from pentad.rooms.metrics.room import JOBS
from tests.jobs.working import die, rows, working
from tests.rooms.metrics.history.samples import SETS
from tests.rooms.metrics.sources import TurnedClock
from tests.stores import Stores
from tests.waiting import until

pytestmark = pytest.mark.anyio
POLLS = [job for job in JOBS if job.name in ("metrics.poll", "metrics.retention")]
TOY = Schedule(60.0, "toy", jitter=0.0)


class Polled:
    """The room as the jobs know it."""

    def __init__(self, *polls: Schedule, poll: Callable[[str], Awaitable[None]] | None = None) -> None:
        self.done: list[tuple[str, str] | str] = []
        self._polls = polls
        self._poll = poll

    def polls(self) -> Sequence[Schedule]:
        return self._polls

    async def poll(self, collector: str, scope: str) -> None:
        self.done.append((collector, scope))
        if self._poll is not None:
            await self._poll(collector)

    async def roll_up(self) -> None:
        self.done.append("rolled up")

    def count(self, collector: str) -> int:
        return sum(one[0] == collector for one in self.done)


@asynccontextmanager
async def polling(stores: Stores, clock: TurnedClock, room: Polled) -> AsyncGenerator[JobQueue]:
    queue = JobQueue(await stores.open(SETS), clock)
    async with working(queue, POLLS, room):
        yield queue


async def rested(queue: JobQueue) -> list[Row]:
    """The error and the time of each schedule, once none runs."""
    await until(lambda: rows(queue), lambda found: found and all(row[2] == "queued" for row in found))
    return await queue.database.read(lambda rows: rows.all("SELECT key, error, run_at FROM jobs ORDER BY name, key"))


async def turn(queue: JobQueue, clock: TurnedClock, seconds: float) -> None:
    clock.turn(seconds)
    await queue.database.write(lambda tx: tx.signal(CHANNEL))


@pytest.mark.requirement("metrics:polling")
async def test_of_two_processes_one_polls_and_again_when_it_is_due(stores: Stores):
    clock, one, other = TurnedClock(), Polled(TOY), Polled(TOY)
    async with polling(stores, clock, one) as queue, polling(stores, clock, other):
        for count in (1, 2, 3):
            await until(lambda: rested(queue), lambda _, n=count: one.count("toy") + other.count("toy") == n)
            assert (await rested(queue))[0] == ("toy", None, clock.now() + 60)
            await turn(queue, clock, 59)
            await rested(queue)
            assert one.count("toy") + other.count("toy") == count
            await turn(queue, clock, 1)
    assert one.done.count("rolled up") + other.done.count("rolled up") == 1


async def test_a_poll_that_fails_is_tried_when_it_is_due(stores: Stores):
    async def broken(_collector: str) -> None:
        raise Unavailable("The source is away.")

    clock = TurnedClock()
    async with polling(stores, clock, Polled(TOY, poll=broken)) as queue:
        found = await until(lambda: rested(queue), lambda found: found[0][1])
        assert found[0] == ("toy", "The source is away.", clock.now() + 60)


async def test_what_a_dead_process_polled_is_polled_by_another_at_once(stores: Stores):
    clock, heir = TurnedClock(), Polled(TOY)
    dead = JobQueue(await stores.open(SETS), clock)
    await dead.database.write(lambda tx: dead.hold(tx, "metrics.poll", "toy"))
    await die(dead)
    async with polling(stores, clock, heir) as queue:
        await until(lambda: rested(queue), lambda _: heir.count("toy") == 1)


async def test_a_room_that_polls_nothing_keeps_no_schedule(stores: Stores):
    async with polling(stores, TurnedClock(), Polled()) as queue:
        await queue.database.write(lambda tx: tx.signal(CHANNEL))
        assert await rows(queue) == []


@pytest.mark.requirement("metrics:polling")
async def test_a_source_that_takes_long_holds_up_no_other(stores: Stores):
    never = asyncio.Event()

    async def poll(collector: str) -> None:
        if collector == "slow":
            await never.wait()

    room = Polled(Schedule(60.0, "slow"), Schedule(0.01, "quick"), poll=poll)
    clock = TurnedClock()
    async with polling(stores, clock, room) as queue:
        for count in (1, 2, 3):
            await until(lambda: rows(queue), lambda _, n=count: room.count("quick") >= n)
            await turn(queue, clock, 1)
    assert room.count("slow") == 1
    assert all(row[2] == "queued" for row in await rows(queue)), "a poll that is given up is left to the next process"
