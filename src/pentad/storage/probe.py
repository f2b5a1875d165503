"""Facts about the store for `pentad doctor` and `/readyz`. It reports; it does not judge and changes nothing."""

import asyncio
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from pentad.kernel.errors import PentadError
from pentad.kernel.ports import Database, Dialect, Rows
from pentad.storage.migrations import versions
from pentad.storage.sqlite import SqliteDatabase


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
    """Ask an open store how it is; includes one empty commit, so an answer without trouble means it can write."""
    try:
        started = time.perf_counter()
        await db.write(lambda _: None)
        seconds = time.perf_counter() - started
        schema = await versions(db)
        if isinstance(db, SqliteDatabase):
            return await _sqlite(db, schema, seconds)
        version, vector, available = await db.read(_postgres)
        features = {"pgvector": vector is not None, "pgvector_available": available}
        return Store("postgres", version, features, schema, _queued(db), None, vector, seconds)
    except PentadError as error:
        return Store(db.dialect, queued=_queued(db), trouble=error)


async def _sqlite(db: SqliteDatabase, schema: dict[str, int], seconds: float) -> Store:
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
