"""`backup` and `restore`, for both dialects.

A backup goes back into the dialect it came from: an SQLite backup is an SQLite file, a PostgreSQL backup is an archive
of rows (`postgres_archive.py`). `restore` checks the whole file before it touches the store, and refuses while any
other process has the store open. A replaced SQLite file is kept under another name.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.kernel.ports import Database
from pentad.storage.errors import in_use
from pentad.storage.migrations import MigrationSet, applied, apply, load, pending, read_applied
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_connection import SqliteConnection, open_file
from pentad.storage.sqlite_copy import copy, partial_path, publish, save, timestamp
from pentad.storage.sqlite_transactions import SqliteRows

if TYPE_CHECKING:  # psycopg is imported only for a PostgreSQL store
    from pentad.storage.postgres import PostgresDatabase
    from pentad.storage.postgres_archive import Manifest

_TITLES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
_SQLITE_MAGIC = b"SQLite format 3\0"
_ZIP_MAGIC = b"PK\x03\x04"
_PATIENCE_MS = 500


async def backup(db: Database, target: Path) -> None:
    """Copy the whole store into one file while it is in use; the file appears only once it is complete and checked."""
    if isinstance(db, SqliteDatabase):
        await save(db, target)
        return
    from pentad.storage.postgres import PostgresDatabase

    if not isinstance(db, PostgresDatabase):
        raise Misconfigured("This kind of store has no backup.")
    await asyncio.to_thread(_write_archive, db, target)


async def restore(target: str | Path, source: Path, *, sets: Sequence[MigrationSet]) -> Path | None:
    """Replace the store at a path or a PostgreSQL URL with a backup; returns where a replaced SQLite file is kept."""
    made_from = await asyncio.to_thread(_dialect_of, source)
    into = "sqlite" if isinstance(target, Path) else "postgres"
    if made_from != into:
        raise Misconfigured(
            f"The backup was made from {_TITLES[made_from]} and cannot be restored into {_TITLES[into]}.",
            hint="Restore it into the kind of store it came from.",
        )
    if isinstance(target, Path):
        return await asyncio.to_thread(_restore_file, target, source, sets)
    await _restore_archive(target, source, sets)
    return None


def _dialect_of(source: Path) -> str:
    try:
        with source.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise Misconfigured(f"{source} cannot be read: {error.strerror}.") from error
    if start == _SQLITE_MAGIC:
        return "sqlite"
    if start.startswith(_ZIP_MAGIC):
        return "postgres"
    raise Misconfigured(f"{source.name} is not a backup.", hint="Give the path of a file made by `pentad backup`.")


def _restore_file(target: Path, source: Path, sets: Sequence[MigrationSet]) -> Path | None:
    """Replace the store at `target`. Nothing is touched before the backup has been copied next to it and checked."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    staged = partial_path(target)
    try:
        _stage(source, staged, sets)
        kept = _move_away(target) if target.exists() else None
        publish(staged, target)
    finally:
        staged.unlink(missing_ok=True)
    return kept


def _stage(source: Path, staged: Path, sets: Sequence[MigrationSet]) -> None:
    try:
        connection = open_file(source, apsw.SQLITE_OPEN_READONLY)
    except apsw.CantOpenError as error:
        raise Misconfigured(
            f"{source} cannot be opened.", hint="Give the path of a file made by `pentad backup`."
        ) from error
    try:
        copy(connection, staged)
        pending(load(sets, "sqlite"), read_applied(SqliteRows(connection.cursor()), "sqlite"))
    except Misconfigured as error:
        raise Misconfigured(f"{source.name} cannot be restored. {error.message}", hint=error.hint) from error
    finally:
        connection.close()


def _move_away(target: Path) -> Path:
    """Rename a store. It must not be open: SQLite does not leave WAL mode while any process has a connection."""
    kept = target.with_name(f"{target.name}.replaced-{timestamp()}")
    connection: SqliteConnection | None = None
    try:
        connection = open_file(target, apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(_PATIENCE_MS)
        if connection.pragma("journal_mode", "DELETE") != "delete":
            raise in_use()
        connection.execute("BEGIN EXCLUSIVE")  # held during the rename, so that anyone who opens the file waits
        target.rename(kept)
    except (apsw.BusyError, apsw.LockedError) as error:
        raise in_use() from error
    except (apsw.NotADBError, apsw.CorruptError):  # too damaged to open, probably why it is being restored
        target.rename(kept)
        for suffix in ("-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                target.with_name(target.name + suffix).rename(kept.with_name(kept.name + suffix))
    finally:
        if connection is not None:
            connection.close()
    return kept


def _write_archive(db: "PostgresDatabase", target: Path) -> None:
    from pentad.storage import postgres_archive

    partial = partial_path(target)
    try:
        with db.connect() as connection:
            postgres_archive.write(connection, partial)
        partial.chmod(0o600)
        postgres_archive.read(partial)
        publish(partial, target)
    except OSError as error:
        raise Unavailable(f"The backup could not be written: {error.strerror}.", hint="Is there space?") from error
    finally:
        partial.unlink(missing_ok=True)


async def _restore_archive(url: str, source: Path, sets: Sequence[MigrationSet]) -> None:
    from pentad.storage import postgres_archive
    from pentad.storage.postgres import PostgresDatabase

    manifest = await asyncio.to_thread(postgres_archive.read, source)
    pending(load(sets, "postgres"), manifest.migrations)
    db = await PostgresDatabase.open(url, connections=1, exclusive=True)
    try:
        if not await applied(db):
            await apply(db, sets, only=manifest.migrations)
        if await applied(db) != manifest.migrations:
            raise Misconfigured(
                "The database has other migrations than the backup.", hint="Restore it into an empty database."
            )
        await asyncio.to_thread(_load_rows, db, source, manifest)
    finally:
        await db.close()


def _load_rows(db: "PostgresDatabase", source: Path, manifest: "Manifest") -> None:
    from pentad.storage import postgres_archive

    with db.connect() as connection:
        postgres_archive.load_rows(connection, source, manifest)
