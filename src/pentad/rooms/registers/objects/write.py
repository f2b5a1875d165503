"""The one way objects get into the store: prepare, validate, check integrity, then write everything at once.

New objects are made ready before the transaction, changes inside it, because they need what is there. One object or a
thousand take the same way. In a batch the rows count as coming one after the other; one that fails leaves the others
alone, and whoever wants all or nothing lets the transaction fail.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.mcp.changes import resource_updated
from pentad.rooms.registers import catalogue_store
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.catalogue import Catalogue
from pentad.rooms.registers.definitions.patching import json_patch, merge_patch, same_json
from pentad.rooms.registers.definitions.problems import rejection
from pentad.rooms.registers.models import Operation, Pair, StoredObject
from pentad.rooms.registers.objects import integrity, locks, store, uniqueness
from pentad.rooms.registers.objects.deletion import Deletion
from pentad.rooms.registers.objects.drafts import Draft, Held, after
from pentad.rooms.registers.objects.fresh_uuids import fresh_uuids
from pentad.rooms.registers.objects.making import NewObjects, caller_facts
from pentad.rooms.registers.objects.refusals import (
    SHORT,
    check_version,
    missing,
    refuse_long,
    uuid_taken,
)
from pentad.rooms.registers.objects.reports import ChangeAction
from pentad.rooms.registers.objects.steps import Step, Task
from pentad.rooms.registers.objects.targets import distinct, find_targets

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled import Prepared

_Part = Literal["new", "change", "delete"]
_PARTS: Final[dict[str, _Part]] = {"create": "new", "delete": "delete"}
_MADE_ELSEWHERE: Final = Operation("update")


class StaleDefinition(Exception):
    """The schema changed after it was read: the write starts again with the new one."""


class ObjectWriter:
    """Carries out operations on the objects of one pair."""

    def __init__(self, dialect: Dialect, catalogue: Catalogue, access: AccessRules) -> None:
        self._dialect: Dialect = dialect
        self._catalogue = catalogue
        self._definitions = catalogue.definitions
        self._access = access
        self.deletion = Deletion(dialect, catalogue, access)

    def make_ready(self, task: Task, steps: Sequence[Step]) -> None:
        """Before the transaction: make the drafts of new objects, or note why they cannot be."""
        new = self._making(task)
        for step, uuid in zip(steps, fresh_uuids(task.now, len(steps)), strict=True):
            if step.operation.action == "create":
                try:
                    step.draft = new.draft(step.operation, uuid)
                except PentadError as error:
                    step.fail(error)

    def write(self, tx: Transaction, task: Task, steps: Sequence[Step]) -> None:
        """Inside the transaction: do what can be done, and note what cannot on the steps."""
        check_current(tx, task.pair)
        for part, group in groupby(steps, key=lambda step: _PARTS.get(step.operation.action, "change")):
            members = list(group)
            if part == "new":
                self._finish(tx, task, [step for step in members if step.error is None])
            elif part == "change":
                self._change_all(tx, task, members)
            else:
                self.deletion.delete_all(tx, task, members)
        self._attach(tx, task, steps)
        announce(tx, (draft for step in steps if step.error is None for draft in step.drafts))

    def finish(self, tx: Transaction, task: Task, draft: Draft, *, references: bool = True) -> StoredObject:
        """Write one draft made elsewhere (restore, revert, undo), under the same checks.

        Without `references` they are left to `check_references`, for changes that only hold together.
        """
        step = Step(0, _MADE_ELSEWHERE, draft=draft)
        self._finish(tx, task, [step], references=references)
        if step.error is not None:
            raise step.error
        announce(tx, step.drafts)
        return draft.after

    def drafted(self, task: Task, action: ChangeAction, held: Held, data: dict[str, Any], text: str) -> Draft:
        """The draft that gives an object other data, which `text` holds to the letter."""
        definition, old = task.pair.definition, held.stored
        stored = old.altered(
            version=old.version + 1,
            text=text,
            slug=definition.slug_of(data),
            updated_at=after(old.updated_at, task.now),
            deleted=None,
            data=data,
        )
        self._refuse_long(task.pair, stored)
        known = None if old.is_deleted else frozenset(integrity.references_of(definition, old.data))
        references = integrity.references_of(definition, data)
        return Draft(action, stored, held, references, definition.texts(data), known=known)

    def _making(self, task: Task) -> NewObjects:
        return NewObjects(task, self._definitions.facts(task.pair.definition), self._access)

    def prepared(self, task: Task, data: dict[str, Any], previous: Mapping[str, Any] | None) -> "Prepared":
        """The data as it is to be stored; InvalidInput with every problem it has."""
        for name in self._definitions.facts(task.pair.definition).inverse:
            data.pop(name, None)
        prepared = task.pair.definition.prepare(data, previous=previous, now=task.now, caller_facts=caller_facts(task))
        if prepared.problems:
            raise rejection(prepared.problems)
        return prepared

    # changes

    def _change_all(self, tx: Transaction, task: Task, steps: list[Step]) -> None:
        """Changes of different objects together; a second change of the same object waits for the first."""
        while steps:
            found = find_targets(tx, self._dialect, task.pair, self._access.organisation(task.caller), steps)
            count = distinct(steps, found)
            for step, held in zip(steps[:count], found, strict=False):
                if step.error is not None:
                    continue
                try:
                    self._change(task, step, held)
                except PentadError as error:
                    step.fail(error)
            self._finish(tx, task, [step for step in steps[:count] if step.draft is not None and step.error is None])
            steps = steps[count:]

    def _change(self, task: Task, step: Step, held: Held | None) -> None:
        operation = step.operation
        if held is None and operation.action == "upsert":
            step.draft = self._making(task).draft(operation, next(fresh_uuids(task.now, 1)))
            return
        held = self.editable(task, held, operation.ref, "update", operation.if_version)
        old = held.stored
        data = self._access.writable(task.caller, task.pair, _wanted(step, old), old.data, old.owner)
        prepared = self.prepared(task, data, old.data)
        if same_json(prepared.data, old.data):
            step.succeed("unchanged", old)
            return
        step.draft = self.drafted(task, "update", held, prepared.data, prepared.text)

    def editable(
        self, task: Task, held: Held | None, ref: int | str | None, right: Literal["update", "delete"],
        if_version: int | None,
    ) -> Held:  # fmt: skip
        """The object, if the caller may change it now and it is the version the caller knows."""
        if held is None or held.stored.is_deleted:
            raise missing(task.pair, ref)
        stored = held.stored
        self._access.check_object(task.caller, task.pair, right, stored)
        check_version(stored, if_version)
        locks.refuse_locked(stored, task.caller.principal.id, task.now)
        return held

    # the end of all of them

    def check_references(self, rows: Rows, pair: Pair, drafts: Sequence[Draft]) -> None:
        """InvalidInput when drafts that are written already point at something that is not there."""
        for error in integrity.broken(rows, pair.definition, drafts).values():
            raise error

    def _finish(self, tx: Transaction, task: Task, steps: list[Step], *, references: bool = True) -> None:
        """Check drafts against the store and one another, and write those that pass."""
        steps = self._passing(steps, self._uuids_taken(tx, steps))
        pair = task.pair
        keys = self._definitions.facts(pair.definition).indexes.unique
        links = references and bool(pair.definition.references)
        before = -1
        while before != len(steps):  # a row that is refused must not be what another one points at
            before = len(steps)
            if links:
                steps = self._passing(steps, integrity.broken(tx, pair.definition, _drafts(steps)))
            if keys:
                register, schema = pair.register.id, pair.schema.id
                taken = uniqueness.conflicts(tx, self._dialect, register, schema, keys, _drafts(steps))
                steps = self._passing(steps, taken)
            if not links:
                break
        drafts = _drafts(steps)
        if drafts:
            store.write(tx, self._dialect, drafts, task.who)
        for step, draft in zip(steps, drafts, strict=True):
            step.drafts.append(draft)
            step.succeed("created" if draft.before is None else "updated", draft.after)

    def _uuids_taken(self, rows: Rows, steps: Sequence[Step]) -> dict[int, PentadError]:
        chosen = {
            step.draft.after.uuid: place
            for place, step in reversed(list(enumerate(steps)))
            if step.draft is not None and step.draft.before is None and step.operation.uuid
        }
        if not chosen:
            return {}
        refused: dict[int, PentadError] = {}
        taken = store.taken(rows, list(chosen))
        for place, step in enumerate(steps):
            draft = step.draft
            if draft is None or draft.before is not None or not step.operation.uuid:
                continue
            uuid = draft.after.uuid
            if uuid in taken or chosen[uuid] != place:
                refused[place] = uuid_taken(uuid)
        return refused

    def _passing(self, steps: list[Step], refused: Mapping[int, PentadError]) -> list[Step]:
        for place, error in refused.items():
            steps[place].fail(error)
        return [step for place, step in enumerate(steps) if place not in refused] if refused else steps

    def _refuse_long(self, pair: Pair, stored: StoredObject) -> None:
        if len(stored.text) > SHORT:
            refuse_long(self._definitions.facts(pair.definition).indexes.texts, stored.data)

    def _attach(self, tx: Transaction, task: Task, steps: Sequence[Step]) -> None:
        """The first object of a schema in a register makes the schema part of it."""
        register, schema = task.pair.register, task.pair.schema
        if schema.id in register.schemas or all(step.status != "created" for step in steps):
            return
        if catalogue_store.attach(tx, register.id, schema.id):
            self._catalogue.announce(tx)


def check_current(rows: Rows, pair: Pair) -> None:
    """StaleDefinition where the pair is not what the store has; a unit of work that writes objects starts with this."""
    row = rows.one(
        "SELECT changes, (SELECT 1 FROM registers WHERE id = ?) FROM schemas WHERE id = ?",
        pair.register.id, pair.schema.id,
    )  # fmt: skip
    if row is None or row[1] is None:
        raise NotFound(f"{pair.label} was deleted meanwhile.", hint="Try registers with action=list.")
    if row[0] != pair.schema.changes:
        raise StaleDefinition


def announce(tx: Transaction, drafts: Iterable[Draft]) -> None:
    """Tell whoever follows the objects or their pairs; a new object nobody can follow yet."""
    pairs: dict[tuple[int, int], str] = {}
    for draft in drafts:
        stored = draft.after
        if (stored.register, stored.schema) not in pairs:
            pairs[stored.register, stored.schema] = stored.pair_uri
        if draft.before is not None:
            resource_updated(tx, stored.uri)
    for uri in sorted(pairs.values()):
        resource_updated(tx, uri)


def _wanted(step: Step, old: StoredObject) -> dict[str, Any]:
    """The data an operation asks for, given what is there."""
    operation = step.operation
    if operation.action == "json_patch":
        wanted = json_patch(old.data, operation.patch)
        if not isinstance(wanted, dict):
            raise InvalidInput("The patch leaves something that is not an object.")
        return cast("dict[str, Any]", wanted)
    if operation.data is None:
        raise InvalidInput("The operation needs data.", hint='Give data {"property": value, ...}.')
    return merge_patch(old.data, operation.data) if operation.action == "patch" else dict(operation.data)


def _drafts(steps: Sequence[Step]) -> list[Draft]:
    return [step.draft for step in steps if step.draft is not None]
