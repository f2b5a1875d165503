"""Values with their state, and how they are put together: never a zero for what is not known.

A sum of which a part is missing is partial; one of which every part is missing has no value at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, cast, overload

from pentad.rooms.metrics.model import State


class Cell(NamedTuple):
    """A value, or None and why there is none."""

    value: Any
    state: State = "ok"


Entry = dict[str, Cell]
"""The figures of one environment, by key. A key that begins with `_` is for putting together only."""

Node = Any
"""A tree of dicts and lists with cells, and texts that are labels, at its ends."""

NOTHING: Final = Cell(0)


def worst(cells: Iterable[Cell]) -> State:
    """The state of something made of all of these, if none of them has a value."""
    states: set[State] = {cell.state for cell in cells if cell.state != "ok"}
    if len(states) > 1:
        return "partial"
    return states.pop() if states else "ok"


def state_of(cells: Sequence[Cell]) -> State:
    """The state of something made of all of these, some of which may be missing."""
    if all(cell.state == "ok" for cell in cells):
        return "ok"
    return "partial" if any(cell.value is not None for cell in cells) else worst(cells)


@overload
def made(function: Callable[[Any], Any], first: Cell, /) -> Cell: ...
@overload
def made(function: Callable[[Any, Any], Any], first: Cell, second: Cell, /) -> Cell: ...
def made(function: Callable[..., Any], /, *cells: Cell) -> Cell:
    """A value that needs all of these."""
    if len(cells) == 1:  # nearly always, and there are very many
        value, state = cells[0]
        return Cell(None, state) if value is None else Cell(function(value), "ok" if state == "ok" else "partial")
    if any(cell.value is None for cell in cells):
        return Cell(None, worst([cell for cell in cells if cell.value is None]))
    return Cell(function(*(cell.value for cell in cells)), state_of(cells))


def summed(cells: Sequence[Cell]) -> Cell:
    """What is known, added up exactly."""
    known = [cell.value for cell in cells if cell.value is not None]
    if cells and not known:
        return Cell(None, worst(cells))
    return Cell(added(known), state_of(cells))


def added(numbers: Iterable[Any]) -> int | float:
    """A sum in decimal arithmetic where it has to be: three times 0.1 is 0.3."""
    given = list(numbers)
    whole: Any = sum(given)
    return whole if isinstance(whole, int) else plain(sum((Decimal(str(number)) for number in given), Decimal(0)))


def plain(number: Decimal) -> int | float:
    """A whole number as such."""
    return int(number) if number == number.to_integral_value() else float(number)


def joined(cells: Sequence[Cell]) -> Cell:
    """All different entries, in the order they are first seen."""
    known = [cell.value for cell in cells if cell.value is not None]
    if cells and not known:
        return Cell(None, worst(cells))
    return Cell(list(dict.fromkeys(entry for value in known for entry in value)), state_of(cells))


def counted(cell: Cell) -> Cell:
    return Cell(None, cell.state) if cell.value is None else Cell(len(cell.value), cell.state)


def together(entries: Sequence[Entry], keys: Sequence[str], lists: Mapping[str, str]) -> Entry:
    """The figures of several environments: lists joined and counted under their second name, all else added up."""
    counts = {count: name for name, count in lists.items()}
    found: Entry = {}
    for key in keys:
        if key in lists:
            found[key] = joined([entry[key] for entry in entries])
        elif key in counts:
            found[key] = counted(joined([entry[counts[key]] for entry in entries]))
        else:
            found[key] = summed([entry[key] for entry in entries])
    return found


def at(value: Any, *path: str) -> Any:
    """What stands at a path of names, or None."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(name)
    return value


def number(value: Any) -> int | float:
    """A number, also of a text that is one; anything else counts nothing."""
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, (int, float)):
        return value
    try:
        return plain(Decimal(str(value)))
    except ArithmeticError:
        return 0
