"""The one thread that writes to an SQLite store, with group commit.

Whatever waits when a commit ends goes into the next one together: the disk is asked once for many units of work,
which makes synchronous=FULL cheaper than NORMAL without grouping. One that fails takes nobody with it: the others run
again, each with a savepoint of its own, which is dear for full-text indexes and therefore not the first choice. None is
acknowledged before the COMMIT they share has returned.

Where commits cost less than a change of threads (a RAM disk, a disk that has its own power) a brief unit of work is
committed by the thread that brings it, while nobody else writes; when two of them take longer, by this one again.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import apsw

from pentad.kernel.errors import Overloaded, PentadError, Unavailable
from pentad.kernel.incidents import put_off
from pentad.kernel.ports import Transaction
from pentad.storage.handoff import Job, Work, wake
from pentad.storage.listeners import Signal
from pentad.storage.refusals import dangling
from pentad.storage.sqlite_errors import translated
from pentad.storage.sqlite_handle import SqliteHandle
from pentad.storage.sqlite_rows import SqliteTransaction
from pentad.storage.troubles import reason_of
from pentad.storage.workers import closed

_WAL_BYTES = 32 * 1024 * 1024
_CHECKPOINT_PATIENCE_MS = 100
_QUICK_SECONDS = 0.0001
_QUICK_ENOUGH = 8
_QUICK_MOST = 32
_SLOW_COSTS = 16
"""How many more commits were quick than not: enough of them, as many as count, and what one that was not takes away."""
_MOST_IN_A_ROW = 1_000
"""Then it is the thread's turn, which also bounds the log."""


class _Unit(Job):
    __slots__ = ("signals",)
    signals: tuple[Signal, ...]


class _BriefUnit(Work):
    __slots__ = ("signals",)
    signals: tuple[Signal, ...]


_Units = Sequence[_Unit] | Sequence[_BriefUnit]


class Writer:
    """Owns the writing connection and closes it at the end."""

    def __init__(
        self,
        connection: SqliteHandle,
        committed: Callable[[list[Signal]], None],
        *,
        origin: str,
        batch: int = 256,
        backlog: int = 10_000,
    ) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._committed = committed
        self._origin = origin
        self._batch = batch
        self._backlog = backlog
        self._busy_ms = int(connection.pragma("busy_timeout"))
        self._wal = Path(connection.filename_wal)
        self._units: SimpleQueue[_Unit | None] = SimpleQueue()
        self._newest: _Unit | None = None
        self._using = threading.Lock()
        self._quick = 0
        self._in_a_row = 0
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="pentad-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Units of work in the queue."""
        return self._units.qsize()

    def submit(self, work: Callable[[Transaction], Any]) -> asyncio.Future[Any]:
        """Queue a unit of work; the future is done when it is durable, or has failed without a trace."""
        if self._closed:
            raise closed()
        if self._units.qsize() >= self._backlog:
            raise Overloaded("The store has more to write than it can keep up with.", hint="Try again in a moment.")
        unit = self._newest = _Unit(work)
        self._units.put(unit)
        return unit.future

    def commit_here(self, work: Callable[[Transaction], Any]) -> Work | None:
        """Commit a brief unit of work on the calling thread, well or not.

        None, with nothing done, where commits are not quick or somebody is before it.
        """
        if self._quick < _QUICK_ENOUGH or self._closed:
            return None
        self._in_a_row += 1
        if self._in_a_row > _MOST_IN_A_ROW:
            self._in_a_row = 0
            return None
        if self._newest is not None and not self._newest.future.done():
            return None
        if not self._using.acquire(blocking=False):
            return None
        try:
            if not self._begin_at_once():
                return None
            unit = _BriefUnit(work)
            if self._run_all((unit,)) and self._commit((unit,)):
                self._tell((unit,))
            return unit
        finally:
            self._using.release()

    def close(self) -> None:
        """Write what is queued, then end the thread and close the connection. Blocks."""
        if not self._closed:
            self._closed = True
            self._units.put(None)
        self._thread.join()
        with self._using:
            self._connection.close()

    def _serve(self) -> None:
        last = False
        while not last:
            units, last = self._gather()
            with self._using:
                while units:
                    units = self._commit_together(units)
                self._bound_wal()

    def _gather(self) -> tuple[list[_Unit], bool]:
        units: list[_Unit] = []
        unit = self._units.get()
        with suppress(Empty):
            while unit is not None:
                units.append(unit)
                if len(units) == self._batch:
                    return units, False
                unit = self._units.get_nowait()
            return units, True
        return units, False

    def _commit_together(self, units: list[_Unit]) -> list[_Unit]:
        """Run units in one transaction; the ones that had no chance yet are returned."""
        units = [unit for unit in units if not unit.abandoned]
        if not units or not self._begin(units):
            return []
        if self._run_all(units):
            self._finish(units)
            return []
        if len(units) == 1:
            wake(units)
            return []
        return self._commit_the_good(units)

    def _begin_at_once(self) -> bool:
        """Whether the store could be had without waiting."""
        self._connection.set_busy_timeout(0)
        try:
            self._cursor.execute("BEGIN IMMEDIATE")
        except apsw.Error:  # another process is writing, or something is wrong: the thread has the time to find out
            return False
        finally:
            self._connection.set_busy_timeout(self._busy_ms)
        return True

    def _begin(self, units: list[_Unit]) -> bool:
        try:
            self._cursor.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            _fail(units, error)
            return False
        return True

    def _run_all(self, units: _Units) -> bool:
        """Whether all went well; if not, nothing is left of any of them."""
        for unit in units:
            self._run(unit)
            if unit.failure is not None:
                self._undo("ROLLBACK")
                return False
        return True

    def _commit_the_good(self, units: list[_Unit]) -> list[_Unit]:
        """Run units again, one of which has failed; the ones that had no chance are returned."""
        if not self._begin(units):
            return []
        done: list[_Unit] = []
        for position, unit in enumerate(units, 1):
            unit.failure = None
            done.append(unit)
            self._run(unit, "SAVEPOINT unit", "RELEASE unit")
            if unit.failure is not None:
                self._undo("ROLLBACK TO unit", "RELEASE unit")
            if not self._connection.in_transaction:  # SQLite gave up the whole transaction, not only this unit
                _fail(done, unit.failure)
                return units[position:]
        self._finish(done)
        return []

    def _run(self, unit: _Unit | _BriefUnit, begin: str | None = None, end: str | None = None) -> None:
        """Run one unit, noting how it ends; undoing a failed one is left to the caller."""
        transaction = SqliteTransaction(self._connection, self._cursor, self._origin)
        unit.signals = ()
        try:
            if begin is not None:
                self._cursor.execute(begin)
            unit.value = unit.work(transaction)
            if transaction.failure is not None:
                raise transaction.failure
            if self._connection.status(apsw.SQLITE_DBSTATUS_DEFERRED_FKS)[0]:  # it would break everybody's COMMIT
                raise dangling()
            if end is not None:
                self._cursor.execute(end)
            unit.signals = tuple(transaction.signals)
        except BaseException as error:  # noqa: BLE001  it belongs to the caller; the writer has to live on
            unit.failure = translated(error, writing=True) if isinstance(error, Exception) else error

    def _finish(self, done: list[_Unit]) -> None:
        """Commit, and let everybody know."""
        is_durable = self._commit(done)
        wake(done)
        if is_durable:
            self._tell(done)

    def _tell(self, done: _Units) -> None:
        if signals := [signal for unit in done for signal in unit.signals]:
            self._committed(signals)

    def _commit(self, done: _Units) -> bool:
        """Whether it is durable now; if not, nothing is left of any of them."""
        started = time.perf_counter()
        try:
            self._cursor.execute("COMMIT")
        except apsw.Error as error:
            self._undo("ROLLBACK")
            _blame(done, error)
            return False
        if time.perf_counter() - started < _QUICK_SECONDS:
            self._quick = min(self._quick + 1, _QUICK_MOST)
        else:
            self._quick = max(self._quick - _SLOW_COSTS, 0)
        return True

    def _undo(self, *statements: str) -> None:
        if not self._connection.in_transaction:
            return
        try:
            for statement in statements:
                self._cursor.execute(statement)
        except apsw.Error:
            with suppress(apsw.Error):
                self._cursor.execute("ROLLBACK")

    def _bound_wal(self) -> None:
        """Readers that never pause keep the log from being reused; insist now and then, without waiting long."""
        try:
            if self._wal.stat().st_size < _WAL_BYTES:
                return
            self._connection.set_busy_timeout(_CHECKPOINT_PATIENCE_MS)
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                self._connection.set_busy_timeout(self._busy_ms)
        except (FileNotFoundError, apsw.BusyError):  # there is none yet, or somebody reads on; the next time may do
            return
        except (OSError, apsw.Error) as error:
            put_off(error, "Shortening the store's log")


def _fail(units: list[_Unit], cause: BaseException | None) -> None:
    """Tell everyone that nothing of theirs was kept."""
    _blame(units, cause)
    wake(units)


def _blame(units: _Units, cause: BaseException | None) -> None:
    """Note why nothing was kept; who failed by himself hears his own reason."""
    for unit in units:
        if unit.failure is None:
            unit.failure = _reason(cause)


def _reason(cause: BaseException | None) -> PentadError:
    meaning = translated(cause, writing=True) if isinstance(cause, Exception) else None
    if isinstance(meaning, PentadError) and (isinstance(meaning, Unavailable) or reason_of(meaning) is not None):
        return meaning
    return Unavailable("The store could not save the change.", hint="Nothing was changed; try again.")
