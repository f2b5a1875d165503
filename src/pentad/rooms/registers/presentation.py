"""Objects from a caller's point of view: what it may query, what it gets, and what it sends back.

Shared by tools, resources, REST, pages and exports.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_pointer import split_pointer
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.definitions.object_validation import MOST_PROBLEMS, json_text, redacted
from pentad.rooms.registers.models import Action, Caller, Operation, Outcome, Pair, StoredObject
from pentad.rooms.registers.query.query_fields import QueryProperty, Relations

_METADATA: Final = "@self"
NOTHING_CHANGED: Final = "Nothing changed: the object already had these values."
"""The `note` in the answer to a write that changed nothing."""

# output


def present(
    access: AccessRules,
    caller: Caller,
    pair: Pair,
    stored: StoredObject,
    *,
    fields: Sequence[str] | None = None,
    prune: bool = True,
) -> dict[str, Any]:
    """One object as JSON, without the properties hidden from the caller."""
    hidden = access.hidden(caller, pair, stored.data, stored.owner)
    if hidden and fields is not None:
        fields = [name for name in fields if name.partition(".")[0] not in hidden]
    return (without(stored, pair, hidden) if hidden else stored).wire(pair.definition, prune=prune, fields=fields)


def without(stored: StoredObject, pair: Pair, hidden: Collection[str]) -> StoredObject:
    """The object as if it never had the hidden properties, so its name and slug do not reveal them either."""
    rest = {name: value for name, value in stored.data.items() if name not in hidden}
    return stored.altered(known_data=rest, text=json_text(rest)[0], slug=pair.definition.slug_of(rest))


def present_raw(access: AccessRules, caller: Caller, pair: Pair, objects: Iterable[StoredObject]) -> list[Any]:
    """Whole objects as parts of a JSON answer; if nothing can be hidden, their data is not decoded."""
    if access.hidden(caller, pair):
        return [present(access, caller, pair, stored) for stored in objects]
    return [stored.raw(pair.definition) for stored in objects]


def with_warnings(
    access: AccessRules, caller: Caller, pair: Pair, stored: StoredObject, wire: dict[str, Any]
) -> dict[str, Any]:
    """The answer to a write, with any `@self.warnings`. `@self.unchanged` means the object already had the data;
    `@self.undone` is the change an undo took back.
    """
    warnings = write_warnings(access, caller, pair, stored)
    said = {"unchanged": stored.unchanged, "warnings": warnings, "undone": stored.undone}
    more = {name: value for name, value in said.items() if value}
    return {**wire, _METADATA: {**wire.get(_METADATA, {}), **more}} if more else wire


def write_warnings(access: AccessRules, caller: Caller, pair: Pair, stored: StoredObject) -> list[dict[str, Any]]:
    """Warnings about what a write stored although it is undeclared or does not fit, and what an old state lost."""
    warnings = [*readable_warnings(access, caller, pair, stored)]
    warnings += undeclared_in(access, caller, pair, pair.definition.undeclared(stored.data))
    if tolerated := pair.definition.tolerated(stored.data):
        hidden = access.hidden(caller, pair, stored.data, stored.owner)
        warnings += [one.as_json() for one in redacted(tolerated[:MOST_PROBLEMS], hidden)]
    return warnings


def readable_warnings(
    access: AccessRules, caller: Caller, pair: Pair, stored: StoredObject
) -> tuple[dict[str, Any], ...]:  # fmt: skip
    """Warnings about what a restored old state lost, without the properties hidden from the caller."""
    if not stored.warnings:
        return ()
    hidden = access.hidden(caller, pair, stored.data, stored.owner)
    return tuple(one for one in stored.warnings if split_pointer(one["path"])[0] not in hidden)[:MOST_PROBLEMS]


def undeclared_in(
    access: AccessRules, caller: Caller, pair: Pair, names: Mapping[str, int] | Sequence[str]
) -> list[dict[str, Any]]:
    """Warnings about undeclared properties; for a mapping, each with the number of rows."""
    if not names:
        return []
    from pentad.rooms.registers.definitions.schema_warnings import undeclared_warnings

    hidden = access.hidden(caller, pair)
    return undeclared_warnings(names, [name for name in pair.definition.properties if name not in hidden])


def tolerated_in(access: AccessRules, caller: Caller, pair: Pair, rules: Mapping[str, int]) -> list[dict[str, Any]]:
    """Warnings about rules broken in a bulk write, each with the number of rows (`broken_rules`)."""
    hidden = access.hidden(caller, pair) if rules else ()
    warnings: list[dict[str, Any]] = []
    for rule, rows in rules.items():
        warning: dict[str, Any] = msgspec.json.decode(rule)
        if not hidden or (split_pointer(warning["path"]) or ("",))[0] not in {*hidden, ""}:
            warnings.append({**warning, "rows": rows})
    return warnings[:MOST_PROBLEMS]


def present_outcomes(access: AccessRules, caller: Caller, pair: Pair, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The result of each row of a bulk write, counts by status, and warnings about data stored anyway."""
    undeclared = Counter(name for outcome in outcomes for name in outcome.undeclared)
    tolerated = Counter(one for outcome in outcomes for one in outcome.tolerated)
    counts: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    for outcome in outcomes:
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
        row: dict[str, Any] = {"index": outcome.index, "status": outcome.status}
        if outcome.uuid is not None:
            row.update(id=outcome.uuid, version=outcome.version)
        if outcome.error is not None:
            row["error"] = outcome.error
        if outcome.warnings:
            row["warnings"] = list(outcome.warnings)
        rows.append(row)
    warnings = undeclared_in(access, caller, pair, undeclared) + tolerated_in(access, caller, pair, tolerated)
    return {"results": rows, **counts, **({"warnings": warnings} if warnings else {})}


# input: a caller that reads, changes and writes sends `@self` and `id` back


def split_id(pair: Pair, data: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Split a caller's data into the properties and the `id` that names the object (None if there is none).

    `id` is data only if the schema declares such a property. `@self` belongs to the server and is left out, like the
    note of a write that changed nothing.
    """
    if _METADATA not in data and "id" not in data:
        return data, None
    rest = {name: value for name, value in data.items() if name != _METADATA}
    if rest.get("note") == NOTHING_CHANGED and "note" not in pair.definition.properties:
        del rest["note"]
    if "id" not in pair.definition.properties:
        return rest, rest.pop("id", None)
    about = data.get(_METADATA)
    if isinstance(about, dict) and cast("dict[str, Any]", about).get("id") == rest.get("id"):
        rest.pop("id", None)  # without a value, an object shows its uuid instead
    return rest, None


def operation_of(
    pair: Pair, action: Action, data: dict[str, Any] | None, ref: int | str | None, **options: Any
) -> Operation:  # fmt: skip
    """The write a caller asks for. An `id` in the data names the object, like `ref`."""
    rest, named = (None, None) if data is None else split_id(pair, data)
    if action in ("create", "upsert"):
        uuid = None if (given := ref if named is None else named) is None else str(given)
        return Operation(action, rest, uuid=uuid, named=uuid, **options)
    return Operation(action, rest, ref, named=None if named is None or named == ref else str(named), **options)


def refuse_metadata(pair: Pair, operations: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a JSON Patch that would change the object's `id` or anything below `@self`."""
    kept = (_METADATA,) if "id" in pair.definition.properties else (_METADATA, "id")
    for number, operation in enumerate(operations):
        for name in kept:
            if f"{operation.get('path')}/".startswith(f"/{name}/"):
                raise InvalidInput(
                    f"Operation {number} of the JSON Patch is about {name}, which is metadata and kept by the server.",
                    hint="Patch the object's own properties.",
                )


# queries


@dataclass(frozen=True, slots=True)
class VisibleSchema:
    """The part of a schema the caller may see."""

    properties: Mapping[str, QueryProperty]
    headings: Mapping[str, str | None]
    concealed: frozenset[str]
    relations: Relations | None = None


def visible_schema(access: AccessRules, caller: Caller, pair: Pair) -> VisibleSchema:
    """The names the caller may use in a query on the pair; hidden properties are treated as nonexistent.

    Full-text search needs no such limit, because the index has only what everybody may read.
    """
    hidden, definition = access.hidden(caller, pair), pair.definition
    if not hidden:
        return VisibleSchema(definition.properties, definition.headings, definition.concealed)
    rest = {name: facts for name, facts in definition.properties.items() if name not in hidden}
    if not rest:
        raise InvalidInput(f"{pair.label} has no property you may query.", hint="Get objects by their uuid.")
    sources, hiding = definition.headings, definition.headings_from(hidden)
    return VisibleSchema(rest, {name: source for name, source in sources.items() if name not in hiding}, hiding)


def hidden_in(
    access: AccessRules, caller: Caller, pair_of: Callable[[int, int], Pair]
) -> Callable[[StoredObject], frozenset[str] | None] | None:
    """A function from a stored object to its hidden properties, or to None if the whole object is hidden.

    Returns None instead of a function if nothing is hidden from the caller.
    """
    if access.is_unrestricted(caller):
        return None

    def hidden(stored: StoredObject) -> frozenset[str] | None:
        pair = pair_of(stored.register, stored.schema)
        seen = access.sees_object(caller, pair, stored)
        return access.hidden(caller, pair, stored.data, stored.owner) if seen else None

    return hidden
