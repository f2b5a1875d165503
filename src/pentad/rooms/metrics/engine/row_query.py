"""Queries over rows: conditions, groups, aggregates, order. Knows no collector; `metric_rows.py` makes the rows.

A missing value satisfies no comparison and is never a zero. Rows with a missing value are counted as undecided, and an
aggregate says how many of its parts are missing.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean

Row = dict[str, Any]
"""Values by column. `state` is missing if it is ok."""

METRIC: Final = "metric"
VALUE: Final = "value"
STATE: Final = "state"
UNIT: Final = "unit"
NOT_SELECTED: Final = "not_selected"
MOST_CONDITIONS: Final = 20
LONGEST_CONDITION: Final = 500
_CONDITION: Final = re.compile(r"\s*([\w.\-]+)\s*(!=|>=|<=|!~|=|>|<|~|\bin\b)\s*(\S.*?)\s*", re.IGNORECASE | re.DOTALL)
_AGGREGATE: Final = re.compile(r"\s*([a-z]+)\s*(?:\(\s*([\w.\-]+)\s*\))?\s*", re.IGNORECASE)
_QUOTED_OR_AND: Final = re.compile(r""""[^"]*"|'[^']*'|(?<=\s)(and)(?=\s)""", re.IGNORECASE)
_OPERATORS: Final = "=, !=, <, <=, >, >=, ~ (contains), !~, in"
_ORDERED: Final = frozenset({"<", "<=", ">", ">="})


class Condition(msgspec.Struct, frozen=True):
    """One condition of `where`."""

    column: str
    operator: str
    values: tuple[str, ...]


class Aggregate(msgspec.Struct, frozen=True):
    """A function over a column, or over whole rows."""

    function: str
    column: str | None

    @property
    def name(self) -> str:
        """The column of its result."""
        return self.function if self.column in (None, VALUE) else f"{self.function}({self.column})"


class RowQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed query."""

    where: tuple[Condition, ...] = ()
    group_by: tuple[str, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    sort: tuple[tuple[str, bool], ...] = ()
    """Columns, each with whether the greatest comes first."""

    @property
    def named(self) -> frozenset[str]:
        """The columns that conditions and groups name."""
        return frozenset({*(one.column for one in self.where), *self.group_by})


class FoundRows(msgspec.Struct, kw_only=True):
    """The resulting rows, in order."""

    rows: list[Row]
    undecided: Counter[str]
    """How many rows could not be tested because a value is missing, by its state."""


def parse_query(
    where: Iterable[str], group_by: Sequence[str], aggregate: Iterable[str], sort: Iterable[str], default: str
) -> RowQuery:
    """Parse a query. Groups without an aggregate use `default`."""
    conditions = tuple(_condition(part) for text in where for part in _split_conditions(text) if part.strip())
    if len(conditions) > MOST_CONDITIONS:
        raise InvalidInput(f"There are {len(conditions)} conditions.", hint=f"At most {MOST_CONDITIONS} are read.")
    aggregates = tuple(_aggregate(text) for text in aggregate)
    if group_by and not aggregates:
        aggregates = (_aggregate(default),)
    order = tuple(_order(text) for text in sort)
    return RowQuery(where=conditions, group_by=tuple(group_by), aggregates=aggregates, sort=order)


def _split_conditions(text: str) -> list[str]:
    """The parts between `and`s that are not in quotes."""
    parts: list[str] = []
    start = 0
    for found in _QUOTED_OR_AND.finditer(text):
        if found[1]:
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


def _condition(text: str) -> Condition:
    found = _CONDITION.fullmatch(text) if len(text) <= LONGEST_CONDITION else None
    if found is None:
        raise InvalidInput(
            f"{text[:80]!r} is not a condition.",
            hint=f"Write `column operator value`, as in `value > 0`; operators: {_OPERATORS}. Quote values with `and`.",
        )
    column, operator, value = found.groups()
    operator = operator.lower()
    if operator != "in":
        return Condition(column, operator, (_unquoted(value),))
    inner = value[1:-1] if value[0] + value[-1] in ("()", "[]") else value
    return Condition(column, operator, tuple(_unquoted(part) for part in inner.split(",") if part.strip()))


def _unquoted(text: str) -> str:
    plain = text.strip()
    return plain[1:-1] if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'" else plain


def _aggregate(text: str) -> Aggregate:
    found = _AGGREGATE.fullmatch(text) if len(text) <= LONGEST_CONDITION else None
    function = found[1].lower().replace("avg", "mean") if found is not None else ""
    if found is None or function not in FUNCTIONS:
        raise InvalidInput(
            f"{text[:80]!r} is not an aggregate.", hint=f"One of {', '.join(FUNCTIONS)}, also of a column: sum(vcores)."
        )
    return Aggregate(function, found[2])


def _order(text: str) -> tuple[str, bool]:
    words = text.split()
    column = words[0].lstrip("-+") if words else ""
    if not column or len(words) > 2 or (len(words) == 2 and words[1].lower() not in ("asc", "desc")):
        raise InvalidInput(
            f"{text[:80]!r} is not a sort order.", hint="Write `-value` or `value desc`; `value` for the least first."
        )
    return column, words[0].startswith("-") or words[-1].lower() == "desc"


def run_query(rows: Sequence[Row], query: RowQuery, known: Collection[str] = ()) -> FoundRows:
    """Run a query. `known` are columns that exist even if no row has them."""
    columns = {*known, *(name for row in rows for name in row)}
    if rows:
        for name in (*(one.column for one in query.where), *query.group_by):
            _refuse_unknown(name, columns)
        for one in query.aggregates:
            _refuse_unsuitable(one, rows, columns)
    kept, undecided = _filtered(rows, query.where)
    if query.aggregates:
        kept = _grouped(kept, query)
        columns = {METRIC, *query.group_by, *(one.name for one in query.aggregates)}
    for name, _ in query.sort if rows else ():
        _refuse_unknown(name, columns)
    for name, descending in reversed(query.sort or _usual_order(kept, query)):
        kept = _sorted(kept, name, descending=descending)
    return FoundRows(rows=kept, undecided=undecided)


def _usual_order(rows: Sequence[Row], query: RowQuery) -> Sequence[tuple[str, bool]]:
    """The greatest first; rows without a number stay as they are."""
    if query.aggregates:
        return ((query.aggregates[0].name, True),)
    has_numbers = any(isinstance(row.get(VALUE), int | float) for row in rows)
    return ((VALUE, True),) if has_numbers else ()


def _refuse_unknown(name: str, columns: Collection[str]) -> None:
    if name not in columns:
        guess = did_you_mean(name, sorted(columns))
        raise InvalidInput(
            f"There is no column {name[:80]!r}.{' ' + guess if guess else ''}",
            hint=f"Columns here: {', '.join(sorted(columns))}.",
        )


def _refuse_unsuitable(one: Aggregate, rows: Sequence[Row], columns: Collection[str]) -> None:
    if one.column is None:
        if one.function != "count" and VALUE not in columns:
            raise InvalidInput(
                f"`{one.function}` needs a column.",
                hint=f"Write {one.function}(column), one of: {', '.join(sorted(columns))}.",
            )
    else:
        _refuse_unknown(one.column, columns)
    if one.function == "sum" and one.column in (None, VALUE) and any(row.get(UNIT) == "%" for row in rows):
        raise InvalidInput("These figures are shares (%), which have no sum.", hint="Use mean, max or min.")


def _filtered(rows: Iterable[Row], conditions: Sequence[Condition]) -> tuple[list[Row], Counter[str]]:
    kept: list[Row] = []
    undecided: Counter[str] = Counter()
    for row in rows:
        verdicts = [_holds(row, one) for one in conditions]
        if all(verdicts):
            kept.append(row)
        elif None in verdicts and False not in verdicts and row[STATE] != NOT_SELECTED:
            undecided[row[STATE]] += 1
    return kept, undecided


def _holds(row: Row, condition: Condition) -> bool | None:
    """Whether a row satisfies a condition; None if its value is missing for a reason."""
    given = row.get(condition.column)
    if condition.column == STATE:
        given = given or "ok"
    wanted, operator = condition.values, condition.operator
    if wanted == ("null",) and operator in ("=", "!="):
        return (given is None) is (operator == "=")
    if given is None:
        return None if row.get(STATE) else operator in ("!=", "!~")
    entries = cast("list[Any]", given) if isinstance(given, list) else [given]
    if operator in _ORDERED:
        return any(_is_ordered(one, operator, wanted[0]) for one in entries)
    if operator in ("~", "!~"):
        has = any(wanted[0].casefold() in _text(one).casefold() for one in entries)
        return has is (operator == "~")
    equal = any(_is_equal(one, value) for one in entries for value in wanted)
    return equal is not (operator == "!=")


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_equal(one: Any, value: str) -> bool:
    first, second = _number(one), _number(value)
    if first is not None and second is not None:
        return first == second
    return _text(one).casefold() == value.casefold()


def _is_ordered(one: Any, operator: str, value: str) -> bool:
    first, second = _number(one), _number(value)
    if (first is None) is not (second is None):
        return False
    left: Any = first if first is not None else _text(one)
    right: Any = second if second is not None else value
    less, equal = left < right, left == right
    return {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}[operator]


def _grouped(rows: Iterable[Row], query: RowQuery) -> list[Row]:
    names = list(dict.fromkeys((METRIC, *query.group_by)))
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        for place in _places(row, names):
            groups.setdefault(place, []).append(row)
    found: list[Row] = []
    for place, some in groups.items():
        result = {name: value for name, value in zip(names, place, strict=True) if value is not None}
        result |= {name: None for name in query.group_by if name not in result}
        for one in query.aggregates:
            result[one.name] = _value_of(one, some)
        found.append({**result, **_quality(some, query.aggregates[0])})
    return found


def _places(row: Row, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The groups of a row: one, or one for each entry of a list."""
    places: list[tuple[Any, ...]] = [()]
    for name in names:
        value = row.get(name)
        entries: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        places = [(*place, entry) for place in places for entry in entries or [None]]
    return places


def _column(one: Aggregate, rows: Sequence[Row]) -> str | None:
    """The column that an aggregate reads; None if it counts whole rows."""
    return one.column or (VALUE if VALUE in rows[0] else None)


def _value_of(one: Aggregate, rows: Sequence[Row]) -> Any:
    column = _column(one, rows)
    if column is None:
        return len(rows)
    given = [row.get(column) for row in rows]
    return FUNCTIONS[one.function]([value for value in given if value is not None])


def _quality(rows: Sequence[Row], one: Aggregate) -> Row:
    """The unit and state of an aggregate, and the number of its missing parts by state."""
    column = _column(one, rows)
    if column is None:  # items are counted, even if details are missing
        return {STATE: "stale"} if any(row.get(STATE) == "stale" for row in rows) else {}
    missing = Counter(str(row[STATE]) for row in rows if row.get(STATE) and row.get(column) is None)
    units = {row.get(UNIT) for row in rows}
    view: Row = {}
    if one.function in ("sum", "mean", "min", "max") and column == VALUE and len(units) == 1 and None not in units:
        view[UNIT] = units.pop()
    if (state := _state(rows, column)) != "ok":
        view[STATE] = state
    if missing:
        view["missing"] = dict(missing)
    return view


def _state(rows: Sequence[Row], column: str) -> str:
    counted = [row for row in rows if row.get(STATE) != NOT_SELECTED]
    states = {str(row.get(STATE, "ok")) for row in counted}
    if not counted:
        return NOT_SELECTED
    if states == {"ok"}:
        return "ok"
    if states <= {"ok", "stale"}:
        return "stale"
    if any(row.get(column) is not None for row in counted) or "ok" in states:
        return "partial"
    return states.pop() if len(states) == 1 else "failed"


def _numbers(values: Iterable[Any]) -> list[Decimal]:
    return [Decimal(str(value)) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(f"{number:.12g}")


def _sum(values: list[Any]) -> int | float | None:
    """The exact sum; None without values, because a zero would be invented."""
    found = _numbers(values)
    return _plain(sum(found, Decimal(0))) if found else None


def _mean(values: list[Any]) -> int | float | None:
    found = _numbers(values)
    return _plain(sum(found, Decimal(0)) / len(found)) if found else None


def _least(values: list[Any]) -> int | float | None:
    return _plain(min(found)) if (found := _numbers(values)) else None


def _greatest(values: list[Any]) -> int | float | None:
    return _plain(max(found)) if (found := _numbers(values)) else None


def _entries(values: Iterable[Any]) -> list[Any]:
    """The distinct values, and entries of lists, in order of first appearance."""
    flat = (entry for value in values for entry in (cast("list[Any]", value) if isinstance(value, list) else [value]))
    return list(dict.fromkeys(flat))


FUNCTIONS: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "sum": _sum,
    "mean": _mean,
    "min": _least,
    "max": _greatest,
    "count": len,
    "distinct": lambda values: len(_entries(values)),
    "values": _entries,
}


def _sorted(rows: Sequence[Row], name: str, *, descending: bool) -> list[Row]:
    """In the order of a column, numbers before texts; rows without a value come last."""
    known = [row for row in rows if row.get(name) is not None]
    known.sort(key=lambda row: _sort_key(row[name]), reverse=descending)
    return [*known, *(row for row in rows if row.get(name) is None)]


def _sort_key(value: Any) -> tuple[bool, Any]:
    if isinstance(value, int | float):
        return False, value
    if isinstance(value, list):
        return False, len(cast("list[Any]", value))
    return True, str(value).casefold()
