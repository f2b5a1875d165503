"""The cursors of a listing of objects: where it stopped, as one value of each sort key.

A cursor carries no rights: the scope is applied again wherever it is used.
"""

from collections.abc import Sequence
from typing import Any, Final

from pentad.kernel import cursors
from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.query.ordering import Position
from pentad.rooms.registers.query.tree import Kind, Query, Scope

_LONGEST: Final = 20_000


def write_cursor(scope: Scope, query: Query, position: Position) -> str:
    """The cursor that goes on behind a position."""
    return cursors.write_cursor(_asked(scope, query), position)


def read_cursor(scope: Scope, query: Query, kinds: Sequence[Kind]) -> Position | None:
    """The position a query's cursor means: one value of each kind; None without a cursor."""
    if query.cursor is None:
        return None
    try:
        return _position(cursors.read_cursor(_asked(scope, query), query.cursor, _LONGEST), kinds)
    except ValueError:
        raise InvalidInput(
            "The cursor does not belong to this question.",
            hint="Send it back unchanged, with the same filter, search and sort; or leave it out to start again.",
        ) from None


def _position(values: list[Any], kinds: Sequence[Kind]) -> Position:
    for value, kind in zip(values, kinds, strict=True):
        if value is not None and not isinstance(value, str if kind in ("text", "moment") else (int, float)):
            raise ValueError(value)
    if not isinstance(values[-1], int):
        raise ValueError(values)  # noqa: TRY004  all that is wrong with a cursor is answered alike
    return tuple(values)


def _asked(scope: Scope, query: Query) -> tuple[object, ...]:
    return (scope.register, scope.schemas, query.filter, query.search, query.sort, query.as_of, query.include_deleted)
