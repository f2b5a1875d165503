"""The queue in SQL: dedupe, leases, fencing and dead letters."""

from collections.abc import AsyncIterator

import pytest

from pentad.jobs.job import Again, LeaseLost
from pentad.jobs.queue import JobQueue
from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Transaction
from tests.jobs.working import SETS, TurnedClock, claim, die, enqueue, rows
from tests.stores import Stores

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
async def queue(stores: Stores, clock: TurnedClock) -> AsyncIterator[JobQueue]:
    queue = JobQueue(await stores.open(SETS), clock)
    yield queue
    await queue.close()


@pytest.mark.requirement("jobs:outbox")
async def test_a_job_is_queued_with_the_transaction_or_not_at_all(queue: JobQueue):
    def work(tx: Transaction) -> None:
        queue.enqueue(tx, "t.a", {"n": 1})
        raise RuntimeError("undone")

    with pytest.raises(RuntimeError):
        await queue.database.write(work)
    assert await rows(queue) == []
    await enqueue(queue, "t.a", {"n": 1})
    (run,) = await claim(queue, "t.a")
    assert (run.payload, run.attempt, run.key) == ({"n": 1}, 1, None)


@pytest.mark.requirement("jobs:dedupe")
async def test_a_key_makes_one_job_of_many(queue: JobQueue, clock: TurnedClock):
    later = clock.now() + 100
    await enqueue(queue, "t.a", 1, key="k", run_at=later)
    await enqueue(queue, "t.a", 2, key="k", run_at=later + 100)
    assert await claim(queue, "t.a") == []
    await enqueue(queue, "t.a", 3, key="k")
    await enqueue(queue, "t.a", 4, key="other")
    await enqueue(queue, "t.b", 5, key="k")
    runs = await claim(queue, "t.a")
    assert sorted((run.key, run.payload) for run in runs) == [("k", 3), ("other", 4)]


@pytest.mark.requirement("jobs:dedupe")
async def test_what_is_enqueued_while_it_runs_runs_once_more(queue: JobQueue):
    await enqueue(queue, "t.a", 1, key="k")
    (run,) = await claim(queue, "t.a")
    await enqueue(queue, "t.a", 2, key="k")
    await enqueue(queue, "t.a", 3, key="k")
    assert await claim(queue, "t.a") == []
    await queue.database.write(run.finish)
    (again,) = await claim(queue, "t.a")
    assert (again.payload, again.attempt) == (3, 1)
    await queue.database.write(again.finish)
    assert await rows(queue) == []


async def test_a_job_that_waits_for_its_next_try_is_not_hurried_by_its_key(queue: JobQueue, clock: TurnedClock):
    await enqueue(queue, "t.a", key="k")
    (run,) = await claim(queue, "t.a")
    await queue.database.write(lambda tx: queue.retry(tx, run, "no", clock.now() + 50, run.attempt))
    await enqueue(queue, "t.a", key="k")
    assert await claim(queue, "t.a") == []
    clock.ahead += 51
    (again,) = await claim(queue, "t.a")
    assert again.attempt == 2


@pytest.mark.requirement("jobs:fencing")
async def test_a_process_that_lost_its_lease_cannot_write(stores: Stores, queue: JobQueue):
    await enqueue(queue, "t.a")
    (late,) = await claim(queue, "t.a")
    await die(queue)
    heir = JobQueue(await stores.open(SETS), queue.clock)
    assert await heir.database.read(heir.has_orphans)
    await heir.database.write(heir.adopt_orphans)
    for attempt in (late.check, late.finish):
        with pytest.raises(LeaseLost):
            await queue.database.write(attempt)
    (run,) = await claim(heir, "t.a")
    assert (run.attempt, run.lease > late.lease) == (2, True)
    for change in (
        lambda tx: queue.done(tx, late),
        lambda tx: queue.again(tx, late, Again(1.0)),
        lambda tx: queue.retry(tx, late, "late", 1.0, 1),
        lambda tx: queue.bury(tx, late, "late"),
    ):
        assert not await queue.database.write(change)
    assert await heir.database.write(lambda tx: heir.done(tx, run))
    assert await rows(heir) == []
    await heir.close()


async def test_a_living_process_is_no_orphan(stores: Stores, queue: JobQueue):
    other = JobQueue(await stores.open(SETS), queue.clock)
    await enqueue(queue, "t.a")
    assert await claim(queue, "t.a")
    assert not await other.database.read(other.has_orphans)
    await other.database.write(other.adopt_orphans)
    assert [row[2] for row in await rows(other)] == ["running"]


@pytest.mark.requirement("jobs:dead-letters")
async def test_dead_letters_are_listed_retried_and_forgotten(queue: JobQueue, clock: TurnedClock):
    for number in (1, 2):
        await enqueue(queue, "t.a", number, key=str(number))
    for run in await claim(queue, "t.a"):
        await queue.database.write(lambda tx, run=run: queue.bury(tx, run, f"broken {run.payload}"))
    found = await queue.stored(state="dead", name="t.a")
    assert sorted((one.payload, one.error, one.attempt) for one in found) == [(1, "broken 1", 1), (2, "broken 2", 1)]
    assert await queue.stored(state="dead", name="t.b") == []
    await queue.retry_dead(found[0].id)
    (run,) = await claim(queue, "t.a")
    assert (run.payload, run.attempt) == (found[0].payload, 1)
    await queue.forget_dead(found[1].id)
    assert await queue.stored(state="dead") == []
    for attempt in (queue.retry_dead(run.id), queue.forget_dead(found[1].id)):
        with pytest.raises(NotFound):
            await attempt


async def test_old_dead_letters_go_when_another_job_dies(queue: JobQueue, clock: TurnedClock):
    for number in (1, 2):
        await enqueue(queue, "t.a", number)
        (run,) = await claim(queue, "t.a")
        await queue.database.write(lambda tx, run=run: queue.bury(tx, run, "broken"))
        clock.ahead += 31 * 86_400
    assert [one.payload for one in await queue.stored(state="dead")] == [2]


async def test_a_dead_job_that_is_enqueued_again_comes_back_to_life(queue: JobQueue):
    await enqueue(queue, "t.a", 1, key="k")
    (run,) = await claim(queue, "t.a")
    await queue.database.write(lambda tx: queue.bury(tx, run, "broken"))
    await enqueue(queue, "t.a", 2, key="k")
    (again,) = await claim(queue, "t.a")
    assert (again.payload, again.attempt) == (2, 1)


async def test_a_held_job_is_left_to_others_when_it_is_given_back(stores: Stores, queue: JobQueue):
    await queue.database.write(lambda tx: queue.hold(tx, "t.a", "k", {"n": 1}))
    other = JobQueue(await stores.open(SETS), queue.clock)
    assert await claim(other, "t.a") == []
    await queue.database.write(lambda tx: queue.give_back(tx, "t.a", ["k"]))
    (run,) = await claim(other, "t.a")
    assert (run.payload, run.key) == ({"n": 1}, "k")
    assert await other.database.write(lambda tx: other.cancel(tx, "t.a", "k"))
    assert await rows(other) == []
    await other.close()


@pytest.mark.parametrize("unused", [(), ("hashjoin", "mergejoin", "hashagg", "sort", "material")])
async def test_no_more_jobs_are_claimed_than_asked_for_whatever_the_plan(queue: JobQueue, unused: tuple[str, ...]):
    await queue.database.write(lambda tx: [queue.enqueue(tx, "t.a", number) for number in range(8)])

    def claimed(tx: Transaction) -> int:
        if queue.database.dialect == "postgres":
            for part in unused:
                tx.run(f"SET LOCAL enable_{part} = off")
        return len(queue.claim(tx, "t.a", 2))

    assert await queue.database.write(claimed) == 2
