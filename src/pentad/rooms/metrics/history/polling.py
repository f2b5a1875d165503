"""Collects on a schedule, so that there is a history. Of several processes on one store, one polls.

A lease in the store says who; it runs out by itself when its holder is gone. Nothing is written before the first poll
is due, a few seconds after the start: a command that is over by then leaves no trace. Each job has its own turns, so
that a source which takes minutes holds up no other; looking whether one is due only reads.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from pentad.kernel.background import begun
from pentad.kernel.clock import Clock
from pentad.kernel.errors import PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.incidents import put_off
from pentad.kernel.ports import Database, Rows, Transaction

FIRST_SECONDS: Final = 5.0
LEASE_SECONDS: Final = 420.0
"""Longer than a poll takes, which ends at its own deadline."""

LOOK_SECONDS: Final = 5.0
TIDY: Final = "(retention)"
GAVE_UP: Final = "gave up"
TIDY_SECONDS: Final = 3_600.0

_log = logging.getLogger(__name__)


class Job(msgspec.Struct, frozen=True):
    """What is collected, for whom, and how often."""

    collector: str
    scope: str
    seconds: float


class Poller:
    """Runs jobs when they are due. `poll` collects and records one; `tidy` rolls up what is old."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        jobs: Sequence[Job],
        poll: Callable[[Job], Awaitable[object]],
        tidy: Callable[[], Awaitable[object]],
        *,
        look_seconds: float = LOOK_SECONDS,
        first_seconds: float = FIRST_SECONDS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._jobs = [*jobs, Job(TIDY, "", TIDY_SECONDS)] if jobs else []
        self._poll = poll
        self._tidy = tidy
        self._look = look_seconds
        self._first = first_seconds
        self._holder = str(uuid7(clock))
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._may_hold = False

    def start(self) -> None:
        """Begin to look for what is due."""
        if self._task is None and self._jobs:
            self._task = begun(self._run(), "metrics poller")

    async def stop(self) -> None:
        """End; a poll under way is given up, and its lease given back."""
        self._stopping.set()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._may_hold:  # whoever is stopped in the middle of taking or giving back a job may still have it
            try:
                await self._database.write(lambda tx: give_back(tx, self._holder))
            except PentadError as error:  # the lease runs out by itself
                put_off(error, "Giving back the poller's lease")

    async def _run(self) -> None:
        await self._wait(self._first)
        async with asyncio.TaskGroup() as turns:
            for job in self._jobs:
                turns.create_task(self._repeat(job))

    async def _repeat(self, job: Job) -> None:
        while not self._stopping.is_set():
            try:
                await self.run_if_due(job)
            except PentadError as error:
                put_off(error, f"The poll of {job.collector}")
            except Exception as error:  # noqa: BLE001  one collector that is broken must not end the others' polls
                _log.warning("The poll of %s failed: %s", job.collector, type(error).__name__)
            await self._wait(min(self._look, job.seconds))

    async def run_if_due(self, job: Job) -> bool:
        """Run a job if it is due and nobody else does; whether it was run."""
        now = self._clock.now()
        if not await self._database.read(lambda rows: is_due(rows, job, now)):
            return False
        self._may_hold = True
        if not await self._database.write(lambda tx: claim(tx, job, self._holder, now)):
            return False
        outcome = GAVE_UP
        try:
            await (self._tidy() if job.collector == TIDY else self._poll(job))
            outcome = "ok"
        except PentadError as error:
            outcome = error.code
            raise
        finally:
            ended = self._clock.now()
            await self._database.write(lambda tx: release(tx, job, self._holder, now, ended, outcome))
        return True

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()


def is_due(rows: Rows, job: Job, now: float) -> bool:
    """Whether it is worth trying to take a job: it is time, and nobody holds it."""
    row = rows.one(
        "SELECT due, holder, held_until FROM metric_polls WHERE collector = ? AND scope = ?", job.collector, job.scope
    )
    return row is None or (row[0] <= now and (row[1] is None or row[2] < now))


def claim(transaction: Transaction, job: Job, holder: str, now: float) -> bool:
    """Take a job that is due and that nobody holds."""
    transaction.run(
        "INSERT INTO metric_polls (collector, scope, due, holder, held_until) VALUES (?, ?, ?, NULL, 0)"
        " ON CONFLICT (collector, scope) DO NOTHING",
        job.collector, job.scope, now,
    )  # fmt: skip
    taken = transaction.run(
        "UPDATE metric_polls SET holder = ?, held_until = ? WHERE collector = ? AND scope = ? AND due <= ?"
        " AND (holder IS NULL OR held_until < ?)",
        holder, now + LEASE_SECONDS, job.collector, job.scope, now, now,
    )  # fmt: skip
    return taken == 1


def release(transaction: Transaction, job: Job, holder: str, began: float, ended: float, outcome: str) -> None:
    """Give a job back. It is due again one interval after it began; what took longer is not made up for. What was not
    brought to its end is due at once, for whoever comes next."""
    due = began if outcome == GAVE_UP else max(began + job.seconds, ended)
    transaction.run(
        "UPDATE metric_polls SET holder = NULL, held_until = 0, due = ?, polled = ?, outcome = ?"
        " WHERE collector = ? AND scope = ? AND holder = ?",
        due, ended, outcome, job.collector, job.scope, holder,
    )  # fmt: skip


def give_back(transaction: Transaction, holder: str) -> None:
    """Give back whatever is held; it is as due as it was."""
    transaction.run("UPDATE metric_polls SET holder = NULL, held_until = 0 WHERE holder = ?", holder)
