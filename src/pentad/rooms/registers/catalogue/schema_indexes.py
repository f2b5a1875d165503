"""Keeps the indexes of schemas in line with their definitions.

Indexes are created and dropped outside the transaction that changes a schema, so no write waits for either. New ones
are created before it, or after it if it migrates objects; old ones are dropped after it. A row in `index_builds` marks
the schema, so work interrupted by a crash is finished when the room opens.
"""

import logging
from collections.abc import Iterable
from typing import Final

from pentad.kernel.counts import counted
from pentad.kernel.errors import Conflict, PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Dialect, Rows, Transaction
from pentad.rooms.registers import store
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions
from pentad.rooms.registers.objects.indexes import (
    MANY_INDEXES,
    MOST_INDEXES,
    IndexPlan,
    check_content,
    count_indexes,
    index_plan,
    missing_indexes,
    obsolete_indexes,
)

_log: Final = logging.getLogger(__name__)

INDEX_ADVICE: Final = (
    "Every index slows down all writes: take unique, x-index or facetable from properties that filters seldom use."
)
_BEGIN: Final = "INSERT INTO index_builds (schema) VALUES (?) ON CONFLICT (schema) DO NOTHING"
_END: Final = "DELETE FROM index_builds WHERE schema = ?"


def begin_indexing(tx: Transaction, schemas: Iterable[int]) -> None:
    """Record that the indexes of these schemas need checking."""
    tx.run_many(_BEGIN, [(schema,) for schema in schemas])


def index_warnings(rows: Rows, dialect: Dialect) -> list[str]:
    """A sentence for each schema that slows down every write; those from older versions may have too many indexes."""
    counts = count_indexes(rows, dialect)
    found = [
        f"Schema {key} has {count} indexes, and {MOST_INDEXES} is the most for new ones; its slug is {schema.slug!r}."
        for key, count in sorted(counts.items())
        if count > MOST_INDEXES and (schema := store.find_schema(rows, key)) is not None
    ]
    if counts.total() > MANY_INDEXES:
        found.append(f"The schemas have {counted(counts.total(), 'index', 'indexes')} together.")
    return found


class SchemaIndexes:
    """Creates and drops indexes, outside the transactions that change schemas."""

    def __init__(self, database: Database, definitions: Definitions) -> None:
        self._database = database
        self._dialect: Dialect = database.dialect
        self._definitions = definitions

    async def add(self, schema: int, plan: IndexPlan, *, discreet: bool) -> None:
        """Create the indexes a schema will need after a change; Conflict if stored objects do not allow one.

        Existing ones stay. If `discreet`, the error does not name the objects.
        """

        def check(rows: Rows) -> bool:
            if not missing_indexes(rows, self._dialect, schema, plan):
                return False
            check_content(rows, self._dialect, schema, plan, discreet=discreet)
            return True

        if not await self._database.read(check):
            return
        await self._database.write(lambda tx: begin_indexing(tx, [schema]))
        try:
            await self._database.define(lambda rows: missing_indexes(rows, self._dialect, schema, plan))
        except Conflict:
            await self._database.read(check)  # its error says more, unless the objects have changed again
            raise

    async def finish(self) -> None:
        """Give every marked schema exactly the indexes of its stored definition; remove those of deleted schemas."""
        for (key,) in await self._database.read(lambda rows: rows.all("SELECT schema FROM index_builds")):
            try:
                await self._database.define(lambda rows, key=key: self._statements(rows, key))
            except PentadError as error:
                log_failure(error, f"Making the indexes of schema {key}")
            else:
                await self._database.write(lambda tx, key=key: tx.run(_END, key))

    async def open(self) -> None:
        """Finish interrupted work, and warn about schemas that slow down every write."""
        for text in await self._database.read(lambda rows: index_warnings(rows, self._dialect)):
            _log.warning("%s %s", text, INDEX_ADVICE)
        await self.finish()

    def _statements(self, rows: Rows, key: int) -> list[str]:
        schema = store.find_schema(rows, key)
        plan = None if schema is None else index_plan(self._definitions.compile_unsaved(rows, schema))
        added = [] if plan is None else missing_indexes(rows, self._dialect, key, plan)
        return [*obsolete_indexes(rows, self._dialect, key, plan), *added]
