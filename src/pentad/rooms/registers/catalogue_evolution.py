"""A schema's life besides its row: its definition compiled, its indexes, and the objects that have to fit it.

A change is checked against every stored object first, also those of schemas made of this one. What does not fit either
is carried over by the steps the caller agreed to, or stops the change. All of it happens in the caller's transaction.
Nothing compiled here is remembered: the transaction may still fail.

What the caller may not read is never tried: whether it fits would tell what it is. A change that might matter to it is
refused whatever it is like.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.errors import Conflict, Forbidden, PentadError
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.rooms.registers import catalogue_store
from pentad.rooms.registers.catalogue_definitions import Definitions, composed, parent_of
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

_TAKING_OVER: Final = 0x50454E545258
Migration = Sequence[Mapping[str, Any]] | None
Hidden = Callable[[StoredObject], frozenset[str] | None] | None
"""What of an object a report must not tell (None: not even that there is one); None where all may be told."""
Allow = Callable[[Schema, "CompiledSchema", Schema, "CompiledSchema", "Sequence[MigrationStep]"], None]
"""Refuses a change of a schema and what it means, with its migration, where the caller has no right to it."""


class Evolution:
    """Begins, changes and watches over definitions."""

    def __init__(self, dialect: Dialect, definitions: Definitions, meanings: ObjectVectors) -> None:
        self._dialect: Dialect = dialect
        self._definitions = definitions
        self._vectors = meanings

    def begin(self, tx: Transaction, schema: Schema) -> None:
        """A new schema: it must compile and be sound, and gets its indexes."""
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving

        definition = self._definitions.try_out(tx, schema)
        check_before_saving(definition)
        sync_indexes(tx, self._dialect, schema.id, index_plan(definition))

    def take_over(self, tx: Transaction) -> None:
        """Make a restored store whole: a backup holds rows, neither the schemas' indexes nor this server's counters."""
        tx.run("SELECT pg_advisory_xact_lock(?)", _TAKING_OVER)
        if not indexes_are_missing(tx, self._dialect):
            return
        tx.run("UPDATE object_changes SET xact = 0")
        for schema in catalogue_store.all_schemas(tx):
            sync_indexes(tx, self._dialect, schema.id, index_plan(self._definitions.try_out(tx, schema)))

    def look_again(self, tx: Transaction) -> None:
        """Take words and slugs that are made from protected properties out of a store that still has them."""
        for schema in catalogue_store.schemas_to_look_at(tx):
            definition = self._definitions.try_out(tx, schema)
            if definition.derived or definition.slug_is_protected:
                for portion in store.stream_objects(tx, schema.id):
                    pending_changes = [
                        _migrated(definition, existing, existing.stored.data, 0.0) for existing in portion
                    ]
                    store.reindex(tx, self._dialect, pending_changes)
                    if definition.hybrid:
                        self._vectors.update(tx, schema.id, pending_changes, None)
            catalogue_store.looked_at(tx, schema.id)

    def report(
        self, rows: Rows, current: Schema, wanted: Schema, migration: Migration, hidden: Hidden, allow: Allow
    ) -> "EvolutionReport":
        """What a change would mean for the stored objects, after the migration if there is one."""
        steps, new = _steps(migration), self._definitions.try_out(rows, wanted)
        allow(current, self._definitions.of(rows, current), wanted, new, steps)
        return _preflight(rows, new, wanted.id, steps, hidden)[0]

    def apply(
        self,
        tx: Transaction,
        caller: Caller,
        current: Schema,
        wanted: Schema,
        migration: Migration,
        now: float,
        hidden: Hidden,
        allow: Allow,
        seen: Callable[[Schema], bool],
    ) -> None:
        """Store a changed schema with everything that follows from it, if it is allowed.

        What stands in the way in a schema that is not `seen` is not told.
        """
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving

        old = self._definitions.of(tx, current)
        new = self._definitions.try_out(tx, wanted)
        check_before_saving(new)
        allow(current, old, wanted, new, _steps(migration))
        made_of_old = {user.id: self._definitions.of(tx, user) for user in self.dependents(tx, current)}
        catalogue_store.update_schema(tx, wanted)
        _refuse_misfits(tx, wanted, (old, new), _steps(migration), hidden)
        for user in self.dependents(tx, wanted):
            try:
                self._follow(tx, caller, user, made_of_old.get(user.id), now, hidden, allow)
            except PentadError:
                if seen(user):
                    raise
                raise Conflict(
                    f"A schema that is made of {wanted.slug!r} stands in the way.", hint="Ask an administrator."
                ) from None
        self._carry_over(tx, caller, wanted, (old, new), _steps(migration), now)
        sync_indexes(tx, self._dialect, wanted.id, index_plan(new), discreet=hidden is not None)

    def dependents(self, rows: Rows, schema: Schema) -> list[Schema]:
        """The schemas that are made of this one, directly or through others."""
        everyone = catalogue_store.all_schemas(rows)
        parents = {
            one.id: {found.id for _, ref in composed(one) if (found := parent_of(rows, ref, one.organisation))}
            for one in everyone
        }
        reached = {schema.id}
        while more := {key for key, made_of in parents.items() if key not in reached and made_of & reached}:
            reached |= more
        return [one for one in everyone if one.id in reached and one.id != schema.id]

    def _follow(
        self,
        tx: Transaction,
        caller: Caller,
        user: Schema,
        old: "CompiledSchema | None",
        now: float,
        hidden: Hidden,
        allow: Allow,
    ) -> None:
        """A schema made of a changed one is another one too."""
        compiled = self._definitions.try_out(tx, user)
        if old is not None:
            allow(user, old, user, compiled, ())
        _refuse_misfits(tx, user, (old or compiled, compiled), [], hidden)
        changed = replace(user, changes=user.changes + 1, updated_at=max(now, user.updated_at))
        catalogue_store.update_schema(tx, changed)
        if old is not None:
            self._carry_over(tx, caller, changed, (old, compiled), [], now)
        sync_indexes(tx, self._dialect, user.id, index_plan(compiled), discreet=hidden is not None)

    def _carry_over(
        self,
        tx: Transaction,
        caller: Caller,
        schema: Schema,
        change: "tuple[CompiledSchema, CompiledSchema]",
        steps: "list[MigrationStep]",
        now: float,
    ) -> None:
        """Migrate every object, and note anew what it points at, which words it has and what it means."""
        from pentad.rooms.registers.definitions.migration import migrate

        old, new = change
        if old.hybrid and not new.hybrid:
            self._vectors.drop(tx, schema.id)
        if not steps and not _reads_otherwise(old, new):
            return
        provenance = provenance_of(caller)
        long = index_plan(new).texts
        for portion in store.stream_objects(tx, schema.id):
            pending_changes: list[PendingChange] = []
            for existing in portion:
                data = migrate(existing.stored.data, steps) if steps else existing.stored.data
                check_indexed_texts(long, data)
                pending_changes.append(_migrated(new, existing, data, now))
            changed = [pending for pending in pending_changes if pending.after.version != pending.before_version]
            store.write_changes(tx, self._dialect, changed, provenance)
            store.reindex(
                tx,
                self._dialect,
                [pending for pending in pending_changes if pending.after.version == pending.before_version],
            )
            if new.hybrid:
                self._vectors.update(tx, schema.id, pending_changes, old.texts if old.hybrid else None)


def _migrated(
    definition: "CompiledSchema", existing: ExistingObject, data: dict[str, Any], now: float
) -> PendingChange:
    from pentad.rooms.registers.definitions.object_validation import json_text

    old = existing.stored
    if data == old.data:
        stored = old.altered(slug=definition.slug_of(data))
    else:
        text, at = json_text(data)[0], change_time(old.updated_at, now)
        slug = definition.slug_of(data)
        stored = old.altered(version=old.version + 1, text=text, slug=slug, updated_at=at, data=data)
    return PendingChange("migrate", stored, existing, integrity.references_of(definition, data), definition.texts(data))


def _steps(migration: Migration) -> "list[MigrationStep]":
    from pentad.rooms.registers.definitions.migration import read_steps

    return read_steps(migration or ())


@dataclass(slots=True)
class _Unseen:
    """What a look at stored objects had to leave out: whole objects, or properties of those it could look at."""

    objects: bool = False
    properties: frozenset[str] = frozenset()

    def may_matter(self, old: "CompiledSchema", new: "CompiledSchema") -> bool:
        """Whether a change could make a difference to it; of a soft schema only indexes could."""
        from pentad.rooms.registers.definitions.evolution import cannot_affect

        if not self.objects and not self.properties:
            return False
        if new.soft:
            return index_plan(old) != index_plan(new)
        return not cannot_affect(old, new, None if self.objects else self.properties)


def _preflight(
    rows: Rows, definition: "CompiledSchema", schema: int, steps: "Sequence[MigrationStep]", hidden: Hidden
) -> "tuple[EvolutionReport, _Unseen]":
    """What would not fit of what may be read, and what may not be."""
    from pentad.rooms.registers.definitions.evolution import ReadableObject, preflight
    from pentad.rooms.registers.definitions.migration import migrate

    unseen = _Unseen()

    def objects() -> "Iterator[ReadableObject]":
        for portion in store.stream_objects(rows, schema):
            for existing in portion:
                without = frozenset[str]() if hidden is None else hidden(existing.stored)
                if without is None:
                    unseen.objects = True
                    continue
                data = existing.stored.data
                if without:
                    unseen.properties |= without
                    data = {name: value for name, value in data.items() if name not in without}
                yield ReadableObject(migrate(data, steps) if steps else data, without)

    report = preflight(definition, objects())
    report.complete = hidden is None
    return report, unseen


def _refuse_misfits(
    rows: Rows,
    schema: Schema,
    change: "tuple[CompiledSchema, CompiledSchema]",
    steps: "Sequence[MigrationStep]",
    hidden: Hidden,
) -> None:
    """Conflict where objects would not fit; Forbidden where that is not the caller's to know."""
    old, new = change
    if new.soft and (hidden is None or index_plan(old) == index_plan(new)):
        return
    report, unseen = _preflight(rows, new, schema.id, steps, hidden)
    if not new.soft:
        _refuse_failing(schema, report, migrated=bool(steps))
    if unseen.may_matter(old, new):
        raise Forbidden(
            f"Some of what is stored under {schema.slug!r} is not visible to you, and the change may not fit it.",
            hint="Change what only concerns what you can read, or ask an administrator.",
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


def _reads_otherwise(old: "CompiledSchema", new: "CompiledSchema") -> bool:
    """Whether objects that stay as they are have other references, words or slugs now."""
    return (
        old.references != new.references
        or old.searchable != new.searchable
        or old.unsearchable != new.unsearchable
        or old.slug_is_protected != new.slug_is_protected
        or old.body.get("configuration") != new.body.get("configuration")
    )
