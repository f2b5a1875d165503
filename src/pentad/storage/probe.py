"""Facts about the store for `pentad doctor` and `/readyz`. It reports; it does not judge, and leaves all as it was."""

import asyncio
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from pentad.kernel.errors import PentadError
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Dialect, Rows, Transaction
from pentad.storage.health import health_of
from pentad.storage.migration_files import STORAGE
from pentad.storage.migrations import versions
from pentad.storage.sqlite import SqliteDatabase

_PROBES_SINCE = 2
"""The migration of the store's own tables that made the one probes are kept in."""
_LARGE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Folder:
    """The data folder on its disk."""

    writable: bool
    sync_seconds: float | None
    free_bytes: int | None
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """An open store. `trouble` is why it does not answer; the rest is then as far as it could be learnt."""

    dialect: Dialect
    version: str = ""
    features: dict[str, bool] = field(default_factory=dict[str, bool])
    schema: dict[str, int] = field(default_factory=dict[str, int])
    queued: int = 0
    wal_bytes: int | None = None
    pgvector: str | None = None
    write_seconds: float | None = None
    trouble: PentadError | None = None


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
    """Try the folder: can a file be written there, does the disk confirm it, how much space is left."""
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
    """Ask an open store how it is; an answer without trouble means that it could read and write just now."""
    health = health_of(db)
    schema: dict[str, int] = {}
    try:
        schema = await versions(db)
        seconds = await _kept(db, large=health.status != "ok") if schema.get(STORAGE.name, 0) >= _PROBES_SINCE else None
        health.works_again()
        if isinstance(db, SqliteDatabase):
            return await _sqlite(db, schema, seconds)
        version, vector, available = await db.read(_postgres)
        features = {"pgvector": vector is not None, "pgvector_available": available}
        return Store("postgres", version, features, schema, _queued(db), None, vector, seconds)
    except PentadError as error:
        return Store(db.dialect, schema=schema, queued=_queued(db), trouble=error)


async def _kept(db: Database, *, large: bool) -> float:
    """How long it took to have something kept and dropped again.

    Where nothing is wrong a few bytes do, in one commit. A store that has refused something must take a piece that no
    disk without space has room for, in a commit of its own.
    """
    name = opaque_id(size=9)

    def keep(tx: Transaction) -> None:
        tx.run("INSERT INTO store_probes (id, filler) VALUES (?, ?)", name, bytes(_LARGE_BYTES if large else 1))

    def drop(tx: Transaction) -> None:
        tx.run("DELETE FROM store_probes")

    def both(tx: Transaction) -> None:
        keep(tx)
        drop(tx)

    started = time.perf_counter()
    for step in (keep, drop) if large else (both,):
        await db.write(step)
    return time.perf_counter() - started


async def _sqlite(db: SqliteDatabase, schema: dict[str, int], seconds: float | None) -> Store:
    log = db.path.with_name(db.path.name + "-wal")
    size = await asyncio.to_thread(lambda: log.stat().st_size if log.exists() else 0)
    return Store("sqlite", apsw.sqlite_lib_version(), sqlite_features(), schema, db.queued, size, None, seconds)


def _postgres(rows: Rows) -> tuple[str, str | None, bool]:
    return (
        rows.value("SELECT current_setting('server_version')"),
        rows.value("SELECT extversion FROM pg_extension WHERE extname = 'vector'"),
        bool(rows.value("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")),
    )


def _queued(db: Database) -> int:
    return getattr(db, "queued", 0)
