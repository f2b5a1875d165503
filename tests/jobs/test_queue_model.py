"""The queue against a model, over both stores: any order of enqueues, claims, ends and deaths of several processes."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.jobs.job import Again, JobRun
from pentad.jobs.queue import JobQueue
from tests.jobs.working import SETS, StoppedClock
from tests.stores import LentStores, PostgresServer, Stores

KEYS = st.sampled_from(["a", "b", "c"])
PROCESSES = st.integers(0, 2)
STEPS = st.one_of(
    st.tuples(st.just("enqueue"), PROCESSES, KEYS, st.sampled_from([0, 50])),
    st.tuples(st.just("claim"), PROCESSES, st.integers(1, 3)),
    st.tuples(st.sampled_from(["done", "again", "retry", "bury", "release"]), st.integers(0, 20)),
    st.tuples(st.just("die"), PROCESSES),
    st.tuples(st.just("pass"), st.sampled_from([10, 60])),
    st.tuples(st.just("revive"), st.integers(0, 5)),
)


@dataclass
class Model:
    """What one job of a key should look like."""

    state: str
    run_at: float
    attempt: int = 0
    worker: int | None = None
    again_at: float | None = None
    payload: Any = None


class World:
    """Three processes over one store, and the model beside them."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.clock = StoppedClock()
        self.jobs: dict[str, Model] = {}
        self.queues: list[JobQueue] = []
        self.taken: list[tuple[int, JobRun]] = []
        """Everything that was ever claimed, whether or not the lease is still good."""
        self.number = 0

    async def open(self) -> None:
        self.database = await self.stores.open(SETS)
        self.queues = [JobQueue(self.database, self.clock) for _ in range(3)]

    def holds(self, process: int, run: JobRun) -> bool:
        job = self.jobs.get(run.key or "")
        latest = [one for _, one in self.taken if one.key == run.key][-1]
        return job is not None and job.state == "running" and job.worker == process and latest is run

    async def step(self, kind: str, *given: Any) -> None:
        do = getattr(self, f"do_{kind}", None)
        await (self.end(kind, *given) if do is None else do(*given))

    async def do_enqueue(self, process: int, key: str, delay: float) -> None:
        self.number += 1
        at, queue = self.clock.ahead + delay, self.queues[process]
        await self.database.write(lambda tx: queue.enqueue(tx, "t", self.number, key=key, run_at=at))
        job = self.jobs.get(key)
        if job is None or job.state == "dead":
            self.jobs[key] = Model("queued", at, payload=self.number)
            return
        job.payload = self.number
        if job.state == "running":
            job.again_at = at if job.again_at is None else min(job.again_at, at)
        elif job.attempt == 0:
            job.run_at = min(job.run_at, at)

    async def do_claim(self, process: int, most: int) -> None:
        queue = self.queues[process]
        runs = await self.database.write(lambda tx: queue.claim(tx, "t", most))
        due = {key: job for key, job in self.jobs.items() if job.state == "queued" and job.run_at <= self.clock.ahead}
        assert len(runs) == min(most, len(due))
        assert {run.key for run in runs} <= set(due)
        for run in runs:
            job = due[run.key or ""]
            job.state, job.worker, job.attempt = "running", process, job.attempt + 1
            assert (run.payload, run.attempt) == (job.payload, job.attempt)
            assert all((run.id, run.lease) != (one.id, one.lease) for _, one in self.taken), "a token is given out once"
            self.taken.append((process, run))

    async def end(self, kind: str, which: int) -> None:
        if not self.taken:
            return
        process, run = self.taken[which % len(self.taken)]
        queue, later = self.queues[process], self.clock.ahead + 30
        works = {
            "done": lambda tx: queue.done(tx, run),
            "again": lambda tx: queue.again(tx, run, Again(later)),
            "retry": lambda tx: queue.retry(tx, run, "no", later, run.attempt),
            "bury": lambda tx: queue.bury(tx, run, "dead"),
            "release": lambda tx: queue.release(tx, [run]),
        }
        is_ours, key = self.holds(process, run), run.key or ""
        changed = await self.database.write(works[kind])
        if kind != "release":
            assert changed == is_ours, "only who holds the lease changes anything"
        if not is_ours:
            return
        job = self.jobs[key]
        job.worker, again, job.again_at = None, job.again_at, None
        if kind == "bury":
            job.state = "dead"
        elif kind == "done" and again is None:
            del self.jobs[key]
        else:
            job.state = "queued"
            if kind == "done":
                job.run_at, job.attempt = again or 0.0, 0
            elif kind == "again":
                job.run_at, job.attempt = min(later, again) if again is not None else later, 0
                job.payload = job.payload if again is not None else run.payload
            elif kind == "retry":
                job.run_at, job.attempt = later, run.attempt
            else:
                job.run_at, job.attempt = self.clock.ahead, job.attempt - 1

    async def do_die(self, process: int) -> None:
        dead, heir = self.queues[process], self.queues[(process + 1) % 3]
        await dead.close()
        self.queues[process] = JobQueue(self.database, self.clock)
        has_work = any(job.state == "running" and job.worker == process for job in self.jobs.values())
        assert await self.database.read(heir.has_orphans) == has_work
        await self.database.write(heir.adopt_orphans)
        for job in self.jobs.values():
            if job.state == "running" and job.worker == process:
                job.state, job.worker, job.run_at, job.again_at = "queued", None, self.clock.ahead, None
        self.taken = [(-1 if owner == process else owner, run) for owner, run in self.taken]
        self.queues.append(dead)  # so that -1 is a process which is gone and may still try to write

    async def do_pass(self, seconds: float) -> None:
        self.clock.ahead += seconds

    async def do_revive(self, which: int) -> None:
        dead = sorted(await self.queues[0].stored(state="dead"), key=lambda one: one.key or "")
        assert [one.key for one in dead] == sorted(key for key, job in self.jobs.items() if job.state == "dead")
        if dead:
            one = dead[which % len(dead)]
            await self.queues[0].retry_dead(one.id)
            job = self.jobs[one.key or ""]
            job.state, job.attempt, job.run_at = "queued", 0, self.clock.ahead

    async def check(self) -> None:
        found = await self.database.read(
            lambda rows: rows.all("SELECT key, state, run_at, attempt, payload, again_at FROM jobs ORDER BY key")
        )
        expected = [
            (key, job.state, job.run_at, job.attempt, str(job.payload), job.again_at)
            for key, job in sorted(self.jobs.items())
        ]
        compared = [row if row[1] != "dead" else (*row[:2], None, *row[3:]) for row in found]
        wanted = [row if row[1] != "dead" else (*row[:2], None, *row[3:]) for row in expected]
        running = [(*row[:2], None, *row[3:]) if row[1] == "running" else tuple(row) for row in compared]
        assert running == [(*row[:2], None, *row[3:]) if row[1] == "running" else row for row in wanted]


async def play(stores: Stores, steps: list[tuple[Any, ...]]) -> None:
    world = World(stores)
    await world.open()
    try:
        for step in steps:
            await world.step(*step)
            await world.check()
    finally:
        for queue in world.queues[:3]:
            await queue.close()
        await stores.close()


@pytest.mark.requirement("jobs:model")
@given(steps=st.lists(STEPS, min_size=5, max_size=25))
def test_the_queue_on_sqlite_does_as_the_model(steps: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory):
    folder: Path = tmp_path_factory.mktemp("model")
    asyncio.run(play(Stores(None, folder), steps))


@pytest.mark.requirement("jobs:model")
@given(steps=st.lists(STEPS, min_size=5, max_size=25))
def test_the_queue_on_postgres_does_as_the_model(steps: list[tuple[Any, ...]], postgres_server: PostgresServer):
    asyncio.run(play(LentStores(postgres_server, Path("/nonexistent")), steps))
