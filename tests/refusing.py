"""Stores that fail on purpose while they are open: they refuse writes, or one of their pages is damaged."""

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from pentad.kernel.ports import Database
from pentad.storage.sqlite import SqliteDatabase


@contextlib.contextmanager
def read_only(db: Database) -> Generator[None]:
    """No connection's statement changes anything."""
    _refuse(db, "on")
    try:
        yield
    finally:
        _refuse(db, "off")


@contextlib.contextmanager
def full(db: SqliteDatabase) -> Generator[None]:
    """There is no room for one more page."""
    connection = db._writer._connection
    size = connection.pragma("page_count")
    connection.pragma("max_page_count", size)
    try:
        yield
    finally:
        connection.pragma("max_page_count", 1_000_000)


def _refuse(db: Any, switch: str) -> None:
    if isinstance(db, SqliteDatabase):
        db._writer._connection.pragma("query_only", switch)
        return
    with db.connect() as connection:
        connection.execute("SET default_transaction_read_only = off")
        (name,) = connection.execute("SELECT current_database()").fetchone()
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {switch}")
        connection.execute(  # existing connections already have the old setting
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def damage(path: Path, table: str) -> None:
    """Overwrite the first page of a table, in a closed store."""
    import apsw

    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "DELETE")
    root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get
    size = connection.pragma("page_size")
    connection.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * 512)
