"""The job queue in SQL. Rooms enqueue inside their own transactions; workers claim, finish and retry.

A job is queued, running or dead; a finished job is deleted. A running job belongs to a worker, which is a process with
a heartbeat. Every claim gives the job a new lease number, and every write of a worker names it, so a process that was
declared dead and comes back late changes nothing.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from pentad.jobs.job import Again, JobRun, Schedule, remove
from pentad.jobs.leases import CHANNEL, MISSED_SECONDS, Heartbeat, forget_dead_workers, is_alive, seconds_since_beat
from pentad.kernel import sql
from pentad.kernel.clock import Clock
from pentad.kernel.errors import NotFound
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.kernel.trace import Span, current_traceparent, request_mark

DEAD_DAYS: Final = 30.0
"""How long dead letters are kept."""

SOON_SECONDS: Final = 2.0
"""How often workers poll. Only jobs due sooner are signalled."""

OVERDUE_SECONDS: Final = 60.0
"""A due job that is queued for longer may be waiting for a room that no process has open."""

MOST_OF_TRACE: Final = 200
"""The most jobs that are read for a trace."""

_LONGEST_ERROR: Final = 2_000
_GONE: Final = "The process that ran it is gone."
_SIGNAL_RETRY: Final = 0.25
_ENQUEUE: Final = """
    INSERT INTO jobs (name, key, payload, run_at, created_at, updated_at, trace, principal, needs)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name, key) DO UPDATE SET
        payload = excluded.payload,
        needs = CASE WHEN excluded.needs = '' THEN jobs.needs ELSE excluded.needs END,
        trace = excluded.trace,
        principal = excluded.principal,
        again_at = CASE
            WHEN jobs.state <> 'running' THEN NULL
            WHEN jobs.again_at < excluded.run_at THEN jobs.again_at
            ELSE excluded.run_at END,
        run_at = CASE
            WHEN jobs.state = 'dead' THEN excluded.run_at
            WHEN jobs.state = 'running' OR jobs.attempt > 0 OR jobs.run_at < excluded.run_at THEN jobs.run_at
            ELSE excluded.run_at END,
        attempt = CASE WHEN jobs.state = 'dead' THEN 0 ELSE jobs.attempt END,
        error = CASE WHEN jobs.state = 'dead' THEN NULL ELSE jobs.error END,
        state = CASE WHEN jobs.state = 'dead' THEN 'queued' ELSE jobs.state END
"""
_HOLD: Final = """
    INSERT INTO jobs (name, key, payload, state, attempt, lease, worker, run_at, created_at, updated_at, needs)
    VALUES (?, ?, ?, 'running', 1, 1, ?, ?, ?, ?, ?)
    ON CONFLICT (name, key) DO UPDATE SET state = 'running', payload = excluded.payload, attempt = 1,
        needs = CASE WHEN excluded.needs = '' THEN jobs.needs ELSE excluded.needs END,
        lease = jobs.lease + 1, worker = excluded.worker, run_at = excluded.run_at, again_at = NULL, error = NULL,
        updated_at = excluded.updated_at
"""
_PUT_BACK: Final = (
    "UPDATE jobs SET state = 'queued', worker = NULL, lease = lease + 1, again_at = NULL, updated_at = ?, run_at = ?"
)


class StoredJob(Struct, frozen=True):
    """A job that has not finished."""

    id: int
    name: str
    key: str | None
    state: str
    payload: Any
    attempt: int
    error: str
    created_at: float
    updated_at: float
    run_at: float
    needs: Sequence[str]


class JobQueue:
    """One process's view of the queue. `worker` is the process's id."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self.clock = clock
        self.worker = opaque_id(size=12)
        self.rooms: Sequence[str] = ()
        """The rooms that are open in this process. Jobs that need others are left to other processes."""
        self._heartbeat = Heartbeat(database, self.worker)
        self._waiting: dict[tuple[str, str | None], asyncio.Event] = {}

    async def close(self) -> None:
        """Give up the leases of this process. Call this last."""
        await asyncio.to_thread(self._heartbeat.stop)

    # For rooms

    def enqueue(
        self,
        tx: Transaction,
        name: str,
        payload: Any = None,
        *,
        key: str | None = None,
        run_at: float | None = None,
        needs: Iterable[str] = (),
    ) -> None:
        """Queue a job as part of the transaction; by default it runs as soon as that is committed.

        A key makes it one job: a queued one takes the new payload and the earlier time, unless it is waiting to be
        retried. A running one runs once more afterwards. A dead one comes back to life. The job belongs to the trace of
        the current request; if several requests queued it, to the last one's. `needs` names the rooms that a process
        must have open to run it; a job that is already queued keeps its own by default.
        """
        now = self.clock.now()
        due = now if run_at is None else run_at
        mark = request_mark.get()
        principal = None if mark is None else mark.principal
        tx.run(
            _ENQUEUE,
            name, key, _encoded(payload), due, now, now, current_traceparent(), principal, "".join(map(_need, needs)),
        )  # fmt: skip
        if due - now < SOON_SECONDS:
            tx.signal(CHANNEL, name)

    async def retry_now(self, name: str) -> None:
        """Retry now the jobs of a name that are waiting after a failure, with a fresh set of attempts."""
        waiting = "name = ? AND state = 'queued' AND attempt > 0"
        if await self.database.lookup(f"SELECT 1 FROM jobs WHERE {waiting} LIMIT 1", name) is None:  # noqa: S608  constants
            return

        def work(tx: Transaction) -> None:
            now = self.clock.now()
            tx.run(f"UPDATE jobs SET attempt = 0, run_at = ?, updated_at = ? WHERE {waiting}", now, now, name)  # noqa: S608  constants
            tx.signal(CHANNEL, name)

        await self.database.write(work)

    def cancel(self, tx: Transaction, name: str | Sequence[str], key: str) -> bool:
        """Remove jobs in any state, by name and key. A running handler loses its lease."""
        names = (name,) if isinstance(name, str) else name
        marks = sql.marks(len(names))
        return bool(tx.run(f"DELETE FROM jobs WHERE name IN ({marks}) AND key = ?", *names, key))  # noqa: S608  marks

    def hold(self, tx: Transaction, name: str, key: str, payload: Any = None, *, needs: Iterable[str] = ()) -> None:
        """Start a job in this process, outside the workers. If the process dies, another one takes it over.

        `cancel` ends it, `give_back` leaves it to others. `needs` is as in `enqueue`; by default it stays as it was.
        """
        self._heartbeat.hold(tx)
        now = self.clock.now()
        tx.run(_HOLD, name, key, _encoded(payload), self.worker, now, now, now, "".join(map(_need, needs)))

    def give_back(self, tx: Transaction, name: str, keys: Iterable[str]) -> None:
        """Release held jobs, so that any worker can claim them."""
        now = self.clock.now()
        for key in keys:
            tx.run(f"{_PUT_BACK} WHERE name = ? AND key = ? AND worker = ?", now, now, name, key, self.worker)
        tx.signal(CHANNEL, name)

    def held(self, rows: Rows, name: str) -> set[str]:
        """The keys of the jobs of a name that this process runs."""
        sql = "SELECT key FROM jobs WHERE worker = ? AND state = 'running' AND name = ?"
        return {key for (key,) in rows.all(sql, self.worker, name) if key is not None}

    def is_queued(self, rows: Rows, name: str, key: str) -> bool:
        """Whether a job waits for a worker."""
        return rows.value("SELECT 1 FROM jobs WHERE name = ? AND key = ? AND state = 'queued'", name, key) is not None

    async def is_pending(self, name: str, key: str) -> bool:
        """Whether a job is queued or running, in any process."""
        sql = "SELECT 1 FROM jobs WHERE name = ? AND key = ? AND state <> 'dead'"
        return await self.database.lookup(sql, name, key) is not None

    async def wait_until_done(self, name: str, key: str, seconds: float) -> bool:
        """Wait until a job is done or dead, in any process; False after the timeout."""
        done = self._waiting.setdefault((name, key), asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                while await self.is_pending(name, key):
                    try:
                        async with asyncio.timeout(_SIGNAL_RETRY):  # a worker of another process only updates the store
                            await done.wait()
                    except TimeoutError:
                        continue
                    done.clear()
        except TimeoutError:
            return False
        finally:
            self._waiting.pop((name, key), None)
        return True

    # For administration

    async def stored(
        self, *, state: str | None = None, name: str | None = None, job_id: int | None = None, limit: int = 100
    ) -> list[StoredJob]:
        """Unfinished jobs, by default of every state, most recently changed first."""
        given = {"state": state, "name": name, "id": job_id}
        where = " AND ".join(f"{column} = ?" for column, value in given.items() if value is not None) or "1 = 1"
        found = await self.database.read(
            lambda rows: rows.all(
                "SELECT id, name, key, state, payload, attempt, error, created_at, updated_at, run_at, needs FROM jobs"  # noqa: S608  constants
                f" WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?",
                *(value for value in given.values() if value is not None), limit,
            )
        )  # fmt: skip
        return [_stored(row) for row in found]

    def of_trace(self, rows: Rows, trace_id: str, principal: str | None) -> list[Span]:
        """Unfinished jobs of a trace, of one principal or of all."""
        found = rows.all(
            "SELECT name, state, principal, trace, created_at, updated_at FROM jobs WHERE trace >= ? AND trace < ?"
            " AND (principal = ? OR ? = 1) ORDER BY id LIMIT ?",
            f"00-{trace_id}-", f"00-{trace_id}.", principal or "", int(principal is None), MOST_OF_TRACE,
        )  # fmt: skip
        return [
            Span("job", name.partition(".")[0], name, created_at, updated_at - created_at if state == "dead" else None,
                 state, who or "", parent_span_id=trace[36:52])
            for name, state, who, trace, created_at, updated_at in found
        ]  # fmt: skip

    async def counts(self) -> dict[str, int]:
        """The number of jobs in each state."""
        found = await self.database.read(lambda rows: rows.all("SELECT state, COUNT(*) FROM jobs GROUP BY state"))
        return {"queued": 0, "running": 0, "dead": 0, **dict(found)}

    async def missing_rooms(self) -> list[str]:
        """The rooms that overdue jobs need and this process does not have open; no other process took the jobs."""
        sql = (
            "SELECT DISTINCT needs FROM jobs"  # noqa: S608  marks
            f" WHERE state = 'queued' AND run_at <= ? AND {self._missing_needs()} <> ''"
        )
        before = self.clock.now() - OVERDUE_SECONDS
        found = await self.database.read(lambda rows: rows.all(sql, before, *map(_need, self.rooms)))
        return sorted({room for (needs,) in found for room in _needed_rooms(needs)}.difference(self.rooms))

    async def retry_dead(self, job_id: int) -> None:
        """Queue a dead letter again, with a fresh set of attempts."""
        await self._change_dead(job_id, "UPDATE jobs SET state = 'queued', attempt = 0, run_at = ?", self.clock.now())

    async def forget_dead(self, job_id: int) -> None:
        await self._change_dead(job_id, "DELETE FROM jobs")

    async def _change_dead(self, job_id: int, statement: str, *params: float) -> None:
        def work(tx: Transaction) -> None:
            if not tx.run(f"{statement} WHERE id = ? AND state = 'dead'", *params, job_id):
                raise NotFound(f"There is no dead job {job_id}.", hint="List the dead jobs to see their ids.")
            tx.signal(CHANNEL)

        await self.database.write(work)

    # For workers

    def due_at(self, rows: Rows, names: Iterable[str]) -> dict[str, float]:
        """When the next job of each name is due."""
        sql = f"SELECT min(run_at) FROM jobs WHERE name = ? AND state = 'queued' AND {self._missing_needs()} = ''"  # noqa: S608  marks
        rooms = [_need(room) for room in self.rooms]
        found = {name: rows.value(sql, name, *rooms) for name in names}
        return {name: due for name, due in found.items() if due is not None}

    def has_orphans(self, rows: Rows) -> bool:
        """Whether a process died while it ran a job."""
        alive = is_alive(self.database.dialect, "j.worker")
        sql = f"SELECT 1 FROM jobs j WHERE j.state = 'running' AND j.worker <> ? AND NOT {alive} LIMIT 1"  # noqa: S608  constants
        return rows.value(sql, self.worker) is not None

    def adopt_orphans(self, tx: Transaction) -> None:
        """Queue the jobs of dead processes again."""
        now = self.clock.now()
        alive = is_alive(self.database.dialect, "jobs.worker")
        tx.run(
            f"{_PUT_BACK}, error = ? WHERE state = 'running' AND worker <> ? AND NOT {alive}",
            now, now, _GONE, self.worker,
        )  # fmt: skip
        forget_dead_workers(tx, self.database.dialect)

    def take_from(self, tx: Transaction, name: str, worker: str) -> None:
        """Queue the jobs of a name that another process holds. If that process is still alive, it loses them."""
        now = self.clock.now()
        tx.run(
            f"{_PUT_BACK}, error = ? WHERE name = ? AND state = 'running' AND worker = ?", now, now, _GONE, name, worker
        )
        tx.signal(CHANNEL, name)

    def seconds_since_beat(self, rows: Rows, worker: str) -> float | None:
        """The seconds since the last heartbeat of a process; None if it holds no jobs."""
        return seconds_since_beat(rows, self.database.dialect, worker)

    def declare_dead(self, tx: Transaction, worker: str) -> None:
        """Release all jobs of a process whose database session has ended, unless its heartbeat continues."""
        seconds = self.seconds_since_beat(tx, worker)
        if seconds is not None and seconds >= MISSED_SECONDS:
            tx.run("DELETE FROM job_workers WHERE id = ?", worker)
            tx.signal(CHANNEL)

    def claim(self, tx: Transaction, name: str, most: int) -> list[JobRun]:
        """Claim due jobs, longest due first."""
        now = self.clock.now()
        lock = " FOR UPDATE SKIP LOCKED" if self.database.dialect == "postgres" else ""
        found = tx.all(
            # Without MATERIALIZED PostgreSQL may run the LIMIT again for every row it joins, and claim more than that.
            "WITH due AS MATERIALIZED (SELECT id FROM jobs WHERE name = ? AND state = 'queued' AND run_at <= ?"  # noqa: S608  marks
            f" AND {self._missing_needs()} = '' ORDER BY run_at, id LIMIT ?{lock})"
            " UPDATE jobs SET state = 'running', worker = ?, lease = lease + 1, attempt = attempt + 1, updated_at = ?"
            " WHERE id IN (SELECT id FROM due)"
            " RETURNING id, name, key, payload, attempt, lease, trace, principal, needs",
            name, now, *map(_need, self.rooms), most, self.worker, now,
        )  # fmt: skip
        if found:
            self._heartbeat.hold(tx)
        return [
            JobRun(
                job_id,
                name,
                key,
                msgspec.json.decode(payload),
                attempt,
                lease,
                self.worker,
                now,
                trace,
                principal,
                _needed_rooms(needs),
            )
            for job_id, name, key, payload, attempt, lease, trace, principal, needs in found
        ]

    def _missing_needs(self) -> str:
        """SQL: the needs of a job without the rooms of this process, which are its parameters."""
        count = len(self.rooms)
        return "replace(" * count + "needs" + ", ?, '')" * count

    def leases(self, rows: Rows) -> set[tuple[int, int]]:
        """The leases of this process, as (id, lease)."""
        sql = "SELECT id, lease FROM jobs WHERE worker = ? AND state = 'running'"
        return {(job_id, lease) for job_id, lease in rows.all(sql, self.worker)}

    def done(self, tx: Transaction, run: JobRun) -> bool:
        """Finish a job; False if the lease was lost, in which case nothing changes."""
        return remove(tx, run.id, run.lease)

    def again(self, tx: Transaction, run: JobRun, again: Again, error: str | None = None) -> bool:
        """Queue the job for later, with a fresh set of attempts."""
        payload = run.payload if again.payload is None else again.payload
        return bool(
            tx.run(
                "UPDATE jobs SET state = 'queued', worker = NULL, attempt = 0, payload = CASE WHEN again_at IS NULL"
                " THEN ? ELSE payload END, error = ?, updated_at = ?,"
                " run_at = CASE WHEN again_at < ? THEN again_at ELSE ? END, again_at = NULL"
                " WHERE id = ? AND lease = ? AND state = 'running'",
                _encoded(payload), _short(error), self.clock.now(), again.at, again.at, run.id, run.lease,
            )
        )  # fmt: skip

    def retry(self, tx: Transaction, run: JobRun, error: str, at: float, attempt: int) -> bool:
        """Queue the job for another attempt."""
        return bool(
            tx.run(
                "UPDATE jobs SET state = 'queued', worker = NULL, attempt = ?, error = ?, run_at = ?, again_at = NULL,"
                " updated_at = ? WHERE id = ? AND lease = ? AND state = 'running'",
                attempt, _short(error), at, self.clock.now(), run.id, run.lease,
            )
        )  # fmt: skip

    def bury(self, tx: Transaction, run: JobRun, error: str) -> bool:
        """Make the job a dead letter, and delete old dead letters."""
        now = self.clock.now()
        tx.run("DELETE FROM jobs WHERE state = 'dead' AND updated_at < ?", now - DEAD_DAYS * 86_400)
        return bool(
            tx.run(
                "UPDATE jobs SET state = 'dead', worker = NULL, error = ?, again_at = NULL, updated_at = ?"
                " WHERE id = ? AND lease = ? AND state = 'running'",
                _short(error), now, run.id, run.lease,
            )
        )  # fmt: skip

    def release(self, tx: Transaction, runs: Sequence[JobRun]) -> None:
        """Release unfinished jobs, as if they had not been tried."""
        now = self.clock.now()
        for run in runs:
            tx.run(
                f"{_PUT_BACK}, attempt = attempt - 1 WHERE id = ? AND lease = ? AND state = 'running'",
                now, now, run.id, run.lease,
            )  # fmt: skip
        tx.signal(CHANNEL)

    def add_schedule(self, tx: Transaction, name: str, schedule: Schedule) -> None:
        """Insert the row of a schedule, due now. If it exists from a time with a longer interval, it is due earlier."""
        now = self.clock.now()
        latest = now + schedule.every * (1 + schedule.jitter)
        tx.run(
            "INSERT INTO jobs (name, key, payload, run_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (name, key) DO UPDATE SET run_at = ? WHERE jobs.state = 'queued' AND jobs.run_at > ?",
            name, schedule.key, _encoded(schedule.payload), now, now, now, latest, latest,
        )  # fmt: skip

    def settled(self, run: JobRun) -> None:
        """Wake callers in this process that are waiting for the job."""
        if (waiting := self._waiting.get((run.name, run.key))) is not None:
            waiting.set()


def _need(room: str) -> str:
    """A room in the column `needs`, delimited so that it never matches a part of another name."""
    return f";{room};"


def _needed_rooms(needs: str) -> list[str]:
    return [room for room in needs.split(";") if room]


def _encoded(payload: Any) -> str:
    return msgspec.json.encode(payload).decode()


def _short(error: str | None) -> str | None:
    return None if error is None else error.replace("\0", "")[:_LONGEST_ERROR]


def _stored(row: Row) -> StoredJob:
    job_id, name, key, state, payload, attempt, error, created_at, updated_at, run_at, needs = row
    return StoredJob(
        job_id, name, key, state, msgspec.json.decode(payload), attempt, error or "", created_at, updated_at, run_at,
        _needed_rooms(needs),
    )  # fmt: skip
