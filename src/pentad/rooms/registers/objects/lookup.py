"""Finds the object a caller names among those it may see, by reference or (for an upsert) by key.

Hidden objects are never found, even if one comes first among several with the same slug or key.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pentad.kernel.errors import InvalidInput, NotFound, VersionMismatch
from pentad.kernel.ports import Dialect, Rows
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.models import Caller, Pair, Schema, StoredObject
from pentad.rooms.registers.not_found import missing_object
from pentad.rooms.registers.objects import store, uniqueness
from pentad.rooms.registers.objects.indexes import UniqueKey, index_kind, unique_key
from pentad.rooms.registers.objects.pending_changes import ExistingObject, WriteContext, WriteStep
from pentad.rooms.registers.query.filters import ValueReader
from pentad.rooms.registers.query.models import Instant
from pentad.rooms.registers.query.query_fields import QueryField
from pentad.rooms.registers.store import as_uuid


def object_not_found(pair: Pair, ref: int | str | None) -> NotFound:
    if ref is None:
        return NotFound(
            "The operation does not say which object it means.", hint="Give its uuid, slug or a unique value as id."
        )
    return missing_object(pair, ref)


def check_version(stored: StoredObject, if_version: int | None) -> None:
    if if_version is not None and if_version != stored.version:
        raise VersionMismatch(
            f"Object {stored.uuid} is at version {stored.version}, not {if_version}.",
            hint="Read it again and repeat the change on what you find.",
            details={"current": stored.version, "expected": if_version},
        )


@dataclass(frozen=True, slots=True)
class Visibility:
    """What a caller may see, within one unit of work."""

    rows: Rows
    access: AccessRules
    caller: Caller
    pair_of: Callable[[int, int], Pair]

    def objects(self, uuids: Sequence[str]) -> dict[str, frozenset[str]]:
        """The live objects among these that the caller may see, each with its hidden properties."""
        found: dict[str, frozenset[str]] = {}
        for existing in store.existing_by_uuid(self.rows, uuids).values():
            stored = existing.stored
            pair = self.pair_of(stored.register, stored.schema)
            if not stored.is_deleted and self.access.sees_object(self.caller, pair, stored):
                found[stored.uuid] = self.access.hidden(self.caller, pair, stored.data, stored.owner)
        return found

    def schema(self, schema: Schema) -> bool:
        return self.access.sees(self.caller, schema)


def visibility_of(
    rows: Rows, access: AccessRules, caller: Caller, pair_of: Callable[[int, int], Pair]
) -> Visibility | None:  # fmt: skip
    """What the caller may see; None for everything."""
    return None if access.is_unrestricted(caller) else Visibility(rows, access, caller, pair_of)


Found = ExistingObject | InvalidInput | None
"""What a name means: an object, nothing the caller may see, or several objects, which is an error."""


def find_object(
    rows: Rows, dialect: Dialect, access: AccessRules, caller: Caller, pair: Pair, ref: int | str, *,
    deleted: bool = False,
) -> ExistingObject | None:  # fmt: skip
    """The named object of a pair, if the caller may see it. InvalidInput if the name matches several."""
    found = find_objects(rows, dialect, access, caller, pair, [ref], deleted=deleted)[ref]
    if isinstance(found, InvalidInput):
        raise found
    return found


def find_objects(
    rows: Rows, dialect: Dialect, access: AccessRules, caller: Caller, pair: Pair, refs: Iterable[int | str], *,
    deleted: bool = False,
) -> dict[int | str, Found]:  # fmt: skip
    """Resolve names to visible objects of a pair, in a few statements for all of them.

    An object is named by uuid, id, slug or a unique property's value. By uuid, id or slug, deleted objects are found
    too; by a unique value only with `deleted`, and if no live object has the value.
    """
    named = _find_named(rows, access, caller, pair, list(refs := dict.fromkeys(refs)))
    meant = _meant_values(access, caller, pair, [ref for ref in refs if ref not in named or not store.is_uuid(ref)])
    found = _find_by_values(rows, dialect, access, caller, pair, meant, deleted=False)
    if deleted:
        left = {ref: values for ref, values in meant.items() if ref not in named and ref not in found}
        found |= _find_by_values(rows, dialect, access, caller, pair, left, deleted=True)
    return {ref: _choose(access, caller, pair, ref, named.get(ref), found.get(ref, {})) for ref in refs}


def _choose(
    access: AccessRules, caller: Caller, pair: Pair, ref: int | str, named: ExistingObject | None,
    by_value: Mapping[str, ExistingObject],
) -> Found:  # fmt: skip
    """Choose the one object with the name or value."""
    found = dict(by_value)
    if named is not None and not (named.stored.is_deleted and found):
        found[named.stored.uuid] = named
    if len(found) > 1:
        own = access.organisation(caller)
        found = {uuid: one for uuid, one in found.items() if one.stored.organisation == own} or found
    if len(found) > 1:
        return InvalidInput(
            f"{str(ref)[:80]!r} means several objects of {pair.label}: {', '.join(sorted(found)[:5])}.",
            hint="Give the uuid of the one you mean.",
            details={"objects": sorted(found)},
        )
    return next(iter(found.values()), None)


def has_unique_values(pair: Pair) -> bool:
    """Whether objects of the pair can be named by a unique property's value."""
    return any(len(unique.paths) == 1 for unique in pair.definition.unique)


def _find_named(
    rows: Rows, access: AccessRules, caller: Caller, pair: Pair, refs: Sequence[int | str]
) -> dict[int | str, ExistingObject]:  # fmt: skip
    """The objects by uuid, id or slug; among several with the same slug, the first the caller may see."""
    found: dict[int | str, ExistingObject] = {}
    is_unrestricted = access.is_unrestricted(caller)
    start, most = 0, 1 if is_unrestricted else store.CHUNK
    while refs:
        candidates = store.existing_by_refs(rows, pair.register.id, pair.schema.id, refs, start, most)
        for ref, objects in candidates.items():
            seen = (one for one in objects if is_unrestricted or access.sees_object(caller, pair, one.stored))
            if (first := next(seen, None)) is not None:
                found[ref] = first
        refs = [ref for ref, objects in candidates.items() if ref not in found and len(objects) == most]
        start += most
    return found


def _meant_values(
    access: AccessRules, caller: Caller, pair: Pair, refs: Sequence[int | str]
) -> dict[int | str, list[tuple[UniqueKey, Any]]]:  # fmt: skip
    """What names may mean as values of unique properties. Hidden ones are left out: a match would reveal the value."""
    if not has_unique_values(pair):
        return {}
    hidden, reader = access.hidden(caller, pair), ValueReader(None, text=True)
    found: dict[int | str, list[tuple[UniqueKey, Any]]] = {}
    for unique in pair.definition.unique:
        if len(unique.paths) != 1 or unique.paths[0][0] in hidden:
            continue
        path, kind = unique.paths[0], index_kind(unique.kinds[0])
        name = ".".join(path)
        key, at = UniqueKey((name,), (path,), (kind,)), QueryField(name, path, kind)
        for ref in refs:
            try:
                value = reader.read(at, str(ref).replace("\0", ""))
            except InvalidInput:  # for instance, text is not a number
                continue
            found.setdefault(ref, []).append((key, value.key if isinstance(value, Instant) else value))
    return found


def _find_by_values(
    rows: Rows, dialect: Dialect, access: AccessRules, caller: Caller, pair: Pair,
    meant: Mapping[int | str, Sequence[tuple[UniqueKey, Any]]], *, deleted: bool,
) -> dict[int | str, dict[str, ExistingObject]]:  # fmt: skip
    """The objects with values that names may mean, by name and uuid."""
    wanted: dict[UniqueKey, dict[Any, list[int | str]]] = {}
    for ref, values in meant.items():
        for key, value in values:
            wanted.setdefault(key, {}).setdefault(value, []).append(ref)
    found: dict[int | str, dict[str, ExistingObject]] = {}
    for key, refs in wanted.items():
        for value, existing in uniqueness.existing_by_values(rows, dialect, pair, key, list(refs), deleted=deleted):
            if access.sees_object(caller, pair, existing.stored):
                for ref in refs.get(value, ()):
                    found.setdefault(ref, {})[existing.stored.uuid] = existing
    return found


def find_targets(
    rows: Rows, dialect: Dialect, access: AccessRules, context: WriteContext, steps: Sequence[WriteStep]
) -> list[ExistingObject | None]:  # fmt: skip
    """The current object of each step. A step fails here if its name matches several objects, or if an upsert has no
    usable key; hidden properties cannot be keys.
    """
    caller, pair = context.caller, context.pair
    hidden = access.hidden(caller, pair)
    uuids: dict[int, str] = {}
    by_key: dict[tuple[str, ...], list[int]] = {}
    refs = [step.operation.ref for step in steps if not step.operation.may_create and step.operation.ref is not None]
    meant = find_objects(rows, dialect, access, caller, pair, refs) if refs else {}
    found: dict[int, ExistingObject | None] = {}
    for place, step in enumerate(steps):
        operation = step.operation
        if not operation.may_create:
            one = None if operation.ref is None else meant[operation.ref]
            if isinstance(one, InvalidInput):
                step.fail(one)
            else:
                found[place] = one
        elif not operation.key and operation.named is not None:
            if (uuid := as_uuid(operation.named)) is not None:
                uuids[place] = uuid
        elif _has_key(pair, step, hidden):
            by_key.setdefault(step.operation.key, []).append(place)
    for names, places in by_key.items():
        key, data = unique_key(pair.definition, names), [steps[place].operation.data or {} for place in places]
        holders = uniqueness.find_by_key(rows, dialect, access, caller, pair, key, data)
        uuids.update((place, holder) for place, holder in zip(places, holders, strict=True) if holder is not None)
    existing = store.existing_by_uuid(rows, list(uuids.values()))
    for place, uuid in uuids.items():
        here = existing.get(uuid)
        if here is not None and (here.stored.register, here.stored.schema) == (pair.register.id, pair.schema.id):
            found[place] = here if access.sees_object(caller, pair, here.stored) else None
    return [found.get(place) for place in range(len(steps))]


def count_distinct(steps: Sequence[WriteStep], found: Sequence[ExistingObject | None]) -> int:
    """The number of steps, from the start, that change different objects."""
    seen: set[str | tuple[str, ...]] = set()
    for place, (step, existing) in enumerate(zip(steps, found, strict=True)):
        mark: str | tuple[str, ...] | None = None
        if existing is not None:
            mark = existing.stored.uuid
        elif step.operation.may_create:
            data = step.operation.data or {}
            mark = tuple(repr(data.get(name)) for name in step.operation.key) or step.operation.named
        if mark is not None:
            if mark in seen:
                return place
            seen.add(mark)
    return len(steps)


def _default_key(pair: Pair, data: Mapping[str, Any], hidden: Collection[str]) -> tuple[str, ...]:
    """The unique key the data has values for; none if there are several such keys or one is hidden."""
    keys = [tuple(".".join(path) for path in one.paths) for one in pair.definition.unique]
    filled = [key for key in keys if all(data.get(name) is not None and name not in hidden for name in key)]
    return filled[0] if len(filled) == 1 else ()


def _has_key(pair: Pair, step: WriteStep, hidden: Collection[str]) -> bool:
    data = step.operation.data or {}
    if not step.operation.key:
        step.operation = msgspec.structs.replace(step.operation, key=_default_key(pair, data, hidden))
    names, declared = step.operation.key, pair.definition.properties
    if not names or any(name not in declared or name in hidden for name in names):
        known = [name for name in declared if name not in hidden]
        what = f"{', '.join(names)[:80]!r} is not a key of the schema" if names else "An upsert needs a key"
        step.fail(InvalidInput(f"{what}.", hint=f"Name properties of the schema: {', '.join(known[:20])}."))
        return False
    if any(data.get(name) is None for name in names):
        step.fail(
            InvalidInput(f"The data has no value for the key ({', '.join(names)}).", hint="Give every part of it.")
        )
        return False
    return True
