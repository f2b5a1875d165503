"""Changes of schemas: the definition compiles, and stored objects still fit.

A change is first checked against every stored object, while others write (`check`). It is then stored in one
transaction (`apply`), which keeps others from writing objects of the schema, checks what they wrote in between, and
migrates objects by the steps the caller agreed to. The rules about who may read what are part of a schema, so at no
moment may objects of the new form be read by the old rules, or the other way round. Nothing compiled here is cached:
the transaction may still fail.

Objects and properties that the caller may not read are never tried: the result would reveal them. A change that could
matter to them is refused in any case.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.errors import Conflict, Forbidden, PentadError
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.rooms.registers import store as catalogue_store
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions, composed, parent_of
from pentad.rooms.registers.catalogue.schema_indexes import begin_indexing
from pentad.rooms.registers.models import Caller, Schema, StoredObject
from pentad.rooms.registers.objects import integrity, store
from pentad.rooms.registers.objects.indexes import (
    IndexPlan,
    check_content,
    check_index_count,
    index_plan,
    indexes_are_missing,
)
from pentad.rooms.registers.objects.pending_changes import ExistingObject, PendingChange, change_time, provenance_of
from pentad.rooms.registers.objects.prepare import check_indexed_texts
from pentad.rooms.registers.objects.vectors import ObjectVectors
from pentad.rooms.registers.schema_locks import lock_schemas

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
    """Creates and changes schemas together with their objects."""

    def __init__(self, dialect: Dialect, definitions: Definitions, vectors: ObjectVectors) -> None:
        self._dialect: Dialect = dialect
        self._definitions = definitions
        self._vectors = vectors

    def begin(self, tx: Transaction, schema: Schema) -> None:
        """Check a new schema."""
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving

        definition = self._definitions.try_out(tx, schema)
        check_before_saving(definition)
        check_index_count(definition)
        begin_indexing(tx, [schema.id])

    def complete_restored(self, tx: Transaction) -> None:
        """Complete a restored store: a backup holds rows, but not the schemas' indexes nor this server's counters."""
        tx.run("SELECT pg_advisory_xact_lock(?)", _RESTORE_LOCK)
        if not indexes_are_missing(tx, self._dialect) or tx.value("SELECT count(*) FROM index_builds"):
            return
        tx.run("UPDATE object_changes SET xact = 0")
        begin_indexing(tx, [schema.id for schema in catalogue_store.all_schemas(tx)])

    def remove_protected_words(self, tx: Transaction) -> None:
        """Remove words and slugs derived from protected properties from a store of an older version."""
        for schema in catalogue_store.schemas_with_old_words(tx):
            definition = self._definitions.try_out(tx, schema)
            if definition.derived or definition.slug_is_protected:
                for portion in store.stream_objects(tx, schema.id):
                    drafts = [_migrated(definition, held, held.stored.data, 0.0, schema.version) for held in portion]
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
        return _preflight(store.stream_objects(rows, proposed.id), new, steps, hidden, _Skipped())

    def check(
        self, rows: Rows, current: Schema, proposed: Schema, migration: Migration, hidden: Hidden, allow: Allow
    ) -> "CheckedChange":
        """Check a change against the stored objects, before it takes its locks."""
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving

        steps = _steps(migration)
        old, new = self._definitions.of(rows, current), self._definitions.try_out(rows, proposed)
        check_before_saving(new)
        check_index_count(new, old)
        allow(current, old, proposed, new, steps)
        since = store.present_moment(rows, self._dialect)
        skipped = _Skipped()
        _refuse_misfits(store.stream_objects(rows, current.id), proposed, (old, new), steps, hidden, skipped)
        plan = None if steps or index_plan(old) == index_plan(new) else index_plan(new)
        return CheckedChange(current, proposed, plan, since, skipped, discreet=hidden is not None)

    def apply(
        self,
        tx: Transaction,
        caller: Caller,
        checked: "CheckedChange",
        migration: Migration,
        now: float,
        hidden: Hidden,
        allow: Allow,
        seen: Callable[[Schema], bool],
    ) -> None:
        """Store a changed schema and everything that follows from it.

        A problem in a dependent schema is only described if the caller may see that schema (`seen`).
        """
        current, proposed, steps = checked.current, checked.proposed, _steps(migration)
        users = self.dependents(tx, current)
        lock_schemas(tx, self._dialect, [current.id, *(user.id for user in users)])
        old, new = self._definitions.of(tx, current), self._definitions.try_out(tx, proposed)
        allow(current, old, proposed, new, steps)
        old_dependents = {user.id: self._definitions.of(tx, user) for user in users}
        catalogue_store.update_schema(tx, proposed)
        newer = store.stream_objects_since(tx, self._dialect, current.id, checked.since)
        _refuse_misfits(newer, proposed, (old, new), steps, hidden, checked.skipped)
        users = self.dependents(tx, proposed)  # another slug may have made it the parent of others
        lock_schemas(tx, self._dialect, [user.id for user in users])
        for user in users:
            try:
                self._update_dependent(tx, caller, user, old_dependents.get(user.id), now, hidden, allow)
            except PentadError:
                if seen(user):
                    raise
                raise Conflict(
                    f"A schema that is composed of {proposed.slug!r} prevents the change.", hint="Ask an administrator."
                ) from None
        self._migrate_objects(tx, caller, proposed, (old, new), steps, now)
        if index_plan(old) != index_plan(new):
            self._note_indexes(tx, proposed, new, hidden, check=bool(steps))

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
        check_index_count(compiled, old)
        if old is not None:
            allow(user, old, user, compiled, ())
        objects = store.stream_objects(tx, user.id)
        _refuse_misfits(objects, user, (old or compiled, compiled), [], hidden, _Skipped())
        changed = replace(user, changes=user.changes + 1, updated_at=max(now, user.updated_at))
        catalogue_store.update_schema(tx, changed)
        if old is not None:
            self._migrate_objects(tx, caller, changed, (old, compiled), [], now)
        if old is None or index_plan(old) != index_plan(compiled):
            self._note_indexes(tx, user, compiled, hidden, check=True)

    def _note_indexes(
        self, tx: Transaction, schema: Schema, definition: "CompiledSchema", hidden: Hidden, *, check: bool
    ) -> None:
        """Note that a schema needs other indexes; with `check`, refuse those that the objects do not allow."""
        if check:
            check_content(tx, self._dialect, schema.id, index_plan(definition), discreet=hidden is not None)
        begin_indexing(tx, [schema.id])

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
                drafts.append(_migrated(new, held, data, now, schema.version))
            changed = [draft for draft in drafts if draft.after.version != draft.before_version]
            store.write_changes(tx, self._dialect, changed, who)
            store.reindex(tx, self._dialect, [draft for draft in drafts if draft.after.version == draft.before_version])
            if new.hybrid:
                self._vectors.update(tx, schema.id, drafts, old.texts if old.hybrid else None)


def _migrated(
    definition: "CompiledSchema", held: ExistingObject, data: dict[str, Any], now: float, version: str
) -> PendingChange:
    from pentad.rooms.registers.definitions.object_validation import json_text

    old = held.stored
    if data == old.data:
        stored = old.altered(slug=definition.slug_of(data))
    else:
        text, at = json_text(data)[0], change_time(old.updated_at, now)
        slug = definition.slug_of(data)
        stored = old.altered(
            version=old.version + 1, text=text, slug=slug, updated_at=at, schema_version=version, data=data
        )
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


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """A change that fitted all stored objects up to some moment."""

    current: Schema
    proposed: Schema
    indexes: IndexPlan | None
    """The indexes to make before the change; None if there are none, or the objects are to be migrated first."""
    since: int
    """Objects that changed after this moment have to be checked again (`store.present_moment`)."""
    skipped: _Skipped
    discreet: bool
    """Whether errors may not name objects, as the caller may not see all of them."""


def _preflight(
    portions: Iterable[list[ExistingObject]],
    definition: "CompiledSchema",
    steps: "Sequence[MigrationStep]",
    hidden: Hidden,
    skipped: _Skipped,
) -> "EvolutionReport":
    """What would not fit of what the caller may read; what it may not read is noted in `skipped`."""
    from pentad.rooms.registers.definitions.evolution import ReadableObject, preflight
    from pentad.rooms.registers.definitions.migration import migrate

    def objects() -> "Iterator[ReadableObject]":
        for portion in portions:
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
    return report


def _refuse_misfits(
    portions: Iterable[list[ExistingObject]],
    schema: Schema,
    change: "tuple[CompiledSchema, CompiledSchema]",
    steps: "Sequence[MigrationStep]",
    hidden: Hidden,
    skipped: _Skipped,
) -> None:
    """Conflict if objects would not fit; Forbidden if the caller may not know whether they fit.

    A change that cannot matter to any object, such as another description, reads none.
    """
    from pentad.rooms.registers.definitions.evolution import cannot_affect

    old, new = change
    if new.soft and (hidden is None or index_plan(old) == index_plan(new)):
        return
    if not steps and cannot_affect(old, new, None) and index_plan(old) == index_plan(new):
        return
    report = _preflight(portions, new, steps, hidden, skipped)
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
