"""New SQLite stores made by copying an empty one: thousands of tests make a store, and each would run every migration.

The first store with certain migrations is made by them, as always, and copied into memory; later ones are that copy.
Processes that tests start migrate their own stores, and tests of migrations call `apply` themselves.
"""

from collections.abc import Iterator, Sequence

import apsw
import pytest

from pentad import app
from pentad.kernel.ports import Database
from pentad.storage.migrations import Migration, MigrationSet, applied, apply, load
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_connection import SqliteConnection

_EMPTY: dict[tuple[str, ...], SqliteConnection] = {}
"""The empty stores there are so far, by the checksums of their migrations."""


async def migrate(database: Database, sets: Sequence[MigrationSet]) -> list[Migration]:
    """What `apply` does, quicker for a new SQLite store."""
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
