"""Converts references that older versions stored unchanged, such as `openregister://objects/1/2/<uuid>`, to uuids.

Queries only follow uuids. When the room opens, the objects of each schema are checked once, in batches. Each batch is
read without a lock and, if it has such references, written in its own transaction. After a crash, the interrupted
schema starts over. The change is recorded in the object's history because it changes data.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import LOCAL
from pentad.rooms.registers import store as catalogue_store
from pentad.rooms.registers.catalogue.changes import CatalogueChanges
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions
from pentad.rooms.registers.catalogue.schema_evolution import migrated_object
from pentad.rooms.registers.models import Caller, Schema
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.objects.pending_changes import ExistingObject, PendingChange, current_time, provenance_of
from pentad.rooms.registers.schema_locks import lock_schemas

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

_log: Final = logging.getLogger(__name__)
_WHO: Final = Caller(LOCAL, agent="pentad", reason="References are stored as uuids.")


class ReferenceUpgrade:
    """Rewrites references in objects written by an older version."""

    def __init__(self, database: Database, clock: Clock, definitions: Definitions, changes: CatalogueChanges) -> None:
        self._database = database
        self._clock = clock
        self._definitions = definitions
        self._changes = changes

    async def run(self) -> None:
        """Upgrade every schema that was not checked yet."""
        for schema in await self._database.read(catalogue_store.schemas_with_old_references):
            await self._rewrite_objects(schema)
            await self._database.write(lambda tx, key=schema.id: catalogue_store.mark_references_current(tx, key))

    async def _rewrite_objects(self, schema: Schema) -> None:
        if not (await self._database.read(lambda rows: self._definitions.compile_unsaved(rows, schema))).references:
            return
        last: int | None = 0
        while last is not None:

            def look(rows: Rows, last: int = last) -> tuple[list[str], int | None]:
                portion = store.objects_after(rows, schema.id, last)
                definition = self._definitions.compile_unsaved(rows, schema)
                uuids = [one.after.uuid for one in self._rewritten(schema, definition, portion)]
                return uuids, portion[-1].stored.id if portion else None

            uuids, last = await self._database.read(look)
            if uuids:
                await self._write(schema, uuids)

    async def _write(self, schema: Schema, uuids: Sequence[str]) -> None:
        """Rewrite objects together or, if one of them fails, one by one; failing objects stay unchanged."""

        def work(tx: Transaction) -> None:
            lock_schemas(tx, self._database.dialect, [schema.id])
            now = catalogue_store.find_schema(tx, schema.id)
            if now is None:
                return
            held = [one for one in store.existing_by_uuid(tx, uuids).values() if not one.stored.is_deleted]
            rewritten = self._rewritten(now, self._definitions.compile_unsaved(tx, now), held)
            store.write_changes(tx, self._database.dialect, rewritten, provenance_of(_WHO))

        try:
            await self._changes.write_schemas(work)
        except Conflict as error:
            if len(uuids) == 1:
                _log.warning("The references of object %s stay addresses: %s", uuids[0], error.message)
                return
            for uuid in uuids:
                await self._write(schema, [uuid])

    def _rewritten(
        self, schema: Schema, definition: "CompiledSchema", held: Sequence[ExistingObject]
    ) -> list[PendingChange]:
        """The changes for objects whose references are not uuids yet, if they would still fit the schema."""
        found: list[PendingChange] = []
        now = current_time(self._clock)
        for one in held:
            data = one.stored.data
            canonical = definition.with_uuid_references(data)
            if canonical is not data and (definition.is_valid(canonical) or not definition.is_valid(data)):
                found.append(migrated_object(definition, one, canonical, now, schema.version))
        return found
