"""Declarations of jobs, and the types their handlers receive and return.

    ROOM = Room(..., jobs=(Job("notes.index", index_note, retry=Retries(attempts=5)),))

    async def index_note(notes: Notes, run: JobRun) -> None:
        await notes.index(run.payload["note"])

A job is done when its handler returns. If it raises, the job runs again after a pause, until its attempts are used up.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct, field

from pentad.kernel.clock import Randomness, SystemRandomness
from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Rows, Transaction

S = TypeVar("S")
_RANDOMNESS: Final = SystemRandomness()


def chance(randomness: Randomness = _RANDOMNESS) -> float:
    """A number from 0 up to, but not including, 1."""
    return int.from_bytes(randomness.token_bytes(4), "big") / 2**32


class Retries(Struct, frozen=True):
    """How often a job is tried, and the pauses in between: exponential backoff with full jitter."""

    attempts: int | None = 8
    """None: no limit."""
    first: float = 1.0
    longest: float = 3_600.0

    def pause(self, attempt: int, randomness: Randomness = _RANDOMNESS) -> float:
        """Seconds to wait after that many failed attempts."""
        return min(self.first * 2.0 ** min(attempt - 1, 60), self.longest) * chance(randomness)

    def is_spent(self, attempt: int) -> bool:
        """Whether that was the last attempt."""
        return self.attempts is not None and attempt >= self.attempts


class Schedule(Struct, frozen=True):
    """Run a job at an interval, in one process at a time. Each key has its own schedule."""

    every: float
    key: str = "schedule"
    payload: Any = None
    jitter: float = 0.05
    """A share of the interval, added at random so that jobs do not all start together."""


class Job(Struct, Generic[S], frozen=True):
    """A kind of work. `name` begins with the name of the room, as in `registers.webhooks`."""

    name: str
    handler: "Callable[[S, JobRun], Awaitable[Again | None]]"
    schedules: Callable[[S], Sequence[Schedule]] | None = None
    """Called once, when the room is open. A scheduled job that fails waits for its next turn; it never dies."""
    retry: Retries = field(default_factory=Retries)
    concurrency: int = 4
    """How many run at once in one process."""
    timeout: float | None = 600.0


class Again(Struct, frozen=True):
    """Returned by a handler to run again at that time, with a fresh set of attempts."""

    at: float
    payload: Any = None
    """Replaces the payload unless it is None."""


class RetryLater(Exception):
    """Raised by a handler to retry after at least `after` seconds."""

    def __init__(self, problem: str, *, after: float = 0.0, progressed: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.after = after
        self.progressed = progressed
        """The handler made progress before it failed, so this counts as the first failure."""


class GiveUp(Exception):
    """Raised by a handler if a retry would not help: the job becomes a dead letter."""


class LeaseLost(Conflict):
    """Another process has taken over the job; this process can no longer write for it."""


class JobRun(Struct):
    """One attempt at a job, held by this process."""

    id: int
    name: str
    key: str | None
    payload: Any
    attempt: int
    """1 for the first try."""
    lease: int
    worker: str
    began: float
    trace: str | None = None
    """The `traceparent` of the request that queued the job."""
    principal: str | None = None
    """The principal on whose behalf it was queued."""
    needs: Sequence[str] = ()
    """The rooms that a process must have open to run it."""
    finished: bool = False

    def check(self, rows: Rows) -> None:
        """Call this in each transaction that writes for the job: if the job was taken over, it raises LeaseLost."""
        mine = rows.value(
            "SELECT 1 FROM jobs WHERE id = ? AND lease = ? AND state = 'running' AND worker = ?",
            self.id, self.lease, self.worker,
        )  # fmt: skip
        if mine is None:
            raise LeaseLost(f"Another process has taken over the job {self.name}.")

    def finish(self, tx: Transaction) -> None:
        """Finish the job in the same transaction as its last write; LeaseLost if it was taken over."""
        self.check(tx)
        remove(tx, self.id, self.lease)
        self.finished = True


def remove(tx: Transaction, job_id: int, lease: int) -> bool:
    """Delete a finished job, or queue it again if it was enqueued meanwhile; False if the lease was lost."""
    delete = "DELETE FROM jobs WHERE id = ? AND lease = ? AND state = 'running' AND again_at IS NULL"
    if tx.run(delete, job_id, lease):
        return True
    return bool(
        tx.run(
            "UPDATE jobs SET state = 'queued', run_at = again_at, again_at = NULL, attempt = 0, worker = NULL,"
            " error = NULL WHERE id = ? AND lease = ? AND state = 'running'",
            job_id, lease,
        )
    )  # fmt: skip
