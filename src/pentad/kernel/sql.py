"""A piece of SQL with its parameters, and how pieces are put together."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pentad.kernel.ports import Dialect, Value


class Sql(NamedTuple):
    """Text with `?` for each parameter."""

    text: str
    params: tuple[Value, ...] = ()


FALSE = Sql("FALSE")
TRUE = Sql("TRUE")


def composed(*pieces: str | Sql) -> Sql:
    """Pieces of a statement one after the other; plain text is ours, never a caller's."""
    parts = [Sql(piece) if isinstance(piece, str) else piece for piece in pieces]
    return Sql("".join(part.text for part in parts), tuple(p for part in parts for p in part.params))


def joined(word: str, pieces: Iterable[Sql]) -> Sql:
    """Conditions put together by AND or OR, each in its own parentheses; TRUE and FALSE when there are none."""
    listed = list(pieces)
    if not listed:
        return TRUE if word == "AND" else FALSE
    if len(listed) == 1:
        return listed[0]
    text = f" {word} ".join(f"({piece.text})" for piece in listed)
    return Sql(f"({text})", tuple(p for piece in listed for p in piece.params))


def negated(condition: Sql) -> Sql:
    """What holds where the condition does not; what is not known does not hold."""
    return Sql(f"NOT COALESCE({condition.text}, FALSE)", condition.params)


def among(dialect: Dialect, column: str, ids: Sequence[int]) -> Sql:
    """A column that is one of some ids, however many: they are one parameter, so that the statement stays the same."""
    if len(ids) == 1:
        return Sql(f"{column} = ?", (ids[0],))
    if dialect == "sqlite":
        return composed(column, Sql(" IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)))
    return Sql(f"{column} = ANY(CAST(? AS bigint[]))", ("{" + ",".join(map(str, ids)) + "}",))


def select(columns: str, tables: Sql, where: Sql | None = None, tail: str = "") -> Sql:
    """A statement over tables; the columns and the tail have no parameters."""
    text = f"SELECT {columns} FROM {tables.text}"  # noqa: S608  the one place; names are quoted, values are parameters
    if where is not None:
        text += f" WHERE {where.text}"
    return Sql(text + tail, (*tables.params, *(where.params if where else ())))


def nested(statement: Sql, name: str) -> Sql:
    """A statement as a table of another one."""
    return Sql(f"({statement.text}) AS {name}", statement.params)
