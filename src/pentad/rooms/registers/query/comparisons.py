"""One comparison of a query: operator and value, made to fit the place they are about.

Values come typed from JSON or as text from a URL; a text is read as what the property holds. A value that cannot meet
the property is refused, saying what the property holds.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Literal, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.query.moments import instant, moment
from pentad.rooms.registers.query.targets import Target
from pentad.rooms.registers.query.tree import (
    Compare,
    Comparison,
    Contains,
    Empty,
    Exists,
    Filter,
    In,
    Like,
    Not,
    Or,
    Scalar,
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


def operator(name: str) -> Operator | None:
    """The operator a name means, with or without a dollar sign."""
    bare = name.removeprefix("$")
    return bare if bare in OPERATORS else None


def unknown_operator(where: str, name: str) -> InvalidInput:
    guess = did_you_mean(name.removeprefix("$"), OPERATORS)
    return InvalidInput(
        f"{where}: there is no operator {name[:40]!r}.{' ' + guess if guess else ''}",
        hint=f"Operators are {', '.join(OPERATORS)}.",
    )


def compared(at: Target, op: Operator, value: Any, *, text: bool = False) -> Filter:
    """The comparison as a filter. `text` says that the value came as text and is to be read as the property's kind."""
    match op:
        case "in" | "nin":
            return _listed(at, value, negated=op == "nin", text=text)
        case "like":
            return Like(at.path, _pattern(at, value))
        case "exists":
            return Exists(at.path, truth(value, f"{at.name}.exists"))
        case "contains":
            return Contains(at.path, _contained(at, value, text=text))
        case _:
            return _single(at, op, value, text=text)


def truth(value: Any, where: str) -> bool:
    """True or false, also as a URL writes them."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in (*_TRUE, *_FALSE):
        return value.lower() in _TRUE
    raise InvalidInput(f"{where} must be true or false.")


def _single(at: Target, op: Comparison, value: Any, *, text: bool) -> Filter:
    if isinstance(value, list):
        if op not in ("eq", "ne"):
            raise InvalidInput(f"{at.name}.{op} takes one value, not a list.", hint="Use in or nin for lists.")
        if not value:
            return Empty(at.path, "array") if op == "eq" else Not(Empty(at.path, "array"))
        return _listed(at, cast("list[Any]", value), negated=op == "ne", text=text)
    if value == {} and op in ("eq", "ne") and (at.holds_object or at.kind is None):
        return Empty(at.path, "object") if op == "eq" else Not(Empty(at.path, "object"))
    read = scalar(at, value, text=text)
    if op in _ORDERED:
        if read is None or isinstance(read, bool) or at.many:
            raise InvalidInput(
                f"{at.name}.{op} cannot be asked: {at.name} is {at.described} and the value {_shown(value)}.",
                hint="Only numbers, texts and times have an order.",
            )
        return Compare(at.path, op, read)
    if at.many and read is not None:
        return Contains(at.path, read) if op == "eq" else Not(Contains(at.path, read))
    return Compare(at.path, op, read)


def _listed(at: Target, value: Any, *, negated: bool, text: bool) -> Filter:
    """One of several; of an array, one of its elements."""
    if isinstance(value, str) and text:
        value = value.split(",")
    if not isinstance(value, list):
        raise InvalidInput(f"{at.name}.{'nin' if negated else 'in'} takes a list.", hint='Write {"in": ["a", "b"]}.')
    values = cast("list[Any]", value)
    if len(values) > MOST_VALUES:
        raise LimitExceeded(f"{at.name}: a list has at most {MOST_VALUES} values, not {len(values)}.")
    read = tuple(scalar(at, one, text=text) for one in values)
    if not at.many:
        return In(at.path, read, negated)
    any_of = Or(tuple(Compare(at.path, "eq", None) if one is None else Contains(at.path, one) for one in read))
    return Not(any_of) if negated else any_of


def _pattern(at: Target, value: Any) -> str:
    if not isinstance(value, str) or at.many or at.kind not in ("text", "moment", None):
        raise InvalidInput(
            f"{at.name}.like compares texts; {at.name} is {at.described} and the value {_shown(value)}.",
            hint="Use eq, gt, lt or in.",
        )
    if len(value) > _LONGEST_PATTERN:
        raise LimitExceeded(f"{at.name}.like: a pattern has at most {_LONGEST_PATTERN} characters.")
    return value


def _contained(at: Target, value: Any, *, text: bool) -> Scalar:
    if not at.many and at.kind in ("number", "boolean"):
        raise InvalidInput(f"{at.name}.contains asks for a part; {at.name} is {at.described}.", hint="Use eq or in.")
    if at.kind == "moment" and not at.many:  # a part of the text as it is written
        at = replace(at, kind="text")
    return scalar(at, value, text=text)


def scalar(at: Target, value: Any, *, text: bool = False) -> Scalar:
    """A value that can meet the place, or InvalidInput saying what the place holds."""
    if value is None:
        return None
    if at.time:
        return moment(value, at.name)
    if at.kind == "moment":
        return instant(value, at.name)
    if text and isinstance(value, str):
        return _from_text(at, value)
    fits: dict[str | None, Callable[[Any], bool]] = {
        "text": lambda one: isinstance(one, str),
        "number": _is_number,
        "boolean": lambda one: isinstance(one, bool),
        None: lambda one: isinstance(one, str | bool) or _is_number(one),
    }
    if at.path[0] == "@self" and at.kind == "number" and isinstance(value, str):
        return _from_text(at, value)
    if not fits[at.kind](value):
        raise mismatch(at, value)
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        raise LimitExceeded(f"{at.name}: a value has at most {_LONGEST_TEXT} characters.")
    return value


def _from_text(at: Target, value: str) -> Scalar:
    if at.kind == "number":
        try:
            number = int(value) if len(value) < 19 and value.lstrip("+-").isdecimal() else float(value)
        except ValueError:
            raise mismatch(at, value) from None
        if not math.isfinite(number):
            raise mismatch(at, value)
        return number
    if at.kind == "boolean":
        if value.lower() not in (*_TRUE, *_FALSE):
            raise mismatch(at, value)
        return value.lower() in _TRUE
    if len(value) > _LONGEST_TEXT:
        raise LimitExceeded(f"{at.name}: a value has at most {_LONGEST_TEXT} characters.")
    return value


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -(2**63) <= value < 2**63 if isinstance(value, int) else math.isfinite(value)


def mismatch(at: Target, value: Any) -> InvalidInput:
    if at.kind in ("number", None) and isinstance(value, int) and not isinstance(value, bool):
        return InvalidInput(
            f"{at.name}: the filter's number has more than 64 bits.", hint="Write it with an exponent, such as 1e20."
        )
    return InvalidInput(
        f"{at.name} is {at.described}; the filter gives {_shown(value)}.",
        hint="Give a value of that type.",
        details={"property": at.name, "expected": at.described},
    )


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {value[:60]!r}"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    return f"the number {value:.6g}" if isinstance(value, float) or abs(value) < 2**64 else "a very large number"
