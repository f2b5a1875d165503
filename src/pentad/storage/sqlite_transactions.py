"""SQLite transactions: the statements of a unit of work, and the one thread that commits them in groups.

All units that are waiting when a commit ends go into the next one together. One disk sync serves many units of work,
which makes synchronous=FULL cheaper than NORMAL without grouping. If a unit fails, the others are not lost: they run
again, each in a savepoint, which is expensive for full-text indexes and therefore not the first choice. No unit is
acknowledged before the COMMIT they share has returned.

Where commits usually cost less than a thread hop (a RAM disk, a disk with its own power supply), the calling thread
commits a brief unit of work itself while nobody else is writing. If commits cost a little more, it does so only while
there is a single writer, because several writers would share a commit.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, NoReturn

import apsw

from pentad.kernel.errors import Overloaded, PentadError, Unavailable
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Row, Transaction, Value
from pentad.kernel.trace import request_mark
from pentad.storage.errors import closed, reason_of, reference_violation
from pentad.storage.sqlite_connection import SqliteConnection, SqliteCursor
from pentad.storage.sqlite_errors import raise_translated, translate_error
from pentad.storage.unit_of_work import Signal, Task, Work, check_signal, checked, finish

_STATEMENT_FAILURES = (apsw.Error, UnicodeEncodeError)
_KEEP_SIGNALS_SECONDS = 300.0
_PRUNE_EVERY = 256
_WAL_BYTES = 32 * 1024 * 1024
_CHECKPOINT_PATIENCE_MS = 100
GUARD_EVERY_INSTRUCTIONS = 2_000
_QUICK_SECONDS = 0.0001
_QUICK_SECONDS_ALONE = 0.001
_SLOWEST_SECONDS = 0.01
_NEWEST_SHARE = 1 / 16
"""The usual commit time is a moving average that gives the newest commit this share and caps very slow ones: a disk
that is busy for a moment does not send every unit of work through the thread for long."""
_MOST_IN_A_ROW = 1_000
_MOST_IN_A_ROW_ALONE = 64
"""Brief commits in a row before the writer thread gets a turn, to bound the log and see whether others write."""
_ALONE = 8
"""There is a single writer if the writer thread has found only one unit this many times in a row."""


class SqliteRows:
    """The port `Rows`. `failure` is the first error of any statement.

    A failed statement fails its unit of work even if the unit swallows the error: PostgreSQL cannot continue after one,
    so SQLite does not either. All statements share one cursor, because making one costs more than a short statement.
    """

    __slots__ = ("cursor", "failure")
    writing: ClassVar[bool] = False

    def __init__(self, cursor: SqliteCursor) -> None:
        self.cursor = cursor
        self.failure: Exception | None = None

    def one(self, sql: str, *params: Value) -> Row | None:
        try:
            return self.cursor.execute(sql, checked(params)).fetchone()
        except _STATEMENT_FAILURES as error:
            self._fail(error)

    def all(self, sql: str, *params: Value) -> list[Row]:
        try:
            return self.cursor.execute(sql, checked(params)).fetchall()
        except _STATEMENT_FAILURES as error:
            self._fail(error)

    def value(self, sql: str, *params: Value) -> Any:
        row = self.one(sql, *params)
        return None if row is None else row[0]

    def _fail(self, error: Exception) -> NoReturn:
        if self.failure is None:
            self.failure = translate_error(error, writing=self.writing)
        raise_translated(error, writing=self.writing)


class SqliteTransaction(SqliteRows):
    """The port `Transaction`. Signals are kept in order and without duplicates, as in PostgreSQL."""

    __slots__ = ("connection", "origin", "signals")
    writing = True

    def __init__(self, connection: SqliteConnection, cursor: SqliteCursor, origin: str) -> None:
        super().__init__(cursor)
        self.connection = connection
        self.origin = origin
        self.signals: dict[Signal, None] = {}

    def run(self, sql: str, *params: Value) -> int:
        connection = self.connection
        before = connection.total_changes()
        try:
            self.cursor.execute(sql, checked(params)).fetchall()
        except _STATEMENT_FAILURES as error:
            self._fail(error)
        # `changes` keeps its last value after a statement that changes nothing
        return connection.changes() if connection.total_changes() != before else 0

    def run_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        try:
            self.cursor.executemany(sql, map(checked, rows)).fetchall()
        except _STATEMENT_FAILURES as error:
            self._fail(error)

    def signal(self, channel: str, payload: str = "", *, has_row: bool = False) -> None:
        if has_row:
            return
        check_signal(channel, payload)
        if (channel, payload) in self.signals:
            return
        self.signals[channel, payload] = None
        now = time.time()
        self.run(
            "INSERT INTO signals (origin, channel, payload, at) VALUES (?, ?, ?, ?)",
            self.origin, channel, payload, now,
        )  # fmt: skip
        if self.connection.last_insert_rowid() % _PRUNE_EVERY == 0:
            self.run(
                "DELETE FROM signals WHERE id < (SELECT id FROM signals WHERE at >= ? ORDER BY id LIMIT 1)",
                now - _KEEP_SIGNALS_SECONDS,
            )


class _Unit(Task):
    __slots__ = ("signals",)
    signals: tuple[Signal, ...]


class _BriefUnit(Work):
    __slots__ = ("signals",)
    signals: tuple[Signal, ...]


_Units = Sequence[_Unit] | Sequence[_BriefUnit]


class Writer:
    """The writer thread. Owns the writing connection and closes it at the end."""

    def __init__(
        self,
        connection: SqliteConnection,
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
        self._using = threading.Lock()  # held by whichever thread uses the connection
        self._usual_seconds = _SLOWEST_SECONDS
        self._in_a_row = 0
        self._alone = 0
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="pentad-writer", daemon=True)
        self._thread.start()

    @property
    def queued(self) -> int:
        """Units of work in the queue."""
        return self._units.qsize()

    def submit(self, work: Callable[[Transaction], Any]) -> asyncio.Future[Any]:
        """Queue a unit of work; the future is done when it is durable, or has failed and changed nothing."""
        if self._closed:
            raise closed()
        if self._units.qsize() >= self._backlog:
            raise Overloaded("The store has more to write than it can keep up with.", hint="Try again in a moment.")
        unit = self._newest = _Unit(work)
        self._units.put(unit)
        return unit.future

    def commit_here(self, work: Callable[[Transaction], Any]) -> Work | None:
        """Try to commit a brief unit of work on the calling thread; the result or failure is in the returned work.

        None means that nothing was done: commits are not quick, or another unit is ahead.
        """
        is_quick = self._usual_seconds < _QUICK_SECONDS
        if self._closed or not (is_quick or (self._alone >= _ALONE and self._usual_seconds < _QUICK_SECONDS_ALONE)):
            return None
        self._in_a_row += 1
        if self._in_a_row > (_MOST_IN_A_ROW if is_quick else _MOST_IN_A_ROW_ALONE):
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
                self._deliver_signals((unit,))
            return unit
        finally:
            self._using.release()

    def query_here(self, sql: str, params: Sequence[Value], is_late: Callable[[], bool]) -> Sequence[Row] | None:
        """The rows of a quick query, on the calling thread. None if the connection is in use.

        Every commit makes other connections read their pages again, but not this one. The guard against slow queries
        is installed only for this query: in the writer thread it would wait for the interpreter's lock.
        """
        if self._closed or not self._using.acquire(blocking=False):
            return None
        try:
            self._connection.set_progress_handler(is_late, GUARD_EVERY_INSTRUCTIONS)
            try:
                return self._cursor.execute(sql, params).fetchall()
            finally:
                self._connection.set_progress_handler(None, 0)
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
            self._alone = self._alone + 1 if len(units) == 1 else 0
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
        """Run units in one transaction; returns those that did not get their turn."""
        units = [unit for unit in units if not unit.is_cancelled]
        if not units or not self._begin(units):
            return []
        if self._run_all(units):
            self._finish(units)
            return []
        if len(units) == 1:
            finish(units)
            return []
        return self._commit_without_failed(units)

    def _begin_at_once(self) -> bool:
        """Begin without waiting; returns whether that worked."""
        self._connection.set_busy_timeout(0)
        try:
            self._cursor.execute("BEGIN IMMEDIATE")
        except apsw.Error:  # another process writes, or something is wrong: the thread has time to find out
            return False
        finally:
            self._connection.set_busy_timeout(self._busy_ms)
        return True

    def _begin(self, units: list[_Unit]) -> bool:
        try:
            self._cursor.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            _fail_all(units, error)
            return False
        return True

    def _run_all(self, units: _Units) -> bool:
        """Run all units; if one fails, roll back all of them and return False."""
        for unit in units:
            self._run(unit)
            if unit.failure is not None:
                self._roll_back("ROLLBACK")
                return False
        return True

    def _commit_without_failed(self, units: list[_Unit]) -> list[_Unit]:
        """Run the units again, after one has failed; returns those that did not get their turn."""
        if not self._begin(units):
            return []
        done: list[_Unit] = []
        for position, unit in enumerate(units, 1):
            unit.failure = None
            done.append(unit)
            self._run(unit, "SAVEPOINT unit", "RELEASE unit")
            if unit.failure is not None:
                self._roll_back("ROLLBACK TO unit", "RELEASE unit")
            if not self._connection.in_transaction:  # SQLite rolled back the whole transaction, not only this unit
                _fail_all(done, unit.failure)
                return units[position:]
        self._finish(done)
        return []

    def _run(self, unit: _Unit | _BriefUnit, begin: str | None = None, end: str | None = None) -> None:
        """Run one unit and keep its result or failure; the caller rolls back a failed one."""
        transaction = SqliteTransaction(self._connection, self._cursor, self._origin)
        unit.signals = ()
        request_mark.set(unit.mark)
        try:
            if begin is not None:
                self._cursor.execute(begin)
            unit.value = unit.work(transaction)
            if transaction.failure is not None:
                raise transaction.failure
            if self._connection.status(apsw.SQLITE_DBSTATUS_DEFERRED_FKS)[0]:  # would fail the shared COMMIT
                raise reference_violation()
            if end is not None:
                self._cursor.execute(end)
            unit.signals = tuple(transaction.signals)
        except BaseException as error:  # noqa: BLE001  the caller gets it; the writer must live on
            unit.failure = translate_error(error, writing=True) if isinstance(error, Exception) else error

    def _finish(self, done: list[_Unit]) -> None:
        """Commit, then return the results and deliver the signals."""
        is_durable = self._commit(done)
        finish(done)
        if is_durable:
            self._deliver_signals(done)

    def _deliver_signals(self, done: _Units) -> None:
        if signals := [signal for unit in done for signal in unit.signals]:
            self._committed(signals)

    def _commit(self, done: _Units) -> bool:
        """Commit; returns whether it is durable. If not, no unit has changed anything."""
        started = time.perf_counter()
        try:
            self._cursor.execute("COMMIT")
        except apsw.Error as error:
            self._roll_back("ROLLBACK")
            _set_failure(done, error)
            return False
        spent = min(time.perf_counter() - started, _SLOWEST_SECONDS)
        self._usual_seconds += (spent - self._usual_seconds) * _NEWEST_SHARE
        return True

    def _roll_back(self, *statements: str) -> None:
        if not self._connection.in_transaction:
            return
        try:
            for statement in statements:
                self._cursor.execute(statement)
        except apsw.Error:
            with suppress(apsw.Error):
                self._cursor.execute("ROLLBACK")

    def _bound_wal(self) -> None:
        """Truncate a long log: readers that never pause keep SQLite from reusing it. Waits for them only briefly."""
        try:
            if self._wal.stat().st_size < _WAL_BYTES:
                return
            self._connection.set_busy_timeout(_CHECKPOINT_PATIENCE_MS)
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                self._connection.set_busy_timeout(self._busy_ms)
        except (FileNotFoundError, apsw.BusyError):  # there is none yet, or a reader is active; try again next time
            return
        except (OSError, apsw.Error) as error:
            log_failure(error, "Shortening the store's log")


def _fail_all(units: list[_Unit], cause: BaseException | None) -> None:
    _set_failure(units, cause)
    finish(units)


def _set_failure(units: _Units, cause: BaseException | None) -> None:
    """Record why nothing was kept; a unit that has its own failure keeps it."""
    for unit in units:
        if unit.failure is None:
            unit.failure = _reason(cause)


def _reason(cause: BaseException | None) -> PentadError:
    translation = translate_error(cause, writing=True) if isinstance(cause, Exception) else None
    if isinstance(translation, PentadError) and (isinstance(translation, Unavailable) or reason_of(translation)):
        return translation
    return Unavailable("The store could not save the change.", hint="Nothing was changed; try again.")
