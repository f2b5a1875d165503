"""Finds the object a caller refers to, by reference or (for an upsert) by key, among those it may see.

A hidden object is never found, even if it comes first among several with the same slug or key.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pentad.kernel.errors import InvalidInput, NotFound, VersionMismatch
from pentad.kernel.ports import Dialect, Rows
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.models import Caller, Pair, Schema, StoredObject
from pentad.rooms.registers.not_found import missing_object
from pentad.rooms.registers.objects import store, uniqueness
from pentad.rooms.registers.objects.indexes import index_kind, unique_key
from pentad.rooms.registers.objects.pending_changes import ExistingObject, WriteContext, WriteStep
from pentad.rooms.registers.query.dialects import sql_dialect
from pentad.rooms.registers.query.filters import ValueReader
from pentad.rooms.registers.query.from_clause import row_source
from pentad.rooms.registers.query.models import Compare, Scope
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
    """What one caller may see, within one unit of work."""

    rows: Rows
    access: AccessRules
    caller: Caller
    pair_of: Callable[[int, int], Pair]

    def objects(self, uuids: Sequence[str]) -> dict[str, frozenset[str]]:
        """Which of some objects live and are the caller's to see, each with its properties that are not."""
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
    """What the caller may see; None if that is everything."""
    return None if access.is_free(caller) else Visibility(rows, access, caller, pair_of)


def find_object(
    rows: Rows, dialect: Dialect, access: AccessRules, caller: Caller, pair: Pair, ref: int | str, *,
    deleted: bool = False,
) -> ExistingObject | None:  # fmt: skip
    """The object of a pair that the caller means and may see: by uuid, id or slug, or by a unique property's value.

    One found by uuid, id or slug may be deleted; by a unique value that is so only with `deleted`, and if no living
    object has the value. InvalidInput if the name means several objects.
    """
    named = _find_named(rows, access, caller, pair, ref)
    keys = _unique_values(access, caller, pair, ref)
    if not keys or (named is not None and store.is_uuid(ref)):
        return named
    found = _find_by_value(rows, dialect, access, caller, pair, keys, deleted=False)
    if not found and named is None and deleted:
        found = _find_by_value(rows, dialect, access, caller, pair, keys, deleted=True)
    if named is not None and not (named.stored.is_deleted and found):
        found[named.stored.uuid] = named
    if len(found) > 1:
        own = access.organisation(caller)
        found = {uuid: one for uuid, one in found.items() if one.stored.organisation == own} or found
    if len(found) > 1:
        raise InvalidInput(
            f"{str(ref)[:80]!r} means several objects of {pair.label}: {', '.join(sorted(found)[:5])}.",
            hint="Give the uuid of the one you mean.",
            details={"objects": sorted(found)},
        )
    return next(iter(found.values()), None)


def has_unique_values(pair: Pair) -> bool:
    """Whether objects of the pair may be named by the value of a unique property."""
    return any(len(unique.paths) == 1 for unique in pair.definition.unique)


def _find_named(rows: Rows, access: AccessRules, caller: Caller, pair: Pair, ref: int | str) -> ExistingObject | None:
    if access.is_free(caller):
        return store.existing_by_ref(rows, pair.register.id, pair.schema.id, ref)
    found = store.all_by_ref(rows, pair.register.id, pair.schema.id, ref)
    return next((existing for existing in found if access.sees_object(caller, pair, existing.stored)), None)


def _unique_values(access: AccessRules, caller: Caller, pair: Pair, ref: int | str) -> list[Compare]:
    """What a name may mean as the value of a unique property. Hidden ones are left out: a hit would tell the value."""
    if not has_unique_values(pair):
        return []
    hidden = access.hidden(caller, pair)
    found: list[Compare] = []
    reader = ValueReader(None, text=True)
    for unique in pair.definition.unique:
        if len(unique.paths) == 1 and unique.paths[0][0] not in hidden:
            kind = index_kind(unique.kinds[0])
            at = QueryField(".".join(unique.paths[0]), unique.paths[0], kind)
            try:
                value = reader.read(at, str(ref).replace("\0", ""))
            except InvalidInput:  # a text is no number, for instance
                continue
            found.append(Compare(at.path, "eq", value))
    return found


def _find_by_value(
    rows: Rows, dialect: Dialect, access: AccessRules, caller: Caller, pair: Pair, keys: Sequence[Compare], *,
    deleted: bool,
) -> dict[str, ExistingObject]:  # fmt: skip
    scope = Scope(pair.register.id, (pair.schema.id,), indexed=frozenset(key.path for key in keys))
    found: dict[str, ExistingObject] = {}
    for key in keys:
        source = row_source(sql_dialect(dialect), scope, key, include_deleted=deleted)
        for existing in store.existing_in(rows, source, deleted=deleted):
            if access.sees_object(caller, pair, existing.stored):
                found[existing.stored.uuid] = existing
    return found


def find_targets(
    rows: Rows, dialect: Dialect, access: AccessRules, context: WriteContext, steps: Sequence[WriteStep]
) -> list[ExistingObject | None]:  # fmt: skip
    """The current object of each step. An upsert without a usable key fails here; hidden properties cannot be keys."""
    caller, pair = context.caller, context.pair
    hidden = access.hidden(caller, pair)
    uuids: list[str | None] = [None] * len(steps)
    found: dict[int, ExistingObject | None] = {}
    by_key: dict[tuple[str, ...], list[int]] = {}
    for place, step in enumerate(steps):
        operation = step.operation
        if operation.may_create:
            if not operation.key and operation.named is not None:
                uuids[place] = as_uuid(operation.named)
            elif _has_key(pair, step, hidden):
                by_key.setdefault(step.operation.key, []).append(place)
        elif isinstance(operation.ref, str) and (uuid := as_uuid(operation.ref)):
            uuids[place] = uuid
        elif operation.ref is not None:
            found[place] = _find_target(rows, dialect, access, context, step)
    for names, places in by_key.items():
        key, data = unique_key(pair.definition, names), [steps[place].operation.data or {} for place in places]
        holders = uniqueness.find_by_key(rows, dialect, access, caller, pair, key, data)
        for place, holder in zip(places, holders, strict=True):
            uuids[place] = holder
    existing = store.existing_by_uuid(rows, [uuid for uuid in uuids if uuid is not None])
    for place, uuid in enumerate(uuids):
        here = existing.get(uuid or "")
        if here is not None and (here.stored.register, here.stored.schema) == (pair.register.id, pair.schema.id):
            found[place] = here if access.sees_object(caller, pair, here.stored) else None
        elif uuid is not None and steps[place].operation.ref is not None:  # it may be a unique value
            found[place] = _find_target(rows, dialect, access, context, steps[place])
    return [found.get(place) for place in range(len(steps))]


def _find_target(
    rows: Rows, dialect: Dialect, access: AccessRules, context: WriteContext, step: WriteStep
) -> ExistingObject | None:
    """The object that a step names; the step fails if that means several."""
    if store.is_uuid(step.operation.ref or "") and not has_unique_values(context.pair):
        return None
    try:
        return find_object(rows, dialect, access, context.caller, context.pair, step.operation.ref or "")
    except InvalidInput as error:
        step.fail(error)
        return None


def count_distinct(steps: Sequence[WriteStep], found: Sequence[ExistingObject | None]) -> int:
    """How many steps from the first on are about different objects."""
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
    """The unique properties that the data fills; none if there are several such keys, or a hidden one."""
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
