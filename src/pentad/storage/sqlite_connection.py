"""Opening a connection to the store's SQLite file, the same way for every purpose.

The settings here are the durability promise: WAL with synchronous=FULL loses no acknowledged commit to a power cut.
"""

import os
import time
from pathlib import Path
from typing import Literal

import apsw

from pentad.kernel.errors import Misconfigured
from pentad.storage.sqlite_errors import fail
from pentad.storage.sqlite_handle import SqliteHandle

APPLICATION_ID = 0x50454E54
"""`PENT` in the file's header: how a Pentad store is told from any other SQLite file."""

Purpose = Literal["write", "read"]


def open_file(path: Path, flags: int, vfs: str | None = None) -> SqliteHandle:
    """A bare connection, as apsw makes it."""
    return apsw.Connection(str(path), flags=flags, vfs=vfs, statementcachesize=500)


def connect(path: Path, purpose: Purpose, *, busy_seconds: float, vfs: str | None = None) -> SqliteHandle:
    """A configured connection to an existing store."""
    connection = open_file(path, apsw.SQLITE_OPEN_READWRITE, vfs)
    connection.set_busy_timeout(int(busy_seconds * 1000))
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    # a statement keeps its plan whatever its values are; else those that meet partial indexes are compiled every time
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.pragma("synchronous", "FULL")
    connection.pragma("foreign_keys", True)
    connection.pragma("trusted_schema", False)
    connection.pragma("temp_store", "MEMORY")
    connection.pragma("journal_size_limit", 16 * 1024 * 1024)
    if purpose == "read":
        connection.pragma("query_only", True)
    return connection


def prepare_file(path: Path, *, busy_seconds: float, vfs: str | None = None) -> SqliteHandle:
    """Create the file if need be, make sure it is a store of ours, and return the writing connection."""
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


def _claimed(path: Path, busy_seconds: float, vfs: str | None, deadline: float) -> SqliteHandle:
    while True:
        connection: SqliteHandle | None = None
        try:
            connection = connect(path, "write", busy_seconds=busy_seconds, vfs=vfs)
            _claim(connection, path)
        except apsw.BusyError as error:  # switching to WAL does not always ask the busy handler
            if connection is not None:
                connection.close()
            if time.monotonic() > deadline:
                fail(error)
            time.sleep(0.02)
        except (apsw.Error, Misconfigured) as error:
            if connection is not None:
                connection.close()
            fail(error)
        else:
            return connection


def _claim(connection: SqliteHandle, path: Path) -> None:
    found = connection.pragma("application_id")
    if found != APPLICATION_ID:
        if found or connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise Misconfigured(
                f"{path} is an SQLite file of another program.", hint="Choose another folder with --data."
            )
        connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("journal_mode", "WAL")
