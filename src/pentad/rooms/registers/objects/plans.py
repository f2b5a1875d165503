"""Plans: batches of writes that are previewed, committed as previewed, and can be undone as a whole.

A preview is the real write, rolled back: validation, uniqueness, references and cascades are those of the commit. A
plan can be committed only while every object it touches still has the previewed version, and undone only if nobody has
changed them since.

A preview shows only what its owner may read, both at creation and at every later read. Hidden objects that change as a
side effect (a reference set to null) are neither shown nor counted, and do not block the plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound, PentadError, VersionMismatch
from pentad.kernel.ids import opaque_id, uuid7
from pentad.kernel.json_pointer import steps_of
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.definitions.json_diff import as_preview
from pentad.rooms.registers.models import Caller, Operation, Outcome, Pair, StoredObject
from pentad.rooms.registers.objects import change_log, store
from pentad.rooms.registers.objects.lookup import object_not_found
from pentad.rooms.registers.objects.pending_changes import (
    PendingChange,
    WriteStep,
    atomic_failure,
    current_time,
    row_error,
)
from pentad.rooms.registers.objects.service import Objects
from pentad.rooms.registers.objects.undo import Undo, UndoReport
from pentad.rooms.registers.objects.uri_references import NONE_UNREADABLE, Unreadable
from pentad.rooms.registers.objects.writer import ChangeNotifications, RepeatedUpserts
from pentad.rooms.registers.presentation import operation_of


@dataclass(frozen=True, slots=True)
class Plan:
    """A previewed batch of writes; once committed, it can be undone."""

    id: str
    state: Literal["open", "committed", "undone"]
    preview: list[dict[str, Any]]
    created_at: float
    changed_at: float
    outcomes: list[Outcome] | None = None
    """The result of each row, after commit and undo."""
    undone: UndoReport | None = None
    """What an undo did, in its answer."""

    @property
    def valid(self) -> bool:
        """Whether every row could be committed when the plan was made."""
        return all(row.get("error") is None for row in self.preview)

    def wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {"id": self.id, "state": self.state, "valid": self.valid}
        if self.outcomes is None:
            wire["preview"] = self.preview
        else:
            wire["outcomes"] = [
                {name: value for name, value in msgspec.structs.asdict(outcome).items() if value is not None}
                for outcome in self.outcomes
            ]
        if self.undone is not None:
            wire["undone"] = self.undone.wire()
        return {**wire, "created": iso(self.created_at), "updated": iso(self.changed_at)}


PreviewRow = dict[str, Any]
_NEW: Final = "created"


class PlannedOperation(msgspec.Struct, frozen=True):
    """One operation as stored in a plan."""

    register: int
    schema: int
    operation: Operation


class PlanPreviews:
    """Makes and reads the previews of plans."""

    def __init__(self, catalogue: Catalogue, access: AccessRules) -> None:
        self._catalogue = catalogue
        self._access = access

    def visible_changes(self, rows: Rows, caller: Caller, steps: Sequence[WriteStep]) -> list[PendingChange]:
        """The changes the owner may see: those of new objects and of visible ones."""
        pair_of = self._catalogue.pairs_in(rows)
        return [
            pending
            for step in steps
            for pending in step.changes
            if pending.before is None
            or self._access.sees_object(
                caller, pair_of(pending.after.register, pending.after.schema), pending.before.stored
            )
        ]

    def build(self, rows: Rows, caller: Caller, steps: Sequence[WriteStep]) -> list[PreviewRow]:
        """The preview of each row: status, difference in data, and side effects."""
        pair_of = self._catalogue.pairs_in(rows)

        def difference(pending: PendingChange) -> list[dict[str, Any]]:
            pair = pair_of(pending.after.register, pending.after.schema)
            before = None if pending.before is None else pending.before.stored
            states = [pending.after] if before is None else [before, pending.after]
            hidden = self._access.hidden_in(caller, pair, *states)
            return as_preview({} if before is None else _without(before, hidden), _without(pending.after, hidden))

        return [_preview_row(step, self.visible_changes(rows, caller, [step]), difference) for step in steps]

    def read(
        self,
        rows: Rows,
        caller: Caller,
        planned: Sequence[PlannedOperation],
        preview: Sequence[PreviewRow],
        *,
        is_open: bool,
    ) -> list[PreviewRow]:
        """A preview, limited to what its owner may read now."""
        if self._access.is_unrestricted(caller):
            return list(preview)
        uuids = {one["uuid"] for row in preview for one in (row, *row.get("also", ())) if one.get("uuid")}
        existing = store.existing_by_uuid(rows, sorted(uuids))
        pair_of = self._catalogue.pairs_in(rows)
        hidden: dict[str, frozenset[str]] = {}
        for uuid, found in existing.items():
            pair = pair_of(found.stored.register, found.stored.schema)
            if self._access.sees_object(caller, pair, found.stored):
                hidden[uuid] = self._access.hidden(caller, pair, found.stored.data, found.stored.owner)
        return [
            self._read(rows, caller, one, row, hidden, is_open=is_open)
            for one, row in zip(planned, preview, strict=True)
        ]

    def _read(
        self, rows: Rows, caller: Caller, planned: PlannedOperation, row: PreviewRow, hidden: dict[str, frozenset[str]],
        *, is_open: bool,
    ) -> PreviewRow:  # fmt: skip
        """One row. If its object can no longer be read, it looks as if the object did not exist."""
        uuid = row.get("uuid")
        if uuid is None or (is_open and row["status"] == _NEW):
            return row
        if uuid not in hidden:
            try:
                pair = self._catalogue.pair_in(rows, caller, planned.register, planned.schema)
                error = _not_found(pair, planned.operation, uuid)
            except PentadError as unseen:
                error = unseen
            return {"index": row["index"], "action": row["action"], "status": "failed", "error": row_error(error)}
        also = [_without_hidden(one, hidden[one["uuid"]]) for one in row.get("also", ()) if one["uuid"] in hidden]
        rest = {name: value for name, value in _without_hidden(row, hidden[uuid]).items() if name != "also"}
        return {**rest, "also": also} if also else rest


def _preview_row(step: WriteStep, pending_changes: Sequence[PendingChange], difference: Any) -> PreviewRow:
    outcome = step.outcome()
    row: PreviewRow = {"index": step.index, "action": step.operation.action, "status": outcome.status}
    if outcome.error is not None:
        return {**row, "error": outcome.error}
    row.update(uuid=outcome.uuid, version=outcome.version)
    for pending in pending_changes:
        if pending.after.uuid == outcome.uuid and pending.action != "delete":
            row["diff"] = difference(pending)
            break
    also = [_side_effect(pending, difference) for pending in pending_changes if pending.after.uuid != outcome.uuid]
    return {**row, "also": also} if also else row


def _side_effect(pending: PendingChange, difference: Any) -> PreviewRow:
    found: PreviewRow = {"uuid": pending.after.uuid, "action": pending.action, "schema": pending.after.schema}
    if pending.action != "delete" and pending.before is not None:
        found["diff"] = difference(pending)
    return found


def _without(stored: StoredObject, hidden: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in stored.data.items() if name not in hidden} if hidden else stored.data


def _without_hidden(row: PreviewRow, hidden: frozenset[str]) -> PreviewRow:
    """A row whose difference leaves out hidden properties."""
    if not hidden or "diff" not in row:
        return row
    return {**row, "diff": [one for one in row["diff"] if not _touches(one, hidden)]}


def _touches(operation: dict[str, Any], hidden: frozenset[str]) -> bool:
    for pointer in (operation.get("path"), operation.get("from")):
        if pointer is not None:
            first, *_ = steps_of(str(pointer)) or [""]
            if not first or first in hidden:
                return True
    return False


def _not_found(pair: Pair, operation: Operation, uuid: str) -> PentadError:
    return object_not_found(pair, uuid if operation.ref is None else operation.ref)


MOST_OPERATIONS: Final = 1_000
KEPT_SECONDS: Final = 7 * 24 * 3600.0
"""How long an uncommitted plan is kept. A committed one stays, so that it can be undone."""

_COLUMNS: Final = "id, principal, operations, preview, versions, state, created_at, changed_at"


class _PreviewReady(Exception):
    """Carries a preview and the versions it saw out of the rolled-back transaction."""

    def __init__(self, preview: list[dict[str, Any]], versions: dict[str, int]) -> None:
        super().__init__()
        self.preview = preview
        self.versions = versions


class Plans:
    """Makes, commits and undoes plans."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        catalogue: Catalogue,
        access: AccessRules,
        objects: Objects,
        undo: Undo,
    ) -> None:
        self._database = database
        self._clock = clock
        self._catalogue = catalogue
        self._access = access
        self._objects = objects
        self._undo = undo
        self._previews = PlanPreviews(catalogue, access)

    async def make(
        self,
        caller: Caller,
        pair: Pair,
        operations: Sequence[Operation] | None = None,
        *,
        chosen: Mapping[str, Any] | None = None,
        data: dict[str, Any] | None = None,
    ) -> Plan:
        """Preview a batch: what each row would do, including to other objects.

        The batch is `operations`, or `data` merged into every object that the filter `chosen` finds.
        """
        self._access.require_write(caller)
        if (operations is None) == (chosen is None) or (chosen is None) != (data is None):
            raise InvalidInput(
                "A plan takes operations, or filter and data.",
                hint='Give filter {...} and data {"property": value} to change every object that the filter finds.',
            )
        if chosen is not None and data is not None:
            operations = await self._operations_by_filter(caller, pair, chosen, data)
        operations = operations or ()
        if not 0 < len(operations) <= MOST_OPERATIONS:
            raise LimitExceeded(f"A plan has 1 to {MOST_OPERATIONS} operations.", hint="Make several plans.")
        planned = [PlannedOperation(pair.register.id, pair.schema.id, _with_fixed_uuid(one)) for one in operations]
        identity, now = opaque_id(size=12), current_time(self._clock)
        unreadable = await self._objects.unreadable(caller, pair, operations)
        preview, versions = await self._preview(caller, planned, unreadable)
        plan = Plan(identity, "open", preview, now, now)

        def keep(tx: Transaction) -> Plan:
            tx.run("DELETE FROM plans WHERE state = 'open' AND created_at < ?", now - KEPT_SECONDS)
            tx.run(
                f"INSERT INTO plans ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, 'open', ?, ?)",  # noqa: S608  own columns
                identity, caller.principal.id, _text(planned), _text(plan.preview), _text(versions), now, now,
            )  # fmt: skip
            return plan

        return await self._database.write(keep)

    async def get(self, caller: Caller, plan_id: str) -> Plan:
        def read(rows: Rows) -> Plan:
            row = _row(rows, caller, plan_id)
            plan = _plan(row)
            planned = msgspec.json.decode(row[2], type=list[PlannedOperation])
            preview = self._previews.read(rows, caller, planned, plan.preview, is_open=plan.state == "open")
            return replace(plan, preview=preview)

        return await self._database.read(read)

    async def commit(self, caller: Caller, plan_id: str) -> Plan:
        """Commit the plan, if every object it touches still has the previewed version."""
        self._access.require_write(caller)

        def commit(tx: Transaction) -> Plan:
            row = _row(tx, caller, plan_id)
            _check_state(row, "open", "committed")
            expected: dict[str, int] = msgspec.json.decode(row[4])
            self._check_versions(tx, caller, expected)
            planned = msgspec.json.decode(row[2], type=list[PlannedOperation])
            steps = self._write_all(tx, caller, planned, plan_id)
            if (error := atomic_failure(steps)) is not None:
                raise error
            if {pending.after.uuid for pending in self._previews.visible_changes(tx, caller, steps)} != expected.keys():
                raise VersionMismatch("The plan would touch other objects now.", hint="Make it again.")
            return self._save_state(tx, row, "committed", [step.outcome() for step in steps])

        return await self._catalogue.locks.write(commit)

    async def undo(self, caller: Caller, plan_id: str) -> Plan:
        """Restore every object that a committed plan changed."""
        self._access.require_write(caller)

        def undo(tx: Transaction) -> Plan:
            row = _row(tx, caller, plan_id)
            _check_state(row, "committed", "undone")
            changes = change_log.changes_of_plan(tx, self._database.dialect, plan_id)
            named: dict[str, int] = msgspec.json.decode(row[4])
            versions = {change.uuid: change.version for change, _ in changes}
            for uuid, found in store.existing_by_uuid(tx, sorted(versions)).items():
                last = change_log.last_edit(tx, uuid)
                if last is not None and last[1] <= versions[uuid]:  # at most migrated since then
                    versions[uuid] = found.stored.version
            self._check_versions(tx, caller, {uuid: version for uuid, version in versions.items() if uuid in named})
            existing = store.existing_by_uuid(tx, sorted(versions.keys() - named.keys()))
            unmoved = {uuid for uuid, found in existing.items() if found.stored.version == versions[uuid]}
            left = [one for one in changes if one[0].uuid in named or one[0].uuid in unmoved]
            outcomes, undone = self._undo.plan(tx, caller, plan_id, left, named)
            return replace(self._save_state(tx, row, "undone", outcomes), undone=undone)

        return await self._catalogue.locks.write(undo)

    # internals

    async def _operations_by_filter(
        self, caller: Caller, pair: Pair, chosen: Mapping[str, Any], data: dict[str, Any]
    ) -> list[Operation]:
        """The same change for every object a filter finds."""
        query = await self._objects.query_of(caller, pair, {"filter": chosen, "limit": MOST_OPERATIONS})
        found = await self._objects.find(caller, pair, query)
        if not found.rows:
            raise InvalidInput("The filter finds no objects, so there is nothing to plan.", hint="Change the filter.")
        if (total := found.total or 0) > MOST_OPERATIONS:
            raise LimitExceeded(
                f"The filter finds {total:,} objects; a plan has at most {MOST_OPERATIONS:,} operations.",
                hint="Narrow the filter, and make several plans.",
            )
        objects = [StoredObject(*row) for row in found.rows]
        return [operation_of(pair, "patch", data, one.uuid, if_version=one.version) for one in objects]

    async def _preview(
        self, caller: Caller, planned: list[PlannedOperation], unreadable: Unreadable
    ) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """The preview and the version of each of its objects; 0 for objects that do not exist yet."""

        def rehearse(tx: Transaction) -> None:
            steps = self._write_all(tx, caller, planned, None, unreadable)
            seen = self._previews.visible_changes(tx, caller, steps)
            versions = {pending.after.uuid: pending.before_version for pending in reversed(seen)}
            raise _PreviewReady(self._previews.build(tx, caller, steps), versions)

        try:
            await self._catalogue.locks.write(rehearse)
        except _PreviewReady as thrown:
            return thrown.preview, thrown.versions
        raise AssertionError

    def _write_all(
        self,
        tx: Transaction,
        caller: Caller,
        planned: list[PlannedOperation],
        plan: str | None,
        unreadable: Unreadable = NONE_UNREADABLE,
    ) -> list[WriteStep]:
        """Write every operation in order; errors are recorded on the steps."""
        steps: list[WriteStep] = []
        notifications, repeats = ChangeNotifications(), RepeatedUpserts()
        for index, one in enumerate(planned):
            step = WriteStep(index, one.operation)
            steps.append(step)
            try:
                pair = self._catalogue.pair_in(tx, caller, one.register, one.schema)
                context = self._objects.write_context(caller, pair, plan, unreadable)
                self._objects.writer.natural_keys.resolve(tx, caller, pair, [step])
                self._objects.writer.prepare_creates(context, [step])
                self._objects.writer.write(tx, context, [step], notifications, repeats)
            except PentadError as error:
                step.fail(error)
        self._objects.writer.send(tx, notifications)
        return steps

    def _check_versions(self, rows: Rows, caller: Caller, expected: dict[str, int]) -> None:
        """Raise VersionMismatch for objects at another version; 0 means missing or no longer visible to the caller."""
        existing = store.existing_by_uuid(rows, sorted(expected))
        pair_of = self._catalogue.pairs_in(rows)

        def version_of(uuid: str) -> int:
            if uuid not in existing:
                return 0
            stored = existing[uuid].stored
            seen = self._access.sees_object(caller, pair_of(stored.register, stored.schema), stored)
            return stored.version if seen else 0

        changed = {uuid: found for uuid, version in expected.items() if (found := version_of(uuid)) != version}
        if changed:
            named = ", ".join(f"{uuid} is at version {version}" for uuid, version in list(changed.items())[:5])
            raise VersionMismatch(
                f"Objects of the plan have changed: {named}.",
                hint="Make the plan again.",
                details={"current": changed, "expected": {uuid: expected[uuid] for uuid in changed}},
            )

    def _save_state(
        self, tx: Transaction, row: Row, state: Literal["committed", "undone"], outcomes: list[Outcome]
    ) -> Plan:
        now = current_time(self._clock)
        tx.run("UPDATE plans SET state = ?, changed_at = ? WHERE id = ?", state, now, row[0])
        return replace(_plan(row), state=state, changed_at=now, outcomes=outcomes)


def _with_fixed_uuid(operation: Operation) -> Operation:
    """Give a new object its uuid already in the preview."""
    if operation.action in ("create", "upsert") and operation.uuid is None:
        return msgspec.structs.replace(operation, uuid=str(uuid7()))
    return operation


def _row(rows: Rows, caller: Caller, plan_id: str) -> Row:
    row = rows.one(f"SELECT {_COLUMNS} FROM plans WHERE id = ?", plan_id.replace("\0", ""))  # noqa: S608  own columns
    if row is None or row[1] != caller.principal.id:
        raise NotFound(f"You have no plan {plan_id[:80]!r}.", hint="Make one first; an open plan is kept for a week.")
    return row


def _plan(row: Row) -> Plan:
    return Plan(row[0], row[5], msgspec.json.decode(row[3]), row[6], row[7])


def _check_state(row: Row, state: str, target: str) -> None:
    if row[5] != state:
        raise Conflict(
            f"The plan is {row[5]}, so it cannot be {target}.",
            hint="Only an open plan can be committed, and only a committed one undone.",
        )


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
