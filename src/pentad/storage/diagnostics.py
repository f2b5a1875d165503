"""Probes of the store and its folder for `pentad doctor` and `/readyz`. They only measure and leave nothing behind.

`StoreWatch` probes when `/readyz` asks and, while something is wrong, every few seconds on its own. It probes at most
once a second however many requests arrive, so public readiness checks cost the store next to nothing.
"""

import asyncio
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

import apsw
from msgspec import Struct, field

from pentad.kernel.background import Background
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import PentadError
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Dialect, Rows, Transaction
from pentad.storage.health import StoreHealth, health_of
from pentad.storage.migrations import STORAGE, versions
from pentad.storage.sqlite import SqliteDatabase

FRESH_SECONDS: Final = 1.0
EVERY_SECONDS: Final = 5.0
CHECK_EVERY_SECONDS: Final = 600.0
CHECK_SECONDS: Final = 60.0
_PROBES_SINCE: Final = 2
"""The storage migration that added the table for probes."""
_LARGE_BYTES: Final = 256 * 1024


class Folder(Struct, frozen=True):
    """The data folder on its disk."""

    writable: bool
    sync_seconds: float | None
    free_bytes: int | None
    trouble: str | None = None


class Store(Struct, frozen=True):
    """An open store. `trouble` says why it does not respond; the other fields are then filled in as far as
    possible."""

    dialect: Dialect
    version: str = ""
    features: dict[str, bool] = field(default_factory=dict[str, bool])
    schema: dict[str, int] = field(default_factory=dict[str, int])
    queued: int = 0
    pgvector: str | None = None
    write_seconds: float | None = None
    trouble: PentadError | None = None


class StoreWatch:
    """The state of one open store, at most a second old."""

    def __init__(self, db: Database, *, clock: Clock | None = None) -> None:
        self._db = db
        self._monotonic = (clock or SystemClock()).monotonic
        self._probing = asyncio.Lock()
        self._last: Store | None = None
        self._last_at = 0.0
        self._check_at = self._monotonic() + CHECK_EVERY_SECONDS
        self._background = Background()

    @property
    def health(self) -> StoreHealth:
        return health_of(self._db)

    async def now(self) -> Store:
        """The result of a probe made within the last second."""
        async with self._probing:
            if self._last is None or self._monotonic() - self._last_at >= FRESH_SECONDS:
                self._last = await probe_store(self._db)
                self._last_at = self._monotonic()
            return self._last

    def start(self) -> None:
        self._background.start(self._run(), "store watch")

    async def stop(self) -> None:
        await self._background.stop()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            if self.health.status != "ok":
                await self.now()
            if self.health.is_damaged and self._monotonic() >= self._check_at:
                from pentad.storage.integrity import check_integrity

                self._check_at = self._monotonic() + CHECK_EVERY_SECONDS
                await check_integrity(self._db, seconds=CHECK_SECONDS)


def sqlite_features() -> dict[str, bool]:
    """What the SQLite inside this process can do."""
    options = set(apsw.compile_options)
    number = apsw.SQLITE_VERSION_NUMBER
    return {
        "fts5": "ENABLE_FTS5" in options,
        "strict": number >= 3_037_000,
        "returning": number >= 3_035_000,
        "jsonb": number >= 3_045_000,
        "extensions": "OMIT_LOAD_EXTENSION" not in options,
        "threads": "THREADSAFE=0" not in options,
    }


def probe_folder(data: Path) -> Folder:
    """Write a file to the folder and sync it: is the folder writable, how fast is the disk, how much space is left."""
    free = shutil.disk_usage(data).free if data.is_dir() else None
    try:
        with tempfile.NamedTemporaryFile(dir=data, prefix=".pentad-probe-") as file:
            file.write(b"probe")
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            return Folder(True, time.perf_counter() - started, free)
    except OSError as error:
        return Folder(False, None, free, error.strerror)


async def probe_store(db: Database) -> Store:
    """Read from and write to an open store. A result without `trouble` means that both worked just now."""
    health = health_of(db)
    schema: dict[str, int] = {}
    try:
        schema = await versions(db)
        has_table = schema.get(STORAGE.name, 0) >= _PROBES_SINCE
        seconds = await _time_write(db, large=health.status != "ok") if has_table else None
        health.probe_succeeded()
        if isinstance(db, SqliteDatabase):
            return Store("sqlite", apsw.sqlite_lib_version(), sqlite_features(), schema, db.queued, None, seconds)
        version, vector, available = await db.read(_postgres_facts)
        features = {"pgvector": vector is not None, "pgvector_available": available}
        return Store("postgres", version, features, schema, _queued(db), vector, seconds)
    except PentadError as error:
        return Store(db.dialect, schema=schema, queued=_queued(db), trouble=error)


async def _time_write(db: Database, *, large: bool) -> float:
    """Measure how long it takes to store something and delete it again.

    While nothing is wrong, a few bytes in one commit are enough. A store that has refused something must accept a
    piece too large for a full disk, in its own commit.
    """
    name = opaque_id(size=9)

    def insert(tx: Transaction) -> None:
        tx.run("INSERT INTO store_probes (id, filler) VALUES (?, ?)", name, bytes(_LARGE_BYTES if large else 1))

    def delete(tx: Transaction) -> None:
        tx.run("DELETE FROM store_probes")

    def insert_and_delete(tx: Transaction) -> None:
        insert(tx)
        delete(tx)

    started = time.perf_counter()
    for step in (insert, delete) if large else (insert_and_delete,):
        await db.write(step)
    return time.perf_counter() - started


def _postgres_facts(rows: Rows) -> tuple[str, str | None, bool]:
    return (
        rows.value("SELECT current_setting('server_version')"),
        rows.value("SELECT extversion FROM pg_extension WHERE extname = 'vector'"),
        bool(rows.value("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")),
    )


def _queued(db: Database) -> int:
    return getattr(db, "queued", 0)
