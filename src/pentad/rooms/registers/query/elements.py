"""Questions about what lists of objects hold, and about objects by a part of them.

    {"lines.sku": "A-1"}                              some object of the list `lines` has it
    {"lines": {"contains": {"sku": "A-1", "qty": 2}}}  one and the same object has both
    {"address": {"contains": {"city": "Delft"}}}       the object has it, whatever else it has

The complements stay complements: `ne`, `nin`, `exists: false` and null are true where no object of the list has a value
their opposites ask for.
"""

from dataclasses import replace
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.registers.query.comparisons import MOST_VALUES, Operator, compared, mismatch, truth
from pentad.rooms.registers.query.targets import Target, member
from pentad.rooms.registers.query.tree import And, Exists, Filter, Not, Or, Path, Some

_OPPOSITES: Final[dict[Operator, Operator]] = {"ne": "eq", "nin": "in"}
_DEEPEST: Final = 16


def asked(at: Target, op: Operator, value: Any, *, text: bool = False) -> Filter:
    """One comparison as a filter, wherever its place is."""
    if not at.lists:
        if op == "contains" and isinstance(value, dict):
            return _part(at, cast("dict[str, Any]", value))
        return compared(at, op, value, text=text)
    opposite = _OPPOSITES.get(op)
    if opposite is not None:
        return Not(asked(at, opposite, value, text=text))
    anything = _in_some(at.lists, Exists(at.path))
    if op == "exists":
        return anything if truth(value, f"{at.name}.exists") else Not(anything)
    if op == "eq" and value is None:
        return Not(anything)
    if op == "in" and isinstance(value, list) and None in value:
        rest = [one for one in cast("list[Any]", value) if one is not None]
        return Or((Not(anything), asked(at, "in", rest, text=text)))
    return _in_some(at.lists, asked(replace(at, lists=()), op, value, text=text))


def _in_some(lists: tuple[Path, ...], wanted: Filter) -> Filter:
    for path in reversed(lists):
        wanted = Some(path, wanted)
    return wanted


def _part(at: Target, wanted: dict[str, Any], depth: int = 0) -> Filter:
    """An object, or an object of a list, that has these members and perhaps others."""
    if not (at.many or at.holds_object or at.kind is None):
        raise mismatch(at, wanted)
    if not wanted:
        raise InvalidInput(f"{at.name}.contains: an empty object says nothing.", hint="Use exists, or eq.")
    if depth > _DEEPEST or len(wanted) > MOST_VALUES:
        raise LimitExceeded(f"{at.name}.contains is too large.", hint=f"At most {_DEEPEST} levels.")
    both = And(tuple(_member(member(at, name), value, depth + 1) for name, value in wanted.items()))
    readings: list[Filter] = []
    if at.many or not at.holds_object:
        readings.append(Some(at.path, both))
    if at.holds_object or not at.many:
        readings.append(_moved(both, at.path))
    return readings[0] if len(readings) == 1 else Or(tuple(readings))


def _member(at: Target, value: Any, depth: int) -> Filter:
    if isinstance(value, dict):
        return _part(at, cast("dict[str, Any]", value), depth)
    if not isinstance(value, list) or not value:
        return compared(at, "eq", value)
    if at.kind is not None and not at.many:
        raise mismatch(at, cast("list[Any]", value))
    return And(tuple(_element(at, one, depth) for one in cast("list[Any]", value)))


def _element(at: Target, value: Any, depth: int) -> Filter:
    if isinstance(value, dict):
        return _part(at, cast("dict[str, Any]", value), depth)
    return compared(at, "contains", value)


def _moved(wanted: Filter, path: Path) -> Filter:
    """The same question about what is at a path."""
    match wanted:
        case And() | Or():
            return type(wanted)(tuple(_moved(part, path) for part in wanted.parts))
        case Not():
            return Not(_moved(wanted.part, path))
        case _:
            return replace(wanted, path=(*path, *wanted.path))
