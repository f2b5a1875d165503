"""All object writes go through here: prepare, validate, check integrity, write everything at once.

New objects are prepared before the transaction; updates inside it, because they need the current state. One object and
a thousand take the same path. The rows of a batch behave as if written one by one. A failing row does not affect the
others; for all-or-nothing, the caller lets the transaction fail.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.errors import Conflict, InvalidInput, PentadError
from pentad.kernel.json_patch import json_patch, merge_patch, same_json
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.mcp.changes import resource_updated
from pentad.rooms.registers import store as catalogue_store
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.models import Operation, PairChange, StoredObject
from pentad.rooms.registers.objects import integrity, store, uniqueness
from pentad.rooms.registers.objects.deletion import Deletion
from pentad.rooms.registers.objects.lookup import Visibility, count_distinct, find_targets, visibility_of
from pentad.rooms.registers.objects.natural_keys import NaturalKeys
from pentad.rooms.registers.objects.pending_changes import (
    ExistingObject,
    PendingChange,
    WriteContext,
    WriteStep,
    new_uuids,
    restate_error,
)
from pentad.rooms.registers.objects.preparation import (
    CreatePreparer,
    UpdatePreparer,
    check_same_id,
    current_transient_values,
    split_transient_values,
    uuid_taken,
    with_transient_values,
)
from pentad.rooms.registers.objects.uri_references import refused_changes
from pentad.rooms.registers.objects.write_back import WriteBackResult, WriteBacks
from pentad.rooms.registers.schema_locks import check_current, keep_schemas

_Part = Literal["new", "change", "delete"]
_PARTS: Final[dict[str, _Part]] = {"create": "new", "delete": "delete"}
_PREPARED_ELSEWHERE: Final = Operation("update")


class ObjectWriter(UpdatePreparer):
    """Carries out operations on the objects of one pair."""

    def __init__(self, dialect: Dialect, catalogue: Catalogue, access: AccessRules) -> None:
        super().__init__(catalogue, access)
        self._dialect: Dialect = dialect
        self._vectors = catalogue.vectors
        self.deletion = Deletion(dialect, catalogue, access)
        self.natural_keys = NaturalKeys(dialect, catalogue, access)

    def prepare_creates(self, context: WriteContext, steps: Sequence[WriteStep]) -> None:
        """Before the transaction: prepare the new objects, or record why that fails."""
        new = self._create_preparer(context)
        for step, uuid in zip(steps, new_uuids(context.now, len(steps)), strict=True):
            if step.operation.action == "create" and step.error is None:
                try:
                    step.pending = new.prepare(step.operation, uuid)
                except PentadError as error:
                    step.fail(error)

    def write(
        self,
        tx: Transaction,
        context: WriteContext,
        steps: Sequence[WriteStep],
        notifications: "ChangeNotifications | None" = None,
        repeats: "RepeatedUpserts | None" = None,
    ) -> None:
        """Inside the transaction: write rows that pass the checks, and record errors on the steps.

        To write several times in one transaction, pass `notifications` and send them at the end; with the same
        `repeats`, all those rows count as one batch.
        """
        check_current(tx, self._dialect, context.pair)
        repeats = repeats or RepeatedUpserts()
        for part, group in groupby(steps, key=lambda step: _PARTS.get(step.operation.action, "change")):
            members = list(group)
            if part == "new":
                self._check_and_write(tx, context, [step for step in members if step.error is None])
            elif part == "change":
                self._update_all(tx, context, members, repeats)
            else:
                self.deletion.delete_all(tx, context, members)
        self._attach(tx, context, steps)
        pending_changes = (pending for step in steps if step.error is None for pending in step.changes)
        if notifications is None:
            notify_changes(tx, self._dialect, pending_changes)
        else:
            notifications.add(tx, pending_changes)

    def write_one(
        self,
        tx: Transaction,
        context: WriteContext,
        pending: PendingChange,
        notifications: "ChangeNotifications | None" = None,
    ) -> StoredObject:
        """Write one change prepared elsewhere (restore, revert, undo), with the same checks.

        Changes that are only valid together share `notifications`: the caller then calls `check_references` and sends
        the notifications, and nothing is written back.
        """
        step = WriteStep(0, _PREPARED_ELSEWHERE, pending=pending)
        self._check_and_write(tx, context, [step], references=notifications is None)
        if step.error is not None:
            raise step.error
        if notifications is None:
            notify_changes(tx, self._dialect, step.changes)
        else:
            notifications.add(tx, step.changes)
        return pending.after

    def write_prepared(
        self,
        tx: Transaction,
        context: WriteContext,
        pending_changes: Sequence[PendingChange],
        notifications: "ChangeNotifications",
        *,
        write_back: bool = False,
    ) -> dict[str, PentadError]:
        """Write changes of different objects prepared elsewhere, as far as they pass the checks.

        Returns the errors of the rest by uuid. Deletions are not checked. Only a single change may `write_back`.
        """
        if pending_changes and pending_changes[0].action == "delete":
            self.deletion.write(tx, context, pending_changes)
            notifications.add(tx, pending_changes)
            return {}
        steps = [WriteStep(place, _PREPARED_ELSEWHERE, pending=one) for place, one in enumerate(pending_changes)]
        self._check_and_write(tx, context, steps, write_back=write_back)
        notifications.add(tx, (change for step in steps if step.error is None for change in step.changes))
        return {pending_changes[step.index].after.uuid: step.error for step in steps if step.error is not None}

    def send(self, tx: Transaction, notifications: "ChangeNotifications") -> None:
        """Send the notifications of several writes, after the last one."""
        notifications.send(tx, self._dialect)

    def _create_preparer(self, context: WriteContext) -> CreatePreparer:
        return CreatePreparer(context, self._definitions.facts(context.pair.definition), self._access)

    # changes

    def _update_all(
        self, tx: Transaction, context: WriteContext, steps: list[WriteStep], repeats: "RepeatedUpserts"
    ) -> None:  # fmt: skip
        """Update different objects together; a second update of the same object waits for the first.

        A write-back may change any object, so with write-backs the updates run one at a time.
        """
        together = 1 if context.pair.definition.written_back else len(steps)
        while steps:
            some = steps[:together]
            found = find_targets(tx, self._dialect, self._access, context, some)
            count = count_distinct(some, found)
            for step, existing in zip(steps[:count], found, strict=False):
                if step.error is not None:
                    continue
                try:
                    repeats.refuse(step, existing)
                    self._update(tx, context, step, existing)
                except PentadError as error:
                    step.fail(error)
            self._check_and_write(
                tx, context, [step for step in steps[:count] if step.pending is not None and step.error is None]
            )
            repeats.add(steps[:count])
            steps = steps[count:]

    def _update(self, rows: Rows, context: WriteContext, step: WriteStep, existing: ExistingObject | None) -> None:
        operation = step.operation
        if existing is None and operation.may_create:
            try:
                step.pending = self._create_preparer(context).prepare(operation, next(new_uuids(context.now, 1)))
            except InvalidInput as error:
                raise _upsert_error(error, "No object was found, so one has to be created") from None
            return
        if existing is not None and existing.stored.is_deleted and operation.may_create:
            raise Conflict(
                f"Object {existing.stored.uuid} is deleted.",
                hint="Restore it first, or leave the id out for a new one.",
            )
        existing = self.editable_object(context, existing, operation.ref, operation.if_version)
        check_same_id(operation.named, existing.stored.uuid)
        try:
            self._prepare_update(rows, context, step, existing)
        except InvalidInput as error:
            if not operation.may_create:
                raise
            raise _upsert_error(error, f"Object {existing.stored.uuid} was found, to be changed") from None

    def _prepare_update(self, rows: Rows, context: WriteContext, step: WriteStep, existing: ExistingObject) -> None:
        if self._definitions.facts(context.pair.definition).transient:
            self._update_with_transients(rows, context, step, existing)
            return
        old, operation = existing.stored, step.operation
        prepared = self.prepare_data(context, self._allowed_data(context, operation, old.data, old.owner), old.data)
        if same_json(prepared.data, old.data):
            step.succeed("unchanged", old)
            return
        step.pending = self.pending_update(context, "update", existing, prepared.data, prepared.text)

    def _update_with_transients(
        self, rows: Rows, context: WriteContext, step: WriteStep, existing: ExistingObject
    ) -> None:
        """Update an object with transient properties: the operation applies to what callers read, not to what is
        stored.
        """
        definition, old = context.pair.definition, existing.stored
        named = current_transient_values(rows, definition, old, self._visible(rows, context))
        known = with_transient_values(definition, old.data, named)
        prepared = self.prepare_data(context, self._allowed_data(context, step.operation, known, old.owner), known)
        data, text, transient = split_transient_values(definition, prepared.data, named)
        if same_json(data, old.data) and all(set(one.old) == set(one.new) for one in transient.values()):
            step.succeed("unchanged", old)
            return
        pending = self.pending_update(context, "update", existing, data, text)
        step.pending = msgspec.structs.replace(pending, transient=transient)

    def _allowed_data(
        self, context: WriteContext, operation: Operation, old: dict[str, Any], owner: str | None
    ) -> dict[str, Any]:
        """The data an operation asks for, if the caller may write it. A JSON Patch can copy and compare, so it runs
        only on what the caller may read.
        """
        access, caller, pair = self._access, context.caller, context.pair
        if operation.action == "json_patch":
            requested = named = _requested_data(operation, access.readable(caller, pair, old, owner))
        else:
            requested, named = _requested_data(operation, old), operation.data or {}
        return access.writable(caller, pair, requested, old, owner, named)

    # final steps of every write

    def check_references(self, rows: Rows, context: WriteContext, pending_changes: Sequence[PendingChange]) -> None:
        """Raise InvalidInput if changes already written have broken references."""
        for error in integrity.broken_references(
            rows, context.pair.definition, pending_changes, self._visible(rows, context)
        ).values():
            raise error

    def _visible(self, rows: Rows, context: WriteContext) -> Visibility | None:
        return visibility_of(rows, self._access, context.caller, self._catalogue.pairs_in(rows))

    def _check_and_write(
        self, tx: Transaction, context: WriteContext, steps: list[WriteStep], *, references: bool = True,
        write_back: bool = True,
    ) -> None:  # fmt: skip
        """Check changes against the store and each other, and write the valid ones."""
        steps = self._without_failed(steps, self._uuids_taken(tx, steps))
        pair = context.pair
        if context.unreadable:
            steps = self._without_failed(
                steps, refused_changes(pair.definition, _pending_changes(steps), context.unreadable)
            )
        keys = self._definitions.facts(pair.definition).indexes.unique
        links = references and bool(pair.definition.references)
        write_backs = self._write_backs(tx, context) if write_back and links and pair.definition.written_back else None
        also = WriteBackResult()
        visible = self._visible(tx, context) if links or keys else None
        before = -1
        while before != len(steps):  # another row must not refer to a refused row
            before = len(steps)
            if links:
                steps = self._without_failed(
                    steps, integrity.broken_references(tx, pair.definition, _pending_changes(steps), visible)
                )
            if keys:
                hidden = self._access.hidden(context.caller, pair)
                seen = None if visible is None else visible.objects
                taken = uniqueness.conflicts(tx, self._dialect, pair, keys, _pending_changes(steps), hidden, seen)
                steps = self._without_failed(steps, taken)
            if write_backs is not None:
                also = write_backs.work_out(context, _pending_changes(steps))
                steps = self._without_failed(steps, also.refused)
            if not links:
                break
        for place, pending in also.amended.items():
            steps[place].pending = pending
        pending_changes = _pending_changes(steps)
        self._store(tx, context, pending_changes, [pending for _, pending in also.others])
        for step, pending in zip(steps, pending_changes, strict=True):
            step.changes.append(pending)
            step.succeed("created" if pending.before is None else "updated", pending.after)
        for place, pending in also.others:
            steps[place].changes.append(pending)

    def _store(
        self,
        tx: Transaction,
        context: WriteContext,
        pending_changes: Sequence[PendingChange],
        others: Sequence[PendingChange],
    ) -> None:
        """Write the changes of the pair and their side effects on others."""
        if pending_changes:
            store.write_changes(tx, self._dialect, pending_changes, context.provenance)
            if (definition := context.pair.definition).hybrid:
                self._vectors.update(tx, context.pair.schema.id, pending_changes, definition.texts)
        if others:
            keep_schemas(tx, self._dialect, (pending.after.schema for pending in others))
            store.write_changes(tx, self._dialect, others, context.provenance)
            self._vectors.update_any(tx, others)

    def _write_backs(self, rows: Rows, context: WriteContext) -> WriteBacks:
        return WriteBacks(rows, self._dialect, self._catalogue, self._access, self, self._visible(rows, context))

    def _uuids_taken(self, rows: Rows, steps: Sequence[WriteStep]) -> dict[int, PentadError]:
        chosen = {
            step.pending.after.uuid: place
            for place, step in reversed(list(enumerate(steps)))
            if step.pending is not None and step.pending.before is None and step.operation.uuid
        }
        if not chosen:
            return {}
        refused: dict[int, PentadError] = {}
        taken = store.used_uuids(rows, list(chosen))
        for place, step in enumerate(steps):
            pending = step.pending
            if pending is None or pending.before is not None or not step.operation.uuid:
                continue
            uuid = pending.after.uuid
            if uuid in taken or chosen[uuid] != place:
                refused[place] = uuid_taken(uuid)
        return refused

    def _without_failed(self, steps: list[WriteStep], refused: Mapping[int, PentadError]) -> list[WriteStep]:
        for place, error in refused.items():
            steps[place].fail(error)
        return [step for place, step in enumerate(steps) if place not in refused] if refused else steps

    def _attach(self, tx: Transaction, context: WriteContext, steps: Sequence[WriteStep]) -> None:
        """Add the schema to the register when its first object is written there."""
        register, schema = context.pair.register, context.pair.schema
        if schema.id in register.schemas or all(step.status != "created" for step in steps):
            return
        if catalogue_store.attach(tx, register.id, schema.id):
            self._catalogue.changes.announce(tx, replace(register, schemas=(*register.schemas, schema.id)))


class ChangeNotifications:
    """The notifications of one transaction for subscribers of objects and pairs. New objects have no subscribers yet.

    Each pair is notified once, at the end, with the span of the changes. What a subscriber may see is decided on
    delivery, so subscribers cost the writer nothing.
    """

    def __init__(self) -> None:
        self._pairs: dict[tuple[int, int], str] = {}
        self._count = 0

    def add(self, tx: Transaction, pending_changes: Iterable[PendingChange]) -> None:
        """Add changes that were just written."""
        for pending in pending_changes:
            stored = pending.after
            self._count += 1
            if (stored.register, stored.schema) not in self._pairs:
                self._pairs[stored.register, stored.schema] = stored.pair_uri
            if pending.before is not None:
                resource_updated(tx, stored.uri)

    def send(self, tx: Transaction, dialect: Dialect) -> None:
        """Notify the followers of every pair, after the last change."""
        if not self._pairs:
            return
        span = store.written_span(tx, dialect, self._count)
        for (register, schema), uri in sorted(self._pairs.items()):
            resource_updated(tx, uri, PairChange(register, schema, *span).text())


class RepeatedUpserts:
    """The objects upserted in one write. A second upsert of the same object would overwrite the first."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def add(self, steps: Iterable[WriteStep]) -> None:
        for step in steps:
            if step.stored is not None and step.operation.may_create:
                self._rows[step.stored.uuid] = step.index

    def refuse(self, step: WriteStep, existing: ExistingObject | None) -> None:
        """Raise InvalidInput if an earlier row upserted the object."""
        operation = step.operation
        first = None if existing is None or not operation.may_create else self._rows.get(existing.stored.uuid)
        if first is None or existing is None:
            return
        values = [f"{name} {(operation.data or {}).get(name)!r}"[:80] for name in operation.key]
        raise InvalidInput(
            f"Rows {first} and {step.index} are both for the object with"
            f" {' and '.join(values) or f'the id {existing.stored.uuid!r}'}.",
            hint="Leave one of them out, or merge them into one row.",
            details={"rule": "repeated", "repeats": first},
        )


def notify_changes(tx: Transaction, dialect: Dialect, pending_changes: Iterable[PendingChange]) -> None:
    """Send the notifications for everything a transaction changes."""
    notifications = ChangeNotifications()
    notifications.add(tx, pending_changes)
    notifications.send(tx, dialect)


def _requested_data(operation: Operation, old: dict[str, Any]) -> dict[str, Any]:
    """The data that results from an operation on the current data."""
    if operation.action == "json_patch":
        requested = json_patch(old, operation.patch)
        if not isinstance(requested, dict):
            raise InvalidInput("The result of the patch is not an object.")
        return cast("dict[str, Any]", requested)
    if operation.data is None:
        raise InvalidInput("The operation needs data.", hint='Give data {"property": value, ...}.')
    return merge_patch(old, operation.data) if operation.action in ("patch", "upsert") else dict(operation.data)


def _upsert_error(error: InvalidInput, found: str) -> PentadError:
    """The error of an upsert, starting with whether the object exists."""
    return restate_error(error, f"{found}. {error.message}", hint=error.hint, details=error.details)


def _pending_changes(steps: Sequence[WriteStep]) -> list[PendingChange]:
    return [step.pending for step in steps if step.pending is not None]
