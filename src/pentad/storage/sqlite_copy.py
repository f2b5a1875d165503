"""Copies an SQLite store while it is in use. A copy is complete, checked and synced before it gets its final name."""

import asyncio
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import apsw

from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.kernel.ids import opaque_id
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_connection import APPLICATION_ID, SqliteConnection, open_file
from pentad.storage.sqlite_errors import raise_translated

_COPIES_KEPT = 3
_PAGES_PER_STEP = 2_000


def timestamp() -> str:
    """The current time for a file name; such names sort by time."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def partial_path(target: Path) -> Path:
    """A fresh name next to a file, on the same disk, for an unfinished file."""
    return target.with_name(f".{target.name}.{opaque_id(size=6)}.partial")


def publish(partial: Path, target: Path) -> None:
    """Give a finished file its final name, in a way that survives a power cut."""
    with partial.open("rb") as finished:
        os.fsync(finished.fileno())
    partial.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


async def save(db: SqliteDatabase, target: Path) -> None:
    """Make a checked copy of a running store."""
    await asyncio.to_thread(_save, db, target)


def _save(db: SqliteDatabase, target: Path) -> None:
    partial = partial_path(target)
    source = db.connect()
    try:
        copy(source, partial)
        publish(partial, target)
    except OSError as error:
        raise Unavailable(f"The backup could not be written: {error.strerror}.", hint="Is there space?") from error
    finally:
        source.close()
        partial.unlink(missing_ok=True)


def copy(source: SqliteConnection, target: Path) -> None:
    """Copy a snapshot of a store into a new single file, and check every page of it."""
    try:
        copied = open_file(target, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    except apsw.CantOpenError as error:
        raise Misconfigured(
            "The copy cannot be made there.", hint="Does the folder exist, and may you write?"
        ) from error
    try:
        target.chmod(0o600)
        source.execute("BEGIN")
        # The read holds the snapshot; without it the copy of a busy store never ends.
        source.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        progress = copied.backup("main", source, "main")
        try:
            while not progress.done:
                progress.step(_PAGES_PER_STEP)
        finally:
            progress.finish()
        copied.pragma("journal_mode", "DELETE")
        _check(copied)
    except apsw.Error as error:
        raise_translated(error)
    finally:
        copied.close()
        if source.in_transaction:
            source.execute("ROLLBACK")


def _check(connection: SqliteConnection) -> None:
    """Raise Misconfigured unless it is an undamaged Pentad store."""
    if connection.pragma("application_id") != APPLICATION_ID:
        raise Misconfigured("The file is not a store of Pentad.")
    if (found := connection.pragma("integrity_check")) != "ok":
        raise Misconfigured("The file is damaged.", hint=f"SQLite says: {str(found)[:200]}")


async def save_before_migrating(db: SqliteDatabase) -> None:
    """Copy a store, unless it is empty, to `<name>.before-<time>.bak` next to it; keep only the newest three."""
    tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations'"
    if not await db.read(lambda rows: rows.value(tables)):
        return
    await save(db, db.path.with_name(f"{db.path.name}.before-{timestamp()}.bak"))
    for old in sorted(db.path.parent.glob(f"{db.path.name}.before-*.bak"))[:-_COPIES_KEPT]:
        with suppress(OSError):
            old.unlink()
