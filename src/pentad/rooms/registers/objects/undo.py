"""Undo: takes back what a plan or an import wrote, with the caller's current rights.

A plan is undone as a whole. An import may be old and large, so its objects are checked one by one: if values the import
wrote were changed since, the object is left alone and reported. The history stores the plan's or import's id with each
change (`plan`), and `undo:<id>` with the changes of the undo.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from pentad.kernel.errors import Conflict, LimitExceeded, PentadError
from pentad.kernel.json_patch import same_json
from pentad.kernel.ports import Dialect, Transaction
from pentad.kernel.sql import chunks
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.definitions.object_validation import json_text
from pentad.rooms.registers.models import MOST_IDS, Caller, Outcome, Pair, StoredObject
from pentad.rooms.registers.objects import change_log, locks, store
from pentad.rooms.registers.objects.change_log import ERASED, Change
from pentad.rooms.registers.objects.deletion import deletion_change
from pentad.rooms.registers.objects.history import History
from pentad.rooms.registers.objects.lookup import object_not_found
from pentad.rooms.registers.objects.old_states import OldStates
from pentad.rooms.registers.objects.pending_changes import ExistingObject, PendingChange, Reference, WriteContext
from pentad.rooms.registers.objects.service import Objects
from pentad.rooms.registers.objects.writer import ChangeNotifications
from pentad.rooms.registers.presentation import readable_warnings
from pentad.rooms.registers.schema_locks import keep_schemas

MOST_UNDONE: Final = 200_000
_MOST_LISTED: Final = 200
_PORTION: Final = 500


UndoKind = Literal["deleted", "reverted", "restored"]
"""What an undo did to an object: deleted a new one, gave one its old values, or restored a deleted one."""


@dataclass(slots=True)
class UndoReport:
    """What an undo did, and which objects it left alone and why."""

    deleted: int = 0
    reverted: int = 0
    restored: int = 0
    skipped: int = 0
    ids: dict[UndoKind, list[str]] = field(default_factory=dict[UndoKind, list[str]])
    """The first objects of each kind."""
    reasons: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What could not be restored because the schema was migrated since."""
    unseen: int = 0
    """The number of objects the caller can no longer see. The answer does not mention them."""

    @property
    def did_nothing(self) -> bool:
        """Whether there was something to undo, but all of it was left alone."""
        return not self.deleted and not self.reverted and bool(self.skipped or self.unseen)

    def add(self, kind: UndoKind, uuids: Sequence[str]) -> None:
        """Count objects that were restored."""
        setattr(self, kind, getattr(self, kind) + len(uuids))
        if uuids:
            known = self.ids.setdefault(kind, [])
            known += uuids[: MOST_IDS - len(known)]

    def skip(self, uuid: str, reason: str) -> None:
        self.skipped += 1
        if len(self.reasons) < _MOST_LISTED:
            self.reasons.append({"id": uuid, "reason": reason})

    def warn(self, uuid: str, warnings: Iterable[dict[str, Any]]) -> None:
        room = _MOST_LISTED - len(self.warnings)
        self.warnings += [{"id": uuid, **one} for one in islice(warnings, room)]

    def wire(self) -> dict[str, Any]:
        counts: dict[str, Any] = {"deleted": self.deleted, "reverted": self.reverted, "skipped": self.skipped}
        counts |= {"restored": self.restored} if self.restored else {}
        lists = {"ids": self.ids, "left": self.reasons, "warnings": self.warnings}
        return {**counts, **{name: found for name, found in lists.items() if found}}


@dataclass(frozen=True, slots=True)
class _Written:
    """What an import did to one object: its first and last change."""

    first: Change
    last: Change
    made: bool
    """Whether there was no object before."""


class Undo:
    """Undoes plans and imports."""

    def __init__(
        self, dialect: Dialect, catalogue: Catalogue, access: AccessRules, objects: Objects, history: History
    ) -> None:
        self._dialect: Dialect = dialect
        self._catalogue = catalogue
        self._access = access
        self._objects = objects
        self._history = history

    # plans

    def plan(
        self,
        tx: Transaction,
        caller: Caller,
        plan_id: str,
        changes: Sequence[tuple[Change, bool]],
        named: Collection[str],
    ) -> tuple[list[Outcome], UndoReport]:
        """Undo changes in reverse order, so that every intermediate state was valid before.

        References are checked once, at the end. Objects not in `named` were hidden from the caller and changed as a
        side effect; they are restored the same way.
        """
        pending_changes: dict[str, tuple[WriteContext, PendingChange]] = {}
        warnings: dict[str, tuple[dict[str, Any], ...]] = {}
        states = OldStates(tx)
        gone: set[str] = set()
        pointed: dict[str, frozenset[Reference] | None] = {}
        notifications = ChangeNotifications()
        pair_of = self._catalogue.pairs_in(tx)
        for change, found_deleted in reversed(changes):
            is_named = change.uuid in named
            pair = (
                self._catalogue.pair_in(tx, caller, change.register, change.schema)
                if is_named
                else pair_of(change.register, change.schema)
            )
            context = self._context(tx, caller, pair, plan_id)
            existing = store.existing_by_uuid(tx, [change.uuid]).get(change.uuid)
            if existing is None:
                raise object_not_found(pair, change.uuid)
            if not is_named:
                self._restore_hidden(tx, context, existing, change, states, notifications)
                continue
            past = None if found_deleted else _state_before(existing.stored, change)
            if past is not None:
                past = states.migrated(pair.definition, past)
                warnings[change.uuid] = readable_warnings(self._access, caller, pair, past)
            pending = self._undo_change(context, existing, past)
            if pending is not None:
                self._objects.writer.write_one(tx, context, pending, notifications)
                if existing.stored.is_deleted:
                    gone.add(change.uuid)
                pointed.setdefault(change.uuid, pending.known)
                pending_changes[change.uuid] = (context, pending)
        for uuid, (context, pending) in pending_changes.items():
            if pending.action != "delete":
                whole = msgspec.structs.replace(pending, known=pointed[uuid])
                self._objects.writer.check_references(tx, context, [whole])
        self._objects.writer.send(tx, notifications)
        report = UndoReport()
        for uuid, (_, pending) in pending_changes.items():
            report.add("deleted" if pending.action == "delete" else "restored" if uuid in gone else "reverted", [uuid])
        return [
            Outcome(
                index,
                "deleted" if pending.action == "delete" else "updated",
                uuid,
                pending.after.version,
                warnings=warnings.get(uuid) or None,
            )
            for index, (uuid, (_, pending)) in enumerate(pending_changes.items())
        ], report

    def _restore_hidden(
        self,
        tx: Transaction,
        context: WriteContext,
        existing: ExistingObject,
        change: Change,
        states: OldStates,
        notifications: ChangeNotifications,
    ) -> None:
        past = _state_before(existing.stored, change)
        if past is None or existing.stored.is_deleted:
            return
        past = states.migrated(context.pair.definition, past)
        pending = self._objects.writer.pending_update(context, "revert", existing, past.data, past.text)
        self._objects.writer.write_one(tx, context, pending, notifications)

    # imports

    def import_(self, tx: Transaction, caller: Caller, import_id: str) -> UndoReport:
        """Delete the objects an import created, and give the others their previous values.

        Objects the caller can no longer see are left alone and not mentioned.
        """
        report = UndoReport()
        written = self._written(tx, import_id)
        deletions: dict[str, tuple[WriteContext, PendingChange]] = {}
        reverts: dict[str, tuple[WriteContext, PendingChange]] = {}
        states = OldStates(tx)
        contexts = self._contexts(tx, caller, import_id, written.values())
        for part in chunks(list(written), _PORTION):
            for uuid, found in store.existing_by_uuid(tx, part).items():
                context = contexts.get((found.stored.register, found.stored.schema))
                if context is None or not self._access.sees_object(caller, context.pair, found.stored):
                    report.unseen += 1
                    continue
                try:
                    pending = self._take_back(context, found, written[uuid], states, report)
                except PentadError as error:
                    report.skip(uuid, error.message)
                    continue
                if pending is not None:
                    (deletions if pending.action == "delete" else reverts)[uuid] = (context, pending)
        self._keep_referenced(tx, deletions, reverts, report)
        self._write(tx, deletions, reverts, report)
        return report

    def _written(self, tx: Transaction, import_id: str) -> dict[str, _Written]:
        """What an import did, by object, last one first."""
        changes = change_log.changes_of_plan(tx, self._dialect, import_id, MOST_UNDONE + 1)
        if len(changes) > MOST_UNDONE:
            raise LimitExceeded(f"The import made more than {MOST_UNDONE:,} changes, too many to undo at once.")
        written: dict[str, _Written] = {}
        for change, found_deleted in changes:
            earlier = written.pop(change.uuid, None)
            first, made = (
                (change, found_deleted or change.before is None) if earlier is None else (earlier.first, earlier.made)
            )
            written[change.uuid] = _Written(first, change, made)
        return dict(reversed(written.items()))

    def _contexts(
        self, tx: Transaction, caller: Caller, import_id: str, written: Iterable[_Written]
    ) -> dict[tuple[int, int], WriteContext]:
        """A write context for each pair the import wrote to and the caller can still see."""
        contexts: dict[tuple[int, int], WriteContext] = {}
        for register, schema in {(one.last.register, one.last.schema) for one in written}:
            try:
                pair = self._catalogue.pair_in(tx, caller, register, schema)
            except PentadError:
                continue
            contexts[register, schema] = self._context(tx, caller, pair, import_id)
        return contexts

    def _take_back(
        self,
        context: WriteContext,
        existing: ExistingObject,
        written: _Written,
        states: OldStates,
        report: UndoReport,
    ) -> PendingChange | None:
        """The change that undoes what an import did to one object; None if nothing of it is left."""
        current, definition = existing.stored, context.pair.definition
        if current.is_deleted:
            if written.made:
                return None
            raise Conflict("It was deleted since.")
        earlier = None if written.made else _state_before(current, written.first)
        later = _state_after(current, written.last)
        if any(one is not None and one.text.startswith(ERASED) for one in (earlier, later)):
            raise Conflict("Its earlier states were erased.")
        after = current.data if later is None else states.migrated(definition, later).data
        past = None if earlier is None else states.migrated(definition, earlier)
        before = None if past is None else past.data
        ours = {
            name
            for name in (after if before is None else {**before, **after})
            if before is None or not _same(before, after, name)
        }
        if before is not None and all(_same(current.data, before, name) for name in ours):
            return None
        concerned = {*ours, *current.data} if before is None else ours
        if changed := [name for name in concerned if not _same(current.data, after, name)]:
            hidden = self._access.hidden(context.caller, context.pair, current.data, current.owner)
            named = sorted(name for name in changed if name not in hidden)
            raise Conflict(f"It was changed since: {', '.join(named[:5])}." if named else "It was changed since.")
        if before is None:
            return self._undo_change(context, existing, None)
        restored = {name: value for name, value in current.data.items() if name not in ours}
        restored |= {name: value for name, value in before.items() if name in ours}
        pending = self._undo_change(context, existing, current.altered(text=json_text(restored)[0]))
        if past is not None:
            report.warn(current.uuid, readable_warnings(self._access, context.caller, context.pair, past))
        return pending

    def _keep_referenced(
        self,
        tx: Transaction,
        deletions: dict[str, tuple[WriteContext, PendingChange]],
        reverts: dict[str, tuple[WriteContext, PendingChange]],
        report: UndoReport,
    ) -> None:
        """Keep objects that a remaining object refers to, and the objects those refer to in turn."""
        pointing = store.references_to(tx, list(deletions))
        live = store.live_objects(tx, sorted({source for source, _, _ in pointing}))
        while True:
            kept = {
                reference.target
                for source, reference, _ in pointing
                if reference.target in deletions
                and source in live
                and source not in deletions
                and not (source in reverts and reference not in (reverts[source][1].references or ()))
            }
            if not kept:
                return
            for uuid in sorted(kept):
                del deletions[uuid]
                report.skip(uuid, "Other objects refer to it.")

    def _write(
        self,
        tx: Transaction,
        deletions: dict[str, tuple[WriteContext, PendingChange]],
        reverts: dict[str, tuple[WriteContext, PendingChange]],
        report: UndoReport,
    ) -> None:
        """Write the changes, deletions first: a deleted object may have a unique value that another gets back."""
        notifications = ChangeNotifications()
        for changes in (deletions, reverts):
            groups: dict[int, tuple[WriteContext, list[PendingChange]]] = {}
            for context, pending in changes.values():
                groups.setdefault(id(context), (context, []))[1].append(pending)
            for context, group in groups.values():
                for part in chunks(group, _PORTION):
                    failed = self._objects.writer.write_prepared(tx, context, part, notifications)
                    done = [one.after.uuid for one in part if one.after.uuid not in failed]
                    for uuid, error in failed.items():
                        if any(one.target in deletions for one in reverts[uuid][1].known or ()):
                            raise error  # it would refer to a missing object
                        report.skip(uuid, error.message)
                    report.add("deleted" if changes is deletions else "reverted", done)
        self._objects.writer.send(tx, notifications)

    # plans and imports

    def _context(self, tx: Transaction, caller: Caller, pair: Pair, batch: str) -> WriteContext:
        keep_schemas(tx, self._dialect, [pair.schema.id])
        return self._objects.write_context(caller, pair, f"undo:{batch}")

    def _undo_change(
        self, context: WriteContext, existing: ExistingObject, past: StoredObject | None
    ) -> PendingChange | None:  # fmt: skip
        """The change that gives an object a past state; without one, the object is deleted. None if nothing changes."""
        if past is not None:
            return self._history.revert_change(context, existing, past)
        if existing.stored.is_deleted:
            return None
        self._access.check_object(context.caller, context.pair, "delete", existing.stored)
        locks.check_lock(existing.stored, context.caller.principal.id, context.now)
        return deletion_change(context, existing)


def _state_before(current: StoredObject, change: Change) -> StoredObject | None:
    """The state a change replaced; None if there was none."""
    if change.before is None:
        return None
    since = current.updated_at if change.since is None else change.since
    return current.altered(text=change.before, version=change.version - 1, updated_at=since, deleted_text=None)


def _state_after(current: StoredObject, change: Change) -> StoredObject | None:
    """The state a change resulted in; None if that is the current one."""
    if change.after is None:
        return None
    return current.altered(text=change.after, version=change.version, updated_at=change.at)


def _same(one: dict[str, Any], other: dict[str, Any], name: str) -> bool:
    if (name in one) != (name in other):
        return False
    return name not in one or same_json(one[name], other[name])
