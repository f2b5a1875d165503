"""What a plan shows of the objects it is about: only what its maker may read, when it is made and whenever it is read.

Objects that are hidden from the maker and change along (a reference that is set to null) are no part of the plan: they
are neither shown nor counted, and that they have changed is no reason to refuse it.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from pentad.kernel.errors import PentadError
from pentad.kernel.ports import Rows
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.definitions.diffing import as_patch
from pentad.rooms.registers.models import Caller, Operation, Pair, StoredObject
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.objects.drafts import Draft
from pentad.rooms.registers.objects.refusals import missing
from pentad.rooms.registers.objects.steps import Step

Row = dict[str, Any]
_NEW: Final = "created"


class PlannedOperation(msgspec.Struct, frozen=True):
    """One operation as a plan keeps it."""

    register: int
    schema: int
    operation: Operation


class PlanPreviews:
    """Makes and reads the previews of plans."""

    def __init__(self, catalogue: Catalogue, access: AccessRules) -> None:
        self._catalogue = catalogue
        self._access = access

    def seen(self, rows: Rows, caller: Caller, steps: Sequence[Step]) -> list[Draft]:
        """The changes of a plan that its maker may know of: of what it makes itself, and of what it can see."""
        pair_of = self._catalogue.pairs_in(rows)
        return [
            draft
            for step in steps
            for draft in step.drafts
            if draft.before is None
            or self._access.sees_object(caller, pair_of(draft.after.register, draft.after.schema), draft.before.stored)
        ]

    def made(self, rows: Rows, caller: Caller, steps: Sequence[Step]) -> list[Row]:
        """What each row would do: what would become of it, how the data differs, and what else would change."""
        pair_of = self._catalogue.pairs_in(rows)

        def differing(draft: Draft) -> list[dict[str, Any]]:
            pair = pair_of(draft.after.register, draft.after.schema)
            before = None if draft.before is None else draft.before.stored
            states = [draft.after] if before is None else [before, draft.after]
            hidden = {name for one in states for name in self._access.hidden(caller, pair, one.data, one.owner)}
            return as_patch({} if before is None else _without(before, hidden), _without(draft.after, hidden))

        return [_made(step, self.seen(rows, caller, [step]), differing) for step in steps]

    def read(
        self, rows: Rows, caller: Caller, planned: Sequence[PlannedOperation], preview: Sequence[Row], *, is_open: bool
    ) -> list[Row]:
        """A preview as its maker may read it now."""
        if self._access.is_free(caller):
            return list(preview)
        uuids = {one["uuid"] for row in preview for one in (row, *row.get("also", ())) if one.get("uuid")}
        held = store.held_by_uuid(rows, sorted(uuids))
        pair_of = self._catalogue.pairs_in(rows)
        hidden: dict[str, frozenset[str]] = {}
        for uuid, found in held.items():
            pair = pair_of(found.stored.register, found.stored.schema)
            if self._access.sees_object(caller, pair, found.stored):
                hidden[uuid] = self._access.hidden(caller, pair, found.stored.data, found.stored.owner)
        return [
            self._read(rows, caller, one, row, hidden, is_open=is_open)
            for one, row in zip(planned, preview, strict=True)
        ]

    def _read(
        self, rows: Rows, caller: Caller, planned: PlannedOperation, row: Row, hidden: dict[str, frozenset[str]],
        *, is_open: bool,
    ) -> Row:  # fmt: skip
        """One row; if its object cannot be read any more, what it would say of one that does not exist."""
        uuid = row.get("uuid")
        if uuid is None or (is_open and row["status"] == _NEW):
            return row
        if uuid not in hidden:
            try:
                pair = self._catalogue.pair_in(rows, caller, planned.register, planned.schema)
                error = _missing(pair, planned.operation, uuid)
            except PentadError as unseen:
                error = unseen
            return {"index": row["index"], "action": row["action"], "status": "failed", "error": error.as_json()}
        also = [_less(one, hidden[one["uuid"]]) for one in row.get("also", ()) if one["uuid"] in hidden]
        rest = {name: value for name, value in _less(row, hidden[uuid]).items() if name != "also"}
        return {**rest, "also": also} if also else rest


def _made(step: Step, drafts: Sequence[Draft], differing: Any) -> Row:
    outcome = step.outcome()
    row: Row = {"index": step.index, "action": step.operation.action, "status": outcome.status}
    if outcome.error is not None:
        return {**row, "error": outcome.error}
    row.update(uuid=outcome.uuid, version=outcome.version)
    for draft in drafts:
        if draft.after.uuid == outcome.uuid and draft.action != "delete":
            row["diff"] = differing(draft)
            break
    also = [_also(draft, differing) for draft in drafts if draft.after.uuid != outcome.uuid]
    return {**row, "also": also} if also else row


def _also(draft: Draft, differing: Any) -> Row:
    found: Row = {"uuid": draft.after.uuid, "action": draft.action, "schema": draft.after.schema}
    if draft.action != "delete" and draft.before is not None:
        found["diff"] = differing(draft)
    return found


def _without(stored: StoredObject, hidden: set[str]) -> dict[str, Any]:
    return {name: value for name, value in stored.data.items() if name not in hidden} if hidden else stored.data


def _less(row: Row, hidden: frozenset[str]) -> Row:
    """A row whose difference says nothing of hidden properties."""
    if not hidden or "diff" not in row:
        return row
    return {**row, "diff": [one for one in row["diff"] if not _touches(one, hidden)]}


def _touches(operation: dict[str, Any], hidden: frozenset[str]) -> bool:
    for pointer in (operation.get("path"), operation.get("from")):
        if pointer is not None:
            first = str(pointer).split("/")[1] if str(pointer).startswith("/") else ""
            if not first or first.replace("~1", "/").replace("~0", "~") in hidden:
                return True
    return False


def _missing(pair: Pair, operation: Operation, uuid: str) -> PentadError:
    return missing(pair, uuid if operation.ref is None else operation.ref)
