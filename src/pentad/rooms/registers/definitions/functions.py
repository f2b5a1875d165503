"""The functions of the expression language: names, numbers of arguments and implementations.

A function takes JSON values and the time of the call, and returns a JSON value. It raises InvalidValue for arguments it
cannot use, and never returns a text longer than the limit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, cast

from pentad.kernel.clock import iso, parse_iso

LONGEST_TEXT: Final = 65_536
MOST_DAYS: Final = 3_660_000


class InvalidValue(Exception):
    """A value that an operation cannot use; the evaluator adds the place."""


@dataclass(frozen=True, slots=True)
class Function:
    least: int
    most: int
    run: Callable[[Sequence[Any], float], Any]


def as_text(value: Any) -> str:
    """A scalar as people would write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    raise InvalidValue("wants texts and numbers, not a list or an object")


def kind_of(value: Any) -> str:
    names = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list", type(None): "null"}
    return names.get(cast("type[Any]", type(value)), "an object")


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise InvalidValue(f"wants a text, not {kind_of(value)}")


def _integer(value: Any, most: int) -> int:
    if is_number(value) and value == int(value) and abs(value) <= most:
        return int(value)
    raise InvalidValue(f"wants a whole number up to {most}, not {value!r}"[:120])


def _numbers(values: Sequence[Any]) -> list[Any]:
    """The arguments, or the members of the only argument if it is a list, without nulls."""
    flat = cast("list[Any]", values[0]) if len(values) == 1 and isinstance(values[0], list) else values
    found = [value for value in flat if value is not None]
    if wrong := [value for value in found if not is_number(value)]:
        raise InvalidValue(f"wants numbers, not {kind_of(wrong[0])}")
    return found


def _bounded(length: int) -> None:
    if length > LONGEST_TEXT:
        raise InvalidValue(f"makes a text of more than {LONGEST_TEXT} characters")


def _concat(values: Sequence[Any], _: float) -> str:
    texts = [as_text(value) for value in values]
    _bounded(sum(map(len, texts)))
    return "".join(texts)


def _join(values: Sequence[Any], _: float) -> str:
    if not isinstance(values[0], list):
        raise InvalidValue(f"wants a list, not {kind_of(values[0])}")
    texts = [as_text(value) for value in cast("list[Any]", values[0]) if value is not None]
    separator = _text(values[1]) if len(values) > 1 else ", "
    _bounded(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _replace(values: Sequence[Any], _: float) -> str:
    text, old, new = (_text(value) for value in values)
    if not old:
        raise InvalidValue("cannot replace an empty text")
    _bounded(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _slice(values: Sequence[Any], _: float) -> Any:
    if not isinstance(values[0], str | list):
        raise InvalidValue(f"wants a text or a list, not {kind_of(values[0])}")
    first = _integer(values[1], 10**9)
    last = _integer(values[2], 10**9) if len(values) > 2 and values[2] is not None else None
    return cast("str | list[Any]", values[0])[first:last]


def _length(values: Sequence[Any], _: float) -> int:
    if not isinstance(values[0], str | list | dict):
        raise InvalidValue(f"wants a text, a list or an object, not {kind_of(values[0])}")
    return len(cast("str | list[Any]", values[0]))


def _count(values: Sequence[Any], _: float) -> int:
    members = cast("list[Any]", values[0]) if isinstance(values[0], list) else values
    return sum(value is not None for value in members)


def _round(values: Sequence[Any], _: float) -> Any:
    if not is_number(values[0]):
        raise InvalidValue(f"wants a number, not {kind_of(values[0])}")
    digits = _integer(values[1], 10) if len(values) > 1 else 0
    # Decimal of the number as written: people expect 2.675 to round to 2.68, whatever its binary value.
    rounded = Decimal(str(values[0]))
    if rounded.adjusted() < 25:
        rounded = rounded.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return int(rounded) if digits <= 0 else float(rounded)


def _abs(values: Sequence[Any], _: float) -> Any:
    if not is_number(values[0]):
        raise InvalidValue(f"wants a number, not {kind_of(values[0])}")
    return abs(values[0])


def _parse_time(value: Any) -> datetime:
    try:
        return parse_iso(_text(value))
    except ValueError:
        raise InvalidValue(f"wants a date or date-time, not {str(value)[:40]!r}") from None


def _add_days(values: Sequence[Any], _: float) -> str:
    text, days = _text(values[0]), _integer(values[1], MOST_DAYS)
    try:
        if len(text) == 10:
            return (_parse_time(text).date() + timedelta(days=days)).isoformat()
        return iso((_parse_time(text) + timedelta(days=days)).timestamp())
    except (OverflowError, ValueError, OSError):
        raise InvalidValue("goes past the years 1 to 9999") from None


def _today(now: float) -> date:
    return datetime.fromtimestamp(now, UTC).date()


def _of_text(change: Callable[[str], str]) -> Function:
    return Function(1, 1, lambda values, _: change(_text(values[0])))


def _of_numbers(pick: Callable[[list[Any]], Any]) -> Function:
    return Function(1, 32, lambda values, _: pick(_numbers(values)))


FUNCTIONS: Final[dict[str, Function]] = {
    "concat": Function(1, 32, _concat),
    "upper": _of_text(str.upper),
    "lower": _of_text(str.lower),
    "trim": _of_text(str.strip),
    "length": Function(1, 1, _length),
    "slice": Function(2, 3, _slice),
    "join": Function(1, 2, _join),
    "replace": Function(3, 3, _replace),
    "text": Function(1, 1, lambda values, _: as_text(values[0])),
    "round": Function(1, 2, _round),
    "abs": Function(1, 1, _abs),
    "min": _of_numbers(lambda numbers: min(numbers, default=None)),
    "max": _of_numbers(lambda numbers: max(numbers, default=None)),
    "sum": _of_numbers(sum),
    "count": Function(1, 32, _count),
    "coalesce": Function(1, 32, lambda values, _: next((value for value in values if value is not None), None)),
    "list": Function(0, 32, lambda values, _: list(values)),
    "now": Function(0, 0, lambda _, now: iso(now)),
    "today": Function(0, 0, lambda _, now: _today(now).isoformat()),
    "year": Function(1, 1, lambda values, _: _parse_time(values[0]).year),
    "add_days": Function(2, 2, _add_days),
}
