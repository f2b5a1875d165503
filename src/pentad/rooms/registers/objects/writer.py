"""The one way objects get into the store: prepare, validate, check integrity, then write everything at once.

New objects are made ready before the transaction, changes inside it, because they need what is there. One object or a
thousand take the same way. In a batch the rows count as coming one after the other; one that fails leaves the others
alone, and whoever wants all or nothing lets the transaction fail.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.json_patch import json_patch, merge_patch, same_json
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.mcp.changes import resource_updated
from pentad.rooms.registers import catalogue_store
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.audiences import PairChange
from pentad.rooms.registers.catalogue import Catalogue
from pentad.rooms.registers.missing import Missing
from pentad.rooms.registers.models import Operation, Pair, StoredObject
from pentad.rooms.registers.objects import integrity, store, uniqueness
from pentad.rooms.registers.objects.deletion import Deletion
from pentad.rooms.registers.objects.lookup import Visibility, distinct, find_targets, visibility
from pentad.rooms.registers.objects.pending_changes import Draft, Held, Step, Task, fresh_uuids
from pentad.rooms.registers.objects.prepare import (
    ChangedObjects,
    NewObjects,
    as_read,
    carried_off,
    named_until_now,
    uuid_taken,
)
from pentad.rooms.registers.objects.write_back import WriteBacks, WrittenBack

_Part = Literal["new", "change", "delete"]
_PARTS: Final[dict[str, _Part]] = {"create": "new", "delete": "delete"}
_MADE_ELSEWHERE: Final = Operation("update")


class StaleDefinition(Exception):
    """The schema changed after it was read: the write starts again with the new one."""


class ObjectWriter(ChangedObjects):
    """Carries out operations on the objects of one pair."""

    def __init__(self, dialect: Dialect, catalogue: Catalogue, access: AccessRules) -> None:
        super().__init__(catalogue, access)
        self._dialect: Dialect = dialect
        self._meanings = catalogue.meanings
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

    def write(self, tx: Transaction, task: Task, steps: Sequence[Step], news: "News | None" = None) -> None:
        """Inside the transaction: do what can be done, and note what cannot on the steps.

        A caller that writes several times in one transaction gives its `news`, and tells them at the end.
        """
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
        drafts = (draft for step in steps if step.error is None for draft in step.drafts)
        if news is None:
            announce(tx, self._dialect, drafts)
        else:
            news.add(tx, drafts)

    def finish(self, tx: Transaction, task: Task, draft: Draft, news: "News | None" = None) -> StoredObject:
        """Write one draft made elsewhere (restore, revert, undo), under the same checks.

        Changes that only hold together share their `news`: what they point at is left to `check_references`, nothing is
        written back, and the caller tells the news.
        """
        step = Step(0, _MADE_ELSEWHERE, draft=draft)
        self._finish(tx, task, [step], references=news is None)
        if step.error is not None:
            raise step.error
        if news is None:
            announce(tx, self._dialect, step.drafts)
        else:
            news.add(tx, step.drafts)
        return draft.after

    def tell(self, tx: Transaction, news: "News") -> None:
        """Tell what several writes changed, after the last of them."""
        news.tell(tx, self._dialect)

    def _making(self, task: Task) -> NewObjects:
        return NewObjects(task, self._definitions.facts(task.pair.definition), self._access)

    # changes

    def _change_all(self, tx: Transaction, task: Task, steps: list[Step]) -> None:
        """Changes of different objects together; a second change of the same object waits for the first.

        What is written back may change any object, so then each change waits for the one before it.
        """
        together = 1 if task.pair.definition.written_back else len(steps)
        while steps:
            some = steps[:together]
            found = find_targets(tx, self._dialect, self._access, task, some)
            count = distinct(some, found)
            for step, held in zip(steps[:count], found, strict=False):
                if step.error is not None:
                    continue
                try:
                    self._change(tx, task, step, held)
                except PentadError as error:
                    step.fail(error)
            self._finish(tx, task, [step for step in steps[:count] if step.draft is not None and step.error is None])
            steps = steps[count:]

    def _change(self, rows: Rows, task: Task, step: Step, held: Held | None) -> None:
        operation = step.operation
        if held is None and operation.action == "upsert":
            step.draft = self._making(task).draft(operation, next(fresh_uuids(task.now, 1)))
            return
        held = self.editable(task, held, operation.ref, "update", operation.if_version)
        if self._definitions.facts(task.pair.definition).carried:
            self._change_carrying(rows, task, step, held)
            return
        old = held.stored
        prepared = self.prepared(task, self._allowed(task, operation, old.data, old.owner), old.data)
        if same_json(prepared.data, old.data):
            step.succeed("unchanged", old)
            return
        step.draft = self.drafted(task, "update", held, prepared.data, prepared.text)

    def _change_carrying(self, rows: Rows, task: Task, step: Step, held: Held) -> None:
        """The same for an object with properties it does not keep: it is what a caller reads that is changed."""
        definition, old = task.pair.definition, held.stored
        named = named_until_now(rows, definition, old, self._visible(rows, task))
        known = as_read(definition, old.data, named)
        prepared = self.prepared(task, self._allowed(task, step.operation, known, old.owner), known)
        data, text, carried = carried_off(definition, prepared.data, named)
        if same_json(data, old.data) and all(set(one.old) == set(one.new) for one in carried.values()):
            step.succeed("unchanged", old)
            return
        draft = self.drafted(task, "update", held, data, text)
        step.draft = msgspec.structs.replace(draft, carried=carried)

    def _allowed(self, task: Task, operation: Operation, old: dict[str, Any], owner: str | None) -> dict[str, Any]:
        """The data an operation asks for, if the caller may. A JSON Patch can copy and compare, so it meets only what
        the caller may read.
        """
        access, caller, pair = self._access, task.caller, task.pair
        if operation.action == "json_patch":
            wanted = named = _wanted(operation, access.readable(caller, pair, old, owner))
        else:
            wanted, named = _wanted(operation, old), operation.data or {}
        return access.writable(caller, pair, wanted, old, owner, named)

    # the end of all of them

    def check_references(self, rows: Rows, task: Task, drafts: Sequence[Draft]) -> None:
        """InvalidInput when drafts that are written already point at something that is not there."""
        for error in integrity.broken(rows, task.pair.definition, drafts, self._visible(rows, task)).values():
            raise error

    def _visible(self, rows: Rows, task: Task) -> Visibility | None:
        return visibility(rows, self._access, task.caller, self._catalogue.pairs_in(rows))

    def _finish(self, tx: Transaction, task: Task, steps: list[Step], *, references: bool = True) -> None:
        """Check drafts against the store and one another, and write those that pass."""
        steps = self._passing(steps, self._uuids_taken(tx, steps))
        pair = task.pair
        keys = self._definitions.facts(pair.definition).indexes.unique
        links = references and bool(pair.definition.references)
        backs = self._write_backs(tx, task) if links and pair.definition.written_back else None
        also = WrittenBack()
        visible = self._visible(tx, task) if links or keys else None
        before = -1
        while before != len(steps):  # a row that is refused must not be what another one points at
            before = len(steps)
            if links:
                steps = self._passing(steps, integrity.broken(tx, pair.definition, _drafts(steps), visible))
            if keys:
                register, schema = pair.register.id, pair.schema.id
                hidden = self._access.hidden(task.caller, pair)
                seen = None if visible is None else visible.objects
                taken = uniqueness.conflicts(tx, self._dialect, register, schema, keys, _drafts(steps), hidden, seen)
                steps = self._passing(steps, taken)
            if backs is not None:
                also = backs.of(task, _drafts(steps))
                steps = self._passing(steps, also.refused)
            if not links:
                break
        for place, draft in also.amended.items():
            steps[place].draft = draft
        drafts = _drafts(steps)
        self._store(tx, task, drafts, [draft for _, draft in also.others])
        for step, draft in zip(steps, drafts, strict=True):
            step.drafts.append(draft)
            step.succeed("created" if draft.before is None else "updated", draft.after)
        for place, draft in also.others:
            steps[place].drafts.append(draft)

    def _store(self, tx: Transaction, task: Task, drafts: Sequence[Draft], others: Sequence[Draft]) -> None:
        """Write drafts of the task's pair, and those of others that follow from them."""
        if drafts:
            store.write(tx, self._dialect, drafts, task.who)
            if (definition := task.pair.definition).hybrid:
                self._meanings.keep(tx, task.pair.schema.id, drafts, definition.texts)
        if others:
            store.write(tx, self._dialect, others, task.who)
            self._meanings.follow(tx, others)

    def _write_backs(self, rows: Rows, task: Task) -> WriteBacks:
        return WriteBacks(rows, self._dialect, self._catalogue, self._access, self, self._visible(rows, task))

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

    def _attach(self, tx: Transaction, task: Task, steps: Sequence[Step]) -> None:
        """The first object of a schema in a register makes the schema part of it."""
        register, schema = task.pair.register, task.pair.schema
        if schema.id in register.schemas or all(step.status != "created" for step in steps):
            return
        if catalogue_store.attach(tx, register.id, schema.id):
            self._catalogue.announce(tx, replace(register, schemas=(*register.schemas, schema.id)))


def check_current(rows: Rows, pair: Pair) -> None:
    """StaleDefinition where the pair is not what the store has; a unit of work that writes objects starts with this."""
    row = rows.one(
        "SELECT changes, (SELECT 1 FROM registers WHERE id = ?) FROM schemas WHERE id = ?",
        pair.register.id, pair.schema.id,
    )  # fmt: skip
    if row is None or row[1] is None:
        raise Missing(f"{pair.label} was deleted meanwhile.", "registers")
    if row[0] != pair.schema.changes:
        raise StaleDefinition


class News:
    """What one transaction changes, for followers of the objects or of their pairs. Nobody follows a new object yet.

    Each pair is told once, at the end, with the place of the changes in the history. Whether a follower may know of any
    of them is decided when it is about to hear (`following.py`), so followers cost the writer nothing.
    """

    def __init__(self) -> None:
        self._pairs: dict[tuple[int, int], str] = {}
        self._count = 0

    def add(self, tx: Transaction, drafts: Iterable[Draft]) -> None:
        """Take note of changes that were just written."""
        for draft in drafts:
            stored = draft.after
            self._count += 1
            if (stored.register, stored.schema) not in self._pairs:
                self._pairs[stored.register, stored.schema] = stored.pair_uri
            if draft.before is not None:
                resource_updated(tx, stored.uri)

    def tell(self, tx: Transaction, dialect: Dialect) -> None:
        """Tell the followers of every pair, after the last change."""
        if not self._pairs:
            return
        span = store.written(tx, dialect, self._count)
        for (register, schema), uri in sorted(self._pairs.items()):
            resource_updated(tx, uri, PairChange(register, schema, *span).text())


def announce(tx: Transaction, dialect: Dialect, drafts: Iterable[Draft]) -> None:
    """Tell of everything a transaction changes, at once."""
    news = News()
    news.add(tx, drafts)
    news.tell(tx, dialect)


def _wanted(operation: Operation, old: dict[str, Any]) -> dict[str, Any]:
    """The data an operation asks for, given what is there."""
    if operation.action == "json_patch":
        wanted = json_patch(old, operation.patch)
        if not isinstance(wanted, dict):
            raise InvalidInput("The patch leaves something that is not an object.")
        return cast("dict[str, Any]", wanted)
    if operation.data is None:
        raise InvalidInput("The operation needs data.", hint='Give data {"property": value, ...}.')
    return merge_patch(old, operation.data) if operation.action == "patch" else dict(operation.data)


def _drafts(steps: Sequence[Step]) -> list[Draft]:
    return [step.draft for step in steps if step.draft is not None]
