"""Locks between schema changes and object writes, for PostgreSQL; SQLite has a single writer and needs none.

A write holds the shared lock of every schema whose objects it writes. A schema change holds the exclusive lock while it
stores the definition and rewrites objects, and one lock common to all such changes, so they run one at a time. All
locks end with their transaction. They queue in order: a change waits for writes that have begun, and no new write gets
ahead of it.

A write never waits inside its transaction, which would occupy one of the few connections. It gives up and waits outside
(`SchemaLocks.write`), where one connection waits for all writes of a process.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from pentad.kernel.errors import DeadlineExceeded, Overloaded
from pentad.kernel.ports import Database, Dialect, Rows, Transaction
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.not_found import EntityNotFound

T = TypeVar("T")

_SPACE: Final = 0x5265
"""The first half of the advisory lock keys; the second is the schema's id, or 0 for the catalogue."""

_LOOK: Final[dict[Dialect, str]] = {
    "sqlite": "SELECT changes, (SELECT 1 FROM registers WHERE id = ?), 1 FROM schemas WHERE id = ?",
    # FOR SHARE fails, so the write starts again, if the schema changed after the transaction's snapshot was taken
    "postgres": (
        f"SELECT changes, (SELECT 1 FROM registers WHERE id = ?), pg_try_advisory_xact_lock_shared({_SPACE}, id::int)"  # noqa: S608  a constant
        " FROM schemas WHERE id = ? FOR SHARE SKIP LOCKED"
    ),
}
_SHARE: Final = (
    f"SELECT pg_try_advisory_xact_lock_shared({_SPACE}, id::int)"  # noqa: S608  a constant
    " FROM schemas WHERE id = ? FOR SHARE SKIP LOCKED"
)


class StaleDefinition(Exception):
    """The schema changed after it was read; the write restarts with the new one."""


class SchemaBusy(Exception):
    """The schema is being changed; the write has to wait."""

    def __init__(self, schema: int) -> None:
        super().__init__(schema)
        self.schema = schema


def check_current(tx: Transaction, dialect: Dialect, pair: Pair) -> None:
    """Lock the schema against changes until the transaction ends; StaleDefinition if it changed since it was read.

    Call it first in every unit of work that writes objects.
    """
    row = tx.one(_LOOK[dialect], pair.register.id, pair.schema.id)
    if row is None and dialect == "postgres" and tx.value("SELECT 1 FROM schemas WHERE id = ?", pair.schema.id):
        raise SchemaBusy(pair.schema.id)
    if row is None or row[1] is None:
        raise EntityNotFound(f"{pair.label} was deleted meanwhile.", "registers")
    if not row[2]:
        raise SchemaBusy(pair.schema.id)
    if row[0] != pair.schema.changes:
        raise StaleDefinition


def keep_schemas(tx: Transaction, dialect: Dialect, schemas: Iterable[int]) -> None:
    """Also lock the schemas of objects that the transaction changes as a side effect."""
    if dialect == "postgres":
        for schema in sorted(set(schemas)):
            if not tx.value(_SHARE, schema):
                raise SchemaBusy(schema)


def lock_catalogue(tx: Transaction, dialect: Dialect) -> None:
    """Wait for other schema changes, and block new ones."""
    if dialect == "postgres":
        tx.one("SELECT pg_advisory_xact_lock(?, 0)", _SPACE)


def lock_schemas(tx: Transaction, dialect: Dialect, schemas: Iterable[int]) -> None:
    """Wait for object writes in these schemas, and block new ones."""
    if dialect == "postgres":
        for schema in sorted(set(schemas)):
            tx.one("SELECT pg_advisory_xact_lock(?, CAST(? AS int))", _SPACE, schema)


class SchemaLocks:
    """Runs units of work that write objects, waiting for changes of their schema."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: dict[int, asyncio.Task[None]] = {}

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """Run a unit of work, and repeat it after each schema change that got in its way."""
        while True:
            try:
                return await self._database.write(work)
            except SchemaBusy as busy:
                await self._changed(busy.schema)

    async def _changed(self, schema: int) -> None:
        """Wait until no schema is being changed; all writes of this process wait together."""
        waiting = self._waiting.get(schema)
        if waiting is None:
            waiting = self._waiting[schema] = asyncio.create_task(self._wait(schema))
            waiting.add_done_callback(lambda _done: self._waiting.pop(schema, None))
        try:
            await asyncio.shield(waiting)
        except DeadlineExceeded:
            raise Overloaded("The schema is being changed, which takes long.", hint="Try again in a moment.") from None

    async def _wait(self, schema: int) -> None:
        def wait(rows: Rows) -> None:
            rows.one("SELECT pg_advisory_xact_lock_shared(?, CAST(? AS int))", _SPACE, schema)

        await self._database.read(wait)
