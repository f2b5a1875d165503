"""Copies of an SQLite store made while it is in use: complete, checked, and in place only when they are on the disk."""

import asyncio
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import apsw

from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.kernel.ids import opaque_id
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_connection import APPLICATION_ID, open_file
from pentad.storage.sqlite_errors import fail
from pentad.storage.sqlite_handle import SqliteHandle

_KEPT = 3
_PAGES_PER_STEP = 2_000


def stamp() -> str:
    """The time as it stands in a file's name; sorts like the time itself."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def beside(target: Path) -> Path:
    """A fresh name next to a file, on the same disk, for work in progress."""
    return target.with_name(f".{target.name}.{opaque_id(size=6)}.partial")


def settle(partial: Path, target: Path) -> None:
    """Put a finished file in place so that it survives a power cut."""
    with partial.open("rb") as finished:
        os.fsync(finished.fileno())
    partial.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


async def save(db: SqliteDatabase, target: Path) -> None:
    """A checked copy of a running store."""
    await asyncio.to_thread(_save, db, target)


def _save(db: SqliteDatabase, target: Path) -> None:
    partial = beside(target)
    source = db.connect()
    try:
        copy(source, partial)
        settle(partial, target)
    except OSError as error:
        raise Unavailable(f"The backup could not be written: {error.strerror}.", hint="Is there space?") from error
    finally:
        source.close()
        partial.unlink(missing_ok=True)


def copy(source: SqliteHandle, target: Path) -> None:
    """Copy one consistent moment of a store into a new single file, and check every page of it."""
    try:
        copied = open_file(target, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    except apsw.CantOpenError as error:
        raise Misconfigured(
            "The copy cannot be made there.", hint="Does the folder exist, and may you write?"
        ) from error
    try:
        target.chmod(0o600)
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # holds the moment, or a busy store never ends
        progress = copied.backup("main", source, "main")
        try:
            while not progress.done:
                progress.step(_PAGES_PER_STEP)
        finally:
            progress.finish()
        copied.pragma("journal_mode", "DELETE")
        check(copied)
    except apsw.Error as error:
        fail(error)
    finally:
        copied.close()
        if source.in_transaction:
            source.execute("ROLLBACK")


def check(handle: SqliteHandle) -> None:
    """Misconfigured unless it is a store of Pentad without damage."""
    if handle.pragma("application_id") != APPLICATION_ID:
        raise Misconfigured("The file is not a store of Pentad.")
    if (found := handle.pragma("integrity_check")) != "ok":
        raise Misconfigured("The file is damaged.", hint=f"SQLite says: {str(found)[:200]}")


async def keep_before_migrating(db: SqliteDatabase) -> None:
    """Save a store that holds anything as `<name>.before-<time>.bak` next to it; only the newest three stay."""
    tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations'"
    if not await db.read(lambda rows: rows.value(tables)):
        return
    await save(db, db.path.with_name(f"{db.path.name}.before-{stamp()}.bak"))
    for old in sorted(db.path.parent.glob(f"{db.path.name}.before-*.bak"))[:-_KEPT]:
        with suppress(OSError):
            old.unlink()
