"""Soft deletion, with its effect on every object that refers to the deleted one.

CASCADE deletes the referring objects, recursively; SET_NULL and SET_DEFAULT change them; RESTRICT blocks unless they
are deleted too; NO_ACTION leaves the reference dangling. Cycles end because each object is visited once. The impact is
computed before anything is written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, PentadError
from pentad.kernel.json_pointer import pointer
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.definitions.references import EACH
from pentad.rooms.registers.definitions.references import Reference as ReferenceFacts
from pentad.rooms.registers.models import Locked, Pair, StoredObject
from pentad.rooms.registers.objects import integrity, locks, store
from pentad.rooms.registers.objects.lookup import check_version, find_objects, object_not_found
from pentad.rooms.registers.objects.pending_changes import (
    ExistingObject,
    PendingChange,
    Reference,
    WriteContext,
    WriteStep,
    change_time,
)
from pentad.rooms.registers.schema_locks import keep_schemas


@dataclass(frozen=True, slots=True)
class Affected:
    """An object affected by a deletion: through which property, and how.

    Hidden objects share one entry, which only says that something blocks the deletion.
    """

    uuid: str | None
    register: int | None
    schema: int | None
    path: str | None
    action: str
    reason: str | None = None

    def wire(self) -> dict[str, Any]:
        wire = {
            "uuid": self.uuid, "register": self.register, "schema": self.schema, "property": self.path,
            "action": self.action, "reason": self.reason,
        }  # fmt: skip
        return {name: value for name, value in wire.items() if value is not None}


@dataclass(frozen=True, slots=True)
class DeletionReport:
    """The effects of deleting an object, computed in advance."""

    uuid: str
    blockers: list[Affected] = field(default_factory=list[Affected])
    cascade: list[Affected] = field(default_factory=list[Affected])
    nullify: list[Affected] = field(default_factory=list[Affected])
    default: list[Affected] = field(default_factory=list[Affected])

    @property
    def deletable(self) -> bool:
        return not self.blockers

    def wire(self) -> dict[str, Any]:
        return {
            "deletable": self.deletable,
            "blockers": [affected.wire() for affected in self.blockers],
            "cascadeTargets": [affected.wire() for affected in self.cascade],
            "nullifyTargets": [affected.wire() for affected in self.nullify],
            "defaultTargets": [affected.wire() for affected in self.default],
        }


_MOST_CASCADED: Final = 10_000
_HIDDEN: Final = Affected(None, None, None, None, "RESTRICT", "Objects you cannot see point at it.")
"""The one entry for hidden objects. It does not reveal which they are, how many, or where."""


@dataclass(slots=True)
class _Edit:
    """An object that stays but drops its references to deleted ones."""

    existing: ExistingObject
    pair: Pair
    released: list[tuple[Reference, ReferenceFacts]] = field(default_factory=list[tuple[Reference, ReferenceFacts]])


class DeletionImpact:
    """What a deletion deletes (the object first), what it changes, and what blocks it."""

    def __init__(
        self,
        rows: Rows,
        context: WriteContext,
        access: AccessRules,
        pair_of: Callable[[int, int], Pair],
        root: ExistingObject,
    ) -> None:
        self._rows = rows
        self._task = context
        self._access = access
        self._pair_of = pair_of
        self._edits: dict[str, _Edit] = {}
        self._restricted: list[tuple[ExistingObject, Reference]] = []
        self._seen_blockers = 0
        self.to_delete: dict[str, ExistingObject] = {root.stored.uuid: root}
        self.report = DeletionReport(root.stored.uuid)
        self._follow_all([root.stored.uuid])
        self._restrict()
        self.edits = [pending for edit in self._edits.values() if (pending := self._edit_change(edit)) is not None]

    def refuse_blocked(self) -> None:
        """Raise Conflict if anything blocks the deletion."""
        blockers = self.report.blockers
        if not blockers:
            return
        first = blockers[0]
        more = f" and {len(blockers) - 1} more" if len(blockers) > 1 else ""
        why = f": {first.reason}" if first.reason else "."
        said = f"{first.uuid}{more} points at it by {first.path} ({first.action}){why}"
        raise Conflict(
            f"Object {self.report.uuid} cannot be deleted: {said if first.uuid else _HIDDEN.reason}",
            hint="Delete or change what points at it first; can_delete shows all of it.",
            details={"rule": "DELETION_BLOCKED", "blockers": [one.wire() for one in blockers[:50]]},
        )

    def _follow_all(self, wave: Sequence[str]) -> None:
        while wave:
            wave = self._follow_references(wave)
            if len(self.to_delete) > _MOST_CASCADED:
                raise LimitExceeded(
                    f"Deleting {self.report.uuid} would delete more than {_MOST_CASCADED} others.",
                    hint="Delete what points at it first, in portions.",
                )

    def _follow_references(self, wave: Sequence[str]) -> list[str]:
        """One level outwards: find the referring objects and decide what happens to each of them."""
        pointing = store.references_to(self._rows, wave)
        sources = store.existing_by_uuid(
            self._rows, sorted({source for source, _, _ in pointing} - self.to_delete.keys())
        )
        following: list[str] = []
        for uuid, reference, _ in pointing:
            existing = sources.get(uuid)
            if existing is None or existing.stored.is_deleted or uuid in self.to_delete:
                continue
            pair = self._pair_of(existing.stored.register, existing.stored.schema)
            facts = next((one for one in pair.definition.references if pointer(one.path) == reference.path), None)
            if facts is None or facts.on_delete == "NO_ACTION":
                continue
            if facts.on_delete == "RESTRICT":
                self._restricted.append((existing, reference))
            elif facts.on_delete == "CASCADE":
                self._cascade(pair, existing, reference)
                following.append(uuid)
            else:
                self._edits.setdefault(uuid, _Edit(existing, pair)).released.append((reference, facts))
        return following

    def _cascade(self, pair: Pair, existing: ExistingObject, reference: Reference) -> None:
        self.to_delete[existing.stored.uuid] = existing
        try:
            self._access.check_object(self._task.caller, pair, "delete", existing.stored)
            locks.check_lock(existing.stored, self._task.caller.principal.id, self._task.now)
        except Locked as error:
            self._block(existing.stored, reference, "CASCADE", error.message)
        except PentadError:
            self._block(existing.stored, reference, "CASCADE", "You may not delete it.")
        else:
            self.report.cascade.append(_affected(existing.stored, reference, "CASCADE"))

    def _restrict(self) -> None:
        for existing, reference in self._restricted:
            if existing.stored.uuid not in self.to_delete:
                self._block(existing.stored, reference, "RESTRICT")

    def _edit_change(self, edit: _Edit) -> PendingChange | None:
        """The change of an object that drops references. None if it is also deleted or, with a blocker recorded, if it
        would be invalid.
        """
        old, definition, now = edit.existing.stored, edit.pair.definition, self._task.now
        if old.uuid in self.to_delete:
            return None
        data = old.data
        for reference, facts in edit.released:
            data = cast("dict[str, Any]", _without_target(data, facts.path, reference.target, self._substitute(facts)))
        first, rule = edit.released[0]
        try:
            locks.check_lock(old, self._task.caller.principal.id, now)
        except Locked as error:
            return self._block(old, first, rule.on_delete, error.message)
        prepared = definition.prepare(data, previous=old.data, now=now, caller_facts={})
        if prepared.problems:
            return self._block(old, first, rule.on_delete, prepared.problems[0].sentence())
        seen = self._access.sees_object(self._task.caller, edit.pair, old)
        for reference, facts in edit.released if seen else ():
            listed = self.report.nullify if facts.on_delete == "SET_NULL" else self.report.default
            listed.append(_affected(old, reference, facts.on_delete))
        stored = old.altered(
            version=old.version + 1,
            text=prepared.text,
            slug=definition.slug_of(prepared.data),
            updated_at=change_time(old.updated_at, now),
            schema_version=edit.pair.schema.version,
            known_data=prepared.data,
        )
        references = integrity.references_of(definition, prepared.data)
        return PendingChange("update", stored, edit.existing, references, definition.texts(prepared.data))

    def _substitute(self, facts: ReferenceFacts) -> str | None:
        """The default that replaces a reference, if that object exists and stays."""
        if facts.on_delete != "SET_DEFAULT" or not isinstance(facts.default, str):
            return None
        uuid = integrity.referenced_uuid(facts.default)
        return facts.default if uuid not in self.to_delete and store.live_objects(self._rows, [uuid]) else None

    def _block(self, stored: StoredObject, reference: Reference, action: str, reason: str | None = None) -> None:
        """Record a blocker; without details if the caller may not see it."""
        pair = self._pair_of(stored.register, stored.schema)
        if self._access.sees_object(self._task.caller, pair, stored):
            self.report.blockers.insert(self._seen_blockers, _affected(stored, reference, action, reason))
            self._seen_blockers += 1
        elif _HIDDEN not in self.report.blockers:
            self.report.blockers.append(_HIDDEN)


def _affected(stored: StoredObject, reference: Reference, action: str, reason: str | None = None) -> Affected:
    return Affected(stored.uuid, stored.register, stored.schema, reference.path, action, reason)


def _without_target(data: Any, path: Sequence[str], target: str, substitute: str | None) -> Any:
    """The data without one reference: replaced, removed from a list, or null."""
    if not path:
        return substitute if _refers_to(data, target) else data
    step, rest = path[0], path[1:]
    if isinstance(data, list) and step == EACH:
        items = cast("list[Any]", data)
        if rest:
            return [_without_target(item, rest, target, substitute) for item in items]
        swapped = [substitute if _refers_to(item, target) else item for item in items]
        return [new for old, new in zip(items, swapped, strict=True) if new is not None or old is None]
    if isinstance(data, dict) and step in data:
        members = cast("dict[str, Any]", data)
        return {**members, step: _without_target(members[step], rest, target, substitute)}
    return cast("Any", data)


def _refers_to(value: Any, target: str) -> bool:
    return isinstance(value, str) and integrity.referenced_uuid(value) == target


class Deletion:
    """Carries out deletions."""

    def __init__(self, dialect: Dialect, catalogue: Catalogue, access: AccessRules) -> None:
        self._dialect: Dialect = dialect
        self._catalogue = catalogue
        self._vectors = catalogue.vectors
        self._access = access

    def plan(self, rows: Rows, context: WriteContext, root: ExistingObject) -> DeletionImpact:
        return DeletionImpact(rows, context, self._access, self._catalogue.pairs_in(rows), root)

    def delete_all(self, tx: Transaction, context: WriteContext, steps: Sequence[WriteStep]) -> None:
        """Delete the object of each step, in order. Objects that nothing refers to are deleted together."""
        found = self._found(tx, context, steps)
        pointing = store.references_to(tx, [existing.stored.uuid for existing in found.values()])
        involved = {reference.target for _, reference, _ in pointing}
        together: list[WriteStep] = []
        for step in steps:
            existing = found.get(step.index)
            if existing is None:
                continue
            if existing.stored.uuid in involved:
                self._write(tx, context, together)
                together = []
                self._delete_planned(tx, context, step, existing)
                involved.update(pending.after.uuid for pending in step.changes)
            else:
                step.changes = [deletion_change(context, existing)]
                together.append(step)
        self._write(tx, context, together)

    def _found(self, rows: Rows, context: WriteContext, steps: Sequence[WriteStep]) -> dict[int, ExistingObject]:
        """The objects that may be deleted, by the index of their step; the other steps have failed."""
        found: dict[int, ExistingObject] = {}
        seen: set[str] = set()
        pair = context.pair
        refs = [step.operation.ref for step in steps if step.operation.ref is not None]
        meant = find_objects(rows, self._dialect, self._access, context.caller, pair, refs)
        for step in steps:
            ref = step.operation.ref
            try:
                if ref is None:
                    raise object_not_found(pair, ref)
                existing = meant[ref]
                if isinstance(existing, InvalidInput):
                    raise existing
                if existing is None or existing.stored.is_deleted or existing.stored.uuid in seen:
                    existing = None
                self._access.found(context.caller, pair, "delete", ref, None if existing is None else existing.stored)
                assert existing is not None  # noqa: S101  it was found
                check_version(existing.stored, step.operation.if_version)
                locks.check_lock(existing.stored, context.caller.principal.id, context.now)
            except PentadError as error:
                step.fail(error)
            else:
                seen.add(existing.stored.uuid)
                found[step.index] = existing
        return found

    def _delete_planned(
        self, tx: Transaction, context: WriteContext, step: WriteStep, existing: ExistingObject
    ) -> None:
        """Delete an object that others refer to; an earlier step may have changed or deleted it already."""
        current = store.existing_by_uuid(tx, [existing.stored.uuid])[existing.stored.uuid]
        if current.stored.is_deleted:
            step.succeed("deleted", current.stored)
            return
        try:
            plan = self.plan(tx, context, current)
            plan.refuse_blocked()
        except PentadError as error:
            step.fail(error)
            return
        step.changes = [*(deletion_change(context, one) for one in plan.to_delete.values()), *plan.edits]
        self._write(tx, context, [step])

    def _write(self, tx: Transaction, context: WriteContext, steps: Sequence[WriteStep]) -> None:
        pending_changes = [pending for step in steps for pending in step.changes]
        if len(pending_changes) > len(steps):
            keep_schemas(tx, self._dialect, (pending.after.schema for pending in pending_changes))
        self.write(tx, context, pending_changes)
        for step in steps:
            step.succeed("deleted", step.changes[0].after)

    def write(self, tx: Transaction, context: WriteContext, pending_changes: Sequence[PendingChange]) -> None:
        """Write prepared deletions, with their side effects on objects of other pairs."""
        if pending_changes:
            store.write_changes(tx, self._dialect, pending_changes, context.provenance)
            here = context.pair.schema.id
            if context.pair.definition.hybrid or any(one.after.schema != here for one in pending_changes):
                self._vectors.update_any(tx, pending_changes)


def deletion_change(context: WriteContext, existing: ExistingObject) -> PendingChange:
    """The change that soft-deletes an object."""
    old = existing.stored
    at = change_time(old.updated_at, context.now)
    mark = {
        "deletedBy": context.caller.principal.id,
        "deletedAt": iso(at),
        "objectId": old.uuid,
        "organisation": old.organisation,
    }
    gone = old.altered(
        version=old.version + 1, updated_at=at, deleted_text=msgspec.json.encode(mark).decode(), lock_text=None
    )
    return PendingChange("delete", gone, existing, words="")
