"""References by natural key: `{"applicant": {"bsn": "123"}}` instead of the uuid of the person with that number.

Works where the schema is unambiguous: the property holds another object's uuid and cannot embed objects, and the given
names are a unique key of the target. Only objects and properties the caller may read are found, so a key reveals no
more than a query. The referring object's register is searched first, then the objects of the same write; other
registers count only if exactly one of them has a match.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Dialect, Rows
from pentad.rooms.registers.catalogue.compiled_schemas import target as find_target
from pentad.rooms.registers.definitions.json_diff import quoted
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.objects import uniqueness
from pentad.rooms.registers.objects.indexes import unique_key
from pentad.rooms.registers.store import as_uuid

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.catalogue.catalogue import Catalogue
    from pentad.rooms.registers.objects.pending_changes import WriteStep

Key = Mapping[str, Any]
"""The values of a natural key by property."""
Found = dict[str, list[str]]
"""The uuids for a key, by its text."""


class NaturalKeys:
    """Replaces natural keys with the uuids of their objects."""

    def __init__(self, dialect: Dialect, catalogue: "Catalogue", access: "AccessRules") -> None:
        self._dialect: Dialect = dialect
        self._catalogue = catalogue
        self._access = access

    def occur_in(self, pair: Pair, operations: Sequence[Operation]) -> bool:
        """Whether any operation gives a reference by natural key."""
        names = self._catalogue.definitions.facts(pair.definition).references_by_key
        return bool(names) and any(_keys_in(one.data, name) for one in operations for name in names)

    def available(self, rows: Rows, caller: Caller, pair: Pair) -> dict[str, dict[str, Mapping[str, Any]]]:
        """The properties that form natural keys, with their schemas, for each reference that accepts them."""
        found: dict[str, dict[str, Mapping[str, Any]]] = {}
        for name in self._catalogue.definitions.facts(pair.definition).references_by_key:
            targets = self._targets(rows, caller, pair, name)
            if targets:
                declared = targets[0].definition.properties
                names = {part for key in self._keys(caller, targets[0]) for part in key}
                found[name] = {part: declared[part].definition for part in sorted(names)}
        return found

    def resolve(self, rows: Rows, caller: Caller, pair: Pair, steps: "Sequence[WriteStep]") -> None:
        """Replace natural keys with uuids. A step fails if a key matches no object, or several."""
        for name in self._catalogue.definitions.facts(pair.definition).references_by_key:
            with_keys = [step for step in steps if step.error is None and _keys_in(step.operation.data, name)]
            if not with_keys:
                continue
            targets = self._targets(rows, caller, pair, name)
            keys = [key for step in with_keys for key in _keys_in(step.operation.data, name)]
            uuids = self._find(rows, caller, pair, targets, keys, steps)
            for step in with_keys:
                try:
                    data = {**(step.operation.data or {}), name: self._replaced(caller, targets, uuids, step, name)}
                    step.operation = msgspec.structs.replace(step.operation, data=data)
                except InvalidInput as error:
                    step.fail(error)

    def _targets(self, rows: Rows, caller: Caller, pair: Pair, name: str) -> list[Pair]:
        """The pairs with objects of the reference's schema, the current register first; empty if it is not visible."""
        reference = next(one for one in pair.definition.references if one.path[0] == name)
        schema = find_target(rows, reference.target, pair.definition.organisation)
        if schema is None or not self._access.sees(caller, schema):
            return []
        found = self._catalogue.pairs_of_schema(rows, caller, schema)
        return sorted(found, key=lambda one: one.register.id != pair.register.id)

    def _keys(self, caller: Caller, target: Pair) -> list[tuple[str, ...]]:
        """The unique keys of the target whose properties the caller may read."""
        hidden = self._access.hidden(caller, target)
        keys = [tuple(".".join(path) for path in one.paths) for one in target.definition.unique]
        return [key for key in keys if all(name in target.definition.properties and name not in hidden for name in key)]

    def _find(
        self, rows: Rows, caller: Caller, pair: Pair, targets: Sequence[Pair], keys: Sequence[Key],
        steps: "Sequence[WriteStep]",
    ) -> Found:  # fmt: skip
        """The uuids for each key: the object in the pair's register, else one in the same write, else those in all
        other registers.
        """
        near = [target for target in targets if target.register.id == pair.register.id]
        found: Found = {}
        self._look(rows, caller, near, keys, found)
        if any(target.schema.id == pair.schema.id for target in near):
            _look_along(self._keys(caller, pair), keys, steps, found)
        missing = [key for key in keys if _text(key) not in found]
        self._look(rows, caller, [target for target in targets if target not in near], missing, found)
        return found

    def _look(
        self, rows: Rows, caller: Caller, targets: Sequence[Pair], keys: Sequence[Key], found: Found
    ) -> None:  # fmt: skip
        for target in targets:
            for names in self._keys(caller, target):
                some = [key for key in keys if set(key) == set(names)]
                holders = uniqueness.find_by_key(
                    rows, self._dialect, self._access, caller, target, unique_key(target.definition, names), some
                )
                for key, uuid in zip(some, holders, strict=True):
                    if uuid is not None and uuid not in (known := found.setdefault(_text(key), [])):
                        known.append(uuid)

    def _replaced(self, caller: Caller, targets: Sequence[Pair], uuids: Found, step: "WriteStep", name: str) -> Any:
        value = (step.operation.data or {})[name]
        if isinstance(value, dict):
            return self._uuid(caller, targets, uuids, cast("Key", value), name)
        return [
            self._uuid(caller, targets, uuids, cast("Key", one), name) if isinstance(one, dict) else one
            for one in cast("list[Any]", value)
        ]

    def _uuid(self, caller: Caller, targets: Sequence[Pair], uuids: Found, key: Key, name: str) -> str:
        found = uuids.get(_text(key), [])
        if len(found) == 1:
            return found[0]
        values = ", ".join(f"{part} = {quoted(value)}" for part, value in key.items())
        usable = self._keys(caller, targets[0]) if targets else []
        what = targets[0].schema.slug if targets else "object"
        hint = "Create it first, or give the uuid."
        if found:
            message = f"{len(found)} objects of schema {what!r} have {values}, in different registers"
            hint = "Give the uuid."
        elif not any(set(one) == set(key) for one in usable):
            known = " or ".join(" + ".join(one) for one in usable)
            message = f"{' + '.join(key) or 'an empty object'} is not a unique key of schema {what!r}"
            hint = f"Its unique keys are {known}." if usable else "Give the uuid."
        else:
            message = f"no object of schema {what!r} has {values}"
        problem = {"path": f"/{name}", "rule": "$ref", "message": message, "received": dict(key)}
        raise InvalidInput(f"/{name}: {message}.", hint=hint, details={"problems": [problem]})


def _keys_in(data: Mapping[str, Any] | None, name: str) -> list[Key]:
    value = None if data is None else data.get(name)
    if isinstance(value, dict):
        return [cast("Key", value)]
    return (
        [cast("Key", one) for one in cast("list[Any]", value) if isinstance(one, dict)]
        if isinstance(value, list)
        else []
    )


def _look_along(
    unique: Sequence[tuple[str, ...]], keys: Sequence[Key], steps: "Sequence[WriteStep]", found: Found
) -> None:  # fmt: skip
    """Find keys among the objects of the same write. New objects get their uuids now."""
    missing = {_text(key) for key in keys if _text(key) not in found}
    for names in unique:
        for step in steps if missing else ():
            operation, data = step.operation, step.operation.data or {}
            if any(data.get(name) is None for name in names):
                continue
            text = _text({name: data[name] for name in names})
            if text not in missing or (operation.action == "upsert" and set(operation.key) != set(names)):
                continue
            uuid = operation.uuid or (None if operation.ref is None else as_uuid(str(operation.ref)))
            if uuid is None and (operation.may_create or operation.action == "create"):
                uuid = str(uuid7())
                step.operation = msgspec.structs.replace(operation, uuid=uuid)
            if uuid is not None:
                found.setdefault(text, [uuid])


def _text(key: Key) -> str:
    return repr(sorted(key.items()))
