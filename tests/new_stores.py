"""SQLite stores cheap enough for thousands of tests. Processes that tests start use normal ones.

A new store is a copy of an empty one: the first one for a set of migrations is created as usual, and copied into
memory. Tests of migrations call `apply` themselves.
Writes do not wait for the disk, except in tests with `sqlite_is_synced`: those of storage and faults.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from pentad import app
from pentad.kernel.ports import Database
from pentad.storage import sqlite, sqlite_connection
from pentad.storage.migrations import Migration, MigrationSet, applied, apply, load
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_connection import SqliteConnection

_EMPTY: dict[tuple[str, ...], SqliteConnection] = {}
"""The empty stores so far, by the checksums of their migrations."""


async def migrate(database: Database, sets: Sequence[MigrationSet]) -> list[Migration]:
    """A faster `apply` for a new SQLite store."""
    if not isinstance(database, SqliteDatabase) or await applied(database):
        return await apply(database, sets)
    steps = load(sets, "sqlite")
    key = tuple(f"{step.label} {step.checksum}" for step in steps)
    if key not in _EMPTY:
        await apply(database, sets)
        source, _EMPTY[key] = database.connect(), apsw.Connection(":memory:")
        _copy(source, _EMPTY[key])
        source.close()
    else:
        _copy(_EMPTY[key], database._writer._connection)
    return steps


def _copy(source: SqliteConnection, target: SqliteConnection) -> None:
    progress = target.backup("main", source, "main")
    try:
        progress.step()
    finally:
        progress.finish()


@pytest.fixture(scope="session", autouse=True)
def apps_start_on_copies() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "apply", migrate)
        yield


_connect = sqlite_connection.connect


def _connect_unsynced(path: Path, purpose: sqlite_connection.Purpose, **how: Any) -> SqliteConnection:
    connection = _connect(path, purpose, **how)
    connection.pragma("synchronous", "OFF")
    return connection


@pytest.fixture(scope="session", autouse=True)
def sqlite_is_not_synced() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (sqlite, sqlite_connection):
            patch.setattr(module, "connect", _connect_unsynced)
        yield


@pytest.fixture
def sqlite_is_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sqlite, sqlite_connection):
        monkeypatch.setattr(module, "connect", _connect)
