"""Registers and schemas: stored, found by id, uuid or slug, and changed without breaking existing objects.

Pairs are cached until any process signals a change, and never for long: a signal can be lost while a connection is
down. A write looks the schema up again inside its own transaction, so a stale cache can cost a second try but never let
a wrong object in. Changes of schemas come one after the other, and writes of objects wait for them (`schema_locks.py`).
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import ANONYMOUS
from pentad.mcp.changes import list_changed, resource_updated
from pentad.rooms.registers import store
from pentad.rooms.registers.access.authorization import Right, read_block
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue import entries, schema_history
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions, composed, target
from pentad.rooms.registers.catalogue.definition_checks import DefinitionChecks
from pentad.rooms.registers.catalogue.entries import (
    CatalogueView,
    chosen_slug,
    entity_not_found,
    refuse_composed,
    refuse_filled,
    refuse_taken_uuid,
)
from pentad.rooms.registers.catalogue.schema_evolution import Breaks, CheckedChange, SchemaChange, SchemaEvolution
from pentad.rooms.registers.catalogue.schema_indexes import SchemaIndexes, begin_indexing
from pentad.rooms.registers.confirmation import confirm_token, require_confirm
from pentad.rooms.registers.models import Caller, Page, Pair, Register, Schema
from pentad.rooms.registers.objects.indexes import indexes_are_missing
from pentad.rooms.registers.objects.pending_changes import current_time, provenance_of
from pentad.rooms.registers.objects.purge import PORTION, agree_to_purge, purge_portion, purgeable
from pentad.rooms.registers.objects.vectors import ObjectVectors
from pentad.rooms.registers.presentation import hidden_in
from pentad.rooms.registers.schema_locks import SchemaLocks, StaleDefinition, lock_catalogue, lock_schemas
from pentad.rooms.registers.store import Ref
from pentad.search.index import SearchIndex

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.evolution import EvolutionReport

E = TypeVar("E", Register, Schema)
T = TypeVar("T")

ChangeOf = Callable[[Rows, Schema], SchemaChange]
"""What somebody asks of a schema, worked out for the schema as it is."""

CHANNEL: Final = "registers.catalogue"
_FRESH_SECONDS: Final = 10.0
_MOST_CACHED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Entities(Generic[E]):
    """The five operations of the catalogue for registers, or the same five for schemas."""

    list: Callable[..., Awaitable[Page[E]]]
    get: Callable[[Caller, Ref], Awaitable[E]]
    create: Callable[[Caller, Mapping[str, Any]], Awaitable[E]]
    update: Callable[..., Awaitable[E]]
    delete: Callable[..., Awaitable[E]]


class Catalogue:
    """Everything about registers and schemas."""

    def __init__(self, database: Database, clock: Clock, access: AccessRules, index: SearchIndex) -> None:
        self.definitions = Definitions()
        self.vectors = ObjectVectors(index, self.definitions)
        self._database = database
        self._clock = clock
        self._access = access
        self.locks = SchemaLocks(database)
        self._changing = asyncio.Lock()
        self._evolution = SchemaEvolution(database.dialect, self.definitions, self.vectors)
        self._indexes = SchemaIndexes(database, self.definitions)
        self._checks = DefinitionChecks(access, self.definitions)
        self._breaks: list[Breaks] = [self._broken_references]
        self._pairs: dict[tuple[str, Ref, Ref], Pair] = {}
        self._epoch = 0
        self._read_at = 0.0
        self.registers = Entities(
            self.list_registers, self.get_register, self.create_register, self.update_register, self.delete_register
        )
        self.schemas = Entities(
            self.list_schemas, self.get_schema, self.create_schema, self.update_schema, self.delete_schema
        )
        self._stop = database.listen(CHANNEL, lambda _payload: self.forget())

    async def open(self) -> None:
        """Create what the schemas need in the store, if it is missing."""
        if await self._database.read(lambda rows: indexes_are_missing(rows, self._database.dialect)):
            await self._database.write(self._evolution.complete_restored)
        await self._indexes.open()
        if await self._database.read(store.schemas_with_old_words):
            await self._database.write(self._evolution.remove_protected_words)

    def close(self) -> None:
        self._stop()

    def forget(self) -> None:
        """Drop the cache: something changed."""
        self._pairs.clear()
        self._epoch += 1

    # registers

    async def list_registers(self, caller: Caller, limit: int = 100, offset: int = 0) -> Page[Register]:
        return _page(await self._database.read(lambda rows: self._view(rows, caller).registers()), limit, offset)

    async def get_register(self, caller: Caller, ref: Ref) -> Register:
        def look(rows: Rows) -> Register:
            view = self._view(rows, caller)
            return view.with_visible_schemas(view.register(ref))

        return await self._database.read(look)

    async def create_register(self, caller: Caller, data: Mapping[str, Any]) -> Register:
        fields = entries.check_fields("register", data)
        self._access.check_define(caller, None)
        read_block(fields.get("authorization"), "authorization")
        title, uuid, now = (
            entries.title_of("register", data),
            entries.given_uuid("register", data),
            current_time(self._clock),
        )

        def create(tx: Transaction) -> Register:
            view = self._view(tx, caller)
            organisation = self._checks.choose_organisation(tx, caller, data, self._access.organisation(caller))
            body = entries.body_of(fields, owner=caller.principal.id, organisation=organisation)
            slug = chosen_slug(tx, "register", data, title, organisation, partial(self._access.sees, caller))
            schemas = tuple(_schema_ids(view, fields.get("schemas") or ()))
            refuse_taken_uuid(tx, "register", uuid)
            version = entries.first_version(data)
            register = Register(0, uuid or str(uuid7(self._clock)), slug, title, version, body, schemas, now, now)
            self._checks.refuse_opening(tx, caller, replace(register, body={}, schemas=()), register)
            return self._changed(tx, store.insert_register(tx, register))

        return await self._write(create)

    async def update_register(
        self,
        caller: Caller,
        ref: Ref,
        data: Mapping[str, Any],
        *,
        if_version: str | None = None,
        merge: bool = False,
        confirm: str | None = None,
    ) -> Register:
        """Set the given fields; the others stay. With `merge`, merge objects among them and add to `schemas`.

        ConfirmNeeded if a schema with objects would be detached and `confirm` is not the token of this change.
        """
        fields = entries.check_fields("register", data)
        now = current_time(self._clock)

        def update(tx: Transaction) -> Register:
            view = self._view(tx, caller)
            current = view.register(ref)
            self._access.check_define(caller, current)
            entries.check_version(current, if_version)
            proposed = entries.apply_fields(current, fields, merge=merge)
            proposed = self._checks.with_slug_and_organisation(tx, caller, "register", proposed, current, data)
            proposed = replace(proposed, schemas=_changed_schemas(view, current, fields, merge=merge))
            self._confirm_detached(tx, caller, current, proposed, confirm)
            if proposed == current:
                return view.with_visible_schemas(current)
            read_block(proposed.body.get("authorization"), "authorization")
            self._checks.refuse_opening(tx, caller, current, proposed)
            if proposed.version == current.version:
                proposed = replace(proposed, version=entries.next_version(current.version))
            proposed = replace(proposed, updated_at=max(now, current.updated_at))
            store.update_register(tx, proposed)
            return view.with_visible_schemas(self._changed(tx, proposed, current))

        return await self._write(update)

    def _confirm_detached(
        self, rows: Rows, caller: Caller, current: Register, proposed: Register, confirm: str | None
    ) -> None:
        """ConfirmNeeded if schemas with objects leave the register; how many objects is for administrators only."""
        gone = [key for key in current.schemas if key not in proposed.schemas]
        if not gone:
            return
        free, report = self._access.is_free(caller), list[dict[str, Any]]()
        for schema in filter(None, (store.find_schema(rows, key) for key in gone)):
            count = store.count_pair(rows, current.id, schema.id) if free else None
            if count != 0:
                report.append({"schema": schema.slug, "id": schema.id, **({} if count is None else {"objects": count})})
        if report:
            names = ", ".join(
                f"{one['schema']!r}"
                + (f" with {one['objects']} object{'' if one['objects'] == 1 else 's'}" if "objects" in one else "")
                for one in report
            )
            token = confirm_token("register", current.id, current.version, gone)
            require_confirm(confirm, token, f"from the register the schemas {names}", {"detached": report})

    async def delete_register(
        self, caller: Caller, ref: Ref, *, if_version: str | None = None, confirm: str | None = None
    ) -> Register:
        """Delete a register; Conflict while it has objects. Deleted ones are purged, after the caller agreed."""

        def delete(tx: Transaction) -> Register:
            register = self.register_in(tx, caller, ref)
            self._access.check_define(caller, register)
            entries.check_version(register, if_version)
            refuse_filled(tx, "register", register, counted=self._access.is_free(caller))
            store.delete_entity(tx, "register", register.id)
            return self._changed(tx, register)

        await self._purge_in(caller, "register", ref, if_version, confirm)
        return await self._write(delete)

    # schemas

    async def list_schemas(self, caller: Caller, limit: int = 100, offset: int = 0) -> Page[Schema]:
        return _page(await self._database.read(lambda rows: self._view(rows, caller).schemas()), limit, offset)

    async def get_schema(self, caller: Caller, ref: Ref) -> Schema:
        return await self._database.read(lambda rows: self.schema_in(rows, caller, ref))

    async def create_schema(self, caller: Caller, data: Mapping[str, Any]) -> Schema:
        fields = entries.check_fields("schema", data)
        self._access.check_define(caller, None)
        read_block(fields.get("authorization"), "authorization")
        title, uuid, now = (
            entries.title_of("schema", data),
            entries.given_uuid("schema", data),
            current_time(self._clock),
        )

        def create(tx: Transaction) -> Schema:
            organisation = self._checks.choose_organisation(tx, caller, data, self._access.organisation(caller))
            body = entries.body_of(fields, owner=caller.principal.id, organisation=organisation)
            slug = chosen_slug(tx, "schema", data, title, organisation, partial(self._access.sees, caller))
            refuse_taken_uuid(tx, "schema", uuid)
            version = entries.first_version(data)
            schema = Schema(0, uuid or str(uuid7(self._clock)), slug, title, version, body, 1, now, now)
            self._checks.refuse_unseen(tx, caller, schema, ())
            schema = store.insert_schema(tx, schema)
            return self._changed(tx, self._evolution.begin(tx, caller, schema))

        async with self._changing:
            schema = await self._change_schemas(create)
            await self._indexes.finish()
        return schema

    async def update_schema(
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

        ConfirmNeeded if values or rules would be lost and `confirm` is not the token of this change.
        """
        return await self._change_schema(caller, ref, self._update(caller, data, merge, migration), if_version, confirm)

    async def patch_schema(
        self,
        caller: Caller,
        ref: Ref,
        operations: Sequence[Any],
        *,
        if_version: str | None = None,
        migration: Sequence[Mapping[str, Any]] | None = None,
        confirm: str | None = None,
    ) -> Schema:
        """Carry out operations on the properties; stored objects follow. Refused as `update_schema` is."""
        return await self._change_schema(caller, ref, _patching(operations, migration), if_version, confirm)

    async def undo_schema(
        self,
        caller: Caller,
        ref: Ref,
        version: int | None = None,
        *,
        if_version: str | None = None,
        confirm: str | None = None,
    ) -> Schema:
        """Take back a change, by default the newest, with what it did to objects. Refused as `update_schema` is."""
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

    async def plan_schema(
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
        """What taking back a change would do; changes nothing."""
        return await self._plan(caller, ref, partial(_undoing, version))

    async def schema_history(self, caller: Caller, ref: Ref, limit: int = 20, offset: int = 0) -> Page[dict[str, Any]]:
        """The changes of a schema, newest first, for callers who may define it."""
        discreet = not self._access.is_free(caller)
        return await self._with_schema(
            caller, ref, lambda rows, now: schema_history.history(rows, now, limit, offset, discreet=discreet)
        )

    async def schema_diff(self, caller: Caller, ref: Ref, a: int, b: int | None = None) -> dict[str, Any]:
        """The difference between two versions of a schema, or one and now."""
        return await self._with_schema(caller, ref, lambda rows, now: schema_history.schema_diff(rows, now, a, b))

    async def schema_as_of(
        self, caller: Caller, ref: Ref, *, at: float | None = None, version: int | None = None
    ) -> Schema:
        """A schema as it was at a time, or at one of its versions."""

        def look(rows: Rows, now: Schema) -> Schema:
            if version is not None:
                return schema_history.version_of(rows, now, version)
            return now if at is None else schema_history.at_time(rows, now, at)

        return await self._with_schema(caller, ref, look)

    def _broken_references(
        self, rows: Rows, caller: Caller, schema: Schema, old: "CompiledSchema", new: "CompiledSchema"
    ) -> Iterator[dict[str, Any]]:
        """References of other schemas to properties that are gone (`inversedBy`), and schemas composed of this one."""
        gone = old.properties.keys() - new.properties.keys()
        for other in store.all_schemas(rows) if gone else ():
            if other.id == schema.id or not self._access.sees(caller, other):
                continue
            for one in self.definitions.of(rows, other).references:
                found = target(rows, one.target, other.organisation) if one.inversed_by in gone else None
                if found is not None and found.id == schema.id:
                    because = f"{'.'.join(one.path)} is filled from {one.inversed_by!r}, which would be gone"
                    yield {"kind": "schema", "id": other.id, "title": other.title, "because": because}

    def name_broken(self, breaks: Breaks) -> None:
        """Let plans of schema changes name what would no longer work."""
        self._breaks.append(breaks)

    async def _change_schema(
        self, caller: Caller, ref: Ref, change_of: ChangeOf, if_version: str | None, confirm: str | None
    ) -> Schema:
        """Change a schema, in whichever way it was asked for: check, then lock, then change."""
        now = current_time(self._clock)

        def propose(rows: Rows) -> SchemaChange:
            current = self.schema_in(rows, caller, ref)
            self._access.check_define(caller, current)
            entries.check_version(current, if_version)
            wanted = change_of(rows, current)
            proposed = wanted.proposed
            if proposed == current and not wanted.migrates:
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
            hidden = hidden_in(self._access, caller, self.pairs_in(rows, wanted.current))
            allow, seen = self._checks.guard(rows, caller), partial(self._access.sees, caller)
            return self._evolution.check(rows, wanted, hidden, allow, seen, confirm)

        def change(tx: Transaction, checked: CheckedChange) -> Schema:
            wanted = propose(tx)
            if (wanted.current, wanted.proposed) != (checked.current, checked.proposed):
                raise StaleDefinition
            hidden = hidden_in(self._access, caller, self.pairs_in(tx, wanted.current))
            allow, seen = self._checks.guard(tx, caller), partial(self._access.sees, caller)
            done = self._evolution.apply(tx, caller, wanted, checked, now, hidden, allow, seen, confirm)
            return self._changed(tx, done, wanted.current)

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
        """Make a change that was checked, and give the schema its indexes."""
        try:
            if checked.indexes is not None:
                await self._indexes.add(checked.current.id, checked.indexes, discreet=checked.discreet)
            return await self._change_schemas(lambda tx: change(tx, checked))
        finally:
            await self._indexes.finish()

    async def _plan(self, caller: Caller, ref: Ref, change_of: ChangeOf) -> "EvolutionReport":
        def look(rows: Rows) -> "EvolutionReport":
            current = self.schema_in(rows, caller, ref)
            self._access.check_define(caller, current)
            change = change_of(rows, current)
            self._checks.refuse_unseen(rows, caller, change.proposed, composed(current))
            hidden = hidden_in(self._access, caller, self.pairs_in(rows))
            allow, seen = self._checks.guard(rows, caller), partial(self._access.sees, caller)
            return self._evolution.report(rows, caller, change, hidden, allow, seen, self._breaks)

        return await self._database.read(look)

    def _update(
        self, caller: Caller, data: Mapping[str, Any], merge: bool, migration: Sequence[Mapping[str, Any]] | None
    ) -> ChangeOf:
        """An update: the given fields, merged with those there are or instead of them."""
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
        """Look into the past of a schema that the caller may define: it may have been another's to see."""

        def read(rows: Rows) -> T:
            current = self.schema_in(rows, caller, ref)
            self._access.check_define(caller, current)
            return look(rows, current)

        return await self._database.read(read)

    async def delete_schema(
        self, caller: Caller, ref: Ref, *, if_version: str | None = None, confirm: str | None = None
    ) -> Schema:
        """Delete a schema; Conflict while it has objects or other schemas are composed of it.

        Deleted objects are purged, after the caller agreed.
        """

        def delete(tx: Transaction) -> Schema:
            schema = self.schema_in(tx, caller, ref)
            self._access.check_define(caller, schema)
            entries.check_version(schema, if_version)
            lock_schemas(tx, self._database.dialect, [schema.id])
            refuse_filled(tx, "schema", schema, counted=self._access.is_free(caller))
            refuse_composed(schema, self._evolution.dependents(tx, schema), partial(self._access.sees, caller))
            store.lock_registers(tx, self._database.dialect)
            for register in store.all_registers(tx):
                if schema.id in register.schemas:
                    rest = tuple(key for key in register.schemas if key != schema.id)
                    version = store.next_version(register.version)
                    store.update_register(tx, replace(register, schemas=rest, version=version))
            begin_indexing(tx, [schema.id])
            self.vectors.drop(tx, schema.id)
            store.delete_entity(tx, "schema", schema.id)
            return self._changed(tx, schema)

        await self._purge_in(caller, "schema", ref, if_version, confirm)
        async with self._changing:
            schema = await self._change_schemas(delete)
            await self._indexes.finish()
        return schema

    async def _purge_in(
        self, caller: Caller, kind: store.Kind, ref: Ref, if_version: str | None, confirm: str | None
    ) -> None:
        """Purge what a register or schema that is about to be deleted has left of deleted objects."""

        def look(rows: Rows) -> list[str]:
            entity = self.register_in(rows, caller, ref) if kind == "register" else self.schema_in(rows, caller, ref)
            self._access.check_define(caller, entity)
            entries.check_version(entity, if_version)
            pair_of = self.pairs_in(rows)
            counted = self._access.is_free(caller)
            refuse_filled(rows, kind, entity, counted=counted, purgeable=True)
            found = purgeable(rows, self._access, caller, pair_of, **{kind: entity.id})
            refuse_filled(rows, kind, entity, counted=counted, purgeable=found is not None)
            if isinstance(entity, Schema):
                refuse_composed(entity, self._evolution.dependents(rows, entity), partial(self._access.sees, caller))
            if not found:
                return []
            by_pair = Counter(pair_of(one.register, one.schema).label for one in found)
            uuids = [one.uuid for one in found]
            agree_to_purge(
                confirm, uuids, f"of {kind} {entity.slug!r}", {"deleted": len(uuids), "by_pair": dict(by_pair)}
            )
            return uuids

        await self.purge(caller, await self._database.read(look))

    async def purge(self, caller: Caller, uuids: Sequence[str]) -> int:
        """Purge objects that the caller may purge, if they are still deleted, in portions; returns their number."""
        purged = 0
        for start in range(0, len(uuids), PORTION):
            portion, now = uuids[start : start + PORTION], current_time(self._clock)

            def work(tx: Transaction, portion: Sequence[str] = portion, now: float = now) -> int:
                dialect, pair_of = self._database.dialect, self.pairs_in(tx)
                return purge_portion(tx, dialect, self._access, pair_of, portion, now, provenance_of(caller))

            purged += await self._database.write(work)
        return purged

    # pairs

    async def pair(self, caller: Caller, register: Ref, schema: Ref, action: Right = "read") -> Pair:
        """A register with a schema; NotFound, with suggestions, for what the caller may not see."""
        place = (self._access.organisation(caller), register, schema)
        found = self._cached(place)
        if found is None or not self._is_current(caller, found):
            epoch, read_at = self._epoch, self._clock.monotonic()
            found = await self._database.read(lambda rows: self.pair_in(rows, caller, register, schema))
            if epoch == self._epoch and _means_the_same(place, found):
                self._cache(place, found, read_at)
        self._access.check(caller, found, action)
        return found

    def _is_current(self, caller: Caller, pair: Pair) -> bool:
        """Whether a cached pair is usable: the two belong together, and the caller may see both."""
        return pair.schema.id in pair.register.schemas and self._access.sees_both(caller, pair.register, pair.schema)

    async def visible_pairs(self, caller: Caller) -> list[Pair]:
        """Every register with each of its schemas the caller may read."""

        def look(rows: Rows) -> list[Pair]:
            view = self._view(rows, caller)
            return [
                Pair(register, schema, self.definitions.of(rows, schema))
                for register in view.registers()
                for key in register.schemas
                if (schema := view.schema_in(register, key)) is not None
            ]

        return await self._database.read(look)

    async def referred(self, caller: Caller, pair: Pair, ref: Ref) -> Pair | None:
        """The schema that a relation of a pair leads to, as a pair; None if the caller may not know of it."""

        def look(rows: Rows) -> Pair | None:
            found = target(rows, ref, pair.schema.organisation)
            if found is None or not self._access.sees(caller, found):
                return None
            return Pair(pair.register, found, self.definitions.of(rows, found))

        return await self._database.read(look)

    # inside a unit of work

    def register_in(self, rows: Rows, caller: Caller, ref: Ref) -> Register:
        return self._view(rows, caller).register(ref)

    def schema_in(self, rows: Rows, caller: Caller, ref: Ref) -> Schema:
        return self._view(rows, caller).schema(ref)

    def pair_in(self, rows: Rows, caller: Caller, register: Ref, schema: Ref) -> Pair:
        view = self._view(rows, caller)
        container, kind = view.register(register), view.schema(schema)
        if not self._access.sees_both(caller, container, kind):
            raise entity_not_found("register", register, view.registers())
        return Pair(container, kind, self.definitions.of(rows, kind))

    def pairs_of_schema(self, rows: Rows, caller: Caller, schema: Schema) -> list[Pair]:
        """The registers the caller may see that have a schema, each as a pair with it."""
        definition = self.definitions.of(rows, schema)
        return [
            Pair(register, schema, definition)
            for register in self._view(rows, caller).registers()
            if schema.id in register.schemas and self._access.sees_both(caller, register, schema)
        ]

    def pairs_in(self, rows: Rows, before: Schema | None = None) -> Callable[[int, int], Pair]:
        """A function that finds the pairs of stored objects within one unit of work, each read once. Checks no access.

        For a schema that this unit of work changes, pass what it was `before`.
        """
        known: dict[tuple[int, int], Pair] = {}

        def pair_of(register: int, schema: int) -> Pair:
            if (register, schema) not in known:
                container = store.find_register(rows, register)
                kind = before if before and before.id == schema else store.find_schema(rows, schema)
                assert container is not None  # noqa: S101  the store keeps objects from losing them
                assert kind is not None  # noqa: S101  likewise
                known[register, schema] = Pair(container, kind, self.definitions.of(rows, kind))
            return known[register, schema]

        return pair_of

    def announce(self, tx: Transaction, *states: Register | Schema) -> None:
        """Signal to every process, after the commit, that a register or schema changed.

        Followers of the lists are notified if they may know of one of its `states`, before or after the change.
        """
        tx.signal(CHANNEL)
        for audience in {self._audience(tx, state) for state in states}:
            list_changed(tx, "resources", "registers", audience)
            list_changed(tx, "generated_tools", "registers", audience)
            resource_updated(tx, "openregister://registers", audience)
            resource_updated(tx, "openregister://schemas", audience)

    def _audience(self, rows: Rows, entity: Register | Schema) -> str:
        everybody = Caller(ANONYMOUS)
        if isinstance(entity, Register):
            public = self._view(rows, everybody).sees(entity)
        else:
            public = self._access.sees(everybody, entity)
        return self._access.audience(entity, public=public).text()

    def _view(self, rows: Rows, caller: Caller) -> CatalogueView:
        return CatalogueView(self._access, rows, caller)

    def _cached(self, place: tuple[str, Ref, Ref]) -> Pair | None:
        if self._pairs and self._clock.monotonic() - self._read_at > _FRESH_SECONDS:
            self._pairs.clear()
        return self._pairs.get(place)

    def _cache(self, place: tuple[str, Ref, Ref], pair: Pair, read_at: float) -> None:
        if len(self._pairs) >= _MOST_CACHED:
            self._pairs.clear()
        if not self._pairs:
            self._read_at = read_at
        self._pairs[place] = pair

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        try:
            return await self._database.write(work)
        finally:
            self.forget()

    async def _change_schemas(self, work: Callable[[Transaction], Schema]) -> Schema:
        """Run a unit of work that writes schemas, one at a time."""

        def locked(tx: Transaction) -> Schema:
            lock_catalogue(tx, self._database.dialect)
            return work(tx)

        try:
            return await self._database.write(locked, locking=True)
        finally:
            self.forget()

    def _changed(self, tx: Transaction, entity: E, before: E | None = None) -> E:
        self.announce(tx, entity, before or entity)
        resource_updated(tx, entity.uri, self._audience(tx, entity))
        return entity


def _page(found: list[E], limit: int, offset: int) -> Page[E]:
    return Page(found[offset : offset + limit], len(found), limit, offset)


def _means_the_same(place: tuple[str, Ref, Ref], pair: Pair) -> bool:
    """Whether these names mean this pair to every member of the organisation, so that it can be cached.

    A slug of another organisation may mean something else to a member who may see an own one.
    """
    organisation, *refs = place
    own = pair.register.organisation == pair.schema.organisation == organisation
    return own or all(store.is_id_or_uuid(ref) for ref in refs)


def _changed_schemas(
    view: CatalogueView, current: Register, fields: Mapping[str, Any], *, merge: bool
) -> tuple[int, ...]:
    """The schemas of a register after a change. A merge adds, `detach` removes; what the caller cannot see stays."""
    kept = list(current.schemas)
    if fields.get("schemas") is not None:
        given = _schema_ids(view, fields["schemas"])
        unseen = set(current.schemas).difference(view.with_visible_schemas(current).schemas)
        kept = list(dict.fromkeys([*kept, *given])) if merge else [*given, *sorted(unseen)]
    gone = _schema_ids(view, fields.get("detach") or ())
    return tuple(key for key in kept if key not in gone)


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
    """The way back from a change. Slug, owner and organisation are not part of a definition, so they stay."""
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


def _schema_ids(view: CatalogueView, refs: Sequence[Any]) -> list[int]:
    found: list[int] = []
    for ref in refs:
        if isinstance(ref, bool) or not isinstance(ref, int | str):
            raise InvalidInput("schemas is a list of ids, uuids or slugs of schemas.")
        found.append(view.schema(ref).id)
    return list(dict.fromkeys(found))
