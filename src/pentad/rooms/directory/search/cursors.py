"""The cursors of a search: where it stopped, as a few numbers."""

from typing import Any, Final

from pentad.kernel import cursors
from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.search.query import Query

_LONGEST: Final = 2_000
_LARGEST: Final = 2**62


def write_cursor(query: Query, position: tuple[int, ...]) -> str:
    """The cursor that goes on behind a position."""
    return cursors.write_cursor(_asked(query), position)


def read_cursor(query: Query, shortest: int, longest: int) -> tuple[int, ...] | None:
    """The position a query's cursor means, of so many numbers; None without a cursor."""
    if query.cursor is None:
        return None
    try:
        return _position(cursors.read_cursor(_asked(query), query.cursor, _LONGEST), shortest, longest)
    except ValueError:
        raise InvalidInput(
            "The cursor does not belong to this search.",
            hint="Send it back unchanged, with the same filters, words and sort; or leave it out to start again.",
        ) from None


def _position(values: list[Any], shortest: int, longest: int) -> tuple[int, ...]:
    if not shortest <= len(values) <= longest or not all(type(v) is int and 0 <= v < _LARGEST for v in values):
        raise ValueError(values)
    return tuple(values)


def _asked(query: Query) -> tuple[object, ...]:
    return (query.filters, query.words, query.match, query.order, query.id_version)
