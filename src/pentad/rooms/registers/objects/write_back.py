"""Write-back: if an object names others in a `writeBack` property, they get a reference to it in one of theirs.

Everything is first computed in memory, so a refused row leaves no trace. An object affected by several rows changes
once. If the target property is written back too, the change continues from there; it ends because an object is written
into a given property of another only once. Rights, locks and validation apply to every object, and objects hidden from
the caller count as missing.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded, PentadError
from pentad.kernel.json_pointer import pointer
from pentad.kernel.ports import Dialect, Rows
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.catalogue.compiled_schemas import target as find_target
from pentad.rooms.registers.definitions.properties import Property
from pentad.rooms.registers.definitions.references import Reference as ReferenceFacts
from pentad.rooms.registers.models import Pair, StoredObject
from pentad.rooms.registers.objects import integrity, store, uniqueness
from pentad.rooms.registers.objects.lookup import Visibility
from pentad.rooms.registers.objects.pending_changes import (
    ExistingObject,
    PendingChange,
    Reference,
    WriteContext,
    restate_error,
)
from pentad.rooms.registers.objects.preparation import UpdatePreparer

_MOST_CHANGES: Final = 10_000


@dataclass(slots=True)
class WriteBackResult:
    """The effects of pending changes: refusals and amended changes by position, and changes to other objects."""

    refused: dict[int, PentadError] = field(default_factory=dict[int, PentadError])
    amended: dict[int, PendingChange] = field(default_factory=dict[int, PendingChange])
    others: list[tuple[int, PendingChange]] = field(default_factory=list[tuple[int, PendingChange]])


class _Change(NamedTuple):
    """One object to write into, or remove from, a property of another."""

    source: StoredObject
    facts: ReferenceFacts
    target: str
    adding: bool


@dataclass(slots=True)
class _Target:
    """An object in its future state. `place` is the position of its own pending change, if any."""

    context: WriteContext
    stored: StoredObject
    existing: ExistingObject | None
    data: dict[str, Any]
    place: int | None = None
    members: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    changed: set[str] = field(default_factory=set[str])
    causes: dict[int, _Change] = field(default_factory=dict[int, _Change])

    def own_list(self, name: str) -> list[Any]:
        """A list used only by this target, so thousands of items can be added in place."""
        if name not in self.changed:
            self.data[name] = _as_list(self.data.get(name))
        return cast("list[Any]", self.data[name])

    def copy(self) -> dict[str, Any]:
        return {
            name: self.own_list(name)[:] if name in self.changed and isinstance(value, list) else value
            for name, value in self.data.items()
        }


class WriteBacks:
    """Computes write-backs within one unit of work."""

    def __init__(
        self, rows: Rows, dialect: Dialect, catalogue: Catalogue, access: AccessRules, preparer: UpdatePreparer,
        visible: Visibility | None,
    ) -> None:  # fmt: skip
        self._rows = rows
        self._dialect: Dialect = dialect
        self._definitions = catalogue.definitions
        self._pair_of = catalogue.pairs_in(rows)
        self._access = access
        self._preparer = preparer
        self._visible = visible
        self._targets: dict[str, _Target | None] = {}
        self._schemas: dict[tuple[str, int | str], int | None] = {}

    def work_out(self, context: WriteContext, pending_changes: Sequence[PendingChange]) -> WriteBackResult:
        """The effects of changes in one pair. If any are refused, the caller repeats this with the rest."""
        found = self._apply_all(context, pending_changes, one_by_one=False)
        if found.refused:
            return found
        self._prepare_all(found, pending_changes)
        if len(found.refused) > 1:  # several share a refused target; perhaps only the last ones were too many
            closer = self._apply_all(context, pending_changes, one_by_one=True)
            return closer if closer.refused else found
        return found

    def _apply_all(
        self, context: WriteContext, pending_changes: Sequence[PendingChange], *, one_by_one: bool
    ) -> WriteBackResult:
        """Apply the changes of every row; with `one_by_one`, validate targets after each row."""
        found = WriteBackResult()
        self._targets = {
            pending.after.uuid: _Target(context, pending.after, pending.before, dict(pending.after.data), place)
            for place, pending in enumerate(pending_changes)
        }
        changes = [list(_changes_of(context.pair, pending)) for pending in pending_changes]
        self._load(context, {change.target for some in changes for change in some})
        for place, some in enumerate(changes):
            try:
                touched = self._apply(context, place, some)
                if one_by_one:
                    for target in touched:
                        self._prepare(target, pending_changes)
            except PentadError as error:
                found.refused[place] = error
        return found

    # applying changes to targets

    def _apply(self, context: WriteContext, place: int, changes: Iterable[_Change]) -> list[_Target]:
        """Apply the changes of one row and all that follow from them; returns the changed targets."""
        waiting = deque(changes)
        seen: set[tuple[str, str | None, str, bool]] = set()
        touched: dict[str, _Target] = {}
        while waiting:
            change = waiting.popleft()
            mark = change.target, change.facts.inversed_by, change.source.uuid, change.adding
            if mark in seen:
                continue
            seen.add(mark)
            if len(seen) > _MOST_CHANGES:
                raise LimitExceeded(
                    f"Writing this back would change more than {_MOST_CHANGES} other objects.",
                    hint="Name fewer objects at a time.",
                )
            target = self._target(context, change)
            if target is not None and (back := self._property(change, target)) is not None:
                following = self._write(place, change, target, back)
                if following is not None:
                    touched[target.stored.uuid] = target
                    waiting.extend(following)
        return list(touched.values())

    def _target(self, context: WriteContext, change: _Change) -> _Target | None:
        """The target of a change; None for a removal if the target no longer exists."""
        if change.target not in self._targets:
            self._load(context, {change.target})
        source = self._pair_of(change.source.register, change.source.schema)
        target, schema = self._targets[change.target], self._schema_id(change.facts, source.schema.organisation)
        if target is not None and target.stored.schema == schema:
            return target
        if not change.adding:
            return None
        path = pointer(change.facts.path)
        present = {} if target is None else {change.target: target.stored.schema}
        raise integrity.dangling_error(self._rows, [Reference(path, change.target)], {path: schema}, present)

    def _property(self, change: _Change, target: _Target) -> Property | None:
        """The property to write to; None if it is filled on reading."""
        name, definition = change.facts.inversed_by or "", target.context.pair.definition
        back = definition.properties.get(name)
        facts = None if back is None else back.ref
        if not change.adding:
            return None if facts is not None and facts.filled else back
        if back is None:
            raise _write_back_error(
                change, InvalidInput(f"The schema {target.context.pair.schema.slug!r} has no such property.")
            )
        if facts is None:
            return back
        if facts.filled:
            if change.facts.filled or facts.inversed_by != change.facts.path[0]:
                raise _write_back_error(change, InvalidInput("It is not kept there either, but filled on reading."))
            return None
        if self._schema_id(facts, target.context.pair.schema.organisation) != change.source.schema:
            raise _write_back_error(change, InvalidInput("It is for objects of another schema."))
        return back

    def _write(self, place: int, change: _Change, target: _Target, back: Property) -> list[_Change] | None:
        """Add to the property or remove from it; returns the changes that follow, or None if nothing changed."""
        name, uuid = back.name, change.source.uuid
        members = target.members.get(name)
        if members is None:
            members = target.members[name] = set(_uuids_in(target.data.get(name)))
        if (uuid in members) is change.adding:
            return None
        self._check_editable(change, target)
        target.causes.setdefault(place, change)
        pushed_out: set[str] = set()
        if back.many or (back.ref is not None and back.ref.many):
            values = target.own_list(name)
            if change.adding:
                values.append(uuid)
            else:
                values[:] = [value for value in values if uuid not in _uuids_in(value)]
        else:
            pushed_out = members - {uuid}
            members.clear()
            target.data.pop(name, None)
            if change.adding:
                target.data[name] = uuid
        target.changed.add(name)
        if change.adding:
            members.add(uuid)
        else:
            members.discard(uuid)
        if back.ref is None or not back.ref.write_back:
            return []
        gone = [_Change(target.stored, back.ref, one, False) for one in sorted(pushed_out)]
        return [_Change(target.stored, back.ref, uuid, change.adding), *gone]

    def _check_editable(self, change: _Change, target: _Target) -> None:
        if target.place is not None or target.causes:
            return
        try:
            self._preparer.editable_object(target.context, target.existing, change.target, None)
        except PentadError as error:
            raise _write_back_error(change, error) from None

    # the pending changes

    def _prepare_all(self, found: WriteBackResult, pending_changes: Sequence[PendingChange]) -> None:
        """Prepare the pending change of every target; rows with an invalid target are refused."""
        made: dict[tuple[int, int], list[tuple[_Target, PendingChange]]] = {}
        for target in self._targets.values():
            if target is None or not target.causes:
                continue
            try:
                pending = self._prepare(target, pending_changes)
            except PentadError as error:
                found.refused.update(dict.fromkeys(target.causes, error))
                continue
            made.setdefault((pending.after.register, pending.after.schema), []).append((target, pending))
            if target.place is None:
                found.others.append((max(target.causes), pending))
            else:
                found.amended[target.place] = pending
        for some in made.values():
            context = some[0][0].context
            keys = self._definitions.facts(context.pair.definition).indexes.unique
            written = [pending for _, pending in some]
            hidden = self._access.hidden(context.caller, context.pair)
            seen = None if self._visible is None else self._visible.objects
            taken = uniqueness.conflicts(self._rows, self._dialect, context.pair, keys, written, hidden, seen)
            for position, error in taken.items():
                by = some[position][0].causes
                found.refused.update({place: _write_back_error(change, error) for place, change in by.items()})

    def _prepare(self, target: _Target, pending_changes: Sequence[PendingChange]) -> PendingChange:
        """The pending change of a target, validated against its schema and property rights."""
        context, old = target.context, None if target.existing is None else target.existing.stored
        previous = None if old is None or old.is_deleted else old.data
        try:
            data = self._access.writable(
                context.caller, context.pair, target.copy(), previous, None if old is None else old.owner
            )
            prepared = self._preparer.prepare_data(context, data, previous)
            for name in target.changed:
                if not target.members[name].issubset(_uuids_in(prepared.data.get(name))):
                    raise InvalidInput(f"{name!r} is computed there, or has a default that takes its place.")
            if target.place is not None:
                return self._preparer.with_data(context, pending_changes[target.place], prepared.data, prepared.text)
            assert target.existing is not None  # noqa: S101  what has no draft of its own is in the store
            return self._preparer.pending_update(context, "update", target.existing, prepared.data, prepared.text)
        except PentadError as error:
            raise _write_back_error(next(iter(target.causes.values())), error) from None

    # reading the store

    def _load(self, context: WriteContext, uuids: set[str]) -> None:
        unloaded = sorted(uuids - self._targets.keys())
        existing = store.existing_by_uuid(self._rows, unloaded)
        for uuid in unloaded:
            here = existing.get(uuid)
            if here is None or here.stored.is_deleted:
                self._targets[uuid] = None
                continue
            stored = here.stored
            there = WriteContext(
                context.caller, self._pair_of(stored.register, stored.schema), context.now, context.provenance
            )
            if not self._access.sees_object(context.caller, there.pair, stored):
                self._targets[uuid] = None
                continue
            self._targets[uuid] = _Target(there, stored, here, dict(stored.data))

    def _schema_id(self, facts: ReferenceFacts, organisation: str) -> int | None:
        """The id of the schema a relation names in a schema of an organisation."""
        key = organisation, facts.target
        if key not in self._schemas:
            schema = find_target(self._rows, facts.target, organisation)
            if schema is not None and self._visible is not None and not self._visible.schema(schema):
                schema = None
            self._schemas[key] = None if schema is None else schema.id
        return self._schemas[key]


def _changes_of(pair: Pair, pending: PendingChange) -> Iterator[_Change]:
    """The write-backs of a pending change: new references to add, dropped ones to remove."""
    before = None if pending.before is None or pending.before.stored.is_deleted else pending.before.stored
    for facts in pair.definition.written_back:
        name = facts.path[0]
        if facts.filled:
            transient = None if pending.transient is None else pending.transient.get(name)
            old, new = ((), ()) if transient is None else transient
        else:
            old = [] if before is None else _uuids_in(before.data.get(name))
            new = _uuids_in(pending.after.data.get(name))
        for uuid in dict.fromkeys(old):
            if uuid not in new:
                yield _Change(pending.after, facts, uuid, False)
        for uuid in dict.fromkeys(new):
            if uuid not in old:
                yield _Change(pending.after, facts, uuid, True)


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [*cast("list[Any]", value)]
    return [] if value is None else [value]


def _uuids_in(value: Any) -> list[str]:
    """The objects a value refers to. Embedded objects are data, not references."""
    return [integrity.referenced_uuid(one) for one in _as_list(value) if isinstance(one, str) and one]


def _write_back_error(change: _Change, error: PentadError) -> PentadError:
    """The error with its origin: the caller wrote one object, and another one failed."""
    what = "written back into" if change.adding else "taken out of"
    return restate_error(
        error,
        f"/{change.facts.path[0]}: {change.source.uuid} cannot be {what} {change.facts.inversed_by!r} of"
        f" {change.target}: {error.message}",
        hint=error.hint or "Leave this object out, or change it so that it can be.",
        details={**error.details, "property": f"/{change.facts.path[0]}", "target": change.target},
    )
