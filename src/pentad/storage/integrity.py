"""Whether the store is sound: all of it is read, within a time.

SQLite checks its own pages, indexes and references. PostgreSQL is asked what its checksums have seen; its indexes are
checked by `amcheck` where the operator has installed it; and every row of every table is read to its last byte, which
meets a damaged page wherever it is. Nothing is changed.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import apsw

from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Database
from pentad.storage.health import health_of
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_errors import translated
from pentad.storage.troubles import damaged

Progress = Callable[[str], None]
"""Hears what is being checked, several times a second at most."""

_MOST_FAULTS: Final = 10
_INSTRUCTIONS: Final = 100_000
_PROGRESS_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Integrity:
    """What a check found. `complete` is False when its time was up before all had been read."""

    faults: list[str]
    complete: bool
    seconds: float


async def check_integrity(db: Database, *, seconds: float, progress: Progress | None = None) -> Integrity:
    """Check the store for up to that time; what is found is noted in the store's health."""
    started = time.monotonic()
    if isinstance(db, SqliteDatabase):
        faults, complete = await asyncio.to_thread(_check_sqlite, db, started + seconds, progress or _unheard)
    else:
        faults, complete = await asyncio.to_thread(_check_postgres, db, started + seconds, progress or _unheard)
    if faults:
        health_of(db).noted(damaged(), "read")
    elif complete:
        health_of(db).is_sound()
    return Integrity(faults, complete, time.monotonic() - started)


def _check_sqlite(db: SqliteDatabase, deadline: float, progress: Progress) -> tuple[list[str], bool]:
    try:
        connection = db.connect()
    except apsw.Error as error:
        return [str(translated(error))], False
    started, last = time.monotonic(), 0.0

    def is_late() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_SECONDS:
            last = now
            progress(f"{now - started:.0f} s")
        return now > deadline

    connection.set_progress_handler(is_late, _INSTRUCTIONS)
    try:
        checks = connection.execute(f"PRAGMA integrity_check({_MOST_FAULTS})").fetchall()
        faults = [str(row[0]) for row in checks if row[0] != "ok"]
        dangling = connection.execute('SELECT DISTINCT "table", parent FROM pragma_foreign_key_check').fetchall()
        faults += [f"{table} refers to rows of {parent} that are not there" for table, parent in dangling]
        return faults[:_MOST_FAULTS], True
    except apsw.InterruptError:
        return [], False
    except apsw.Error as error:
        return [str(translated(error))], False
    finally:
        connection.close()


def _check_postgres(db: Database, deadline: float, progress: Progress) -> tuple[list[str], bool]:
    from pentad.storage.postgres import PostgresDatabase
    from pentad.storage.postgres_integrity import check

    if not isinstance(db, PostgresDatabase):
        raise Misconfigured("This kind of store cannot be checked.")
    return check(db, deadline, progress, most=_MOST_FAULTS)


def _unheard(_what: str) -> None:
    """Nobody wants to hear how far it is."""
