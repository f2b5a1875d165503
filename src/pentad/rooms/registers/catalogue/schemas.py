"""Lists, finds, creates and deletes schemas, changes them without breaking existing objects, and reads their history.

Schema changes run one at a time, and object writes wait for them (`schema_locks.py`).
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pentad.kernel.clock import Clock
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers import store
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue import entries, schema_history
from pentad.rooms.registers.catalogue.changes import CatalogueChanges, CatalogueEntries
from pentad.rooms.registers.catalogue.compiled_schemas import composed, dependents_of, target
from pentad.rooms.registers.catalogue.entries import (
    page_of,
    refuse_composed,
    refuse_nonempty,
)
from pentad.rooms.registers.catalogue.pairs import Pairs
from pentad.rooms.registers.catalogue.schema_change import CheckedChange, SchemaChange
from pentad.rooms.registers.catalogue.schema_evolution import SchemaEvolution
from pentad.rooms.registers.catalogue.schema_indexes import SchemaIndexes, begin_indexing
from pentad.rooms.registers.catalogue.schema_renames import SchemaRenames
from pentad.rooms.registers.models import Caller, Page, Schema
from pentad.rooms.registers.objects.indexes import indexes_are_missing
from pentad.rooms.registers.objects.pending_changes import current_time
from pentad.rooms.registers.objects.vectors import ObjectVectors
from pentad.rooms.registers.presentation import hidden_in
from pentad.rooms.registers.schema_locks import StaleDefinition, lock_schemas
from pentad.rooms.registers.store import Ref

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.evolution import EvolutionReport

T = TypeVar("T")

ChangeOf = Callable[[Rows, Schema], SchemaChange]
"""Turns a caller's request into a change of the current schema."""


class SchemaEntries(CatalogueEntries):
    """The schemas of the catalogue."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        access: AccessRules,
        pairs: Pairs,
        changes: CatalogueChanges,
        vectors: ObjectVectors,
    ) -> None:
        super().__init__(database, clock, access, pairs, changes)
        self._vectors = vectors
        self._changing = asyncio.Lock()
        self._evolution = SchemaEvolution(database.dialect, pairs.definitions, vectors)
        self._indexes = SchemaIndexes(database, pairs.definitions)
        self.users = self._evolution.users
        self._renames = SchemaRenames(database, access, pairs, changes)
        self.users.breaks.append(self._broken_references)
        self.users.follows.append(self._renames.follows)
        self.users.follow.append(self._renames.follow)

    async def open(self) -> None:
        """Create whatever the schemas need in the store and do not have yet."""
        if await self._database.read(lambda rows: indexes_are_missing(rows, self._database.dialect)):
            await self._database.write(self._evolution.complete_restored)
        await self._indexes.open()
        if await self._database.read(store.schemas_with_old_words):
            await self._database.write(self._evolution.remove_protected_words)
        if await self._database.read(store.schemas_with_old_references):
            from pentad.rooms.registers.catalogue.reference_upgrade import ReferenceUpgrade

            await ReferenceUpgrade(self._database, self._clock, self._pairs.definitions, self._changes).run()

    async def list(self, caller: Caller, limit: int = 100, offset: int = 0) -> Page[Schema]:
        return page_of(await self._database.read(lambda rows: self._pairs.view(rows, caller).schemas()), limit, offset)

    async def get(self, caller: Caller, ref: Ref) -> Schema:
        return await self._database.read(lambda rows: self._pairs.schema_in(rows, caller, ref))

    async def create(self, caller: Caller, data: Mapping[str, Any]) -> Schema:
        draft, now = self.draft(caller, "schema", data), current_time(self._clock)

        def create(tx: Transaction) -> Schema:
            schema = Schema(0, *draft(tx), 1, now, now)
            self._checks.refuse_unseen(tx, caller, schema, ())
            schema = store.insert_schema(tx, schema)
            return self._changes.announce_change(tx, self._evolution.begin(tx, caller, schema))

        async with self._changing:
            schema = await self._changes.write_schemas(create)
            await self._indexes.finish()
        return schema

    async def update(
        self,
        caller: Caller,
        ref: Ref,
        data: Mapping[str, Any],
        *,
        if_version: str | None = None,
        merge: bool = False,
        migration: Sequence[Mapping[str, Any]] | None = None,
        confirm: str | None = None,
    ) -> Schema:
        """Set the given fields; Conflict if stored objects would no longer fit, unless `migration` makes them fit.

        Raises ConfirmNeeded if values or rules would be lost and `confirm` is not the token of this change.
        """
        return await self._change_schema(caller, ref, self._update(caller, data, merge, migration), if_version, confirm)

    async def patch(
        self,
        caller: Caller,
        ref: Ref,
        operations: Sequence[Any],
        *,
        if_version: str | None = None,
        migration: Sequence[Mapping[str, Any]] | None = None,
        confirm: str | None = None,
    ) -> Schema:
        """Apply operations to the properties and migrate stored objects. Raises the errors of `update`."""
        return await self._change_schema(caller, ref, _patching(operations, migration), if_version, confirm)

    async def undo(
        self,
        caller: Caller,
        ref: Ref,
        version: int | None = None,
        *,
        if_version: str | None = None,
        confirm: str | None = None,
    ) -> Schema:
        """Undo a change, by default the newest, including its effects on objects. Raises the errors of `update`."""
        return await self._change_schema(caller, ref, partial(_undoing, version), if_version, confirm)

    async def preflight(
        self,
        caller: Caller,
        ref: Ref,
        data: Mapping[str, Any],
        *,
        merge: bool = False,
        migration: Sequence[Mapping[str, Any]] | None = None,
    ) -> "EvolutionReport":
        """What an update of a schema would do; changes nothing."""
        return await self._plan(caller, ref, self._update(caller, data, merge, migration))

    async def plan(
        self,
        caller: Caller,
        ref: Ref,
        operations: Sequence[Any],
        *,
        migration: Sequence[Mapping[str, Any]] | None = None,
    ) -> "EvolutionReport":
        """What a patch of a schema would do; changes nothing."""
        return await self._plan(caller, ref, _patching(operations, migration))

    async def plan_undo(self, caller: Caller, ref: Ref, version: int | None = None) -> "EvolutionReport":
        """What undoing a change would do; changes nothing."""
        return await self._plan(caller, ref, partial(_undoing, version))

    async def history(self, caller: Caller, ref: Ref, limit: int = 20, offset: int = 0) -> Page[dict[str, Any]]:
        """The changes of a schema, newest first, for callers who may define it."""
        discreet = not self._access.is_unrestricted(caller)
        return await self._with_schema(
            caller, ref, lambda rows, now: schema_history.history(rows, now, limit, offset, discreet=discreet)
        )

    async def diff(self, caller: Caller, ref: Ref, a: int, b: int | None = None) -> dict[str, Any]:
        """The difference between two versions of a schema, or a version and now."""
        return await self._with_schema(caller, ref, lambda rows, now: schema_history.schema_diff(rows, now, a, b))

    async def as_of(self, caller: Caller, ref: Ref, *, at: float | None = None, version: int | None = None) -> Schema:
        """A schema as it was at a time, or at one of its versions."""

        def look(rows: Rows, now: Schema) -> Schema:
            if version is not None:
                return schema_history.version_of(rows, now, version)
            return now if at is None else schema_history.at_time(rows, now, at)

        return await self._with_schema(caller, ref, look)

    def _broken_references(
        self, rows: Rows, caller: Caller, change: SchemaChange, old: "CompiledSchema", new: "CompiledSchema"
    ) -> Iterator[dict[str, Any]]:
        """Other schemas' references (`inversedBy`) to removed properties, and schemas composed of this one."""
        schema = change.current
        followed = {path[0] for path in change.renames if len(path) == 1}
        gone = old.properties.keys() - new.properties.keys() - followed
        for other in store.all_schemas(rows) if gone else ():
            if other.id == schema.id or not self._access.sees(caller, other):
                continue
            for one in self._pairs.definitions.of(rows, other).references:
                found = target(rows, one.target, other.organisation) if one.inversed_by in gone else None
                if found is not None and found.id == schema.id:
                    because = f"{'.'.join(one.path)} is filled from {one.inversed_by!r}, which would be gone"
                    yield {"kind": "schema", "id": other.id, "title": other.title, "because": because}

    async def _change_schema(
        self, caller: Caller, ref: Ref, change_of: ChangeOf, if_version: str | None, confirm: str | None
    ) -> Schema:
        """Change a schema, whatever the kind of change: check, then lock, then apply."""
        now = current_time(self._clock)

        def propose(rows: Rows) -> SchemaChange:
            current = self._pairs.schema_in(rows, caller, ref)
            self._access.check_define(caller, current)
            entries.check_version(current, if_version)
            wanted = self._renames.with_own_references(rows, change_of(rows, current))
            self._renames.refuse_ambiguous(rows, caller, wanted)
            proposed = wanted.proposed
            if proposed == current and not wanted.migrates and not schema_history.reordered(current, proposed):
                return wanted
            self._checks.refuse_unseen(rows, caller, proposed, composed(current))
            if proposed.version == current.version:
                proposed = replace(proposed, version=entries.next_version(current.version))
            changed = replace(proposed, changes=current.changes + 1, updated_at=max(now, current.updated_at))
            return replace(wanted, proposed=changed)

        def check(rows: Rows) -> CheckedChange | Schema:
            wanted = propose(rows)
            if wanted.proposed == wanted.current:
                return replace(wanted.current, warnings=wanted.warnings)
            hidden = hidden_in(self._access, caller, self._pairs.pairs_in(rows, wanted.current))
            allow, seen = self._checks.guard(rows, caller), partial(self._access.sees, caller)
            return self._evolution.check(rows, wanted, hidden, allow, seen, confirm)

        def change(tx: Transaction, checked: CheckedChange) -> Schema:
            wanted = propose(tx)
            if (wanted.current, wanted.proposed) != (checked.current, checked.proposed):
                raise StaleDefinition
            hidden = hidden_in(self._access, caller, self._pairs.pairs_in(tx, wanted.current))
            allow, seen = self._checks.guard(tx, caller), partial(self._access.sees, caller)
            done = self._evolution.apply(tx, caller, wanted, checked, now, hidden, allow, seen, confirm)
            return self._changes.announce_change(tx, done, wanted.current)

        async with self._changing:
            while True:
                checked = await self._database.read(check)
                if isinstance(checked, Schema):
                    return checked
                try:
                    return await self._make_change(checked, change)
                except StaleDefinition:
                    continue

    async def _make_change(
        self, checked: CheckedChange, change: Callable[[Transaction, CheckedChange], Schema]
    ) -> Schema:
        """Apply a checked change, and give the schema its indexes."""
        try:
            if checked.indexes is not None:
                await self._indexes.add(checked.current.id, checked.indexes, discreet=checked.discreet)
            return await self._changes.write_schemas(lambda tx: change(tx, checked))
        finally:
            await self._indexes.finish()

    async def _plan(self, caller: Caller, ref: Ref, change_of: ChangeOf) -> "EvolutionReport":
        def look(rows: Rows) -> "EvolutionReport":
            current = self._pairs.schema_in(rows, caller, ref)
            self._access.check_define(caller, current)
            change = self._renames.with_own_references(rows, change_of(rows, current))
            self._renames.refuse_ambiguous(rows, caller, change)
            self._checks.refuse_unseen(rows, caller, change.proposed, composed(current))
            hidden = hidden_in(self._access, caller, self._pairs.pairs_in(rows))
            allow, seen = self._checks.guard(rows, caller), partial(self._access.sees, caller)
            return self._evolution.report(rows, caller, change, hidden, allow, seen)

        return await self._database.read(look)

    def _update(
        self, caller: Caller, data: Mapping[str, Any], merge: bool, migration: Sequence[Mapping[str, Any]] | None
    ) -> ChangeOf:
        """An update: the given fields replace the stored ones or are merged into them."""
        fields = entries.check_fields("schema", data)

        def change(rows: Rows, current: Schema) -> SchemaChange:
            from pentad.rooms.registers.definitions.migration import read_steps

            proposed = entries.apply_fields(current, fields, merge=merge)
            proposed = self._checks.with_slug_and_organisation(rows, caller, "schema", proposed, current, data)
            steps = read_steps(migration or ())
            details = {"migration": [step.as_json() for step in steps]}
            warnings = entries.kept_required(current, proposed, fields) if merge else ()
            return SchemaChange(current, proposed, steps, "update", details, warnings=warnings)

        return change

    async def _with_schema(self, caller: Caller, ref: Ref, look: Callable[[Rows, Schema], T]) -> T:
        """Read the history of a schema the caller may define: earlier versions may have been visible to others only."""

        def read(rows: Rows) -> T:
            current = self._pairs.schema_in(rows, caller, ref)
            self._access.check_define(caller, current)
            return look(rows, current)

        return await self._database.read(read)

    async def delete(
        self, caller: Caller, ref: Ref, *, if_version: str | None = None, confirm: str | None = None
    ) -> Schema:
        """Delete a schema; Conflict while it has objects or other schemas are composed of it.

        Deleted objects are purged after confirmation.
        """

        def delete(tx: Transaction) -> Schema:
            schema = self._pairs.schema_in(tx, caller, ref)
            self._access.check_define(caller, schema)
            entries.check_version(schema, if_version)
            lock_schemas(tx, self._database.dialect, [schema.id])
            refuse_nonempty(tx, "schema", schema, with_count=self._access.is_unrestricted(caller))
            self._refuse_composed(tx, caller, schema)
            store.lock_registers(tx, self._database.dialect)
            for register in store.all_registers(tx):
                if schema.id in register.schemas:
                    rest = tuple(key for key in register.schemas if key != schema.id)
                    version = store.next_version(register.version)
                    store.update_register(tx, replace(register, schemas=rest, version=version))
            begin_indexing(tx, [schema.id])
            self._vectors.drop(tx, schema.id)
            store.delete_entity(tx, "schema", schema.id)
            return self._changes.announce_change(tx, schema)

        await self._changes.purge_in(
            caller,
            "schema",
            lambda rows: self._pairs.schema_in(rows, caller, ref),
            if_version,
            confirm,
            lambda rows, schema: self._refuse_composed(rows, caller, schema),
        )
        async with self._changing:
            schema = await self._changes.write_schemas(delete)
            await self._indexes.finish()
        return schema

    def _refuse_composed(self, rows: Rows, caller: Caller, schema: Schema) -> None:
        refuse_composed(schema, dependents_of(rows, schema), partial(self._access.sees, caller))


def _patching(operations: Sequence[Any], migration: Sequence[Mapping[str, Any]] | None) -> ChangeOf:
    """A patch: operations on the properties, and more steps if they do not suffice."""

    def change(_rows: Rows, current: Schema) -> SchemaChange:
        from pentad.rooms.registers.definitions.migration import read_steps
        from pentad.rooms.registers.definitions.schema_patch import apply_operations

        patch = apply_operations(current.body, operations)
        steps = [*patch.steps, *read_steps(migration or ())]
        details = {"operations": list(operations), "migration": [step.as_json() for step in steps]}
        return SchemaChange(current, replace(current, body=patch.body), steps, "patch", details)

    return change


def _undoing(version: int | None, rows: Rows, current: Schema) -> SchemaChange:
    """The reverse of a change. Slug, owner and organisation are not part of a definition, so they stay."""
    undo = schema_history.Undo(rows, current, version)
    own = {name: current.body[name] for name in ("owner", "organisation") if name in current.body}
    earlier = undo.earlier
    proposed = replace(current, title=earlier.title, body={**earlier.body, **own})
    details: dict[str, Any] = {
        "undoes": undo.taken.version,
        "migration": [step.as_json() for step in undo.steps],
        "restored": sorted(undo.names),
    }
    return SchemaChange(current, proposed, undo.steps, "undo", details, undo)
