"""Values with a state, and how to combine them. A missing value is never a zero.

A sum with missing parts is partial; if all parts are missing, it has no value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, overload

from pentad.kernel.clock import parse_iso
from pentad.rooms.metrics.models import State


class Cell(NamedTuple):
    """A value, or None with a state that says why."""

    value: Any
    state: State = "ok"


Entry = dict[str, Cell]
"""The figures of one environment, by key. Keys that begin with `_` are only for combining environments."""

Node = Any
"""A tree of dicts and lists. Its leaves are cells, and texts that serve as labels."""

DAY: Final = 86_400.0


def missing_state(cells: Iterable[Cell]) -> State:
    """The state of a result of these cells if none of them has a value."""
    states: set[State] = {cell.state for cell in cells if cell.state != "ok"}
    if len(states) > 1:
        return "failed"
    return states.pop() if states else "ok"


def combined_state(cells: Sequence[Cell]) -> State:
    """The state of a result of these cells, some of which may be missing."""
    states = {cell.state for cell in cells}
    if states <= {"ok"}:
        return "ok"
    if states <= {"ok", "stale"}:
        return "stale"
    return "partial" if any(cell.value is not None for cell in cells) else missing_state(cells)


def as_stale(cell: Cell) -> Cell:
    """The same value as a stale one."""
    return Cell(cell.value, "stale") if cell.state == "ok" else cell


def entry_state(cells: Iterable[Cell]) -> State:
    """The state of an entry whose figures have these states."""
    states: set[State] = {cell.state for cell in cells if cell.state != "ok"}
    if len(states) > 1:
        return "partial"
    return states.pop() if states else "ok"


@overload
def derive(function: Callable[[Any], Any], first: Cell, /) -> Cell: ...
@overload
def derive(function: Callable[[Any, Any], Any], first: Cell, second: Cell, /) -> Cell: ...
def derive(function: Callable[..., Any], /, *cells: Cell) -> Cell:
    """A value computed from all of these cells; missing if one of them is."""
    if len(cells) == 1:  # the usual case, and there are very many cells
        value, state = cells[0]
        return Cell(None, state) if value is None else Cell(function(value), state)
    if any(cell.value is None for cell in cells):
        return Cell(None, missing_state([cell for cell in cells if cell.value is None]))
    return Cell(function(*(cell.value for cell in cells)), combined_state(cells))


def sum_cells(cells: Sequence[Cell]) -> Cell:
    """The exact sum of the known values."""
    known = [cell.value for cell in cells if cell.value is not None]
    if cells and not known:
        return Cell(None, missing_state(cells))
    return Cell(exact_sum(known), combined_state(cells))


def exact_sum(numbers: Iterable[Any]) -> int | float:
    """A sum, in decimal arithmetic if needed: three times 0.1 is 0.3."""
    given = list(numbers)
    whole: Any = sum(given)
    return whole if isinstance(whole, int) else simplify(sum((Decimal(str(number)) for number in given), Decimal(0)))


def simplify(number: Decimal) -> int | float:
    """An int if the number is whole, else a float."""
    return int(number) if number == number.to_integral_value() else float(number)


def union_of(cells: Sequence[Cell]) -> Cell:
    """The distinct entries of all lists, in order of first appearance."""
    known = [cell.value for cell in cells if cell.value is not None]
    if cells and not known:
        return Cell(None, missing_state(cells))
    return Cell(list(dict.fromkeys(entry for value in known for entry in value)), combined_state(cells))


def count_of(cell: Cell) -> Cell:
    return Cell(None, cell.state) if cell.value is None else Cell(len(cell.value), cell.state)


def combine(entries: Sequence[Entry], keys: Sequence[str], lists: Mapping[str, str]) -> Entry:
    """The combined figures of environments. `lists` maps each list to the key of its count; the rest is summed."""
    counts = {count: name for name, count in lists.items()}
    found: Entry = {}
    for key in keys:
        if key in lists:
            found[key] = union_of([entry[key] for entry in entries])
        elif key in counts:
            found[key] = count_of(union_of([entry[counts[key]] for entry in entries]))
        else:
            found[key] = sum_cells([entry[key] for entry in entries])
    return found


def to_number(value: Any) -> int | float | None:
    """A number, also from text; None for anything else."""
    if isinstance(value, (int, float)):
        return None if isinstance(value, bool) else value
    try:
        number = Decimal(value) if isinstance(value, str) else None
    except ArithmeticError:
        return None
    return simplify(number) if number is not None and number.is_finite() else None


def number_or_missing(value: Any) -> Cell:
    """The cell of a number that an answer may lack."""
    number = to_number(value)
    return Cell(None, "failed") if number is None else Cell(number)


def product(first: Cell, second: Cell) -> Cell:
    """The exact product; missing if a factor is."""
    return derive(lambda one, two: simplify(Decimal(str(one)) * Decimal(str(two))), first, second)


def timestamp(text: Any) -> float:
    """A time of the platform in seconds since 1970; anything else counts as the year 2000."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return text / 1000
    try:
        return parse_iso(str(text)).timestamp()
    except ValueError:
        return 946_684_800.0
