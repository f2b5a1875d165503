"""The filter language in JSON, and single comparisons for every parser.

    {"status": "open", "price": {"gte": 5, "lt": 9}, "tags": ["a", "b"], "address.city": {"like": "de%"},
     "or": [{"due": null}, {"not": {"@self.owner": "user:ada"}}]}

All members of an object must hold. A list means "one of". Operators, and and/or/not, may start with a dollar sign.
Lists of objects, and objects by some of their members:

    {"lines.sku": "A-1"}                               some object of the list `lines` has it
    {"lines": {"contains": {"sku": "A-1", "qty": 2}}}  one and the same object has both
    {"address": {"contains": {"city": "Delft"}}}       the object has it, whatever else it has

Over lists, `ne`, `nin`, `exists: false` and null are true if no object of the list satisfies the opposite. Related
objects work the same way, through references in either direction:

    {"applicant.city": "Delft"}                        the object referred to has it
    {"permits.status": "open"}                         some object that refers here has it
    {"permits": {"status": "open", "fee": {"gt": 9}}}  one and the same object has both
    {"permits": {"exists": false}}                     no object refers here

Values come typed from JSON or as text from a URL; text is read as the property's kind. A value that can never match is
refused, and the error says what the property holds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.query.datetimes import parse_instant, parse_relative, parse_time
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import (
    And,
    AnyElement,
    Compare,
    Comparison,
    Contains,
    Empty,
    Exists,
    Filter,
    Hops,
    In,
    Like,
    Not,
    Or,
    Path,
    Related,
    Scalar,
    filter_paths,
)
from pentad.rooms.registers.query.query_fields import (
    QueryField,
    QuerySchema,
    resolve_field,
    resolve_member,
    resolve_related,
)

Operator = Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "like", "exists", "contains"]
OPERATORS: Final[tuple[Operator, ...]] = (
    *("eq", "ne", "gt", "gte", "lt", "lte"),
    *("in", "nin", "like", "exists", "contains"),
)
MOST_VALUES: Final = 500
_LONGEST_PATTERN: Final = 500
_LONGEST_TEXT: Final = 10_000
_ORDERED: Final = ("gt", "gte", "lt", "lte")
_TRUE: Final = ("true", "1", "yes", "on")
_FALSE: Final = ("false", "0", "no", "off")


def read_operator(name: str) -> Operator | None:
    """The operator for a name, with or without a dollar sign."""
    bare = name.removeprefix("$")
    return bare if bare in OPERATORS else None


def unknown_operator(where: str, name: str) -> InvalidInput:
    guess = did_you_mean(name.removeprefix("$"), OPERATORS)
    return InvalidInput(
        f"{where}: there is no operator {name[:40]!r}.{' ' + guess if guess else ''}",
        hint=f"Operators are {', '.join(OPERATORS)}.",
    )


@dataclass(frozen=True, slots=True)
class ValueReader:
    """Reads the values of a query.

    Relative times count from `now`; without it they are refused. With `text`, the values are text, read as the
    property's kind.
    """

    now: float | None
    text: bool = False

    def read(self, at: QueryField, value: Any) -> Scalar:
        """The value, read as the property's kind. Raises InvalidInput if it does not fit."""
        if value is None:
            return None
        if at.time:
            return parse_time(value, at.name, self.now)
        if at.kind == "moment":
            return parse_instant(value, at.name, self.now)
        if at.date and (moment := parse_relative(value, self.now)) is not None:
            return moment.date().isoformat()
        if self.text and isinstance(value, str):
            return _from_text(at, value)
        if at.path[0] == SELF and at.kind == "number" and isinstance(value, str):
            return _from_text(at, value)
        if not _FITS[at.kind](value):
            raise type_mismatch(at, value)
        if isinstance(value, str) and len(value) > _LONGEST_TEXT:
            raise LimitExceeded(f"{at.name}: a value has at most {_LONGEST_TEXT} characters.")
        return value


def simple_comparison(at: QueryField, op: Operator, value: Any, reader: ValueReader) -> Filter:
    """The comparison as a filter."""
    match op:
        case "in" | "nin":
            return _one_of(at, value, negated=op == "nin", reader=reader)
        case "like":
            return Like(at.path, _pattern(at, value))
        case "exists":
            return Exists(at.path, read_bool(value, f"{at.name}.exists"))
        case "contains":
            return Contains(at.path, _contained(at, value, reader))
        case _:
            return _single(at, op, value, reader)


def read_bool(value: Any, where: str) -> bool:
    """A boolean, also as text from a URL."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in (*_TRUE, *_FALSE):
        return value.lower() in _TRUE
    raise InvalidInput(f"{where} must be true or false.")


def _single(at: QueryField, op: Comparison, value: Any, reader: ValueReader) -> Filter:
    if isinstance(value, list):
        if op not in ("eq", "ne"):
            raise InvalidInput(f"{at.name}.{op} takes one value, not a list.", hint="Use in or nin for lists.")
        if not value:
            return Empty(at.path, "array") if op == "eq" else Not(Empty(at.path, "array"))
        return _one_of(at, cast("list[Any]", value), negated=op == "ne", reader=reader)
    if value == {} and op in ("eq", "ne") and (at.holds_object or at.kind is None):
        return Empty(at.path, "object") if op == "eq" else Not(Empty(at.path, "object"))
    read = reader.read(at, value)
    if op in _ORDERED:
        if read is None or isinstance(read, bool) or at.many:
            raise InvalidInput(
                f"{at.name}.{op} is not possible: {at.name} is {at.described} and the value {_described(value)}.",
                hint="Only numbers, texts and times have an order.",
            )
        return Compare(at.path, op, read)
    if at.many and read is not None:
        return Contains(at.path, read) if op == "eq" else Not(Contains(at.path, read))
    return Compare(at.path, op, read)


def _one_of(at: QueryField, value: Any, *, negated: bool, reader: ValueReader) -> Filter:
    """A filter for one of several values; for an array, one of its elements."""
    if isinstance(value, str) and reader.text:
        value = value.split(",")
    if not isinstance(value, list):
        raise InvalidInput(f"{at.name}.{'nin' if negated else 'in'} takes a list.", hint='Write {"in": ["a", "b"]}.')
    values = cast("list[Any]", value)
    if len(values) > MOST_VALUES:
        raise LimitExceeded(f"{at.name}: a list has at most {MOST_VALUES} values, not {len(values)}.")
    read = tuple(reader.read(at, one) for one in values)
    if not at.many:
        return In(at.path, read, negated)
    any_of = Or(tuple(Compare(at.path, "eq", None) if one is None else Contains(at.path, one) for one in read))
    return Not(any_of) if negated else any_of


def _pattern(at: QueryField, value: Any) -> str:
    if not isinstance(value, str) or at.many or at.kind not in ("text", "moment", None):
        raise InvalidInput(
            f"{at.name}.like compares texts; {at.name} is {at.described} and the value {_described(value)}.",
            hint="Use eq, gt, lt or in.",
        )
    if len(value) > _LONGEST_PATTERN:
        raise LimitExceeded(f"{at.name}.like: a pattern has at most {_LONGEST_PATTERN} characters.")
    return value


def _contained(at: QueryField, value: Any, reader: ValueReader) -> Scalar:
    if not at.many and at.kind in ("number", "boolean"):
        raise InvalidInput(f"{at.name}.contains asks for a part; {at.name} is {at.described}.", hint="Use eq or in.")
    if at.kind == "moment" and not at.many:  # matches the text literally
        at = replace(at, kind="text")
    return reader.read(at, value)


def _from_text(at: QueryField, value: str) -> Scalar:
    if at.kind == "number":
        try:
            number = int(value) if len(value) < 19 and value.lstrip("+-").isdecimal() else float(value)
        except ValueError:
            raise type_mismatch(at, value) from None
        if not math.isfinite(number):
            raise type_mismatch(at, value)
        return number
    if at.kind == "boolean":
        if value.lower() not in (*_TRUE, *_FALSE):
            raise type_mismatch(at, value)
        return value.lower() in _TRUE
    if len(value) > _LONGEST_TEXT:
        raise LimitExceeded(f"{at.name}: a value has at most {_LONGEST_TEXT} characters.")
    return value


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -(2**63) <= value < 2**63 if isinstance(value, int) else math.isfinite(value)


_FITS: Final[dict[str | None, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    None: lambda value: isinstance(value, str | bool) or _is_number(value),
}
"""Tests whether a value is of a property's kind."""


def type_mismatch(at: QueryField, value: Any) -> InvalidInput:
    if at.kind in ("number", None) and isinstance(value, int) and not isinstance(value, bool):
        return InvalidInput(
            f"{at.name}: the filter's number has more than 64 bits.", hint="Write it with an exponent, such as 1e20."
        )
    return InvalidInput(
        f"{at.name} is {at.described}; the filter gives {_described(value)}.",
        hint="Give a value of that type.",
        details={"property": at.name, "expected": at.described},
    )


def _described(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {value[:60]!r}"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    return f"the number {value:.6g}" if isinstance(value, float) or abs(value) < 2**64 else "a very large number"


_OPPOSITES: Final[dict[Operator, Operator]] = {"ne": "eq", "nin": "in"}
_DEEPEST_PART: Final = 16


def build_comparison(at: QueryField, op: Operator, value: Any, reader: ValueReader) -> Filter:
    """One comparison as a filter, for any kind of place."""
    if not at.lists and not at.hops:
        if op == "contains" and isinstance(value, dict):
            return _partial_object(at, cast("dict[str, Any]", value), reader)
        return simple_comparison(at, op, value, reader)
    if at.is_relation and op == "contains":
        op = "eq"
    opposite = _OPPOSITES.get(op)
    if opposite is not None:
        return Not(build_comparison(at, opposite, value, reader))
    anything = _in_some(at, Exists(at.path))
    if op == "exists":
        return anything if read_bool(value, f"{at.name}.exists") else Not(anything)
    if op == "eq" and (value is None or (at.is_relation and value == [])):
        return Not(anything)
    if op == "in" and isinstance(value, list) and None in value:
        rest = [one for one in cast("list[Any]", value) if one is not None]
        return Or((Not(anything), build_comparison(at, "in", rest, reader)))
    return _in_some(at, build_comparison(replace(at, lists=(), hops=()), op, value, reader))


def _in_some(at: QueryField, criteria: Filter) -> Filter:
    """A filter on one object of a list, or on one related object."""
    return related(at.hops, _in_lists(at.lists, criteria))


def related(hops: Hops, criteria: Filter) -> Filter:
    """A filter on one related object."""
    for hop in reversed(hops):
        found: Filter = Related(hop, criteria)
        if hop.embeds and not _asks_metadata(criteria):
            embedded = AnyElement(hop.path, criteria) if hop.many else _below_path(criteria, hop.path)
            found = Or((found, embedded))
        criteria = _in_lists(hop.lists, found)
    return criteria


def _in_lists(lists: tuple[Path, ...], criteria: Filter) -> Filter:
    for path in reversed(lists):
        criteria = AnyElement(path, criteria)
    return criteria


def _asks_metadata(criteria: Filter) -> bool:
    return any(path[0] == SELF for path in filter_paths(criteria))


def _partial_object(at: QueryField, criteria: dict[str, Any], reader: ValueReader, depth: int = 0) -> Filter:
    """A filter for an object, or an object in a list, with at least these members."""
    if not (at.many or at.holds_object or at.kind is None):
        raise type_mismatch(at, criteria)
    if not criteria:
        raise InvalidInput(f"{at.name}.contains: an empty object is not a condition.", hint="Use exists, or eq.")
    if depth > _DEEPEST_PART or len(criteria) > MOST_VALUES:
        raise LimitExceeded(f"{at.name}.contains is too large.", hint=f"At most {_DEEPEST_PART} levels.")
    both = And(tuple(_member(resolve_member(at, name), value, reader, depth + 1) for name, value in criteria.items()))
    readings: list[Filter] = []
    if at.many or not at.holds_object:
        readings.append(AnyElement(at.path, both))
    if at.holds_object or not at.many:
        readings.append(_below_path(both, at.path))
    return readings[0] if len(readings) == 1 else Or(tuple(readings))


def _member(at: QueryField, value: Any, reader: ValueReader, depth: int) -> Filter:
    if isinstance(value, dict):
        return _partial_object(at, cast("dict[str, Any]", value), reader, depth)
    if not isinstance(value, list) or not value:
        return simple_comparison(at, "eq", value, reader)
    if at.kind is not None and not at.many:
        raise type_mismatch(at, cast("list[Any]", value))
    return And(tuple(_element(at, one, reader, depth) for one in cast("list[Any]", value)))


def _element(at: QueryField, value: Any, reader: ValueReader, depth: int) -> Filter:
    if isinstance(value, dict):
        return _partial_object(at, cast("dict[str, Any]", value), reader, depth)
    return simple_comparison(at, "contains", value, reader)


def _below_path(criteria: Filter, path: Path) -> Filter:
    """The same filter, applied below a path."""
    match criteria:
        case And() | Or():
            return type(criteria)(tuple(_below_path(part, path) for part in criteria.parts))
        case Not():
            return Not(_below_path(criteria.part, path))
        case Related():
            return replace(criteria, hop=replace(criteria.hop, path=(*path, *criteria.hop.path)))
        case _:
            return replace(criteria, path=(*path, *criteria.path))


_DEEPEST: Final = 16
_MOST_PARTS: Final = 500
_LOGIC: Final = ("and", "or", "not")


def parse_filter(schema: QuerySchema, raw: Any, now: float) -> Filter | None:
    """Parse a filter from JSON; None for an empty one. Relative times count from `now`."""
    if raw is None or raw == {}:
        return None
    return _FilterParser(schema, ValueReader(now)).object(raw, "", 0)


class _FilterParser:
    """Reads one filter and counts its parts, to limit the size of a query."""

    def __init__(self, schema: QuerySchema, values: ValueReader) -> None:
        self._known = schema
        self._values = values
        self._parts = 0
        self._before = ""
        self._passed: int = 0

    def object(self, raw: Any, prefix: str, depth: int) -> Filter:
        if not isinstance(raw, dict):
            where = self._before + prefix
            raise InvalidInput(
                f"The filter{' of ' + where[:-1] if where else ''} must be an object.",
                hint='Write {"property": value} or {"property": {"gte": 5}}.',
            )
        if depth > _DEEPEST:
            raise LimitExceeded(f"The filter is nested deeper than {_DEEPEST} levels.", hint="Flatten it.")
        parts = [self._member(name, value, prefix, depth) for name, value in cast("dict[str, Any]", raw).items()]
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _member(self, name: str, value: Any, prefix: str, depth: int) -> Filter:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise LimitExceeded(f"The filter has more than {_MOST_PARTS} parts.", hint="Ask in several queries.")
        if name.removeprefix("$") in _LOGIC and (name.startswith("$") or prefix + name not in self._known.properties):
            return self._logic(name.removeprefix("$"), value, prefix, depth)
        if name == SELF and not prefix:
            return self.object(value, f"{SELF}.", depth + 1)
        at = self._field(prefix + name)
        if not isinstance(value, dict):
            return build_comparison(at, "in" if isinstance(value, list) else "eq", value, self._values)
        members = cast("dict[str, Any]", value)
        found: dict[str, Operator] = {key: op for key in members if (op := read_operator(key)) is not None}
        if at.is_relation and isinstance(part := members.get("contains"), dict) and len(members) == 1:
            return self._related(prefix + name, cast("dict[str, Any]", part), depth)
        if len(found) == len(members) and members:
            parts = [build_comparison(at, op, members[key], self._values) for key, op in found.items()]
            return parts[0] if len(parts) == 1 else And(tuple(parts))
        if members and not found and (at.is_relation or at.is_reference):
            return self._related(prefix + name, members, depth)
        if found or not members or not (at.holds_object or at.kind is None) or at.many:
            stray = next((key for key in members if key not in found), None)
            if stray is None:
                raise InvalidInput(
                    f"{at.name}: an empty object is not a condition.", hint=f"Use {', '.join(OPERATORS)}."
                )
            raise unknown_operator(at.name, stray)
        return self.object(members, f"{prefix}{name}.", depth + 1)

    def _field(self, name: str) -> QueryField:
        return resolve_field(self._known, name, before=self._before, passed=self._passed)

    def _related(self, name: str, members: dict[str, Any], depth: int) -> Filter:
        """A filter whose members must all hold for the same related object."""
        hops, schema = resolve_related(self._known, name, before=self._before, passed=self._passed)
        outer: tuple[QuerySchema, str, int] = (self._known, self._before, self._passed)
        self._known, self._before, self._passed = schema, f"{self._before}{name}.", self._passed + len(hops)
        try:
            return related(hops, self.object(members, "", depth + 1))
        finally:
            self._known, self._before, self._passed = outer

    def _logic(self, word: str, value: Any, prefix: str, depth: int) -> Filter:
        if word == "not":
            return Not(self.object(value, prefix, depth + 1))
        if not isinstance(value, list):
            raise InvalidInput(f"{word!r} takes a list of filters.", hint=f'Write {{"{word}": [{{...}}, {{...}}]}}.')
        parts = tuple(self.object(one, prefix, depth + 1) for one in cast("list[Any]", value))
        return And(parts) if word == "and" else Or(parts)
