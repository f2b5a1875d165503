"""Runs jobs: finds due jobs, claims them, calls their handlers and stores the outcome.

Each process has one `Workers`. It wakes on a signal from the store, when a job is due, and every two seconds to check
whether another process has died. Polling only reads. One process at a time runs a job; if it dies, another claims the
job within seconds.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from pentad.jobs.job import Again, GiveUp, Job, JobRun, LeaseLost, RetryLater, Schedule, chance
from pentad.jobs.leases import CHANNEL
from pentad.jobs.queue import SOON_SECONDS, JobQueue
from pentad.kernel.background import Background
from pentad.kernel.clock import Randomness, SystemRandomness
from pentad.kernel.errors import Misconfigured, PentadError, Unavailable
from pentad.kernel.incidents import internal_error, log_failure
from pentad.kernel.ports import Rows, Transaction
from pentad.kernel.trace import RequestMark, request_mark, trace_id_of

FIRST_SECONDS: Final = 5.0
"""Schedules start this long after the process, so that a short command does not trigger them."""

_PAUSE_SECONDS: Final = 1.0
_LOST: Final = "The processes that ran it were lost, one after another."
_RANDOMNESS: Final = SystemRandomness()

_log = logging.getLogger(__name__)


def _no_record(entry: tuple[Any, ...]) -> None:
    """A null audit trail."""


def _continue_trace(run: JobRun) -> None:
    """Make the job's work part of the trace that queued it."""
    if run.trace is not None:
        request_mark.set(RequestMark(str(run.id), trace_id_of(run.trace), run.trace, principal=run.principal))


def _no_report(tx: Transaction, run: JobRun, problem: str) -> None:
    """The default for dead jobs: they are only logged."""


def _outcome_of(failure: Exception) -> str:
    if isinstance(failure, PentadError):
        return failure.code
    known: dict[type[Exception], str] = {RetryLater: "retry", GiveUp: "given up", TimeoutError: "timeout"}
    return known.get(type(failure), "internal")


class _Declared(Struct, frozen=True):
    job: Job[Any]
    service: Any
    schedules: Mapping[str, Schedule]


class _Poll(Struct, frozen=True):
    """The result of one poll."""

    due: Mapping[str, float]
    has_orphans: bool
    leases: set[tuple[int, int]] | None


class Workers:
    """The workers of one process. `add` the jobs of each room, then `start`."""

    def __init__(
        self,
        queue: JobQueue,
        *,
        first_seconds: float = FIRST_SECONDS,
        randomness: Randomness = _RANDOMNESS,
        stopping: asyncio.Event | None = None,
        record: Callable[[tuple[Any, ...]], None] = _no_record,
        on_dead: Callable[[Transaction, JobRun, str], None] = _no_report,
    ) -> None:
        self._on_dead = on_dead
        """Called in the transaction that makes a job a dead letter."""
        self._record = record
        """Adds a job that belongs to a trace to the audit trail."""
        self._stopping = stopping or asyncio.Event()
        """Once set, no more jobs are claimed; running ones have until `stop` to finish."""
        self._queue = queue
        self._database = queue.database
        self._clock = queue.clock
        self._first_seconds = first_seconds
        self._randomness = randomness
        self._declared: dict[str, _Declared] = {}
        self._running: dict[asyncio.Task[None], JobRun] = {}
        self._new_schedules: set[tuple[str, str]] = set()
        self._claiming: asyncio.Future[list[JobRun]] | None = None
        self._wake = asyncio.Event()
        self._background = Background()
        self._end: Callable[[], None] | None = None
        self._begin_schedules_at = 0.0

    def add(self, jobs: Sequence[Job[Any]], service: Any, *, room: str | None = None) -> None:
        """Run these jobs, passing the service to their handlers."""
        for job in jobs:
            if job.name in self._declared or (room is not None and not job.name.startswith(f"{room}.")):
                raise Misconfigured(
                    f"The job {job.name!r} is declared twice or does not begin with the name of its room.",
                    hint="Name it like `registers.webhooks`.",
                )
            schedules = () if job.schedules is None else job.schedules(service)
            self._declared[job.name] = _Declared(job, service, {one.key: one for one in schedules})
            self._new_schedules |= {(job.name, one.key) for one in schedules}

    def start(self) -> None:
        if self._declared:
            self._begin_schedules_at = self._clock.monotonic() + self._first_seconds
            self._end = self._database.listen(CHANNEL, self._on_signal)
            self._background.start(self._serve(), "jobs")

    async def stop(self) -> None:
        """Cancel the running jobs and release them to other processes at once."""
        if self._end is not None:
            self._end()
        await self._background.stop()
        left = dict(self._running)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        not_begun: list[JobRun] = []
        if self._claiming is not None:
            (claimed,) = await asyncio.gather(self._claiming, return_exceptions=True)
            not_begun = [] if isinstance(claimed, BaseException) else claimed
        if runs := [*left.values(), *not_begun]:
            try:
                await self._database.write(lambda tx: self._queue.release(tx, runs))
            except PentadError as error:  # other processes find them when our heartbeat stops
                log_failure(error, "Releasing the jobs of this process")

    def _on_signal(self, name: str) -> None:
        if not name or name in self._declared:
            self._wake.set()

    async def _serve(self) -> None:
        pause = 0.0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            self._wake.clear()
            try:
                pause = await self.poll()
            except PentadError as error:
                log_failure(error, "Looking for jobs")
                pause = _PAUSE_SECONDS
            except Exception:  # noqa: BLE001  without this loop no job would ever run
                _log.exception("Looking for jobs failed.")
                pause = _PAUSE_SECONDS

    async def poll(self) -> float:
        """Start the due jobs; returns the seconds until the next poll."""
        free = self._free()
        names, new_schedules = self._due_names(free)
        found = await self._database.read(lambda rows: self._read(rows, names))
        self._drop_lost(found.leases)
        now = self._clock.now()
        wanted = {name: free[name] for name in names if found.due.get(name, now + 1) <= now}
        wanted |= {name: free[name] for name, _ in new_schedules}
        if self._stopping.is_set():
            return SOON_SECONDS
        if wanted or found.has_orphans:
            # A separate task: jobs claimed while we are being stopped must be released again.
            self._claiming = asyncio.ensure_future(
                self._database.write(lambda tx: self._claim(tx, wanted, new_schedules, found.has_orphans))
            )
            claimed = await asyncio.shield(self._claiming)
            self._claiming = None
            self._new_schedules -= new_schedules
            for run in claimed:
                self._begin(run)
            if claimed or found.has_orphans:
                return 0.0
        waits = [due - now for name, due in found.due.items() if name not in wanted]
        return max(0.0, min([SOON_SECONDS, *waits]))

    def _free(self) -> dict[str, int]:
        """How many more jobs of each name may run in this process."""
        busy = Counter(run.name for run in self._running.values())
        free = {name: one.job.concurrency - busy[name] for name, one in self._declared.items()}
        return {name: count for name, count in free.items() if count > 0}

    def _due_names(self, free: Mapping[str, int]) -> tuple[list[str], set[tuple[str, str]]]:
        """The job names to poll now, and schedules that may not have a row yet."""
        if self._clock.monotonic() >= self._begin_schedules_at:
            return list(free), {one for one in self._new_schedules if one[0] in free}
        return [name for name in free if not self._declared[name].schedules], set()

    def _read(self, rows: Rows, names: Sequence[str]) -> _Poll:
        leases = self._queue.leases(rows) if self._running else None
        return _Poll(self._queue.due_at(rows, names), self._queue.has_orphans(rows), leases)

    def _claim(
        self, tx: Transaction, wanted: Mapping[str, int], new_schedules: set[tuple[str, str]], has_orphans: bool
    ) -> list[JobRun]:  # fmt: skip
        if has_orphans:
            self._queue.adopt_orphans(tx)
        for name, key in sorted(new_schedules):
            self._queue.add_schedule(tx, name, self._declared[name].schedules[key])
        return [run for name, most in wanted.items() for run in self._queue.claim(tx, name, most)]

    def _begin(self, run: JobRun) -> None:
        task = asyncio.get_running_loop().create_task(self._run(run), name=f"job {run.name}")
        self._running[task] = run
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        run = self._running.pop(task, None)
        if run is not None and not task.cancelled():
            self._queue.settled(run)
        self._wake.set()

    def _drop_lost(self, leases: set[tuple[int, int]] | None) -> None:
        """Cancel jobs that another process has taken over because this one seemed dead."""
        if leases is None:
            return
        for task, run in self._running.items():
            if (run.id, run.lease) not in leases and not run.finished:
                task.cancel()

    async def _run(self, run: JobRun) -> None:
        declared = self._declared[run.name]
        job, schedule = declared.job, declared.schedules.get(run.key or "")
        if declared.schedules and schedule is None:  # the settings no longer include it
            await self._store_outcome(lambda tx: self._queue.done(tx, run))
            return
        if schedule is None and job.retry.attempts is not None and run.attempt > job.retry.attempts:
            await self._bury(run, _LOST)
            return
        problem, failure = None, None
        outcome: Again | None = None
        _continue_trace(run)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(job.timeout):
                outcome = await job.handler(declared.service, run)
        except LeaseLost as error:
            log_failure(error, f"The job {run.name}")
            return
        except TimeoutError as error:
            failure = error
            problem = f"It took longer than {job.timeout} seconds."
            log_failure(Unavailable(problem), f"The job {run.name}")
        except (RetryLater, GiveUp) as error:
            failure, problem = error, str(error)
        except PentadError as error:
            failure, problem = error, error.sentence()
            log_failure(error, f"The job {run.name}")
        except Exception as error:  # noqa: BLE001  a handler may raise anything
            failure, problem = error, internal_error(error, f"The job {run.name}").sentence()
        self._audit(run, failure, started)
        if schedule is not None:
            at = run.began + schedule.every * (1 + schedule.jitter * chance(self._randomness))
            following = Again(max(at, self._clock.now()), schedule.payload)
            await self._store_outcome(lambda tx: self._queue.again(tx, run, following, problem))
        elif failure is not None:
            await self._failed(job, run, failure, problem or "")
        elif outcome is not None:
            await self._store_outcome(lambda tx: self._queue.again(tx, run, outcome))
        elif not run.finished:
            await self._store_outcome(lambda tx: self._queue.done(tx, run))

    def _audit(self, run: JobRun, failure: Exception | None, started: float) -> None:
        """Record a run that a request caused. Scheduled runs belong to no request and are not recorded."""
        if run.trace is None:
            return
        elapsed = int((time.perf_counter() - started) * 1_000_000)
        outcome = "ok" if failure is None else _outcome_of(failure)
        room = run.name.partition(".")[0]
        self._record(
            (time.time(), run.principal or "system", room, f"job {run.name}", outcome, elapsed, str(run.id), "", "job",
             run.trace, "", "")
        )  # fmt: skip

    async def _failed(self, job: Job[Any], run: JobRun, failure: Exception, problem: str) -> None:
        is_later = isinstance(failure, RetryLater)
        attempt = 1 if is_later and failure.progressed else run.attempt
        if isinstance(failure, GiveUp) or job.retry.is_spent(attempt):
            log_failure(Unavailable(problem), f"The job {run.name} was given up")
            await self._bury(run, problem)
            return
        pause = job.retry.pause(attempt, self._randomness)
        at = self._clock.now() + max(pause, failure.after if is_later else 0.0)
        await self._store_outcome(lambda tx: self._queue.retry(tx, run, problem, at, attempt))

    async def _bury(self, run: JobRun, problem: str) -> None:
        def work(tx: Transaction) -> bool:
            is_mine = self._queue.bury(tx, run, problem)
            if is_mine:
                self._on_dead(tx, run, problem)
            return is_mine

        await self._store_outcome(work)

    async def _store_outcome(self, work: Callable[[Transaction], bool]) -> None:
        """Store the outcome of a job. While the store is unavailable, keep the lease and try again."""
        while True:
            try:
                await self._database.write(work)
            except PentadError as error:
                log_failure(error, "Storing the outcome of a job")
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return
