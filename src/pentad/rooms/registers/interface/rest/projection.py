"""Parameters that shape objects: `_unset` leaves properties out, `_extend` replaces ids with related objects."""

from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.platform import Parameter
from pentad.rooms.registers.interface.extension import Extension
from pentad.rooms.registers.interface.rest.request import RestRequest
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.query.models import AsOf
from pentad.rooms.registers.query.parser import parse_fields

EXTEND: Final = Parameter(
    "_extend", "Show related objects in place of their ids: relations such as author or author.country, or all."
)
UNSET: Final = Parameter("_unset", "Leave out these properties, separated by commas.")


@dataclass(frozen=True, slots=True)
class Shaping:
    """The relations to extend and the names to leave out."""

    extend: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.extend or self.unset)


async def shaping_of(request: RestRequest, pair: Pair) -> Shaping:
    """The shaping a request asks for; InvalidInput if a name is not a relation or not a property."""
    extend, unset = request.names("_extend"), request.names("_unset")
    if unset:
        parse_fields(request.visible_schema(pair), list(unset))
    if extend:
        await _extension(request, extend).check(pair)
    return Shaping(extend, unset)


async def shape(
    request: RestRequest, pair: Pair, shaping: Shaping, rows: list[dict[str, Any]], as_of: AsOf | None = None
) -> list[dict[str, Any]]:
    """Apply the shaping to objects of a pair."""
    if shaping.extend:
        rows = await _extension(request, shaping.extend).apply(pair, rows, as_of)
    return [_without(row, shaping.unset) for row in rows]


def _extension(request: RestRequest, names: tuple[str, ...]) -> Extension:
    return Extension(request.registers, request.caller, names, "_extend")


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
