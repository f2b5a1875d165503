"""The store in PostgreSQL, for several processes or machines on one database.

Units of work run on pooled connections in Pentad's own threads, one for each connection. Writing units are SERIALIZABLE
and run again after a conflict, except those that take their own locks. During an outage, callers get Unavailable within
seconds, and the pool recovers automatically. Only this module and the other `postgres_*` modules import psycopg.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Literal, TypeVar

import psycopg
import psycopg_pool

from pentad.kernel.errors import Overloaded, PentadError
from pentad.kernel.ports import Row, Rows, Transaction, Value
from pentad.storage.errors import closed, lost_in_commit, read_only, unreachable
from pentad.storage.health import Operation, StoreHealth
from pentad.storage.postgres_connection import (
    Connection,
    PostgresRows,
    PostgresTransaction,
    check_server,
    connect,
    settings,
)
from pentad.storage.postgres_errors import ConnectionLost, SerializationConflict, raise_translated
from pentad.storage.postgres_listener import PostgresListener, open_sessions
from pentad.storage.unit_of_work import Listeners, Workers

T = TypeVar("T")

_OUTAGE_SECONDS = 3.0
_PROBE_SECONDS = 1.0
_CONFLICT_SECONDS = 10.0
_LONGEST_PAUSE = 0.1
_SERIALIZABLE = "BEGIN ISOLATION LEVEL SERIALIZABLE"
_READ_COMMITTED = "BEGIN ISOLATION LEVEL READ COMMITTED"
_DEFINING = 0x50454E544445
"""The advisory lock of `define`."""


class PostgresDatabase:
    """The port `Database` over a connection pool. Call `open` to make one."""

    def __init__(self, url: str, *, connections: int, exclusive: bool) -> None:
        self._url = url
        self.health = StoreHealth()
        self._listeners = Listeners()
        self._listener = PostgresListener(lambda: connect(url), self._listeners, exclusive=exclusive)
        self._workers = Workers("pentad-postgres", connections)
        self._pool: psycopg_pool.ConnectionPool[Connection] = psycopg_pool.ConnectionPool(
            "",
            kwargs=settings(url),
            min_size=1,
            max_size=connections,
            open=False,
            reconnect_timeout=1.0,  # give up soon: the next caller starts a fresh attempt
            name="pentad",
        )
        self._blocking: Connection | None = None
        self._using_blocking = threading.Lock()  # guards the connection of `write_blocking`
        self._down = False
        self._probing = threading.Lock()
        self._closed = False

    @classmethod
    async def open(
        cls, url: str, *, connections: int = 8, exclusive: bool = False, listens: bool = True
    ) -> "PostgresDatabase":
        """Open the store.

        `exclusive` fails if another process has it open, and keeps others out. Without `listens`, the database belongs
        to someone else: no signals are received and no lock is taken.
        """
        database = cls(url, connections=connections, exclusive=exclusive)
        await asyncio.to_thread(database._start, listens=listens)
        return database

    @property
    def dialect(self) -> Literal["postgres"]:
        return "postgres"

    @property
    def queued(self) -> int:
        """Units of work waiting for a connection."""
        return self._workers.queued

    def connect(self) -> Connection:
        """Open another connection outside the pool, without a statement timeout; the caller closes it."""
        connection = connect(self._url)
        connection.execute("SET statement_timeout = 0")
        return connection

    @property
    def session(self) -> str:
        return self._listener.session

    def ended_sessions(self, rows: Rows, sessions: Iterable[str]) -> set[str]:
        return set(sessions) - open_sessions(rows)

    async def read(self, work: Callable[[Rows], T]) -> T:
        return await self._run("read", lambda: self._read(work))

    async def write(self, work: Callable[[Transaction], T], *, brief: bool = False, locking: bool = False) -> T:
        return await self._run("write", lambda: self._write(work, _READ_COMMITTED if locking else _SERIALIZABLE))

    def write_at_once(self, work: Callable[[Transaction], T]) -> tuple[T] | None:
        return None  # always takes a round trip to the server

    async def define(self, plan: Callable[[Rows], Sequence[str]]) -> None:
        """Run statements on a separate connection, in a thread outside the pool."""
        if self._closed:
            raise closed()
        try:
            await asyncio.to_thread(self._define, plan)
        except PentadError as error:
            self.health.record(error, "write")
            raise

    def write_blocking(self, work: Callable[[Transaction], T]) -> T:
        with self._using_blocking:
            if self._closed:
                raise closed()
            return self._retry(lambda: self._write_blocking(work), _PROBE_SECONDS)

    async def lookup(self, sql: str, *params: Value) -> Row | None:
        return await self._run("read", lambda: self._lookup(sql, params))

    async def _run(self, operation: Operation, attempt: Callable[[], T]) -> T:
        try:
            return await self._workers.run(lambda: self._run_unless_down(attempt))
        except PentadError as error:
            self.health.record(error, operation)
            raise

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        if self._closed:
            raise closed()
        return self._listeners.add(channel, callback)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    def _start(self, *, listens: bool) -> None:
        with connect(self._url) as connection:
            check_server(connection)
        if listens:
            self._listener.start()
        self._pool.open()

    def _close(self) -> None:
        self._workers.close()
        self._listener.close()
        self._pool.close()
        if self._blocking is not None:
            self._blocking.close()

    def _run_unless_down(self, attempt: Callable[[], T]) -> T:
        """Run a unit; in a known outage only one caller at a time tries, and the others fail at once."""
        if not self._down:
            return self._retry(attempt, _OUTAGE_SECONDS)
        if not self._probing.acquire(blocking=False):
            raise unreachable()
        try:
            return self._retry(attempt, _PROBE_SECONDS)
        finally:
            self._probing.release()

    def _retry(self, attempt: Callable[[], T], patience: float) -> T:
        """Run a unit; after a conflict or on a dead connection, retry it for a limited time."""
        started = time.monotonic()
        pause = 0.001
        while True:
            try:
                value = attempt()
            except ConnectionLost:
                if time.monotonic() - started >= patience:
                    self._down = True
                    raise unreachable() from None
            except SerializationConflict:
                if time.monotonic() - started >= _CONFLICT_SECONDS:
                    raise Overloaded("Too many change the same thing at once.", hint="Try again.") from None
            else:
                self._down = False
                return value
            time.sleep(pause * random.random())  # noqa: S311  jitter, not a secret
            pause = min(pause * 2, _LONGEST_PAUSE)

    @contextmanager
    def _connection(self) -> Generator[Connection]:
        try:
            connection = self._pool.getconn(_PROBE_SECONDS if self._down else _OUTAGE_SECONDS)
        except (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed):
            raise ConnectionLost from None
        try:
            yield connection
        finally:
            self._pool.putconn(connection)

    def _lookup(self, sql: str, params: tuple[Value, ...]) -> Row | None:
        with self._connection() as connection:
            return PostgresRows(connection).one(sql, *params)

    def _read(self, work: Callable[[Rows], T]) -> T:
        with self._connection() as connection:
            rows = PostgresRows(connection)
            value = _run_in_transaction(
                connection, rows, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", lambda: work(rows)
            )
            _control(connection, "COMMIT")
            return value

    def _write_blocking(self, work: Callable[[Transaction], T]) -> T:
        if self._blocking is None or self._blocking.closed:
            self._blocking = connect(self._url)
        rows = PostgresTransaction(self._blocking)
        value = _run_in_transaction(self._blocking, rows, "BEGIN", lambda: work(rows))
        _control(self._blocking, "COMMIT", writing=True)
        return value

    def _write(self, work: Callable[[Transaction], T], begin: str) -> T:
        with self._connection() as connection:
            rows = PostgresTransaction(connection)
            value = _run_in_transaction(connection, rows, begin, lambda: work(rows))
            try:
                _control(connection, "COMMIT", writing=True)
            except ConnectionLost:
                raise lost_in_commit() from None
            return value

    def _define(self, plan: Callable[[Rows], Sequence[str]]) -> None:
        with self.connect() as connection:
            # Two of these at once could deadlock: a session that waits for a lock has a snapshot, and building an
            # index waits for older snapshots. So this polls instead of waiting.
            rows = PostgresTransaction(connection)
            while not rows.value("SELECT pg_try_advisory_lock(?)", _DEFINING):
                time.sleep(_LONGEST_PAUSE)
            for statement in plan(rows):
                rows.run(statement)


def _run_in_transaction(connection: Connection, rows: PostgresRows, begin: str, work: Callable[[], T]) -> T:
    _control(connection, begin, writing=rows.writing)
    try:
        value = work()
        if rows.failure is not None:
            raise rows.failure
    except BaseException:
        with suppress(SerializationConflict, ConnectionLost, psycopg.Error):
            _control(connection, "ROLLBACK")
        if isinstance(rows.failure, SerializationConflict | ConnectionLost):  # retry, whatever the unit raised
            raise rows.failure from None
        raise
    return value


def _control(connection: Connection, statement: str, *, writing: bool = False) -> None:
    try:
        connection.execute(statement.encode(), prepare=False)
    except psycopg.errors.FeatureNotSupported as error:  # a replica refuses SERIALIZABLE
        raise read_only() from error
    except psycopg.Error as error:
        raise_translated(error, writing=writing)
