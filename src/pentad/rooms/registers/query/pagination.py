"""Sort orders and cursors: how to continue after a row.

Missing values sort last in both directions. An index cannot do that both ways, so objects are read in two phases: those
with the first key, then those without. Each phase scans an index, and continuing after a row is a lookup rather than a
count of the rows before it. The id, in the direction of the last key, makes every order total.

A cursor holds the sort keys of the last row. It grants no rights: the scope applies again on every request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel import cursors
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Value
from pentad.kernel.sql import FALSE, Sql, joined
from pentad.rooms.registers.query.conditions import parameter, value_sql
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.metadata import column_of
from pentad.rooms.registers.query.models import Kind, Query, Scope, Sort

Position = tuple[str | int | float | None, ...]
"""The keys of a row and, last, its id."""


@dataclass(frozen=True, slots=True)
class Key:
    """One sort key as SQL."""

    sql: str
    descending: bool
    nullable: bool

    @property
    def beyond(self) -> str:
        return "<" if self.descending else ">"

    @property
    def direction(self) -> str:
        return " DESC" if self.descending else ""


@dataclass(frozen=True, slots=True)
class Phase:
    """A self-contained part of the result."""

    where: Sql | None
    order: str


def sort_keys(sql: SqlDialect, sort: Sequence[Sort]) -> list[Key]:
    """The sort keys, without the id that every order ends with."""
    keys: list[Key] = []
    for one in sort:
        column = column_of(one.path)
        nullable = column is None or column.nullable or bool(one.hops)
        keys.append(Key(value_sql(sql, one.path, one.kind), one.descending, nullable))
    return keys


def phases(sql: SqlDialect, keys: Sequence[Key], after: Position | None, *, few: bool = False) -> Iterator[Phase]:
    """The phases of the result in order, starting after a row if one is given.

    `few` means that an index may find only a few rows, so scanning along the ids may take longer.
    """
    order = [f"{key.sql}{key.direction}" + (" NULLS LAST" if key.nullable else "") for key in keys]
    last = f"objects.id{keys[-1].direction if keys else ''}"
    if not keys:
        yield Phase(_behind(sql, keys, after) if after else None, sql.unwalked_id if few else last)
        return
    first = keys[0]
    if after is None or after[0] is not None:
        pieces = [Sql(f"{first.sql} IS NOT NULL")] if first.nullable else []
        if after is not None:
            pieces = [_compare_key(sql, first, f"{first.beyond}=", after[0]), _behind(sql, keys, after, last=False)]
        order[0] = f"{first.sql}{first.direction}"
        yield Phase(joined("AND", pieces) if pieces else None, ", ".join((*order, last)))
    if first.nullable:
        missing = Sql(f"{first.sql} IS NULL")
        if after is not None and after[0] is None:
            missing = joined("AND", [missing, _behind(sql, keys[1:], after[1:], keys[-1])])
        yield Phase(missing, ", ".join((*order[1:], last)))


def _behind(
    sql: SqlDialect, keys: Sequence[Key], after: Position, final: Key | None = None, *, last: bool = True
) -> Sql:
    """Rows after a position. With `last` False, rows without the first key are left out: they are in another phase."""
    final = keys[-1] if keys else final
    if not keys:
        return Sql(f"objects.id {final.beyond if final else '>'} ?", (after[0],))
    key, value = keys[0], after[0]
    rest = _behind(sql, keys[1:], after[1:], final)
    if value is None:
        return joined("AND", [Sql(f"{key.sql} IS NULL"), rest])
    pieces = [_compare_key(sql, key, key.beyond, value), joined("AND", [_compare_key(sql, key, "=", value), rest])]
    if key.nullable and last:
        pieces.append(Sql(f"{key.sql} IS NULL"))
    return joined("OR", pieces)


def _compare_key(sql: SqlDialect, key: Key, sign: str, value: str | float | None) -> Sql:
    if value is None:
        return FALSE
    mark, bound = parameter(sql, value)
    return Sql(f"{key.sql} {sign} {mark}", (bound,))


def position(row: Sequence[Value], keys: int) -> Position:
    """The position of a row that starts with its id and ends with its keys."""
    found = [*row[len(row) - keys :], row[0]] if keys else [row[0]]
    return tuple(value if isinstance(value, (str, int, float)) else None for value in found)


_LONGEST_CURSOR: Final = 20_000
_LONGEST_OFFSET: Final = 9


def offset_of(cursor: str | None) -> int:
    """The offset in the cursor of a list without positions; 0 without a cursor."""
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > _LONGEST_OFFSET:
        raise InvalidInput("This cursor is not from an answer of this call.", hint="Leave it out to start again.")
    return int(cursor)


def write_cursor(scope: Scope, query: Query, position: Position) -> str:
    """The cursor that continues after a position."""
    return cursors.write_cursor(_cursor_scope(scope, query), position)


def read_cursor(scope: Scope, query: Query, kinds: Sequence[Kind]) -> Position | None:
    """The position in a query's cursor, with a value of each kind; None without a cursor."""
    if query.cursor is None:
        return None
    try:
        return _checked_position(cursors.read_cursor(_cursor_scope(scope, query), query.cursor, _LONGEST_CURSOR), kinds)
    except ValueError:
        raise InvalidInput(
            "The cursor does not belong to this question.",
            hint="Send it back unchanged, with the same filter, search and sort; or leave it out to start again.",
        ) from None


def _checked_position(values: list[Any], kinds: Sequence[Kind]) -> Position:
    for value, kind in zip(values, kinds, strict=True):
        if value is not None and not isinstance(value, str if kind in ("text", "moment") else (int, float)):
            raise ValueError(value)
    if not isinstance(values[-1], int):
        raise ValueError(values)  # noqa: TRY004  all that is wrong with a cursor is answered alike
    return tuple(values)


def _cursor_scope(scope: Scope, query: Query) -> tuple[object, ...]:
    asked = (query.filter, query.as_of) if query.as_written is None else (query.as_written, None)
    return (scope.register, scope.schemas, asked[0], query.search, query.sort, asked[1], query.include_deleted)
