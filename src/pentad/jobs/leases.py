"""Leases of jobs: a process holds them while its heartbeat, one row in `job_workers`, is renewed by a thread.

The thread does not depend on the event loop, so a handler that blocks the loop loses no lease. Heartbeats are written
and compared with the store's clock, so machines with different clocks agree. A process without leases writes nothing.
"""

import threading
import time
from typing import Final

from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Dialect, Rows, Transaction

CHANNEL: Final = "jobs"
"""Signalled with a job's name when it is due soon, and without a name when a process leaves jobs behind."""
BEAT_SECONDS: Final = 2.0
DEAD_SECONDS: Final = 6.0
"""A process without a beat for this long has lost its leases."""
MISSED_SECONDS: Final = 3.0
"""The same, for a process whose database session has ended."""

_RETRY_SECONDS: Final = 0.5
_NOW: Final[dict[Dialect, str]] = {
    "sqlite": "unixepoch('subsec')",
    "postgres": "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)",
}


def is_alive(dialect: Dialect, worker: str) -> str:
    """SQL: whether the process in that column had a heartbeat recently."""
    return (
        f"EXISTS (SELECT 1 FROM job_workers w WHERE w.id = {worker}"  # noqa: S608  a column name and constants
        f" AND w.beat_at >= {_NOW[dialect]} - {DEAD_SECONDS})"
    )


def seconds_since_beat(rows: Rows, dialect: Dialect, worker: str) -> float | None:
    """The age of the last heartbeat of a process; None if it holds no leases."""
    return rows.value(f"SELECT {_NOW[dialect]} - beat_at FROM job_workers WHERE id = ?", worker)  # noqa: S608  a constant


def forget_dead_workers(tx: Transaction, dialect: Dialect) -> None:
    tx.run(f"DELETE FROM job_workers WHERE beat_at < {_NOW[dialect]} - {DEAD_SECONDS}")  # noqa: S608  constants


class Heartbeat:
    """The row of one process. `hold` starts the thread when it is needed; `stop` ends it and removes the row."""

    def __init__(self, database: Database, worker: str) -> None:
        self._database = database
        self._worker = worker
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._held_at = 0.0
        self._beating = False
        self._stopping = False
        now = _NOW[database.dialect]
        self._beat_sql = (
            f"INSERT INTO job_workers (id, beat_at) VALUES (?, {now})"  # noqa: S608  a constant
            f" ON CONFLICT (id) DO UPDATE SET beat_at = {now} RETURNING beat_at"
        )

    def hold(self, tx: Transaction) -> None:
        """Call this in every transaction that takes a lease: the row must exist before others can see the lease."""
        with self._lock:
            self._held_at = time.monotonic()
            is_beating = self._beating
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="pentad-heartbeat", daemon=True)
                self._thread.start()
            self._changed.notify()
        if not is_beating:
            tx.one(self._beat_sql, self._worker)

    def stop(self) -> None:
        """End the thread and remove the row. Blocks."""
        with self._lock:
            self._stopping = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
            try:
                self._database.write_blocking(self._leave)
            except PentadError as error:  # the row expires by itself
                log_failure(error, "Removing the heartbeat of this process")

    def _leave(self, tx: Transaction) -> None:
        """Signal other processes to look for abandoned jobs at once."""
        tx.run("DELETE FROM job_workers WHERE id = ?", self._worker)
        tx.signal(CHANNEL)

    def _serve(self) -> None:
        pause = BEAT_SECONDS  # `hold` has just written the row
        while True:
            with self._lock:
                if self._changed.wait_for(lambda: self._stopping, pause):
                    return
            try:
                is_holding, last = self._database.write_blocking(self._beat)
                pause = BEAT_SECONDS
            except PentadError as error:
                log_failure(error, "The heartbeat of this process")
                is_holding, last, pause = False, 0.0, _RETRY_SECONDS
            with self._lock:
                self._beating = is_holding
                is_idle = not is_holding and time.monotonic() - self._held_at > DEAD_SECONDS
            if is_idle and pause == BEAT_SECONDS:
                self._rest(last)

    def _beat(self, tx: Transaction) -> tuple[bool, float]:
        """Renew the row if this process holds a lease; returns whether it does, and the time of the last beat."""
        held = tx.value("SELECT 1 FROM jobs WHERE worker = ? AND state = 'running' LIMIT 1", self._worker)
        sql = "SELECT beat_at FROM job_workers WHERE id = ?" if held is None else self._beat_sql
        return held is not None, tx.value(sql, self._worker) or 0.0

    def _rest(self, last: float) -> None:
        """Remove the row, unless a lease was just taken, and sleep until the next lease."""
        since = self._held_at
        try:
            self._database.write_blocking(
                lambda tx: tx.run("DELETE FROM job_workers WHERE id = ? AND beat_at <= ?", self._worker, last)
            )
        except PentadError as error:
            log_failure(error, "Removing the heartbeat of this process")
        with self._lock:
            self._changed.wait_for(lambda: self._stopping or self._held_at > since)
