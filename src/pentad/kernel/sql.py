"""SQL text with its parameters, and functions to combine it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from pentad.kernel.ports import Dialect, Value

_CHUNK = 500
"""The number of values in one IN list."""

T = TypeVar("T")


class Sql(NamedTuple):
    """Text with `?` for each parameter."""

    text: str
    params: tuple[Value, ...] = ()


FALSE = Sql("FALSE")
TRUE = Sql("TRUE")


def composed(*pieces: str | Sql) -> Sql:
    """The pieces of a statement joined; plain text must come from the code, never from a caller."""
    parts = [Sql(piece) if isinstance(piece, str) else piece for piece in pieces]
    return Sql("".join(part.text for part in parts), tuple(p for part in parts for p in part.params))


def joined(word: str, pieces: Iterable[Sql]) -> Sql:
    """Conditions joined by AND or OR, each in parentheses; TRUE or FALSE if there are none."""
    listed = list(pieces)
    if not listed:
        return TRUE if word == "AND" else FALSE
    if len(listed) == 1:
        return listed[0]
    text = f" {word} ".join(f"({piece.text})" for piece in listed)
    return Sql(f"({text})", tuple(p for piece in listed for p in piece.params))


def negated(condition: Sql) -> Sql:
    """The negated condition, in which NULL counts as false."""
    return Sql(f"NOT COALESCE({condition.text}, FALSE)", condition.params)


def among(dialect: Dialect, column: str, ids: Sequence[int]) -> Sql:
    """The condition that a column is one of these ids. They are one parameter, so the statement text never varies."""
    if len(ids) == 1:
        return Sql(f"{column} = ?", (ids[0],))
    if dialect == "sqlite":
        return composed(column, Sql(" IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)))
    return Sql(f"{column} = ANY(CAST(? AS bigint[]))", (array_literal(ids),))


def array_literal(numbers: Iterable[int]) -> str:
    """Numbers as one parameter, for a cast to an array of PostgreSQL."""
    return "{" + ",".join(map(str, numbers)) + "}"


def select(columns: str, tables: Sql, where: Sql | None = None, tail: str = "") -> Sql:
    """A SELECT statement; the columns and the tail have no parameters."""
    text = f"SELECT {columns} FROM {tables.text}"  # noqa: S608  the one place; names are quoted, values are parameters
    if where is not None:
        text += f" WHERE {where.text}"
    return Sql(text + tail, (*tables.params, *(where.params if where else ())))


def insert(table: str, columns: Sequence[str]) -> str:
    """An INSERT statement with a parameter for each column; the names come from the code."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608  own names


def nested(statement: Sql, name: str) -> Sql:
    """A statement as a table of another statement."""
    return Sql(f"({statement.text}) AS {name}", statement.params)


def marks(count: int) -> str:
    """`?, ?, ?`"""
    return ", ".join("?" * count)


def chunks(values: Sequence[T], size: int = _CHUNK) -> Iterator[Sequence[T]]:
    """The values in parts, each for one statement."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def like_literal(text: str) -> str:
    """The text as part of a pattern for LIKE ... ESCAPE '!'."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
