"""Checks whether the store is sound by reading all of it within a time limit. Nothing is changed.

SQLite checks its own pages, indexes and references. For PostgreSQL the check reads the server's checksum statistics,
runs `amcheck` on the indexes if the operator has installed it, and reads every row of every table to its last byte,
which finds a damaged page wherever it is.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import apsw

from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Database
from pentad.storage.errors import damaged
from pentad.storage.health import health_of
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_errors import translate_error

Progress = Callable[[str], None]
"""Called with what is being checked, a few times a second."""

_MOST_FAULTS: Final = 10
_INSTRUCTIONS: Final = 100_000
_PROGRESS_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Integrity:
    """The result of a check. `complete` is False if the time ran out before everything was read."""

    faults: list[str]
    complete: bool
    seconds: float


async def check_integrity(db: Database, *, seconds: float, progress: Progress | None = None) -> Integrity:
    """Check the store for up to `seconds`, and record the result in its health."""
    started = time.monotonic()
    if isinstance(db, SqliteDatabase):
        faults, complete = await asyncio.to_thread(_check_sqlite, db, started + seconds, progress or _ignore)
    else:
        faults, complete = await asyncio.to_thread(_check_postgres, db, started + seconds, progress or _ignore)
    if faults:
        health_of(db).record(damaged(), "read")
    elif complete:
        health_of(db).found_sound()
    return Integrity(faults, complete, time.monotonic() - started)


def _check_sqlite(db: SqliteDatabase, deadline: float, progress: Progress) -> tuple[list[str], bool]:
    try:
        connection = db.connect()
    except apsw.Error as error:
        return [str(translate_error(error))], False
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
        return [str(translate_error(error))], False
    finally:
        connection.close()


def _check_postgres(db: Database, deadline: float, progress: Progress) -> tuple[list[str], bool]:
    from pentad.storage.postgres import PostgresDatabase
    from pentad.storage.postgres_integrity import check

    if not isinstance(db, PostgresDatabase):
        raise Misconfigured("This kind of store cannot be checked.")
    return check(db, deadline, progress, most=_MOST_FAULTS)


def _ignore(_what: str) -> None:
    """Stands in for a missing progress callback."""
