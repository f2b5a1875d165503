"""Connections to the store's SQLite file, opened the same way for every purpose.

The settings here are the durability promise: WAL with synchronous=FULL loses no acknowledged commit to a power cut.

The protocols describe the part of apsw that Pentad uses. apsw's own stubs name `collections.abc.Buffer`, which Python
3.11 does not have, so strict checking sees every statement and row as partly unknown. A real `apsw.Connection`
satisfies the protocols as it is.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import apsw

from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Row, Value
from pentad.storage.sqlite_errors import raise_translated

APPLICATION_ID = 0x50454E54
"""`PENT` in the file's header distinguishes a Pentad store from any other SQLite file."""

Purpose = Literal["write", "read"]


class SqliteCursor(Protocol):
    """The rows of one statement; dropping the cursor, or running another statement on it, ends the statement."""

    @property
    def get(self) -> Any: ...

    def execute(self, statements: str, bindings: Sequence[Value] | None = None) -> "SqliteCursor": ...

    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[Value]]) -> "SqliteCursor": ...

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...


class SqliteCopy(Protocol):
    """A running copy of one database file into another."""

    @property
    def done(self) -> bool: ...

    def step(self, npages: int = -1) -> bool: ...

    def finish(self) -> None: ...


class SqliteConnection(Protocol):
    """One connection, used by one thread at a time."""

    @property
    def in_transaction(self) -> bool: ...

    @property
    def filename_wal(self) -> str: ...

    def cursor(self) -> SqliteCursor: ...

    def execute(self, statements: str, bindings: Sequence[Value] | None = None) -> SqliteCursor: ...

    def pragma(self, name: str, value: str | int | None = None) -> Any: ...

    def changes(self) -> int: ...

    def total_changes(self) -> int: ...

    def last_insert_rowid(self) -> int: ...

    def status(self, op: int) -> tuple[int, int]: ...

    def config(self, op: int, *args: int) -> int: ...

    def set_busy_timeout(self, milliseconds: int) -> None: ...

    def set_progress_handler(self, interrupts: Callable[[], bool] | None, instructions: int, /) -> None: ...

    def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]: ...

    def backup(self, databasename: str, sourceconnection: Any, sourcedatabasename: str) -> SqliteCopy: ...

    def close(self, force: bool = False) -> None: ...


def open_file(path: Path, flags: int, vfs: str | None = None) -> SqliteConnection:
    """Open a connection without any of the settings below."""
    return apsw.Connection(str(path), flags=flags, vfs=vfs, statementcachesize=500)


def connect(path: Path, purpose: Purpose, *, busy_seconds: float, vfs: str | None = None) -> SqliteConnection:
    """Open a configured connection to an existing store."""
    connection = open_file(path, apsw.SQLITE_OPEN_READWRITE, vfs)
    connection.set_busy_timeout(int(busy_seconds * 1000))
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    # Plans must not depend on the values, or statements that involve partial indexes are compiled every time.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.pragma("synchronous", "FULL")
    connection.pragma("foreign_keys", True)
    connection.pragma("trusted_schema", False)
    connection.pragma("temp_store", "MEMORY")
    connection.pragma("journal_size_limit", 16 * 1024 * 1024)
    if purpose == "read":
        connection.pragma("query_only", True)
    return connection


def prepare_file(path: Path, *, busy_seconds: float, vfs: str | None = None) -> SqliteConnection:
    """Create the file if needed, make sure it is a Pentad store, and return the writing connection."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise Misconfigured(
            f"The store {path} cannot be opened: {error.strerror}.", hint="Check the folder given as --data."
        ) from error
    deadline = time.monotonic() + busy_seconds
    while True:
        inode = path.stat().st_ino
        connection = _claimed(path, busy_seconds, vfs, deadline)
        if path.stat().st_ino == inode:
            return connection
        connection.close()  # a restore put another file in place while this one was being opened


def _claimed(path: Path, busy_seconds: float, vfs: str | None, deadline: float) -> SqliteConnection:
    while True:
        connection: SqliteConnection | None = None
        try:
            connection = connect(path, "write", busy_seconds=busy_seconds, vfs=vfs)
            _claim(connection, path)
        except apsw.BusyError as error:  # switching to WAL does not always call the busy handler
            if connection is not None:
                connection.close()
            if time.monotonic() > deadline:
                raise_translated(error)
            time.sleep(0.02)
        except (apsw.Error, Misconfigured) as error:
            if connection is not None:
                connection.close()
            raise_translated(error)
        else:
            return connection


def _claim(connection: SqliteConnection, path: Path) -> None:
    found = connection.pragma("application_id")
    if found != APPLICATION_ID:
        if found or connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise Misconfigured(
                f"{path} is an SQLite file of another program.", hint="Choose another folder with --data."
            )
        connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("journal_mode", "WAL")
