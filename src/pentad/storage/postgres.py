"""The store in PostgreSQL, for several processes or machines on one database.

Units of work run on pooled connections in threads of our own, as many as there are connections. Writing units are
SERIALIZABLE and run again when they collide; an outage is answered with Unavailable within seconds, and the pool
heals by itself. This and its `postgres_*` neighbours are the only modules that import psycopg.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Literal, TypeVar

import psycopg
import psycopg_pool

from pentad.kernel.errors import Overloaded, PentadError
from pentad.kernel.ports import Row, Rows, Transaction, Value
from pentad.storage.health import Doing, StoreHealth
from pentad.storage.listeners import Listeners
from pentad.storage.postgres_connection import check_server, connect, settings
from pentad.storage.postgres_errors import Collided, Lost, fail
from pentad.storage.postgres_listener import PostgresListener
from pentad.storage.postgres_rows import Connection, PostgresRows, PostgresTransaction
from pentad.storage.troubles import lost_in_commit, read_only, unreachable
from pentad.storage.workers import Workers, closed

T = TypeVar("T")

_OUTAGE_SECONDS = 3.0
_PROBE_SECONDS = 1.0
_COLLISION_SECONDS = 10.0
_LONGEST_PAUSE = 0.1


class PostgresDatabase:
    """The port `Database` over a connection pool. Made by `open`."""

    def __init__(self, url: str, *, connections: int, alone: bool) -> None:
        self._url = url
        self.health = StoreHealth()
        self._listeners = Listeners()
        self._listener = PostgresListener(lambda: connect(url), self._listeners, alone=alone)
        self._workers = Workers("pentad-postgres", connections)
        self._pool: psycopg_pool.ConnectionPool[Connection] = psycopg_pool.ConnectionPool(
            "",
            kwargs=settings(url),
            min_size=1,
            max_size=connections,
            open=False,
            reconnect_timeout=1.0,  # give up soon: whoever asks next starts a fresh attempt at once
            name="pentad",
        )
        self._own: Connection | None = None
        self._using_own = threading.Lock()
        self._down = False
        self._probing = threading.Lock()
        self._closed = False

    @classmethod
    async def open(cls, url: str, *, connections: int = 8, alone: bool = False) -> "PostgresDatabase":
        """Open the store; `alone` refuses if any other process has it open, and keeps others out."""
        database = cls(url, connections=connections, alone=alone)
        await asyncio.to_thread(database._start)
        return database

    @property
    def dialect(self) -> Literal["postgres"]:
        return "postgres"

    @property
    def queued(self) -> int:
        """Units of work that wait for a connection."""
        return self._workers.waiting

    def connect(self) -> Connection:
        """One more connection outside the pool, without a time limit on statements; the caller closes it."""
        connection = connect(self._url)
        connection.execute("SET statement_timeout = 0")
        return connection

    async def read(self, work: Callable[[Rows], T]) -> T:
        return await self._run("read", lambda: self._read(work))

    async def write(self, work: Callable[[Transaction], T], *, brief: bool = False) -> T:
        return await self._run("write", lambda: self._write(work))

    def write_blocking(self, work: Callable[[Transaction], T]) -> T:
        with self._using_own:
            if self._closed:
                raise closed()
            return self._repeat(lambda: self._write_alone(work), _PROBE_SECONDS)

    async def lookup(self, sql: str, *params: Value) -> Row | None:
        return await self._run("read", lambda: self._lookup(sql, params))

    async def _run(self, doing: Doing, attempt: Callable[[], T]) -> T:
        try:
            return await self._workers.run(lambda: self._insist(attempt))
        except PentadError as error:
            self.health.noted(error, doing)
            raise

    def listen(self, channel: str, heard: Callable[[str], None]) -> Callable[[], None]:
        if self._closed:
            raise closed()
        return self._listeners.add(channel, heard)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    def _start(self) -> None:
        with connect(self._url) as connection:
            check_server(connection)
        self._listener.start()
        self._pool.open()

    def _close(self) -> None:
        self._workers.close()
        self._listener.close()
        self._pool.close()
        if self._own is not None:
            self._own.close()

    def _insist(self, attempt: Callable[[], T]) -> T:
        """Run a unit; in a known outage only one caller at a time tries, and the others are answered at once."""
        if not self._down:
            return self._repeat(attempt, _OUTAGE_SECONDS)
        if not self._probing.acquire(blocking=False):
            raise unreachable()
        try:
            return self._repeat(attempt, _PROBE_SECONDS)
        finally:
            self._probing.release()

    def _repeat(self, attempt: Callable[[], T], patience: float) -> T:
        """Run a unit again while it collides with others or finds only dead connections, but not for ever."""
        started = time.monotonic()
        pause = 0.001
        while True:
            try:
                value = attempt()
            except Lost:
                if time.monotonic() - started >= patience:
                    self._down = True
                    raise unreachable() from None
            except Collided:
                if time.monotonic() - started >= _COLLISION_SECONDS:
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
            raise Lost from None
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
            value = _inside(connection, rows, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", lambda: work(rows))
            _control(connection, "COMMIT")
            return value

    def _write_alone(self, work: Callable[[Transaction], T]) -> T:
        if self._own is None or self._own.closed:
            self._own = connect(self._url)
        rows = PostgresTransaction(self._own)
        value = _inside(self._own, rows, "BEGIN", lambda: work(rows))
        _control(self._own, "COMMIT", writing=True)
        return value

    def _write(self, work: Callable[[Transaction], T]) -> T:
        with self._connection() as connection:
            rows = PostgresTransaction(connection)
            value = _inside(connection, rows, "BEGIN ISOLATION LEVEL SERIALIZABLE", lambda: work(rows))
            try:
                _control(connection, "COMMIT", writing=True)
            except Lost:
                raise lost_in_commit() from None
            return value


def _inside(connection: Connection, rows: PostgresRows, begin: str, work: Callable[[], T]) -> T:
    _control(connection, begin, writing=rows.writing)
    try:
        value = work()
        if rows.failure is not None:
            raise rows.failure
    except BaseException:
        with suppress(Collided, Lost, psycopg.Error):
            _control(connection, "ROLLBACK")
        if isinstance(rows.failure, Collided | Lost):  # whatever the unit made of it, it has to run again
            raise rows.failure from None
        raise
    return value


def _control(connection: Connection, statement: str, *, writing: bool = False) -> None:
    try:
        connection.execute(statement.encode(), prepare=False)
    except psycopg.errors.FeatureNotSupported as error:  # a replica knows no isolation for writing
        raise read_only() from error
    except psycopg.Error as error:
        fail(error, writing=writing)
