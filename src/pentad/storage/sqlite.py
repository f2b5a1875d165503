"""The store in one SQLite file: one writer thread, some readers, and a connection for lookups on the event loop.

A thread hop costs far more than a point read, so a unit of work is one hop and a lookup is none. Several processes may
share the file. All of them run on one machine, so the operating system knows which have ended.
"""

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar
from uuid import getnode

import apsw

from pentad.kernel.errors import PentadError
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Row, Rows, Transaction, Value
from pentad.storage.errors import closed
from pentad.storage.health import StoreHealth
from pentad.storage.sqlite_connection import SqliteConnection, connect, prepare_file
from pentad.storage.sqlite_errors import raise_translated, translate_error
from pentad.storage.sqlite_transactions import GUARD_EVERY_INSTRUCTIONS, SqliteRows, Writer
from pentad.storage.sqlite_watcher import Watcher
from pentad.storage.unit_of_work import Listeners, Workers, checked

T = TypeVar("T")

_LOOKUP_SECONDS = 0.005
_own_sessions: set[str] = set()
"""The sessions of this process."""


class SqliteDatabase:
    """The port `Database` over one file. Call `open` to make one."""

    def __init__(
        self, path: Path, writing: SqliteConnection, *, readers: int, busy_seconds: float, vfs: str | None
    ) -> None:
        self.path = path
        self.health = StoreHealth()
        self._busy_seconds = busy_seconds
        self._vfs = vfs
        self._listeners = Listeners()
        origin = opaque_id(size=12)
        self._writer = Writer(writing, self._listeners.deliver, origin=origin)
        self._watcher = Watcher(self.connect, self._listeners, self.health, origin=origin)
        self._readers = Workers("pentad-reader", readers)
        self._idle: deque[SqliteConnection] = deque()
        self._lookups = self.connect()
        self._lookup_cursor = self._lookups.cursor()
        self._lookup_deadline = 0.0
        self._lookups.set_progress_handler(self._lookup_is_late, GUARD_EVERY_INSTRUCTIONS)
        self._closed = False
        self._session = _begin_session()

    @classmethod
    async def open(
        cls, path: Path, *, readers: int = 4, busy_seconds: float = 5.0, vfs: str | None = None
    ) -> "SqliteDatabase":
        """Open the store and create its file if there is none; Misconfigured for a damaged or foreign file."""
        writing = await asyncio.to_thread(prepare_file, path, busy_seconds=busy_seconds, vfs=vfs)
        return cls(path, writing, readers=readers, busy_seconds=busy_seconds, vfs=vfs)

    @property
    def dialect(self) -> Literal["sqlite"]:
        return "sqlite"

    @property
    def queued(self) -> int:
        """Units of work that wait for the writer."""
        return self._writer.queued

    def connect(self) -> SqliteConnection:
        """Open another reading connection to the same file; the caller closes it."""
        return connect(self.path, "read", busy_seconds=self._busy_seconds, vfs=self._vfs)

    @property
    def session(self) -> str:
        return self._session

    def ended_sessions(self, rows: Rows, sessions: Iterable[str]) -> set[str]:
        return {one for one in sessions if _has_ended(one)}

    async def read(self, work: Callable[[Rows], T]) -> T:
        try:
            return await self._readers.run(lambda: self._read(work))
        except PentadError as error:
            self.health.record(error, "read")
            raise

    async def write(self, work: Callable[[Transaction], T], *, brief: bool = False, locking: bool = False) -> T:
        if brief and (done := self.write_at_once(work)) is not None:
            return done[0]
        try:
            return await self._writer.submit(work)
        except PentadError as error:
            self.health.record(error, "write")
            raise

    def write_at_once(self, work: Callable[[Transaction], T]) -> tuple[T] | None:
        done = self._writer.commit_here(work)
        if done is None:
            return None
        if done.failure is not None:
            raise self.health.record(done.failure, "write")
        return (done.value,)

    async def define(self, plan: Callable[[Rows], Sequence[str]]) -> None:
        def run(tx: Transaction) -> None:
            for statement in plan(tx):
                tx.run(statement)

        await self.write(run)

    def write_blocking(self, work: Callable[[Transaction], T]) -> T:
        async def submitted() -> T:
            return await self._writer.submit(work)

        return asyncio.run(submitted())  # the writer serves any loop, so this thread makes one for the call

    async def lookup(self, sql: str, *params: Value) -> Row | None:
        if self._closed:
            raise closed()
        self._lookup_deadline = time.perf_counter() + _LOOKUP_SECONDS
        try:
            checked(params)
            found = self._writer.query_here(sql, params, self._lookup_is_late)
            if found is None:
                found = self._lookup_cursor.execute(sql, params).fetchall()
        except (apsw.InterruptError, apsw.BusyError, apsw.ThreadingViolationError):
            return await self.read(lambda rows: rows.one(sql, *params))
        except (apsw.Error, UnicodeEncodeError) as error:
            translation = translate_error(error)
            raise self.health.record(translation, "read") from (None if translation is error else error)
        return found[0] if found else None

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        if self._closed:
            raise closed()
        remove = self._listeners.add(channel, callback)
        try:
            self._watcher.watch()  # after adding: it stops when it finds no listener
        except BaseException:
            remove()
            raise
        return remove

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            _end_session(self._session)
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._watcher.close()
        self._readers.close()
        while self._idle:
            self._idle.pop().close()
        self._lookups.close()
        self._writer.close()

    def _read(self, work: Callable[[Rows], T]) -> T:
        try:
            connection = self._borrow()
            try:
                value = _run_in_snapshot(connection, work)
            except apsw.Error:
                connection.close()  # its state is unknown; the next reader opens another
                raise
            except BaseException:
                self._idle.append(connection)
                raise
            self._idle.append(connection)
        except apsw.Error as error:
            raise_translated(error)
        return value

    def _borrow(self) -> SqliteConnection:
        with suppress(IndexError):
            return self._idle.pop()
        return self.connect()

    def _lookup_is_late(self) -> bool:
        return time.perf_counter() > self._lookup_deadline


def _run_in_snapshot(connection: SqliteConnection, work: Callable[[Rows], T]) -> T:
    cursor = connection.cursor()
    rows = SqliteRows(cursor)
    cursor.execute("BEGIN")
    try:
        value = work(rows)
        if rows.failure is not None:
            raise rows.failure
        return value
    finally:
        cursor.execute("ROLLBACK")


def _begin_session() -> str:
    """A name for one open store: the namespace of process ids, the process id, and a token.

    The token distinguishes it from an earlier process with the same id, as in a restarted container.
    """
    session = f"{_machine()} {os.getpid()} {opaque_id(size=8)}"
    _own_sessions.add(session)
    return session


def _end_session(session: str) -> None:
    _own_sessions.discard(session)


def _has_ended(session: str) -> bool:
    """Whether it has certainly ended. False for a process of another container."""
    machine, _, rest = session.partition(" ")
    pid = rest.partition(" ")[0]
    if machine != _machine() or not pid.isdecimal():
        return False
    if int(pid) == os.getpid():
        return session not in _own_sessions
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it belongs to another user
        return False
    return False


@lru_cache(maxsize=1)
def _machine() -> str:
    """Identifies one boot of one machine or container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux
        return f"{getnode():x}"
