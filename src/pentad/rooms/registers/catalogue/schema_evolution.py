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
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.counts import counted
from pentad.kernel.errors import Conflict, Forbidden, PentadError
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.rooms.registers import store as catalogue_store
from pentad.rooms.registers.catalogue import schema_history
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions, composed, parent_of
from pentad.rooms.registers.catalogue.schema_indexes import begin_indexing
from pentad.rooms.registers.confirmation import confirm_token, require_confirm
from pentad.rooms.registers.definitions.schema_patch import touched_names
from pentad.rooms.registers.models import Caller, Schema, StoredObject
from pentad.rooms.registers.objects import integrity, store, uniqueness
from pentad.rooms.registers.objects.indexes import (
    IndexPlan,
    UniqueKey,
    check_content,
    check_index_count,
    index_plan,
    indexes_are_missing,
)
from pentad.rooms.registers.objects.pending_changes import ExistingObject, PendingChange, change_time, provenance_of
from pentad.rooms.registers.objects.prepare import check_indexed_texts, too_long_to_index
from pentad.rooms.registers.objects.vectors import ObjectVectors
from pentad.rooms.registers.query.models import Path
from pentad.rooms.registers.schema_locks import lock_schemas

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.evolution import EvolutionReport, ReadableObject
    from pentad.rooms.registers.definitions.expressions import Renames
    from pentad.rooms.registers.definitions.migration import MigrationStep

_RESTORE_LOCK: Final = 0x50454E545258
Hidden = Callable[[StoredObject], frozenset[str] | None] | None
"""The properties of an object that a report must not mention, or None to leave the object out; None for no limit."""
Allow = Callable[[Schema, "CompiledSchema", Schema, "CompiledSchema", "Sequence[MigrationStep]"], None]
"""Refuses a change of a schema, with its migration, if the caller may not make it."""
Breaks = Callable[[Rows, Caller, "SchemaChange", "CompiledSchema", "CompiledSchema"], Iterable[Mapping[str, Any]]]
"""What depends on a schema and would no longer work with the new definition, as far as the caller may know of it."""
Follows = Callable[[Rows, Caller, "SchemaChange"], Iterable[Mapping[str, Any]]]
"""What names renamed properties and would follow their new names, as far as the caller may know of it."""
Follow = Callable[[Transaction, "SchemaChange"], None]
"""Lets what names renamed properties follow their new names, within the transaction that changes the schema."""


@dataclass(slots=True)
class SchemaUsers:
    """What depends on schemas: asked by plans of changes, and told of changes that rename properties."""

    breaks: list[Breaks] = field(default_factory=list[Breaks])
    follows: list[Follows] = field(default_factory=list[Follows])
    follow: list[Follow] = field(default_factory=list[Follow])


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """What a change of a schema means: the definition before and after, and what happens to its objects.

    `SchemaEvolution` carries it out. An `undo` takes values from the history of the objects besides running the steps.
    """

    current: Schema
    proposed: Schema
    steps: "Sequence[MigrationStep]" = ()
    action: schema_history.Action = "update"
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    undo: schema_history.Undo | None = None
    warnings: tuple[dict[str, Any], ...] = ()

    @property
    def migrates(self) -> bool:
        return bool(self.steps or (self.undo is not None and self.undo.names))

    @property
    def renames(self) -> "Renames":
        """The new paths of renamed properties by those they had before the change."""
        from pentad.rooms.registers.definitions.renames import renames_of

        if self.undo is None:
            return renames_of(self.steps)
        return {new: old for old, new in renames_of(self.undo.taken.steps).items()}

    @property
    def touched(self) -> "list[MigrationStep]":
        """Steps that name every property the change may write, for the checks of rights."""
        from pentad.rooms.registers.definitions.migration import MigrationStep

        restored = () if self.undo is None else sorted(self.undo.names)
        return [*self.steps, *(MigrationStep("drop", name) for name in restored)]

    @property
    def token(self) -> str:
        """The token that confirms exactly this change of exactly this version."""
        proposed = self.proposed
        body = {name: value for name, value in proposed.body.items() if value != self.current.body.get(name)}
        gone = sorted(name for name in self.current.body if name not in proposed.body)
        steps = [step.as_json() for step in self.steps]
        order = schema_history.reordered(self.current, proposed)
        return confirm_token(
            self.current.id, self.current.changes, proposed.slug, proposed.title, body, gone, order, steps, self.action
        )

    def migrate(self, rows: Rows, stored: StoredObject, data: Mapping[str, Any]) -> dict[str, Any]:
        """The data of an object after the change."""
        from pentad.rooms.registers.definitions.migration import migrate

        if self.undo is not None:
            return self.undo.migrate(rows, stored, data)
        return migrate(data, self.steps) if self.steps else dict(data)


class SchemaEvolution:
    """Creates and changes schemas together with their objects."""

    def __init__(self, dialect: Dialect, definitions: Definitions, vectors: ObjectVectors) -> None:
        self._dialect: Dialect = dialect
        self._definitions = definitions
        self._vectors = vectors
        self.users = SchemaUsers()

    def begin(self, tx: Transaction, caller: Caller, schema: Schema) -> Schema:
        """Check a new schema and begin its history; returns it with warnings."""
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving
        from pentad.rooms.registers.definitions.schema_warnings import schema_warnings

        definition = self._definitions.try_out(tx, schema)
        check_before_saving(definition)
        check_index_count(definition)
        schema_history.record(tx, caller, None, schema, "create", {})
        begin_indexing(tx, [schema.id])
        return replace(schema, warnings=tuple(schema_warnings(definition)))

    def complete_restored(self, tx: Transaction) -> None:
        """Complete a restored store: a backup holds rows, but not the schemas' indexes nor this server's counters."""
        tx.run("SELECT pg_advisory_xact_lock(?)", _RESTORE_LOCK)
        if not indexes_are_missing(tx, self._dialect) or tx.value("SELECT count(*) FROM index_builds"):
            return
        tx.run("UPDATE object_changes SET xact = 0")
        begin_indexing(tx, [schema.id for schema in catalogue_store.all_schemas(tx)])

    def remove_protected_words(self, tx: Transaction) -> None:
        """Remove references, and words and slugs derived from protected properties, from the word index of an older
        version.
        """
        for schema in catalogue_store.schemas_with_old_words(tx):
            definition = self._definitions.try_out(tx, schema)
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
        """What a change would mean: for the stored objects, for indexes, and for what depends on the schema."""
        from pentad.rooms.registers.definitions.schema_warnings import schema_warnings

        current, proposed = change.current, change.proposed
        old, new = self._definitions.of(rows, current), self._definitions.try_out(rows, proposed)
        allow(current, old, proposed, new, change.touched)
        report = self._preflight(rows, change, (old, new), hidden, _Skipped(), with_indexes=True)
        made, dropped = _index_labels(index_plan(new)), _index_labels(index_plan(old))
        report.more = {
            "changes": schema_history.change_lines(current, proposed),
            "indexes": {
                name: sorted(found) for name, found in (("made", made - dropped), ("dropped", dropped - made)) if found
            },
            "breaks": [dict(one) for find in self.users.breaks for one in find(rows, caller, change, old, new)],
            "follows": [dict(one) for find in self.users.follows for one in find(rows, caller, change)],
            "warnings": [*change.warnings, *schema_warnings(new)],
        }
        if change.undo is not None and change.undo.kept:
            report.more["not_restored"] = change.undo.kept
        of_users = self._reports_of_dependents(rows, change, hidden, seen)
        report.more["dependents"] = {slug: found.as_json() for slug, found in of_users.items() if found.matters}
        losses = self._losses(rows, change, report, of_users)
        if losses:
            report.more["confirm"] = change.token
        report.more["next"] = _next_step(change, report, losses, soft=new.soft)
        return report

    def check(
        self,
        rows: Rows,
        change: SchemaChange,
        hidden: Hidden,
        allow: Allow,
        seen: Callable[[Schema], bool],
        confirm: str | None,
    ) -> "CheckedChange":
        """Check a change against the stored objects, before it takes its locks.

        A change that would lose values or rules needs its token in `confirm`.
        """
        from pentad.rooms.registers.definitions.schema_validation import check_before_saving

        current, proposed = change.current, change.proposed
        old, new = self._definitions.of(rows, current), self._definitions.try_out(rows, proposed)
        check_before_saving(new)
        check_index_count(new, old)
        allow(current, old, proposed, new, change.touched)
        since, skipped = store.present_moment(rows, self._dialect), _Skipped()
        report = self._refuse_misfits(rows, change, (old, new), hidden, skipped)
        is_less = bool(report.removed or report.dropped)
        self._confirm(
            rows, change, report, self._reports_of_dependents(rows, change, hidden, seen) if is_less else {}, confirm
        )
        plan = None if change.migrates or index_plan(old) == index_plan(new) else index_plan(new)
        return CheckedChange(current, proposed, plan, since, skipped, discreet=hidden is not None)

    def apply(
        self,
        tx: Transaction,
        caller: Caller,
        change: SchemaChange,
        checked: "CheckedChange",
        now: float,
        hidden: Hidden,
        allow: Allow,
        seen: Callable[[Schema], bool],
        confirm: str | None = None,
    ) -> Schema:
        """Store a changed schema and everything that follows from it; returns it with warnings.

        A problem in a dependent schema is only described if the caller may see that schema (`seen`).
        """
        from pentad.rooms.registers.definitions.schema_warnings import schema_warnings

        current, proposed = change.current, change.proposed
        users = self.dependents(tx, current)
        lock_schemas(tx, self._dialect, [current.id, *(user.id for user in users)])
        old, new = self._definitions.of(tx, current), self._definitions.try_out(tx, proposed)
        allow(current, old, proposed, new, change.touched)
        old_dependents = {user.id: self._definitions.of(tx, user) for user in users}
        for follow in self.users.follow:  # while every name still means what it meant
            follow(tx, change)
        catalogue_store.update_schema(tx, proposed)
        report = self._refuse_misfits(tx, change, (old, new), hidden, checked.skipped, since=checked.since)
        of_users: dict[str, EvolutionReport] = {}
        users = self.dependents(tx, proposed)  # another slug may have made it the parent of others
        lock_schemas(tx, self._dialect, [user.id for user in users])
        for user in users:
            try:
                found = self._update_dependent(tx, caller, user, old_dependents.get(user.id), now, hidden, allow)
                if seen(user):
                    of_users[user.slug] = found
            except PentadError:
                if seen(user):
                    raise
                raise Conflict(
                    f"A schema that is composed of {proposed.slug!r} prevents the change.", hint="Ask an administrator."
                ) from None
        self._confirm(tx, change, report, of_users, confirm)
        migrated = self._migrate_objects(tx, caller, change, (old, new), now)
        schema_history.record(tx, caller, current, proposed, change.action, change.details)
        if index_plan(old) != index_plan(new):
            self._note_indexes(tx, proposed, new, hidden, check=change.migrates)
        return replace(
            proposed,
            warnings=(*change.warnings, *schema_warnings(new)),
            change_lines=tuple(schema_history.change_lines(current, proposed)),
            migrated=migrated if hidden is None else None,
        )

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
    ) -> "EvolutionReport":
        """Apply a change to a schema that is composed of the changed one; returns what it means for its objects."""
        compiled = self._definitions.try_out(tx, user)
        check_index_count(compiled, old)
        if old is not None:
            allow(user, old, user, compiled, ())
        changed = replace(user, changes=user.changes + 1, updated_at=max(now, user.updated_at))
        change = SchemaChange(user, changed, action="parent")
        report = self._refuse_misfits(tx, change, (old or compiled, compiled), hidden, _Skipped())
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
        """Note that a schema needs other indexes; with `check`, refuse those that the objects do not allow."""
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
    ) -> int:
        """Migrate every object and index its references, words and meaning again; returns how many changed."""
        old, new = definitions
        schema = change.proposed
        if old.hybrid and not new.hybrid:
            self._vectors.drop(tx, schema.id)
        if not change.migrates and not _needs_reindexing(old, new):
            return 0
        who = provenance_of(caller, schema_history.plan_of(schema.id, schema.changes))
        long, migrated = index_plan(new).texts, 0
        for portion in store.stream_objects(tx, schema.id):
            drafts: list[PendingChange] = []
            for held in portion:
                data = change.migrate(tx, held.stored, held.stored.data) if change.migrates else held.stored.data
                check_indexed_texts(long, data)
                drafts.append(migrated_object(new, held, data, now, schema.version))
            changed = [draft for draft in drafts if draft.after.version != draft.before_version]
            migrated += len(changed)
            store.write_changes(tx, self._dialect, changed, who)
            store.reindex(tx, self._dialect, [draft for draft in drafts if draft.after.version == draft.before_version])
            if new.hybrid:
                self._vectors.update(tx, schema.id, drafts, old.texts if old.hybrid else None)
        return migrated

    def _preflight(
        self,
        rows: Rows,
        change: SchemaChange,
        definitions: "tuple[CompiledSchema, CompiledSchema]",
        hidden: Hidden,
        skipped: "_Skipped",
        *,
        since: int | None = None,
        with_indexes: bool = False,
    ) -> "EvolutionReport":
        """What would not fit of what the caller may read; what it may not read is noted in `skipped`.

        Looks at all objects, or at those that changed `since` a moment. `with_indexes` also checks what new indexes
        demand; a real change leaves that to the store, which checks when it makes them.
        """
        from pentad.rooms.registers.definitions.evolution import DefinitionChange, ReadableObject, preflight

        old, new = definitions

        def objects() -> "Iterator[ReadableObject]":
            if change.undo is not None:
                change.undo.kept = 0
            key = change.current.id
            portions = store.stream_objects(rows, key)
            if since is not None:
                portions = store.stream_objects_since(rows, self._dialect, key, since)
            for portion in portions:
                for held in portion:
                    stored = held.stored
                    without = frozenset[str]() if hidden is None else hidden(stored)
                    if without is None:
                        skipped.objects = True
                        continue
                    data = stored.data
                    if without:
                        skipped.properties |= without
                        data = {name: value for name, value in data.items() if name not in without}
                    after = change.migrate(rows, stored, data) if change.migrates else data
                    yield ReadableObject(stored.uuid, data, after, without, (stored.register, stored.organisation))

        rules = partial(_index_rules, *_new_indexes(index_plan(old), index_plan(new), change)) if with_indexes else None
        expected = catalogue_store.count_objects(rows, "schema", change.current.id)[0] if with_indexes else 0
        report = preflight(DefinitionChange(old, new, change.steps), objects, store_rules=rules, expected=expected)
        report.complete = hidden is None
        return report

    def _reports_of_dependents(
        self, rows: Rows, change: SchemaChange, hidden: Hidden, seen: Callable[[Schema], bool]
    ) -> "dict[str, EvolutionReport]":
        """What a change means for the objects of schemas composed of this one, as far as the caller may see those."""
        found: dict[str, EvolutionReport] = {}
        for user in filter(seen, self.dependents(rows, change.current)):
            old, new = self._definitions.of(rows, user), self._definitions.try_out(rows, user, change.proposed)
            found[user.slug] = self._preflight(rows, SchemaChange(user, user), (old, new), hidden, _Skipped())
        return found

    def _confirm(
        self,
        rows: Rows,
        change: SchemaChange,
        report: "EvolutionReport",
        of_users: "Mapping[str, EvolutionReport]",
        confirm: str | None,
    ) -> None:
        """ConfirmNeeded if the change would lose something here or in schemas composed of this one."""
        if losses := self._losses(rows, change, report, of_users):
            report.more["dependents"] = {slug: found.as_json() for slug, found in of_users.items() if found.losses()}
            require_confirm(confirm, change.token, losses, report.as_json())

    def _losses(
        self, rows: Rows, change: SchemaChange, report: "EvolutionReport", of_users: "Mapping[str, EvolutionReport]"
    ) -> str:
        """The losses that have to be confirmed, in words: rules count only where there are objects to keep to them.

        Callers who do not see every object always confirm: otherwise they would learn whether there are objects.
        """
        lost: list[str] = []
        if (losses := report.losses()) and (
            not report.complete or catalogue_store.schema_has_objects(rows, change.current.id)
        ):
            lost.append(losses)
        for slug, found in of_users.items():
            if (losses := found.losses()) and (not found.complete or found.total):
                lost.append(f"in {slug!r} {losses}")
        return "; ".join(lost)

    def _refuse_misfits(
        self,
        rows: Rows,
        change: SchemaChange,
        definitions: "tuple[CompiledSchema, CompiledSchema]",
        hidden: Hidden,
        skipped: "_Skipped",
        *,
        since: int | None = None,
    ) -> "EvolutionReport":
        """What the change does, if every object fits. Conflict if objects would not; Forbidden if the caller may not
        know whether they fit.

        A change that cannot matter to any object, such as another description, reads none.
        """
        from pentad.rooms.registers.definitions.evolution import DefinitionChange, EvolutionReport, cannot_affect

        old, new = definitions
        difference = DefinitionChange(old, new, change.steps)
        same_indexes = index_plan(old) == index_plan(new)
        harmless = same_indexes and not change.migrates and cannot_affect(old, new, None)
        if (harmless or (new.soft and (hidden is None or same_indexes))) and not difference.moves_values:
            report = EvolutionReport(complete=hidden is None)
            difference.describe(report)
            return report
        report = self._preflight(rows, change, definitions, hidden, skipped, since=since)
        if not new.soft:
            _refuse_failing(change.proposed, report, migrated=change.migrates)
        if skipped.may_matter(old, new):
            raise Forbidden(
                f"Some data of {change.proposed.slug!r} is not visible to you, and the change may not fit it.",
                hint="Change only what concerns properties you can read, or ask an administrator.",
                details={"rule": "evolution", "schema": change.proposed.id},
            )
        return report


def _new_indexes(old: IndexPlan, new: IndexPlan, change: SchemaChange) -> tuple[list[UniqueKey], list[Path]]:
    """The unique keys and long texts that no index guards yet, or that the migration writes to."""
    touched = set(touched_names(change.touched))
    keys = [key for key in new.unique if key not in old.unique or not touched.isdisjoint(path[0] for path in key.paths)]
    return keys, [path for path in new.texts if path not in old.texts or path[0] in touched]


def _index_rules(
    keys: Sequence[UniqueKey], texts: Sequence[Path], checked: "ReadableObject"
) -> Iterator[tuple[str, bytes | None]]:
    for key in keys:
        if (claim := uniqueness.claim_digest(key, checked.scope, checked.data)) is not None:
            yield "+".join(key.names), claim
    for path in texts:
        if too_long_to_index(path, checked.data):
            yield ".".join(map(str, path)), None


def _index_labels(plan: IndexPlan) -> set[str]:
    """The indexes of a plan in words."""
    unique = {f"unique {' + '.join(key.names)}" for key in plan.unique}
    return unique | {".".join(map(str, path)) for path, _ in plan.plain}


def migrated_object(
    definition: "CompiledSchema", held: ExistingObject, data: dict[str, Any], now: float, version: str
) -> PendingChange:
    """The change that gives an object other data because its schema is read differently now."""
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
        f"{report.failing} of {counted(report.total, 'object')} of {schema.slug!r} would not fit{even}: {kinds}.",
        hint=hint,
        details={"rule": "evolution", "schema": schema.id, "report": report.as_json()},
    )


def _next_step(change: SchemaChange, report: "EvolutionReport", losses: str, *, soft: bool) -> str:
    """What the change would do if it were asked for now, and what to do about it."""
    verb = change.action
    if report.failing and not soft:
        refused = f"{verb} would be refused: {report.failing} of {counted(report.total, 'object')} would not fit."
        if not report.migration:
            return f"{refused} Change those objects first, loosen the rules, or give a migration that makes them fit."
        if not report.after_migration:
            return f"{refused} With the migration given here, all would."
        return f"{refused} With the migration given here, {report.after_migration} would not."
    if losses:
        return f'{verb} needs confirm "{change.token}": it would lose {losses}.'
    unseen = "" if report.complete else ", unless data that you may not read prevents it"
    return f"{verb} would be carried out{unseen}."


def _needs_reindexing(old: "CompiledSchema", new: "CompiledSchema") -> bool:
    """Whether unchanged objects have other references, words or slugs now."""
    return (
        old.references != new.references
        or old.searchable != new.searchable
        or old.unsearchable != new.unsearchable
        or old.slug_is_protected != new.slug_is_protected
        or old.body.get("configuration") != new.body.get("configuration")
    )
