"""A queue and its workers over a real store, each as another process would have them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pentad.jobs.job import Job, JobRun
from pentad.jobs.queue import JobQueue
from pentad.jobs.workers import Workers
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.ports import Database
from pentad.storage.migrations import STORAGE, MigrationSet

SETS = (STORAGE, MigrationSet("jobs", "pentad.jobs.schema"))


class TurnedClock(SystemClock):
    """The machine's clock, moved ahead by what a test adds."""

    __slots__ = ("ahead",)

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


class StoppedClock(TurnedClock):
    """Time passes only when a test adds some."""

    __slots__ = ()

    def now(self) -> float:
        return self.ahead


@asynccontextmanager
async def working(
    queue: JobQueue, jobs: Sequence[Job[Any]], service: Any = None, record: list[tuple[Any, ...]] | None = None
) -> AsyncGenerator[Workers]:
    """Workers of a process; schedules begin at once."""
    recorded: list[tuple[Any, ...]] = [] if record is None else record
    workers = Workers(queue, first_seconds=0.0, record=recorded.append)
    workers.add(jobs, service)
    workers.start()
    try:
        yield workers
    finally:
        await workers.stop()
        await queue.close()


@asynccontextmanager
async def process(
    database: Database, jobs: Sequence[Job[Any]] = (), clock: Clock | None = None
) -> AsyncGenerator[JobQueue]:
    """A process with its own queue and workers."""
    queue = JobQueue(database, clock or SystemClock())
    async with working(queue, jobs):
        yield queue


async def enqueue(queue: JobQueue, name: str, payload: Any = None, **more: Any) -> None:
    await queue.database.write(lambda tx: queue.enqueue(tx, name, payload, **more))


async def claim(queue: JobQueue, name: str, most: int = 10) -> list[JobRun]:
    return await queue.database.write(lambda tx: queue.claim(tx, name, most))


async def rows(queue: JobQueue) -> list[tuple[Any, ...]]:
    """Name, key, state, attempt and error of every job."""
    return await queue.database.read(
        lambda rows: rows.all("SELECT name, key, state, attempt, error FROM jobs ORDER BY id")
    )


async def die(queue: JobQueue) -> None:
    """As if the process of the queue had been killed a while ago: its heartbeat is old and comes no more."""
    await asyncio.to_thread(queue._heartbeat.stop)
    await queue.database.write(lambda tx: tx.run("INSERT INTO job_workers (id, beat_at) VALUES (?, 1)", queue.worker))
