"""How objects are shown to a caller: on every surface the same, and without the properties hidden from it."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.definitions.object_validation import json_text
from pentad.rooms.registers.models import Caller, Outcome, Pair, StoredObject


def shown(
    access: AccessRules,
    caller: Caller,
    pair: Pair,
    stored: StoredObject,
    *,
    fields: Sequence[str] | None = None,
    prune: bool = True,
) -> dict[str, Any]:
    """One object on the wire."""
    hidden = access.hidden(caller, pair, stored.data, stored.owner)
    if hidden and fields is not None:
        fields = [name for name in fields if name.partition(".")[0] not in hidden]
    return (without(stored, pair, hidden) if hidden else stored).wire(pair.definition, prune=prune, fields=fields)


def without(stored: StoredObject, pair: Pair, hidden: Collection[str]) -> StoredObject:
    """The object as if it had never had the hidden properties: its name and slug must not tell of them either."""
    rest = {name: value for name, value in stored.data.items() if name not in hidden}
    return stored.altered(data=rest, text=json_text(rest)[0], slug=pair.definition.slug_of(rest))


def shown_json(access: AccessRules, caller: Caller, pair: Pair, objects: Iterable[StoredObject]) -> list[Any]:
    """Whole objects on the wire as parts of a JSON answer; where nothing can be hidden, their data is not even read."""
    if access.hidden(caller, pair):
        return [shown(access, caller, pair, stored) for stored in objects]
    return [stored.raw(pair.definition) for stored in objects]


def outcomes_wire(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What became of each row, and how many fared how."""
    counts: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    for outcome in outcomes:
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
        row: dict[str, Any] = {"index": outcome.index, "status": outcome.status}
        if outcome.uuid is not None:
            row.update(id=outcome.uuid, version=outcome.version)
        if outcome.error is not None:
            row["error"] = outcome.error
        rows.append(row)
    return {"results": rows, **counts}
