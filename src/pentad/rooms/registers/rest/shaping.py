"""How a caller wants objects shown beyond which properties: related objects in place of their ids (`_extend`), some
properties left out (`_unset`).
"""

from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.platform import Parameter
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.query.models import AsOf
from pentad.rooms.registers.query.parser import parse_fields
from pentad.rooms.registers.rest.ask import Ask
from pentad.rooms.registers.rest.extending import check_names, extended
from pentad.rooms.registers.visible import visible

EXTEND: Final = Parameter(
    "_extend", "Show related objects in place of their ids: relations such as author or author.country, or all."
)
UNSET: Final = Parameter("_unset", "Leave out these properties, separated by commas.")


@dataclass(frozen=True, slots=True)
class Shaping:
    """The relations to follow, and the names to leave out."""

    extend: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.extend or self.unset)


async def shaping_of(ask: Ask, pair: Pair) -> Shaping:
    """What a request asks for; InvalidInput for a name that is no relation, or no property."""
    extend, unset = _names(ask, "_extend"), _names(ask, "_unset")
    if unset:
        parse_fields(visible(ask.registers.access, ask.caller, pair), list(unset))
    if extend:
        await check_names(ask, pair, extend)
    return Shaping(extend, unset)


async def shaped(
    ask: Ask, pair: Pair, wanted: Shaping, rows: list[dict[str, Any]], as_of: AsOf | None = None
) -> list[dict[str, Any]]:
    """Objects of a pair on the wire, as wanted."""
    if wanted.extend:
        rows = await extended(ask, pair, wanted.extend, rows, as_of)
    return [_without(row, wanted.unset) for row in rows]


def _names(ask: Ask, name: str) -> tuple[str, ...]:
    given = ask.request.query_params
    listed = [*given.getlist(name), *given.getlist(f"{name}[]")]
    return tuple(dict.fromkeys(one.strip() for text in listed for one in text.split(",") if one.strip()))


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
