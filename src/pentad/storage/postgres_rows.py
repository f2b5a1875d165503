"""Statements on a PostgreSQL connection, as the ports `Rows` and `Transaction`.

They return the Python types SQLite returns: numbers are int or float, truth is 0 or 1, JSON and UUIDs are text.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NoReturn

import psycopg
from psycopg import adapt
from psycopg.abc import Buffer

from pentad.kernel.ports import Row, Value
from pentad.storage.placeholders import translated as placed
from pentad.storage.postgres_errors import fail, translated
from pentad.storage.values import checked, checked_signal

CHANNEL = "pentad"
"""The one NOTIFY channel; Pentad's own channel is the first line of the payload."""

Connection = psycopg.Connection[tuple[Any, ...]]

_STATEMENT_FAILURES = (psycopg.Error, UnicodeEncodeError)
_CHANGING = ("INSERT", "UPDATE", "DELETE", "MERGE")


class _NumberLoader(adapt.Loader):
    def load(self, data: Buffer) -> int | float:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


class _TruthLoader(adapt.Loader):
    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


class _TextLoader(adapt.Loader):
    def load(self, data: Buffer) -> str:
        return bytes(data).decode()


def portable_types() -> adapt.AdaptersMap:
    """psycopg's own conversions with the portable ones on top."""
    adapters = adapt.AdaptersMap(psycopg.adapters)
    adapters.register_loader("numeric", _NumberLoader)
    adapters.register_loader("bool", _TruthLoader)
    for name in ("json", "jsonb", "uuid"):
        adapters.register_loader(name, _TextLoader)
    return adapters


class PostgresRows:
    """Reading statements; `failure` is the first error of any of them."""

    __slots__ = ("connection", "failure")
    writing: ClassVar[bool] = False

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.failure: Exception | None = None

    def one(self, sql: str, *params: Value) -> Row | None:
        cursor = self._execute(sql, params)
        return None if cursor.description is None else cursor.fetchone()

    def all(self, sql: str, *params: Value) -> list[Row]:
        cursor = self._execute(sql, params)
        return [] if cursor.description is None else cursor.fetchall()

    def value(self, sql: str, *params: Value) -> Any:
        row = self.one(sql, *params)
        return None if row is None else row[0]

    def _execute(self, sql: str, params: Sequence[Value]) -> psycopg.Cursor[Row]:
        try:
            return self.connection.execute(placed(sql), _bound(params))
        except _STATEMENT_FAILURES as error:
            self._doom(error)

    def _doom(self, error: Exception) -> NoReturn:
        """A unit that swallows an error is doomed all the same; after the first, PostgreSQL only repeats itself."""
        if self.failure is None:
            self.failure = translated(error, writing=self.writing)
            fail(error, writing=self.writing)
        raise self.failure from error


class PostgresTransaction(PostgresRows):
    """Writing statements."""

    __slots__ = ()
    writing = True

    def run(self, sql: str, *params: Value) -> int:
        return _changed(self._execute(sql, params))

    def run_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        with self.connection.cursor() as cursor:
            try:
                cursor.executemany(placed(sql), (_bound(params) for params in rows))
            except _STATEMENT_FAILURES as error:
                self._doom(error)

    def signal(self, channel: str, payload: str = "") -> None:
        checked_signal(channel, payload)
        self.run("SELECT pg_notify(?, ?)", CHANNEL, f"{channel}\n{payload}")


def _bound(params: Sequence[Value]) -> tuple[Value, ...]:
    """Truth is stored as 0 or 1 in both dialects."""
    return tuple([int(value) if value is True or value is False else value for value in checked(params)])


def _changed(cursor: psycopg.Cursor[Row]) -> int:
    return cursor.rowcount if (cursor.statusmessage or "").startswith(_CHANGING) else 0
