"""Write-back: an object that names others in a `writeBack` property is written into a property of theirs.

Everything is worked out in memory first, so a refused row leaves no trace. An object changed from several sides changes
once. If the target property is written back too, the change continues from there; it ends because one object is written
into one property of another only once. Rights, locks and validation of every object apply, and an object the caller may
not see counts as missing.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded, PentadError
from pentad.kernel.ports import Dialect, Rows
from pentad.kernel.schema import pointer
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.catalogue import Catalogue
from pentad.rooms.registers.catalogue_definitions import target as find_target
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
from pentad.rooms.registers.objects.prepare import UpdatePreparer

_MOST_CHANGES: Final = 10_000


@dataclass(slots=True)
class WriteBackResult:
    """What follows from drafts, by their positions: why some are refused, how some look now, and what else changes."""

    refused: dict[int, PentadError] = field(default_factory=dict[int, PentadError])
    amended: dict[int, PendingChange] = field(default_factory=dict[int, PendingChange])
    others: list[tuple[int, PendingChange]] = field(default_factory=list[tuple[int, PendingChange]])


class _Change(NamedTuple):
    """That an object be written into (or taken out of) what one of its properties names."""

    source: StoredObject
    facts: ReferenceFacts
    target: str
    adding: bool


@dataclass(slots=True)
class _Target:
    """An object as it is about to be. `place` is that of its own draft, if it has one."""

    context: WriteContext
    stored: StoredObject
    existing: ExistingObject | None
    data: dict[str, Any]
    place: int | None = None
    members: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    changed: set[str] = field(default_factory=set[str])
    by: dict[int, _Change] = field(default_factory=dict[int, _Change])

    def own_list(self, name: str) -> list[Any]:
        """A list that is this draft's alone; thousands may be added to it."""
        if name not in self.changed:
            self.data[name] = _as_list(self.data.get(name))
        return cast("list[Any]", self.data[name])

    def copy(self) -> dict[str, Any]:
        return {
            name: self.own_list(name)[:] if name in self.changed and isinstance(value, list) else value
            for name, value in self.data.items()
        }


class WriteBacks:
    """Works out what is written back, within one unit of work."""

    def __init__(
        self, rows: Rows, dialect: Dialect, catalogue: Catalogue, access: AccessRules, making: UpdatePreparer,
        visible: Visibility | None,
    ) -> None:  # fmt: skip
        self._rows = rows
        self._dialect: Dialect = dialect
        self._definitions = catalogue.definitions
        self._pair_of = catalogue.pairs_in(rows)
        self._access = access
        self._making = making
        self._visible = visible
        self._others: dict[str, _Target | None] = {}
        self._schemas: dict[tuple[str, int | str], int | None] = {}

    def of(self, context: WriteContext, pending_changes: Sequence[PendingChange]) -> WriteBackResult:
        """What follows from drafts of one pair. Where something is refused, the rest is to be worked out again."""
        found = self._spread_all(context, pending_changes, one_by_one=False)
        if found.refused:
            return found
        self._make(found, pending_changes)
        if len(found.refused) > 1:  # several share what was refused, and perhaps only the last of them were too much
            closer = self._spread_all(context, pending_changes, one_by_one=True)
            return closer if closer.refused else found
        return found

    def _spread_all(
        self, context: WriteContext, pending_changes: Sequence[PendingChange], *, one_by_one: bool
    ) -> WriteBackResult:
        """Carry out the wishes of every draft; with `one_by_one` the rules are asked after each."""
        found = WriteBackResult()
        self._others = {
            pending.after.uuid: _Target(context, pending.after, pending.before, dict(pending.after.data), place)
            for place, pending in enumerate(pending_changes)
        }
        wishes = [list(_changes_of(context.pair, pending)) for pending in pending_changes]
        self._load(context, {wish.target for some in wishes for wish in some})
        for place, some in enumerate(wishes):
            try:
                touched = self._spread(context, place, some)
                if one_by_one:
                    for other in touched:
                        self._made(other, pending_changes)
            except PentadError as error:
                found.refused[place] = error
        return found

    # who is written where

    def _spread(self, context: WriteContext, place: int, wishes: Iterable[_Change]) -> list[_Target]:
        """Carry out the wishes of one draft and all that follow from them; gives what was changed."""
        waiting = deque(wishes)
        seen: set[tuple[str, str | None, str, bool]] = set()
        touched: dict[str, _Target] = {}
        while waiting:
            wish = waiting.popleft()
            mark = wish.target, wish.facts.inversed_by, wish.source.uuid, wish.adding
            if mark in seen:
                continue
            seen.add(mark)
            if len(seen) > _MOST_CHANGES:
                raise LimitExceeded(
                    f"Writing this back would change more than {_MOST_CHANGES} other objects.",
                    hint="Name fewer objects at a time.",
                )
            other = self._target(context, wish)
            if other is not None and (back := self._property(wish, other)) is not None:
                following = self._put(place, wish, other, back)
                if following is not None:
                    touched[other.stored.uuid] = other
                    waiting.extend(following)
        return list(touched.values())

    def _target(self, context: WriteContext, wish: _Change) -> _Target | None:
        """The object a wish is about; None where it is gone and does not have to be there."""
        if wish.target not in self._others:
            self._load(context, {wish.target})
        source = self._pair_of(wish.source.register, wish.source.schema)
        other, schema = self._others[wish.target], self._schema(wish.facts, source.schema.organisation)
        if other is not None and other.stored.schema == schema:
            return other
        if not wish.adding:
            return None
        path = pointer(wish.facts.path)
        present = {} if other is None else {wish.target: other.stored.schema}
        raise integrity.dangling_error([Reference(path, wish.target)], {path: schema}, present)

    def _property(self, wish: _Change, other: _Target) -> Property | None:
        """The property to write into; None where there is nothing to write, because it is filled on reading."""
        name, definition = wish.facts.inversed_by or "", other.context.pair.definition
        back = definition.properties.get(name)
        facts = None if back is None else back.ref
        if not wish.adding:
            return None if facts is not None and facts.filled else back
        if back is None:
            raise _write_back_error(
                wish, InvalidInput(f"The schema {other.context.pair.schema.slug!r} has no such property.")
            )
        if facts is None:
            return back
        if facts.filled:
            if wish.facts.filled or facts.inversed_by != wish.facts.path[0]:
                raise _write_back_error(wish, InvalidInput("It is not kept there either, but filled on reading."))
            return None
        if self._schema(facts, other.context.pair.schema.organisation) != wish.source.schema:
            raise _write_back_error(wish, InvalidInput("It is for objects of another schema."))
        return back

    def _put(self, place: int, wish: _Change, other: _Target, back: Property) -> list[_Change] | None:
        """Write into the property, or take out of it; gives what follows, None where it was so already."""
        name, uuid = back.name, wish.source.uuid
        members = other.members.get(name)
        if members is None:
            members = other.members[name] = set(_uuids_in(other.data.get(name)))
        if (uuid in members) is wish.adding:
            return None
        self._permit(wish, other)
        other.by.setdefault(place, wish)
        pushed_out: set[str] = set()
        if back.many or (back.ref is not None and back.ref.many):
            values = other.own_list(name)
            if wish.adding:
                values.append(uuid)
            else:
                values[:] = [value for value in values if uuid not in _uuids_in(value)]
        else:
            pushed_out = members - {uuid}
            members.clear()
            other.data.pop(name, None)
            if wish.adding:
                other.data[name] = uuid
        other.changed.add(name)
        if wish.adding:
            members.add(uuid)
        else:
            members.discard(uuid)
        if back.ref is None or not back.ref.write_back:
            return []
        gone = [_Change(other.stored, back.ref, one, False) for one in sorted(pushed_out)]
        return [_Change(other.stored, back.ref, uuid, wish.adding), *gone]

    def _permit(self, wish: _Change, other: _Target) -> None:
        if other.place is not None or other.by:
            return
        try:
            self._making.editable_object(other.context, other.existing, wish.target, None)
        except PentadError as error:
            raise _write_back_error(wish, error) from None

    # the drafts

    def _make(self, found: WriteBackResult, pending_changes: Sequence[PendingChange]) -> None:
        """The drafts of everything that was changed, each once; refused where one of them may not be so."""
        made: dict[tuple[int, int], list[tuple[_Target, PendingChange]]] = {}
        for other in self._others.values():
            if other is None or not other.by:
                continue
            try:
                pending = self._made(other, pending_changes)
            except PentadError as error:
                found.refused.update(dict.fromkeys(other.by, error))
                continue
            made.setdefault((pending.after.register, pending.after.schema), []).append((other, pending))
            if other.place is None:
                found.others.append((max(other.by), pending))
            else:
                found.amended[other.place] = pending
        for some in made.values():
            context = some[0][0].context
            keys = self._definitions.facts(context.pair.definition).indexes.unique
            written = [pending for _, pending in some]
            hidden = self._access.hidden(context.caller, context.pair)
            seen = None if self._visible is None else self._visible.objects
            taken = uniqueness.conflicts(self._rows, self._dialect, context.pair, keys, written, hidden, seen)
            for position, error in taken.items():
                by = some[position][0].by
                found.refused.update({place: _write_back_error(wish, error) for place, wish in by.items()})

    def _made(self, other: _Target, pending_changes: Sequence[PendingChange]) -> PendingChange:
        """The draft of a changed object, under the rules of its schema and of its single properties."""
        context, old = other.context, None if other.existing is None else other.existing.stored
        previous = None if old is None or old.is_deleted else old.data
        try:
            data = self._access.writable(
                context.caller, context.pair, other.copy(), previous, None if old is None else old.owner
            )
            prepared = self._making.prepare_data(context, data, previous)
            for name in other.changed:
                if not other.members[name].issubset(_uuids_in(prepared.data.get(name))):
                    raise InvalidInput(f"{name!r} is computed there, or has a default that takes its place.")
            if other.place is not None:
                return self._making.with_data(context, pending_changes[other.place], prepared.data, prepared.text)
            assert other.existing is not None  # noqa: S101  what has no draft of its own is in the store
            return self._making.pending_update(context, "update", other.existing, prepared.data, prepared.text)
        except PentadError as error:
            raise _write_back_error(next(iter(other.by.values())), error) from None

    # what is known of the store

    def _load(self, context: WriteContext, uuids: set[str]) -> None:
        wanted = sorted(uuids - self._others.keys())
        existing = store.existing_by_uuid(self._rows, wanted)
        for uuid in wanted:
            here = existing.get(uuid)
            if here is None or here.stored.is_deleted:
                self._others[uuid] = None
                continue
            stored = here.stored
            there = WriteContext(
                context.caller, self._pair_of(stored.register, stored.schema), context.now, context.provenance
            )
            if not self._access.sees_object(context.caller, there.pair, stored):
                self._others[uuid] = None
                continue
            self._others[uuid] = _Target(there, stored, here, dict(stored.data))

    def _schema(self, facts: ReferenceFacts, organisation: str) -> int | None:
        """The schema that a relation names in a schema of an organisation."""
        key = organisation, facts.target
        if key not in self._schemas:
            schema = find_target(self._rows, facts.target, organisation)
            if schema is not None and self._visible is not None and not self._visible.schema(schema):
                schema = None
            self._schemas[key] = None if schema is None else schema.id
        return self._schemas[key]


def _changes_of(pair: Pair, pending: PendingChange) -> Iterator[_Change]:
    """What a draft wants of the objects it names, and of those it does not name any more."""
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
    """The objects a value names. Embedded objects are data, not references."""
    return [integrity.referenced_uuid(one) for one in _as_list(value) if isinstance(one, str) and one]


def _write_back_error(wish: _Change, error: PentadError) -> PentadError:
    """The error with where it came from: whoever wrote one object has to know what another one said."""
    what = "written back into" if wish.adding else "taken out of"
    return restate_error(
        error,
        f"/{wish.facts.path[0]}: {wish.source.uuid} cannot be {what} {wish.facts.inversed_by!r} of {wish.target}:"
        f" {error.message}",
        hint=error.hint or "Leave this object out, or change it so that it can be.",
        details={**error.details, "property": f"/{wish.facts.path[0]}", "target": wish.target},
    )
