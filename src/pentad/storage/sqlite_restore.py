"""Putting a backup in the place of an SQLite store, which is kept under another name.

Nothing is replaced before the backup has been copied next to the store and checked. Nobody may have the store open:
leaving WAL mode needs the file for oneself, and SQLite refuses it while any connection of any process exists.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from pentad.kernel.errors import Conflict, Misconfigured
from pentad.storage.migration_files import MigrationSet, load
from pentad.storage.migrations import due, ledger
from pentad.storage.sqlite_connection import open_file
from pentad.storage.sqlite_copy import beside, copy, settle, stamp
from pentad.storage.sqlite_handle import SqliteHandle
from pentad.storage.sqlite_rows import SqliteRows

_PATIENCE_MS = 500


def restore_file(target: Path, source: Path, sets: Sequence[MigrationSet]) -> Path | None:
    """Replace the store at `target`; returns where the replaced one is kept, if there was one."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    staged = beside(target)
    try:
        _stage(source, staged, sets)
        kept = _put_aside(target) if target.exists() else None
        settle(staged, target)
    finally:
        staged.unlink(missing_ok=True)
    return kept


def _stage(source: Path, staged: Path, sets: Sequence[MigrationSet]) -> None:
    try:
        handle = open_file(source, apsw.SQLITE_OPEN_READONLY)
    except apsw.CantOpenError as error:
        raise Misconfigured(
            f"{source} cannot be opened.", hint="Give the path of a file made by `pentad backup`."
        ) from error
    try:
        copy(handle, staged)
        due(load(sets, "sqlite"), ledger(SqliteRows(handle.cursor()), "sqlite"))
    except Misconfigured as error:
        raise Misconfigured(f"{source.name} cannot be restored. {error.message}", hint=error.hint) from error
    finally:
        handle.close()


def _put_aside(target: Path) -> Path:
    kept = target.with_name(f"{target.name}.replaced-{stamp()}")
    handle: SqliteHandle | None = None
    try:
        handle = open_file(target, apsw.SQLITE_OPEN_READWRITE)
        handle.set_busy_timeout(_PATIENCE_MS)
        if handle.pragma("journal_mode", "DELETE") != "delete":
            raise _in_use()
        handle.execute("BEGIN EXCLUSIVE")  # held over the renaming: who opens the file now has to wait for it
        target.rename(kept)
    except (apsw.BusyError, apsw.LockedError) as error:
        raise _in_use() from error
    except (apsw.NotADBError, apsw.CorruptError):  # damaged beyond opening: very likely why a backup is restored
        target.rename(kept)
        for suffix in ("-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                target.with_name(target.name + suffix).rename(kept.with_name(kept.name + suffix))
    finally:
        if handle is not None:
            handle.close()
    return kept


def _in_use() -> Conflict:
    return Conflict("Another process has the store open.", hint="Stop every Pentad server on it first.")
