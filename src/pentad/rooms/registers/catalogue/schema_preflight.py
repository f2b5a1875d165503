"""Checks a schema change against the stored objects: what would not fit, what would be lost, and what to do about it.

Objects and properties hidden from the caller are never tried, because the result would reveal them. A change that could
affect them is always refused.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from pentad.kernel.counts import counted
from pentad.kernel.errors import Conflict, Forbidden
from pentad.kernel.ports import Dialect, Rows
from pentad.rooms.registers import store as catalogue_store
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions, dependents_of
from pentad.rooms.registers.catalogue.schema_change import Hidden, SchemaChange, Skipped
from pentad.rooms.registers.catalogue.schema_renames import dependent_change
from pentad.rooms.registers.confirmation import require_confirm
from pentad.rooms.registers.definitions.schema_patch import touched_names
from pentad.rooms.registers.models import Schema
from pentad.rooms.registers.next_step import NextStep, Outlook
from pentad.rooms.registers.objects import store, uniqueness
from pentad.rooms.registers.objects.indexes import IndexPlan, UniqueKey, index_plan
from pentad.rooms.registers.objects.preparation import too_long_to_index
from pentad.rooms.registers.query.models import Path

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.evolution import EvolutionReport, ReadableObject


class SchemaPreflight:
    """Tries schema changes on the stored objects without writing anything."""

    def __init__(self, dialect: Dialect, definitions: Definitions) -> None:
        self._dialect: Dialect = dialect
        self._definitions = definitions

    def preflight(
        self,
        rows: Rows,
        change: SchemaChange,
        definitions: "tuple[CompiledSchema, CompiledSchema]",
        hidden: Hidden,
        skipped: "Skipped",
        *,
        since: int | None = None,
        with_indexes: bool = False,
    ) -> "EvolutionReport":
        """What would not fit among what the caller may read; everything else is recorded in `skipped`.

        Checks all objects, or those changed `since` a moment. `with_indexes` also checks the constraints of new
        indexes; a real change leaves that to the store, which checks when it creates them.
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

    def reports_of_dependents(
        self, rows: Rows, change: SchemaChange, hidden: Hidden, seen: Callable[[Schema], bool]
    ) -> "dict[str, EvolutionReport]":
        """The effects of a change on objects of schemas composed of this one, where the caller may see those."""
        found: dict[str, EvolutionReport] = {}
        for user in filter(seen, dependents_of(rows, change.current)):
            meant = dependent_change(rows, user, change)
            old, new = (
                self._definitions.of(rows, user),
                self._definitions.compile_unsaved(rows, meant.proposed, change.proposed),
            )
            found[user.slug] = self.preflight(rows, meant, (old, new), hidden, Skipped())
        return found

    def confirm(
        self,
        rows: Rows,
        change: SchemaChange,
        report: "EvolutionReport",
        of_users: "Mapping[str, EvolutionReport]",
        confirm: str | None,
    ) -> None:
        """ConfirmNeeded if the change would lose something here or in schemas composed of this one."""
        if losses := self.losses(rows, change, report, of_users):
            report.more["dependents"] = {slug: found.as_json() for slug, found in of_users.items() if found.losses()}
            require_confirm(confirm, change.token, losses, report.as_json())

    def losses(
        self, rows: Rows, change: SchemaChange, report: "EvolutionReport", of_users: "Mapping[str, EvolutionReport]"
    ) -> str:
        """The losses to confirm, in words. Lost rules count only where there are objects they apply to.

        Callers who cannot see every object always have to confirm; otherwise they would learn whether objects exist.
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

    def refuse_misfits(
        self,
        rows: Rows,
        change: SchemaChange,
        definitions: "tuple[CompiledSchema, CompiledSchema]",
        hidden: Hidden,
        skipped: "Skipped",
        *,
        since: int | None = None,
    ) -> "EvolutionReport":
        """The effects of the change if every object fits. Raises Conflict if some would not, and Forbidden if the
        caller may not know whether they do.

        Reads no objects if the change cannot affect any, such as a new description.
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
        report = self.preflight(rows, change, definitions, hidden, skipped, since=since)
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
    """The unique keys and long texts not covered by an index yet, or written by the migration."""
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


def index_labels(plan: IndexPlan) -> set[str]:
    """The indexes of a plan in words."""
    unique = {f"unique {' + '.join(key.names)}" for key in plan.unique}
    return unique | {".".join(map(str, path)) for path, _ in plan.plain}


def _refuse_failing(schema: Schema, report: "EvolutionReport", *, migrated: bool) -> None:
    if not report.failing:
        return
    kinds = ", ".join(f"{kind} ({count})" for kind, count in report.counts.most_common(3))
    even = " even after the migration" if migrated else ""
    hint = (
        "Send the steps in details.report.migration as `migration`."
        if report.migration and not report.after_migration
        else _ways_out(report)
    )
    raise Conflict(
        f"{report.failing} of {counted(report.total, 'object')} of {schema.slug!r} would not fit{even}: {kinds}.",
        hint=hint,
        details={"rule": "evolution", "schema": schema.id, "report": report.as_json()},
    )


def outlook_of(change: SchemaChange, report: "EvolutionReport", losses: str, *, soft: bool) -> Outlook:
    """What the change would do now, and the operation that makes it."""
    verb = change.action
    step = NextStep("schemas", verb, {"id": change.current.id})
    if report.failing and not soft:
        refused = f"{verb} would be refused: {report.failing} of {counted(report.total, 'object')} would not fit."
        if not report.migration:
            return Outlook(before=f"{refused} {_ways_out(report)}")
        if report.after_migration:
            return Outlook(before=f"{refused} With the migration given here, {report.after_migration} would not.")
        return Outlook(step, f"{refused} With the migration given here, all would: ", " and this migration.")
    unseen = "" if report.complete else ", unless data that you may not read prevents it"
    if losses:
        confirmed = replace(step, arguments={**step.arguments, "confirm": change.token})
        return Outlook(confirmed, "", f' and confirm "{change.token}" carries it out{unseen}. It would lose {losses}.')
    return Outlook(step, "", f" carries it out{unseen}.")


def _ways_out(report: "EvolutionReport") -> str:
    """Suggestions for objects that would not fit when no migration is known to help."""
    step = report.example_step()
    such = f", such as [{msgspec.json.encode(step).decode()}]" if step is not None else " that makes them fit"
    return f"Change those objects first, loosen the rules, or give a migration{such}."
