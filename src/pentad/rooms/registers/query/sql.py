"""A piece of SQL with its parameters, in order."""

from collections.abc import Iterable
from typing import NamedTuple

from pentad.kernel.ports import Value


class Sql(NamedTuple):
    """Text with `?` for each parameter."""

    text: str
    params: tuple[Value, ...] = ()


TRUE = Sql("TRUE")
FALSE = Sql("FALSE")


def joined(word: str, pieces: Iterable[Sql]) -> Sql:
    """Conditions put together by AND or OR; each has its own parentheses."""
    listed = list(pieces)
    if len(listed) == 1:
        return listed[0]
    return Sql(
        f" {word} ".join(f"({piece.text})" for piece in listed), tuple(p for piece in listed for p in piece.params)
    )


def select(columns: str, tables: Sql, where: Sql | None = None, tail: str = "") -> Sql:
    """A statement over tables; the columns and the tail have no parameters."""
    text = f"SELECT {columns} FROM {tables.text}"  # noqa: S608  the one place; names are quoted, values are parameters
    if where is not None:
        text += f" WHERE {where.text}"
    return Sql(text + tail, (*tables.params, *(where.params if where else ())))


def nested(statement: Sql, name: str) -> Sql:
    """A statement as a table of another one."""
    return Sql(f"({statement.text}) AS {name}", statement.params)
