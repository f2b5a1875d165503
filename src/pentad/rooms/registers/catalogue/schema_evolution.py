"""Schema changes: makes sure that the definition compiles and stored objects still fit.

A change is first checked against every stored object while others keep writing (`check`). It is then stored in one
transaction (`apply`), which blocks writes to objects of the schema, checks objects written in between, and migrates
objects by the steps the caller confirmed. A schema contains its read rules, so objects of the new form must never be
read by the old rules, or the other way round. Nothing compiled here is cached, because the transaction may still fail.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.errors import Conflict, PentadError
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.rooms.registers import store as catalogue_store
from pentad.rooms.registers.catalogue import schema_history
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions, dependents_of
from pentad.rooms.registers.catalogue.schema_change import (
    Allow,
    CheckedChange,
    Hidden,
    SchemaChange,
    SchemaUsers,
    Skipped,
    past_rules,
)
from pentad.rooms.registers.catalogue.schema_indexes import begin_indexing
from pentad.rooms.registers.catalogue.schema_preflight import SchemaPreflight, index_labels, outlook_of
from pentad.rooms.registers.catalogue.schema_renames import dependent_change
from pentad.rooms.registers.models import MOST_IDS, Caller, Schema
from pentad.rooms.registers.objects import integrity, store
from pentad.rooms.registers.objects.indexes import (
    check_content,
    check_index_count,
    index_plan,
    indexes_are_missing,
)
from pentad.rooms.registers.objects.pending_changes import ExistingObject, PendingChange, change_time, provenance_of
from pentad.rooms.registers.objects.preparation import check_indexed_texts
from pentad.rooms.registers.objects.vectors import ObjectVectors
from pentad.rooms.registers.schema_locks import lock_schemas

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.evolution import EvolutionReport

_RESTORE_LOCK: Final = 0x50454E545258


class SchemaEvolution:
    """Creates and changes schemas together with their objects."""

    def __init__(self, dialect: Dialect, definitions: Definitions, vectors: ObjectVectors) -> None:
        self._dialect: Dialect = dialect
        self._definitions = definitions
        self._vectors = vectors
        self._preflight = SchemaPreflight(dialect, definitions)
        self.users = SchemaUsers()

    def begin(self, tx: Transaction, caller: Caller, schema: Schema) -> Schema:
        """Check a new schema and start its history; returns it with warnings."""
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving
        from pentad.rooms.registers.definitions.schema_warnings import schema_warnings

        definition = self._definitions.compile_unsaved(tx, schema)
        check_before_saving(definition)
        check_index_count(tx, self._dialect, schema.id, definition)
        schema_history.record(tx, caller, None, schema, "create", {})
        begin_indexing(tx, [schema.id])
        return replace(schema, warnings=tuple(schema_warnings(definition)))

    def complete_restored(self, tx: Transaction) -> None:
        """Complete a restored store: a backup has neither the schemas' indexes nor this server's counters."""
        tx.run("SELECT pg_advisory_xact_lock(?)", _RESTORE_LOCK)
        if not indexes_are_missing(tx, self._dialect) or tx.value("SELECT count(*) FROM index_builds"):
            return
        tx.run("UPDATE object_changes SET xact = 0")
        begin_indexing(tx, [schema.id for schema in catalogue_store.all_schemas(tx)])

    def remove_protected_words(self, tx: Transaction) -> None:
        """Remove references, and words and slugs derived from protected properties, from an older word index."""
        for schema in catalogue_store.schemas_with_old_words(tx):
            definition = self._definitions.compile_unsaved(tx, schema)
            if definition.derived or definition.slug_is_protected or definition.references:
                for portion in store.stream_objects(tx, schema.id):
                    drafts = [
                        migrated_object(definition, held, held.stored.data, 0.0, schema.version) for held in portion
                    ]
                    store.reindex(tx, self._dialect, drafts)
                    if definition.hybrid:
                        self._vectors.update(tx, schema.id, drafts, None)
            catalogue_store.mark_words_current(tx, schema.id)

    def report(
        self,
        rows: Rows,
        caller: Caller,
        change: SchemaChange,
        hidden: Hidden,
        allow: Allow,
        seen: Callable[[Schema], bool],
    ) -> "EvolutionReport":
        """The effects of a change: on stored objects, on indexes, and on whatever depends on the schema."""
        from pentad.rooms.registers.definitions.schema_warnings import schema_warnings

        current, proposed = change.current, change.proposed
        old, new = self._definitions.of(rows, current), self._definitions.compile_unsaved(rows, proposed)
        check_index_count(rows, self._dialect, current.id, new, old)
        allow(current, old, proposed, new, change.touched)
        report = self._preflight.preflight(rows, change, (old, new), hidden, Skipped(), with_indexes=True)
        made, dropped = index_labels(index_plan(new)), index_labels(index_plan(old))
        report.more = {
            "changes": schema_history.change_lines(current, proposed, change.steps),
            "indexes": {
                name: sorted(found) for name, found in (("made", made - dropped), ("dropped", dropped - made)) if found
            },
            "breaks": [dict(one) for find in self.users.breaks for one in find(rows, caller, change, old, new)],
            "follows": [dict(one) for find in self.users.follows for one in find(rows, caller, change)],
            "warnings": [*change.warnings, *schema_warnings(new)],
        }
        if change.undo is not None and change.undo.kept:
            report.more["not_restored"] = change.undo.kept
        of_users = self._preflight.reports_of_dependents(rows, change, hidden, seen)
        report.more["dependents"] = {slug: found.as_json() for slug, found in of_users.items() if found.matters}
        losses = self._preflight.losses(rows, change, report, of_users)
        if losses:
            report.more["confirm"] = change.token
        report.outlook = outlook_of(change, report, losses, soft=new.soft)
        return report

    def check(
        self,
        rows: Rows,
        change: SchemaChange,
        hidden: Hidden,
        allow: Allow,
        seen: Callable[[Schema], bool],
        confirm: str | None,
    ) -> CheckedChange:
        """Check a change against the stored objects before taking any locks.

        `confirm` must have the change's token if values or rules would be lost.
        """
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving

        current, proposed = change.current, change.proposed
        old, new = self._definitions.of(rows, current), self._definitions.compile_unsaved(rows, proposed)
        check_before_saving(new)
        check_index_count(rows, self._dialect, current.id, new, old)
        allow(current, old, proposed, new, change.touched)
        since, skipped = store.present_moment(rows, self._dialect), Skipped()
        report = self._preflight.refuse_misfits(rows, change, (old, new), hidden, skipped)
        is_less = bool(report.removed or report.dropped)
        self._preflight.confirm(
            rows,
            change,
            report,
            self._preflight.reports_of_dependents(rows, change, hidden, seen) if is_less else {},
            confirm,
        )
        plan = None if change.migrates or index_plan(old) == index_plan(new) else index_plan(new)
        return CheckedChange(current, proposed, plan, since, skipped, discreet=hidden is not None)

    def apply(
        self,
        tx: Transaction,
        caller: Caller,
        change: SchemaChange,
        checked: CheckedChange,
        now: float,
        hidden: Hidden,
        allow: Allow,
        seen: Callable[[Schema], bool],
        confirm: str | None = None,
    ) -> Schema:
        """Store a changed schema and everything affected by it; returns it with warnings.

        A problem in a dependent schema is only described if the caller may see that schema (`seen`).
        """
        from pentad.rooms.registers.definitions.schema_warnings import schema_warnings

        current, proposed = change.current, change.proposed
        users = dependents_of(tx, current)
        lock_schemas(tx, self._dialect, [current.id, *(user.id for user in users)])
        old, new = self._definitions.of(tx, current), self._definitions.compile_unsaved(tx, proposed)
        allow(current, old, proposed, new, change.touched)
        old_dependents = {user.id: self._definitions.of(tx, user) for user in users}
        for follow in self.users.follow:  # before names change their meaning
            follow(tx, caller, change)
        proposed = replace(proposed, past_rules=past_rules(current, old, new))
        catalogue_store.update_schema(tx, proposed)
        report = self._preflight.refuse_misfits(tx, change, (old, new), hidden, checked.skipped, since=checked.since)
        of_users: dict[str, EvolutionReport] = {}
        users = dependents_of(tx, proposed)  # with its new slug it may be the parent of others
        lock_schemas(tx, self._dialect, [user.id for user in users])
        for user in users:
            try:
                was = old_dependents.get(user.id)
                meant = SchemaChange(user, user, action="parent") if was is None else dependent_change(tx, user, change)
                found = self._update_dependent(tx, caller, meant, was, now, hidden, allow)
                if seen(user):
                    of_users[user.slug] = found
            except PentadError:
                if seen(user):
                    raise
                raise Conflict(
                    f"A schema that is composed of {proposed.slug!r} prevents the change.", hint="Ask an administrator."
                ) from None
        self._preflight.confirm(tx, change, report, of_users, confirm)
        migrated, ids = self._migrate_objects(tx, caller, change, (old, new), now)
        schema_history.record(tx, caller, current, proposed, change.action, change.details)
        if index_plan(old) != index_plan(new):
            self._note_indexes(tx, proposed, new, hidden, check=change.migrates)
        return replace(
            proposed,
            warnings=(*change.warnings, *schema_warnings(new)),
            change_lines=tuple(schema_history.change_lines(current, proposed, change.steps)),
            migrated=migrated if hidden is None else None,
            undone=None if change.undo is None else change.undo.summary(ids if hidden is None else ()),
        )

    def _update_dependent(
        self,
        tx: Transaction,
        caller: Caller,
        change: SchemaChange,
        old: "CompiledSchema | None",
        now: float,
        hidden: Hidden,
        allow: Allow,
    ) -> "EvolutionReport":
        """Apply a change to a schema composed of the changed one; returns what it means for its objects."""
        user = change.current
        compiled = self._definitions.compile_unsaved(tx, change.proposed)
        check_index_count(tx, self._dialect, user.id, compiled, old)
        if old is not None:
            allow(user, old, change.proposed, compiled, change.touched)
        kept = user.past_rules if old is None else past_rules(user, old, compiled)
        changed = replace(
            change.proposed, changes=user.changes + 1, updated_at=max(now, user.updated_at), past_rules=kept
        )
        change = replace(change, proposed=changed)
        report = self._preflight.refuse_misfits(tx, change, (old or compiled, compiled), hidden, Skipped())
        catalogue_store.update_schema(tx, changed)
        if old is not None:
            self._migrate_objects(tx, caller, change, (old, compiled), now)
        schema_history.record(tx, caller, user, changed, change.action, change.details)
        if old is None or index_plan(old) != index_plan(compiled):
            self._note_indexes(tx, user, compiled, hidden, check=True)
        return report

    def _note_indexes(
        self, tx: Transaction, schema: Schema, definition: "CompiledSchema", hidden: Hidden, *, check: bool
    ) -> None:
        """Record that a schema needs other indexes; with `check`, refuse indexes the objects do not allow."""
        if check:
            check_content(tx, self._dialect, schema.id, index_plan(definition), discreet=hidden is not None)
        begin_indexing(tx, [schema.id])

    def _migrate_objects(
        self,
        tx: Transaction,
        caller: Caller,
        change: SchemaChange,
        definitions: "tuple[CompiledSchema, CompiledSchema]",
        now: float,
    ) -> tuple[int, list[str]]:
        """Migrate every object and update its references, words and vectors.

        Returns how many changed, and the uuids of the first of them.
        """
        old, new = definitions
        schema = change.proposed
        if old.hybrid and not new.hybrid:
            self._vectors.drop(tx, schema.id)
        if not change.migrates and not _needs_reindexing(old, new):
            return 0, []
        who = provenance_of(caller, schema_history.plan_of(schema.id, schema.changes))
        long, migrated, first = index_plan(new).texts, 0, list[str]()
        for portion in store.stream_objects(tx, schema.id):
            drafts: list[PendingChange] = []
            for held in portion:
                data = change.migrate(tx, held.stored, held.stored.data) if change.migrates else held.stored.data
                check_indexed_texts(long, data)
                drafts.append(migrated_object(new, held, data, now, schema.version))
            changed = [draft for draft in drafts if draft.after.version != draft.before_version]
            migrated += len(changed)
            first += [draft.after.uuid for draft in changed[: MOST_IDS - len(first)]]
            store.write_changes(tx, self._dialect, changed, who)
            store.reindex(tx, self._dialect, [draft for draft in drafts if draft.after.version == draft.before_version])
            if new.hybrid:
                self._vectors.update(tx, schema.id, drafts, old.texts if old.hybrid else None)
        return migrated, first


def migrated_object(
    definition: "CompiledSchema", held: ExistingObject, data: dict[str, Any], now: float, version: str
) -> PendingChange:
    """The change that gives an object new data after its schema changed."""
    from pentad.rooms.registers.definitions.object_validation import json_text

    old = held.stored
    if data == old.data:
        stored = old.altered(slug=definition.slug_of(data))
    else:
        text, at = json_text(data)[0], change_time(old.updated_at, now)
        slug = definition.slug_of(data)
        stored = old.altered(
            version=old.version + 1, text=text, slug=slug, updated_at=at, schema_version=version, known_data=data
        )
    return PendingChange("migrate", stored, held, integrity.references_of(definition, data), definition.texts(data))


def _needs_reindexing(old: "CompiledSchema", new: "CompiledSchema") -> bool:
    """Whether unchanged objects now have other references, words or slugs."""
    return (
        old.references != new.references
        or old.searchable != new.searchable
        or old.unsearchable != new.unsearchable
        or old.slug_is_protected != new.slug_is_protected
        or old.body.get("configuration") != new.body.get("configuration")
    )
