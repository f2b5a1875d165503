"""How a caller wants objects shown beyond which properties: related objects in place of their ids (`_extend`), some
properties left out (`_unset`). Only what the caller may read is put in; what it may not stays an id.
"""

from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.names import did_you_mean
from pentad.platform import Parameter
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.query.parse import parse_fields
from pentad.rooms.registers.rest.ask import Ask
from pentad.rooms.registers.showing import shown
from pentad.rooms.registers.visible import visible

EXTEND: Final = Parameter("_extend", "Show related objects in place of their ids: names of relations, or all.")
UNSET: Final = Parameter("_unset", "Leave out these properties, separated by commas.")
_MOST_RELATED: Final = 1_000


@dataclass(frozen=True, slots=True)
class Shaping:
    """The relations to follow, and the names to leave out."""

    extend: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.extend or self.unset)


def shaping_of(ask: Ask, pair: Pair) -> Shaping:
    """What a request asks for; InvalidInput for a name that is no relation, or no property."""
    extend, unset = _names(ask, "_extend"), _names(ask, "_unset")
    if not extend and not unset:
        return Shaping()
    known = visible(ask.registers.access, ask.caller, pair)
    parse_fields(known, list(unset))
    relations = {one.path[0] for one in pair.definition.references if one.path[0] in known.properties}
    if "all" in extend and "all" not in relations:
        extend = tuple(sorted(relations))
    for name in extend:
        if name not in relations:
            guess = did_you_mean(name, relations)
            raise InvalidInput(
                f"_extend: {name[:80]!r} is no relation.{' ' + guess if guess else ''}",
                hint=f"There is {', '.join(sorted(relations))}." if relations else "This schema has no relation.",
            )
    return Shaping(extend, unset)


async def shaped(ask: Ask, wanted: Shaping, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Objects on the wire, as wanted."""
    if wanted.extend:
        ids = {one for row in rows for name in wanted.extend for one in _ids(row.get(name))}
        if len(ids) > _MOST_RELATED:
            raise LimitExceeded(f"_extend would show {len(ids)} objects.", hint="Ask for fewer with _limit.")
        related = await ask.registers.objects.related(ask.caller, sorted(ids))
        wires = {uuid: shown(ask.registers.access, ask.caller, *found) for uuid, found in related.items()}
        rows = [{**row, **{name: _put(row[name], wires) for name in wanted.extend if name in row}} for row in rows]
    return [_without(row, wanted.unset) for row in rows]


def _names(ask: Ask, name: str) -> tuple[str, ...]:
    given = ask.request.query_params
    listed = [*given.getlist(name), *given.getlist(f"{name}[]")]
    return tuple(dict.fromkeys(one.strip() for text in listed for one in text.split(",") if one.strip()))


def _ids(value: Any) -> list[str]:
    """The ids in what a relation holds: one, several, or several in objects."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [one for member in cast("list[Any]", value) for one in _ids(member)]
    return []


def _put(value: Any, wires: dict[str, dict[str, Any]]) -> Any:
    if isinstance(value, str):
        return wires.get(value, value)
    return [_put(one, wires) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def _without(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    rest = dict(row)
    for name in names:
        if name in rest:
            del rest[name]
            continue
        *parents, last = name.split(".")
        place = rest
        for step in parents:
            if not isinstance(place.get(step), dict):
                break
            place[step] = dict(cast("dict[str, Any]", place[step]))
            place = place[step]
        else:
            place.pop(last, None)
    return rest
