"""Workers: what is due runs once, retries, schedules, takeover, and leases that survive a blocked event loop."""

import asyncio
import time
from functools import partial
from typing import Any

import pytest

from pentad.jobs import leases
from pentad.jobs.job import Again, GiveUp, Job, JobRun, Retries, RetryLater, Schedule
from pentad.jobs.leases import CHANNEL
from pentad.jobs.queue import OVERDUE_SECONDS, JobQueue
from pentad.jobs.workers import Workers
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.kernel.trace import RequestMark, request_mark
from tests.jobs.working import SETS, StoppedClock, TurnedClock, claim, die, enqueue, process, rows, working
from tests.stores import Stores
from tests.waiting import until

pytestmark = pytest.mark.anyio


async def turn(queue: JobQueue, clock: TurnedClock, seconds: float) -> None:
    """Let time pass, and have the workers look."""
    clock.ahead += seconds
    await queue.database.write(lambda tx: tx.signal(CHANNEL))


@pytest.mark.requirement("jobs:one-runner")
async def test_each_job_is_run_by_one_of_several_processes(stores: Stores):
    ran: list[int] = []

    async def handler(_service: Any, run: JobRun) -> None:
        ran.append(run.payload)

    jobs = [Job("t.a", handler)]
    async with process(await stores.open(SETS), jobs) as one, process(await stores.open(SETS), jobs) as other:
        for number in range(40):
            await enqueue((one, other)[number % 2], "t.a", number)
        await until(lambda: rows(one), lambda found: not found)
    assert sorted(ran) == list(range(40))


@pytest.mark.requirement("jobs:needs")
async def test_a_job_that_needs_rooms_waits_for_a_process_that_has_them_all(stores: Stores):
    ran: list[tuple[str, Any]] = []

    async def handler(service: Any, run: JobRun) -> None:
        ran.append((service, run.payload))

    one, other = [JobQueue(await stores.open(SETS), SystemClock()) for _ in range(2)]
    one.rooms, other.rooms = ("agents", "myagents"), ("myagents", "registers", "agents")
    jobs = [Job("t.a", handler)]
    async with working(one, jobs, "one"):
        await enqueue(one, "t.a", "both", key="both", needs=("agents", "registers"))
        await enqueue(one, "t.a", "agents", needs=("agents",))
        await enqueue(one, "t.a", "none")
        found = await until(lambda: rows(one), lambda found: len(found) == 1)
        assert found == [("t.a", "both", "queued", 0, None)]
        async with working(other, jobs, "other"):
            await until(lambda: rows(one), lambda found: not found)
    assert sorted(ran) == [("one", "agents"), ("one", "none"), ("other", "both")]


@pytest.mark.requirement("jobs:missing-rooms")
async def test_rooms_that_overdue_jobs_need_are_named_where_they_are_not_open(stores: Stores):
    clock = TurnedClock()
    queue, other = [JobQueue(await stores.open(SETS), clock) for _ in range(2)]
    queue.rooms, other.rooms = ("agents",), ("agents", "metrics", "registers")
    await enqueue(queue, "t.a", key="waits", needs=("agents", "metrics"))
    await enqueue(queue, "t.a", key="runs", needs=("agents",))
    assert await queue.missing_rooms() == [], "they have only just been queued"
    clock.ahead += OVERDUE_SECONDS + 1
    await enqueue(queue, "t.a", key="new", needs=("registers",))
    assert (await queue.missing_rooms(), await other.missing_rooms()) == (["metrics"], [])
    assert {one.key: one.needs for one in await queue.stored()}["waits"] == ["agents", "metrics"]


async def test_a_job_runs_no_more_often_at_once_than_it_says(stores: Stores):
    running, most = 0, 0

    async def handler(_service: Any, run: JobRun) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            await asyncio.sleep(0.01)
        finally:  # a process that is held up loses its lease, and the run is cancelled
            running -= 1

    async with process(await stores.open(SETS), [Job("t.a", handler, concurrency=2)]) as queue:
        await queue.database.write(lambda tx: [queue.enqueue(tx, "t.a", number) for number in range(8)])
        await until(lambda: rows(queue), lambda found: not found)
    assert most == 2


@pytest.mark.requirement("jobs:retries")
async def test_a_job_that_fails_is_tried_again_and_then_lies_with_the_dead_letters(stores: Stores):
    clock, attempts = TurnedClock(), []

    async def handler(_service: Any, run: JobRun) -> None:
        attempts.append(run.attempt)
        raise Unavailable("The other side is away.")

    jobs = [Job("t.a", handler, retry=Retries(attempts=3, first=10.0))]
    async with process(await stores.open(SETS), jobs, clock) as queue:
        await enqueue(queue, "t.a", "letter")
        for number in (1, 2):
            await until(lambda: rows(queue), lambda found, n=number: found[0][2:4] == ("queued", n))
            await turn(queue, clock, 100)
        (dead,) = await until(partial(queue.stored, state="dead"))
        assert (dead.attempt, dead.payload) == (3, "letter")
        assert "The other side is away." in dead.error
    assert attempts == [1, 2, 3]


@pytest.mark.requirement("jobs:dead-letters")
async def test_a_job_that_gives_up_or_dies_of_a_mistake_says_so(stores: Stores):
    async def handler(_service: Any, run: JobRun) -> None:
        if run.payload == "give up":
            raise GiveUp("The receiver is gone.")
        raise RuntimeError("a secret of the handler")

    async with process(await stores.open(SETS), [Job("t.a", handler, retry=Retries(attempts=1))]) as queue:
        await enqueue(queue, "t.a", "give up")
        await enqueue(queue, "t.a", "mistake")
        found = await until(partial(queue.stored, state="dead"), lambda dead: len(dead) == 2)
        errors = {one.payload: one.error for one in found}
        assert errors["give up"] == "The receiver is gone."
        assert "secret" not in errors["mistake"]


async def test_a_handler_says_when_to_try_again_and_what_counts(stores: Stores):
    clock, attempts = TurnedClock(), []

    async def handler(_service: Any, run: JobRun) -> None:
        attempts.append(run.attempt)
        if len(attempts) < 4:
            raise RetryLater("later", after=1_000.0, progressed=len(attempts) == 3)

    async with process(await stores.open(SETS), [Job("t.a", handler)], clock) as queue:
        await enqueue(queue, "t.a")
        for number in (1, 2, 1):
            await until(lambda: rows(queue), lambda found, n=number: found[0][2:4] == ("queued", n))
            due = await queue.database.read(lambda rows: rows.value("SELECT run_at FROM jobs"))
            assert due > clock.now() + 900
            await turn(queue, clock, 5_000)
        await until(lambda: rows(queue), lambda found: not found)
    assert attempts == [1, 2, 3, 2]


async def test_a_handler_that_answers_again_runs_again_with_its_payload(stores: Stores):
    seen: list[Any] = []

    async def handler(_service: Any, run: JobRun) -> Again | None:
        seen.append((run.payload, run.attempt))
        return Again(0.0, run.payload + 1) if run.payload < 3 else None

    async with process(await stores.open(SETS), [Job("t.a", handler)]) as queue:
        await enqueue(queue, "t.a", 1)
        await until(lambda: rows(queue), lambda found: not found)
    assert seen == [(1, 1), (2, 1), (3, 1)]


async def test_a_job_that_takes_too_long_has_failed(stores: Stores):
    async def handler(_service: Any, run: JobRun) -> None:
        await asyncio.Event().wait()

    async with process(await stores.open(SETS), [Job("t.a", handler, retry=Retries(1), timeout=0.01)]) as queue:
        await enqueue(queue, "t.a")
        (dead,) = await until(partial(queue.stored, state="dead"))
        assert dead.error == "It took longer than 0.01 seconds."


@pytest.mark.requirement("jobs:schedules")
async def test_a_schedule_runs_in_one_process_and_again_when_it_is_due(stores: Stores):
    clock, ran = StoppedClock(), []

    async def handler(_service: Any, run: JobRun) -> None:
        ran.append(run.payload)
        if len(ran) == 2:
            raise Unavailable("This time it fails.")

    jobs = [Job("t.tick", handler, lambda _service: [Schedule(60.0, payload="tick")])]
    async with (
        process(await stores.open(SETS), jobs, clock) as one,
        process(await stores.open(SETS), jobs, clock),
    ):
        for number in (1, 2, 3):
            await until(lambda: _rested(one, ran), lambda count, n=number: count == n)
            due = await one.database.read(lambda rows: rows.value("SELECT run_at FROM jobs"))
            assert 50 < due - clock.now() <= 63
            await turn(one, clock, 70)
        await until(lambda: _rested(one, ran), lambda count: count == 4)
        assert await one.stored(state="dead") == []
    assert ran == ["tick"] * 4


@pytest.mark.requirement("jobs:schedules")
async def test_a_shorter_interval_holds_from_the_next_start(stores: Stores):
    clock, ran = StoppedClock(), []

    async def handler(_service: Any, run: JobRun) -> None:
        ran.append(run.payload)

    for every, longest in ((3600.0, 3780), (60.0, 63), (3600.0, 63)):
        jobs = [Job("t.tick", handler, lambda _service, every=every: [Schedule(every)])]
        async with process(await stores.open(SETS), jobs, clock) as queue:
            await until(lambda queue=queue: _rested(queue, ran), lambda count: count == 1)
            limit = clock.now() + longest
            await until(
                lambda queue=queue: queue.database.read(lambda found: found.value("SELECT run_at FROM jobs")),
                lambda due, limit=limit: due <= limit,
            )
    assert ran == [None]


async def _rested(queue: JobQueue, ran: list[Any]) -> int:
    """How often the job has run, if it is waiting; 0 while it is running."""
    count = len(ran)  # first: the job may run while the rows are read
    return count if any(row[2] == "queued" for row in await rows(queue)) else 0


async def test_a_schedule_that_is_no_longer_wanted_goes(stores: Stores):
    async def handler(_service: Any, run: JobRun) -> None:
        raise AssertionError

    async with process(await stores.open(SETS), [Job("t.tick", handler, lambda _: [Schedule(60.0, "new")])]) as queue:
        await enqueue(queue, "t.tick", key="old")
        await until(lambda: rows(queue), lambda found: [row[1] for row in found] == ["new"])


@pytest.mark.requirement("jobs:idle")
async def test_workers_with_nothing_to_do_write_nothing(stores: Stores):
    async def handler(_service: Any, run: JobRun) -> None:
        """Nothing."""

    database = await stores.open(SETS)
    writes: list[Any] = []
    write = database.write
    database.write = lambda work, **more: writes.append(work) or write(work, **more)
    workers = Workers(JobQueue(database, TurnedClock()))
    workers.add([Job("t.a", handler), Job("t.tick", handler, lambda _: [Schedule(60.0)])], None)
    workers.start()  # schedules begin after some seconds: a command that is over by then leaves no trace
    assert await workers.poll() > 0
    assert await workers.poll() > 0
    await workers.stop()
    assert writes == []
    assert await database.lookup("SELECT count(*) FROM job_workers") == (0,)


@pytest.mark.requirement("jobs:takeover")
async def test_what_a_dead_process_ran_is_run_by_another(stores: Stores):
    ran: list[Any] = []

    async def handler(_service: Any, run: JobRun) -> None:
        ran.append((run.payload, run.attempt))

    dead = JobQueue(await stores.open(SETS), TurnedClock())
    await enqueue(dead, "t.a", "left")
    assert await claim(dead, "t.a")
    await dead.database.write(lambda tx: dead.hold(tx, "t.a", "held", "held"))
    await die(dead)
    async with process(await stores.open(SETS), [Job("t.a", handler)]) as heir:
        await until(lambda: rows(heir), lambda found: not found)
        assert await heir.database.lookup("SELECT count(*) FROM job_workers WHERE id = ?", dead.worker) == (0,)
    assert sorted(ran) == [("held", 2), ("left", 2)]


async def test_a_job_that_loses_one_process_after_another_dies(stores: Stores):
    database = await stores.open(SETS)
    for _ in range(2):
        lost = JobQueue(database, TurnedClock())
        await enqueue(lost, "t.a", key="k")
        assert await claim(lost, "t.a")
        await die(lost)
        await lost.database.write(JobQueue(database, TurnedClock()).adopt_orphans)

    async def handler(_service: Any, run: JobRun) -> None:
        raise AssertionError

    async with process(database, [Job("t.a", handler, retry=Retries(attempts=2))]) as queue:
        (dead,) = await until(partial(queue.stored, state="dead"))
        assert "lost" in dead.error


@pytest.mark.requirement("jobs:blocked-loop")
async def test_a_blocked_event_loop_loses_no_lease(stores: Stores, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(leases, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(leases, "DEAD_SECONDS", 0.4)
    queue = JobQueue(await stores.open(SETS), TurnedClock())
    other = JobQueue(await stores.open(SETS), TurnedClock())
    await enqueue(queue, "t.a")
    assert await claim(queue, "t.a")
    time.sleep(1.0)  # nothing on this loop can run, the heartbeat's thread can
    assert not await other.database.read(other.has_orphans)
    await queue.close()
    assert await other.database.read(other.has_orphans), "without the heartbeat it is an orphan at once"
    await other.close()


async def test_the_heartbeat_rests_when_nothing_is_held_and_comes_back(stores: Stores, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(leases, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(leases, "DEAD_SECONDS", 0.1)
    queue = JobQueue(await stores.open(SETS), TurnedClock())

    async def beats() -> int:
        return await queue.database.read(lambda rows: rows.value("SELECT count(*) FROM job_workers"))

    for _ in range(2):
        await enqueue(queue, "t.a")
        (run,) = await claim(queue, "t.a")
        assert await beats() == 1
        await queue.database.write(run.finish)
        await until(beats, lambda count: count == 0)
    await queue.close()


@pytest.mark.requirement("jobs:shutdown")
async def test_a_process_that_ends_in_order_leaves_its_jobs_at_once(stores: Stores):
    began = asyncio.Event()
    ran: list[int] = []

    async def stuck(_service: Any, run: JobRun) -> None:
        began.set()
        await asyncio.Event().wait()

    async def handler(_service: Any, run: JobRun) -> None:
        ran.append(run.attempt)

    async with process(await stores.open(SETS), [Job("t.a", stuck)]) as leaving:
        await enqueue(leaving, "t.a")
        await asyncio.wait_for(began.wait(), 60)
    async with process(await stores.open(SETS), [Job("t.a", handler)]) as heir:
        await until(lambda: rows(heir), lambda found: not found)
    assert ran == [1], "the attempt that was cut short does not count"


async def test_a_process_that_was_only_slow_stops_what_another_has_taken_over(stores: Stores):
    began, stopped = asyncio.Event(), asyncio.Event()

    async def stuck(_service: Any, run: JobRun) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.set()
            raise

    async with process(await stores.open(SETS), [Job("t.a", stuck)]) as slow:
        await enqueue(slow, "t.a")
        await asyncio.wait_for(began.wait(), 60)
        await slow.database.write(
            lambda tx: tx.run("UPDATE jobs SET worker = 'another', lease = lease + 1, name = 't.b'")
        )
        await asyncio.wait_for(stopped.wait(), 60)


async def test_callers_can_wait_for_a_job_in_any_process(stores: Stores):
    go = asyncio.Event()

    async def handler(_service: Any, run: JobRun) -> None:
        await go.wait()

    jobs = [Job("t.a", handler)]
    asking = JobQueue(await stores.open(SETS), TurnedClock())
    async with process(await stores.open(SETS), jobs) as working:
        for queue in (working, asking):
            go.clear()
            await enqueue(queue, "t.a", key="k")
            assert not await queue.wait_until_done("t.a", "k", 0.01)
            go.set()
            assert await queue.wait_until_done("t.a", "k", 10.0)


async def test_a_job_that_is_declared_twice_or_by_the_wrong_room_is_refused(stores: Stores):
    async def handler(_service: Any, run: JobRun) -> None:
        """Nothing."""

    workers = Workers(JobQueue(await stores.open(SETS), TurnedClock()))
    workers.add([Job("t.a", handler)], None, room="t")
    for room in ("t", "other"):
        with pytest.raises(Misconfigured):
            workers.add([Job("t.a", handler)], None, room=room)


@pytest.mark.requirement("agents:durable:drain")
async def test_a_process_that_is_told_to_stop_claims_no_more_jobs(stores: Stores):
    database = await stores.open(SETS)
    queue, stopping = JobQueue(database, SystemClock()), asyncio.Event()
    workers = Workers(queue, stopping=stopping)
    ran = asyncio.Event()

    async def run(_service: object, _run: JobRun) -> None:
        ran.set()

    workers.add([Job("plain", run)], None)
    stopping.set()
    workers.start()
    await enqueue(queue, "plain")
    await workers.poll()
    await workers.stop()
    assert not ran.is_set()
    assert [row[2] for row in await rows(queue)] == ["queued"]
    await queue.close()


@pytest.mark.requirement("trace:jobs")
async def test_a_job_goes_on_with_the_trace_of_the_request_that_queued_it(stores: Stores):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    seen: list[tuple[Any, ...]] = []
    recorded: list[tuple[Any, ...]] = []

    async def handler(_service: Any, run: JobRun) -> None:
        mark = request_mark.get()
        seen.append((run.payload, run.trace, mark and mark.trace_id, mark and mark.principal))
        if run.payload == "bad":
            raise GiveUp("no")

    queue = JobQueue(await stores.open(SETS), SystemClock())
    for payload, mark in (("good", RequestMark("1", trace[3:35], trace, principal="user:ada")), ("bare", None)):
        token = request_mark.set(mark)
        await enqueue(queue, "t.a", payload)
        request_mark.reset(token)
    token = request_mark.set(RequestMark("1", "1" * 32, "1" * 32, principal="user:oda"))
    await enqueue(queue, "t.a", "bad")
    request_mark.reset(token)
    async with working(queue, [Job("t.a", handler)], record=recorded):
        await until(lambda: rows(queue), lambda found: [one[2] for one in found] == ["dead"])
    began = f"00-{'1' * 32}-{'1' * 16}-01"
    assert sorted(seen, key=str) == [
        ("bad", began, "1" * 32, "user:oda"),
        ("bare", None, None, None),
        ("good", trace, trace[3:35], "user:ada"),
    ]
    entries = sorted((one[1], one[2], one[3], one[4], one[8], one[9]) for one in recorded)
    assert entries == [
        ("user:ada", "t", "job t.a", "ok", "job", trace),
        ("user:oda", "t", "job t.a", "given up", "job", began),
    ]
