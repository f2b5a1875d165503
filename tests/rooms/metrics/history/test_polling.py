"""Of several processes one polls, when it is time."""

import asyncio

import pytest

from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Unavailable
from pentad.rooms.metrics.history.polling import LEASE_SECONDS, Job, Poller
from tests.rooms.metrics.history.samples import SETS
from tests.rooms.metrics.sources import TurnedClock

JOB = Job("toy", "", 60.0)


def poller(database, clock, polled, **more):
    async def poll(job):
        polled.append(job)

    async def tidy():
        polled.append("tidy")

    return Poller(database, clock, [JOB], more.pop("poll", poll), tidy, **more)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:polling")
async def test_of_two_processes_one_polls_and_again_when_it_is_due(stores):
    clock, polled = TurnedClock(), []
    one = poller(await stores.open(SETS), clock, polled)
    other = poller(await stores.open(SETS), clock, polled)
    ran = await asyncio.gather(one.run_if_due(JOB), other.run_if_due(JOB))
    assert sorted(ran) == [False, True]
    clock.turn(59)
    assert not await other.run_if_due(JOB)
    clock.turn(1)
    assert await other.run_if_due(JOB)
    assert polled == [JOB, JOB]


@pytest.mark.anyio
async def test_while_one_polls_no_other_does_until_its_lease_is_over(stores):
    clock, polled = TurnedClock(), []
    began, end = asyncio.Event(), asyncio.Event()

    async def slow(job):
        began.set()
        await end.wait()

    busy = poller(await stores.open(SETS), clock, polled, poll=slow)
    other = poller(await stores.open(SETS), clock, polled)
    task = asyncio.create_task(busy.run_if_due(JOB))
    await began.wait()
    clock.turn(LEASE_SECONDS - 1)
    assert not await other.run_if_due(JOB)
    clock.turn(2)
    assert await other.run_if_due(JOB)
    end.set()
    assert await task


@pytest.mark.anyio
async def test_a_poll_that_fails_is_given_back_and_tried_when_it_is_due(past):
    clock = TurnedClock()

    async def broken(job):
        raise Unavailable("The source is away.")

    one = poller(past, clock, [], poll=broken)
    with pytest.raises(Unavailable):
        await one.run_if_due(JOB)
    row = await past.read(lambda rows: rows.one("SELECT holder, outcome, due FROM metric_polls"))
    assert row == (None, "unavailable", clock.now() + 60)


@pytest.mark.anyio
async def test_a_started_poller_polls_tidies_and_stops(past):
    polled = []
    done = asyncio.Event()

    async def poll(job):
        polled.append(job)
        done.set()

    one = poller(past, SystemClock(), polled, poll=poll, first_seconds=0.0, look_seconds=0.01)
    one.start()
    async with asyncio.timeout(10):
        await done.wait()
        while "tidy" not in polled:
            await asyncio.sleep(0.01)
    await one.stop()
    assert sorted(polled, key=str) == sorted([JOB, "tidy"], key=str)


@pytest.mark.anyio
async def test_a_process_that_ends_at_once_leaves_no_trace(past):
    one = poller(past, SystemClock(), [])
    one.start()
    await asyncio.sleep(0)
    await one.stop()
    assert await past.read(lambda rows: rows.value("SELECT count(*) FROM metric_polls")) == 0


@pytest.mark.anyio
@pytest.mark.requirement("metrics:polling")
async def test_a_source_that_takes_long_holds_up_no_other(past):
    never, often = asyncio.Event(), asyncio.Event()
    polled = []

    async def poll(job):
        polled.append(job.collector)
        if job.collector == "slow":
            await never.wait()
        if polled.count("quick") > 2:
            often.set()

    async def tidy():
        pass

    jobs = [Job("slow", "", 60.0), Job("quick", "", 0.01)]
    one = Poller(past, SystemClock(), jobs, poll, tidy, first_seconds=0.0, look_seconds=0.01)
    one.start()
    async with asyncio.timeout(10):
        await often.wait()
    await one.stop()
    assert polled.count("slow") == 1
    held = await past.read(lambda rows: rows.value("SELECT count(*) FROM metric_polls WHERE holder IS NOT NULL"))
    assert held == 0, "a poll that is given up gives its lease back"
