"""Changes of schemas: the definition compiles, indexes follow, and stored objects still fit.

A change is first checked against every stored object, including those of schemas composed of this one. Objects that do
not fit are migrated by the steps the caller agreed to, or stop the change. Everything happens in the caller's
transaction. Nothing compiled here is cached: the transaction may still fail.

Objects and properties that the caller may not read are never tried: the result would reveal them. A change that could
matter to them is refused in any case.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.errors import Conflict, Forbidden, PentadError
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.rooms.registers import store as catalogue_store
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions, composed, parent_of
from pentad.rooms.registers.models import Caller, Schema, StoredObject
from pentad.rooms.registers.objects import integrity, store
from pentad.rooms.registers.objects.indexes import index_plan, indexes_are_missing, sync_indexes
from pentad.rooms.registers.objects.pending_changes import ExistingObject, PendingChange, change_time, provenance_of
from pentad.rooms.registers.objects.prepare import check_indexed_texts
from pentad.rooms.registers.objects.vectors import ObjectVectors

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.evolution import EvolutionReport
    from pentad.rooms.registers.definitions.migration import MigrationStep

_RESTORE_LOCK: Final = 0x50454E545258
Migration = Sequence[Mapping[str, Any]] | None
Hidden = Callable[[StoredObject], frozenset[str] | None] | None
"""The properties of an object that a report must not mention, or None to leave the object out; None for no limit."""
Allow = Callable[[Schema, "CompiledSchema", Schema, "CompiledSchema", "Sequence[MigrationStep]"], None]
"""Refuses a change of a schema, with its migration, if the caller may not make it."""


class SchemaEvolution:
    """Creates and changes schemas together with their indexes and objects."""

    def __init__(self, dialect: Dialect, definitions: Definitions, vectors: ObjectVectors) -> None:
        self._dialect: Dialect = dialect
        self._definitions = definitions
        self._vectors = vectors

    def begin(self, tx: Transaction, schema: Schema) -> None:
        """Check a new schema and create its indexes."""
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving

        definition = self._definitions.try_out(tx, schema)
        check_before_saving(definition)
        sync_indexes(tx, self._dialect, schema.id, index_plan(definition))

    def rebuild_indexes(self, tx: Transaction) -> None:
        """Complete a restored store: a backup holds rows, but not the schemas' indexes nor this server's counters."""
        tx.run("SELECT pg_advisory_xact_lock(?)", _RESTORE_LOCK)
        if not indexes_are_missing(tx, self._dialect):
            return
        tx.run("UPDATE object_changes SET xact = 0")
        for schema in catalogue_store.all_schemas(tx):
            sync_indexes(tx, self._dialect, schema.id, index_plan(self._definitions.try_out(tx, schema)))

    def remove_protected_words(self, tx: Transaction) -> None:
        """Remove references, and words and slugs derived from protected properties, from the word index of an older
        version.
        """
        for schema in catalogue_store.schemas_with_old_words(tx):
            definition = self._definitions.try_out(tx, schema)
            if definition.derived or definition.slug_is_protected or definition.references:
                for portion in store.stream_objects(tx, schema.id):
                    drafts = [_migrated(definition, held, held.stored.data, 0.0) for held in portion]
                    store.reindex(tx, self._dialect, drafts)
                    if definition.hybrid:
                        self._vectors.update(tx, schema.id, drafts, None)
            catalogue_store.mark_words_current(tx, schema.id)

    def report(
        self, rows: Rows, current: Schema, proposed: Schema, migration: Migration, hidden: Hidden, allow: Allow
    ) -> "EvolutionReport":
        """What a change would mean for the stored objects, after the migration if there is one."""
        steps, new = _steps(migration), self._definitions.try_out(rows, proposed)
        allow(current, self._definitions.of(rows, current), proposed, new, steps)
        return _preflight(rows, new, proposed.id, steps, hidden)[0]

    def apply(
        self,
        tx: Transaction,
        caller: Caller,
        current: Schema,
        proposed: Schema,
        migration: Migration,
        now: float,
        hidden: Hidden,
        allow: Allow,
        seen: Callable[[Schema], bool],
    ) -> None:
        """Store a changed schema and everything that follows from it.

        A problem in a dependent schema is only described if the caller may see that schema (`seen`).
        """
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving

        old = self._definitions.of(tx, current)
        new = self._definitions.try_out(tx, proposed)
        check_before_saving(new)
        allow(current, old, proposed, new, _steps(migration))
        old_dependents = {user.id: self._definitions.of(tx, user) for user in self.dependents(tx, current)}
        catalogue_store.update_schema(tx, proposed)
        _refuse_misfits(tx, proposed, (old, new), _steps(migration), hidden)
        for user in self.dependents(tx, proposed):
            try:
                self._update_dependent(tx, caller, user, old_dependents.get(user.id), now, hidden, allow)
            except PentadError:
                if seen(user):
                    raise
                raise Conflict(
                    f"A schema that is composed of {proposed.slug!r} prevents the change.", hint="Ask an administrator."
                ) from None
        self._migrate_objects(tx, caller, proposed, (old, new), _steps(migration), now)
        sync_indexes(tx, self._dialect, proposed.id, index_plan(new), discreet=hidden is not None)

    def dependents(self, rows: Rows, schema: Schema) -> list[Schema]:
        """The schemas that are composed of this one, directly or through others."""
        everyone = catalogue_store.all_schemas(rows)
        parents = {
            one.id: {found.id for _, ref in composed(one) if (found := parent_of(rows, ref, one.organisation))}
            for one in everyone
        }
        reached = {schema.id}
        while more := {key for key, made_of in parents.items() if key not in reached and made_of & reached}:
            reached |= more
        return [one for one in everyone if one.id in reached and one.id != schema.id]

    def _update_dependent(
        self,
        tx: Transaction,
        caller: Caller,
        user: Schema,
        old: "CompiledSchema | None",
        now: float,
        hidden: Hidden,
        allow: Allow,
    ) -> None:
        """Apply a change to a schema that is composed of the changed one."""
        compiled = self._definitions.try_out(tx, user)
        if old is not None:
            allow(user, old, user, compiled, ())
        _refuse_misfits(tx, user, (old or compiled, compiled), [], hidden)
        changed = replace(user, changes=user.changes + 1, updated_at=max(now, user.updated_at))
        catalogue_store.update_schema(tx, changed)
        if old is not None:
            self._migrate_objects(tx, caller, changed, (old, compiled), [], now)
        sync_indexes(tx, self._dialect, user.id, index_plan(compiled), discreet=hidden is not None)

    def _migrate_objects(
        self,
        tx: Transaction,
        caller: Caller,
        schema: Schema,
        change: "tuple[CompiledSchema, CompiledSchema]",
        steps: "list[MigrationStep]",
        now: float,
    ) -> None:
        """Migrate every object and index its references, words and meaning again."""
        from pentad.rooms.registers.definitions.migration import migrate

        old, new = change
        if old.hybrid and not new.hybrid:
            self._vectors.drop(tx, schema.id)
        if not steps and not _needs_reindexing(old, new):
            return
        who = provenance_of(caller)
        long = index_plan(new).texts
        for portion in store.stream_objects(tx, schema.id):
            drafts: list[PendingChange] = []
            for held in portion:
                data = migrate(held.stored.data, steps) if steps else held.stored.data
                check_indexed_texts(long, data)
                drafts.append(_migrated(new, held, data, now))
            changed = [draft for draft in drafts if draft.after.version != draft.before_version]
            store.write_changes(tx, self._dialect, changed, who)
            store.reindex(tx, self._dialect, [draft for draft in drafts if draft.after.version == draft.before_version])
            if new.hybrid:
                self._vectors.update(tx, schema.id, drafts, old.texts if old.hybrid else None)


def _migrated(definition: "CompiledSchema", held: ExistingObject, data: dict[str, Any], now: float) -> PendingChange:
    from pentad.rooms.registers.definitions.object_validation import json_text

    old = held.stored
    if data == old.data:
        stored = old.altered(slug=definition.slug_of(data))
    else:
        text, at = json_text(data)[0], change_time(old.updated_at, now)
        slug = definition.slug_of(data)
        stored = old.altered(version=old.version + 1, text=text, slug=slug, updated_at=at, data=data)
    return PendingChange("migrate", stored, held, integrity.references_of(definition, data), definition.texts(data))


def _steps(migration: Migration) -> "list[MigrationStep]":
    from pentad.rooms.registers.definitions.migration import read_steps

    return read_steps(migration or ())


@dataclass(slots=True)
class _Skipped:
    """What the check of stored objects had to skip: whole objects, or properties of the others."""

    objects: bool = False
    properties: frozenset[str] = frozenset()

    def may_matter(self, old: "CompiledSchema", new: "CompiledSchema") -> bool:
        """Whether the change could matter to what was skipped; with soft validation only indexes matter."""
        from pentad.rooms.registers.definitions.evolution import cannot_affect

        if not self.objects and not self.properties:
            return False
        if new.soft:
            return index_plan(old) != index_plan(new)
        return not cannot_affect(old, new, None if self.objects else self.properties)


def _preflight(
    rows: Rows, definition: "CompiledSchema", schema: int, steps: "Sequence[MigrationStep]", hidden: Hidden
) -> "tuple[EvolutionReport, _Skipped]":
    """What would not fit of what the caller may read, and what was skipped."""
    from pentad.rooms.registers.definitions.evolution import ReadableObject, preflight
    from pentad.rooms.registers.definitions.migration import migrate

    skipped = _Skipped()

    def objects() -> "Iterator[ReadableObject]":
        for portion in store.stream_objects(rows, schema):
            for held in portion:
                without = frozenset[str]() if hidden is None else hidden(held.stored)
                if without is None:
                    skipped.objects = True
                    continue
                data = held.stored.data
                if without:
                    skipped.properties |= without
                    data = {name: value for name, value in data.items() if name not in without}
                yield ReadableObject(migrate(data, steps) if steps else data, without)

    report = preflight(definition, objects())
    report.complete = hidden is None
    return report, skipped


def _refuse_misfits(
    rows: Rows,
    schema: Schema,
    change: "tuple[CompiledSchema, CompiledSchema]",
    steps: "Sequence[MigrationStep]",
    hidden: Hidden,
) -> None:
    """Conflict if objects would not fit; Forbidden if the caller may not know whether they fit."""
    old, new = change
    if new.soft and (hidden is None or index_plan(old) == index_plan(new)):
        return
    report, skipped = _preflight(rows, new, schema.id, steps, hidden)
    if not new.soft:
        _refuse_failing(schema, report, migrated=bool(steps))
    if skipped.may_matter(old, new):
        raise Forbidden(
            f"Some data of {schema.slug!r} is not visible to you, and the change may not fit it.",
            hint="Change only what concerns properties you can read, or ask an administrator.",
            details={"rule": "evolution", "schema": schema.id},
        )


def _refuse_failing(schema: Schema, report: "EvolutionReport", *, migrated: bool) -> None:
    if not report.failing:
        return
    kinds = ", ".join(f"{kind} ({count})" for kind, count in report.counts.most_common(3))
    even = " even after the migration" if migrated else ""
    hint = (
        "Send the steps in details.report.migration as `migration`."
        if report.migration and not report.after_migration
        else "Loosen the schema, change the objects first, or give a migration that makes them fit."
    )
    raise Conflict(
        f"{report.failing} of {report.total} objects of {schema.slug!r} would not fit{even}: {kinds}.",
        hint=hint,
        details={"rule": "evolution", "schema": schema.id, "report": report.as_json()},
    )


def _needs_reindexing(old: "CompiledSchema", new: "CompiledSchema") -> bool:
    """Whether unchanged objects have other references, words or slugs now."""
    return (
        old.references != new.references
        or old.searchable != new.searchable
        or old.unsearchable != new.unsearchable
        or old.slug_is_protected != new.slug_is_protected
        or old.body.get("configuration") != new.body.get("configuration")
    )
