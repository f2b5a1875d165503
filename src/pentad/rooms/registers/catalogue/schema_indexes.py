"""The indexes of schemas follow their definitions.

They are made before a changed definition is stored, and the old ones dropped after it, so that no write has to wait for
either. A row in `index_builds` says that this has begun; what a crash interrupts is finished when the room opens.
"""

from collections.abc import Iterable
from typing import Final

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers import store
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions
from pentad.rooms.registers.objects.indexes import (
    IndexPlan,
    check_content,
    index_plan,
    missing_indexes,
    obsolete_indexes,
)

_BEGIN: Final = "INSERT INTO index_builds (schema) VALUES (?) ON CONFLICT (schema) DO NOTHING"
_END: Final = "DELETE FROM index_builds WHERE schema = ?"


def begin_indexing(tx: Transaction, schemas: Iterable[int]) -> None:
    """Note that the indexes of these schemas have to be looked at."""
    tx.run_many(_BEGIN, [(schema,) for schema in schemas])


class SchemaIndexes:
    """Makes and drops indexes, outside the transactions that change schemas."""

    def __init__(self, database: Database, definitions: Definitions) -> None:
        self._database = database
        self._dialect = database.dialect
        self._definitions = definitions

    async def add(self, schema: int, plan: IndexPlan, *, discreet: bool) -> None:
        """Make the indexes that a schema will need after a change; Conflict if stored objects do not allow one.

        The present ones stay. If `discreet`, the error does not name the objects.
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
            await self._database.read(check)  # which can say more, unless the objects have changed again
            raise

    async def sync(self, schemas: Iterable[int]) -> None:
        """Give schemas exactly the indexes of their stored definitions; one that is gone has none."""
        for schema in schemas:
            if await self._database.read(lambda rows, key=schema: self._statements(rows, key)):
                await self._database.define(lambda rows, key=schema: self._statements(rows, key))
            await self._database.write(lambda tx, key=schema: tx.run(_END, key))

    async def finish(self) -> None:
        """Finish what was interrupted."""
        await self.sync(
            [row[0] for row in await self._database.read(lambda rows: rows.all("SELECT schema FROM index_builds"))]
        )

    def _statements(self, rows: Rows, key: int) -> list[str]:
        schema = store.find_schema(rows, key)
        plan = None if schema is None else index_plan(self._definitions.try_out(rows, schema))
        added = [] if plan is None else missing_indexes(rows, self._dialect, key, plan)
        return [*obsolete_indexes(rows, self._dialect, key, plan), *added]
