"""`backup` and `restore`, for both dialects.

A backup goes back into the dialect it came from: an SQLite backup is an SQLite file, a PostgreSQL backup is an archive
of rows (`postgres_archive.py`). Restoring checks the file to the end before it touches the store, and refuses while
any other process has the store open.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.kernel.ports import Database
from pentad.storage.migration_files import MigrationSet, load
from pentad.storage.migrations import apply, due, recorded
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_copy import beside, save, settle
from pentad.storage.sqlite_restore import restore_file

if TYPE_CHECKING:  # psycopg is imported only where a PostgreSQL store is at hand
    from pentad.storage.postgres import PostgresDatabase
    from pentad.storage.postgres_archive import Manifest

_TITLES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
_SQLITE_MAGIC = b"SQLite format 3\0"
_ZIP_MAGIC = b"PK\x03\x04"


async def backup(db: Database, target: Path) -> None:
    """Save the whole store into one file while it is in use; the file appears only when it is complete and checked."""
    if isinstance(db, SqliteDatabase):
        await save(db, target)
        return
    from pentad.storage.postgres import PostgresDatabase

    if not isinstance(db, PostgresDatabase):
        raise Misconfigured("This kind of store has no backup.")
    await asyncio.to_thread(_archive, db, target)


async def restore(target: str | Path, source: Path, *, sets: Sequence[MigrationSet]) -> Path | None:
    """Replace the store at a path or a PostgreSQL URL by a backup; returns where a replaced SQLite file is kept."""
    made_from = await asyncio.to_thread(_made_from, source)
    wanted = "sqlite" if isinstance(target, Path) else "postgres"
    if made_from != wanted:
        raise Misconfigured(
            f"The backup was made from {_TITLES[made_from]} and cannot be restored into {_TITLES[wanted]}.",
            hint="Restore it into the kind of store it came from.",
        )
    if isinstance(target, Path):
        return await asyncio.to_thread(restore_file, target, source, sets)
    await _restore_archive(target, source, sets)
    return None


def _made_from(source: Path) -> str:
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


def _archive(db: "PostgresDatabase", target: Path) -> None:
    from pentad.storage import postgres_archive

    partial = beside(target)
    try:
        with db.connect() as connection:
            postgres_archive.write(connection, partial)
        partial.chmod(0o600)
        postgres_archive.read(partial)
        settle(partial, target)
    except OSError as error:
        raise Unavailable(f"The backup could not be written: {error.strerror}.", hint="Is there space?") from error
    finally:
        partial.unlink(missing_ok=True)


async def _restore_archive(url: str, source: Path, sets: Sequence[MigrationSet]) -> None:
    from pentad.storage import postgres_archive
    from pentad.storage.postgres import PostgresDatabase

    manifest = await asyncio.to_thread(postgres_archive.read, source)
    due(load(sets, "postgres"), manifest.migrations)
    db = await PostgresDatabase.open(url, connections=1, alone=True)
    try:
        if not await recorded(db):
            await apply(db, sets, only=manifest.migrations)
        if await recorded(db) != manifest.migrations:
            raise Misconfigured(
                "The database has other migrations than the backup.", hint="Restore it into an empty database."
            )
        await asyncio.to_thread(_load, db, source, manifest)
    finally:
        await db.close()


def _load(db: "PostgresDatabase", source: Path, manifest: "Manifest") -> None:
    from pentad.storage import postgres_archive

    with db.connect() as connection:
        postgres_archive.load_rows(connection, source, manifest)
