"""Connections to PostgreSQL and the statements on them: bounded waits, explicit transactions, UTF-8.

Statements return the Python types SQLite returns: numbers are int or float, booleans are 0 or 1, JSON and UUIDs are
text. TEXT must sort the same in both dialects, or paging by name would give different pages; Pentad's columns say
`COLLATE "C"`, so the collation of the database does not matter.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NoReturn

import psycopg
from psycopg import adapt, conninfo
from psycopg.abc import Buffer

from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Row, Value
from pentad.storage.postgres_errors import connection_error, raise_translated, translate_error
from pentad.storage.sql_text import psycopg_statement
from pentad.storage.unit_of_work import check_signal, checked

CHANNEL = "pentad"
"""The one NOTIFY channel; Pentad's own channel is the first line of the payload."""

Connection = psycopg.Connection[tuple[Any, ...]]

_STATEMENT_FAILURES = (psycopg.Error, UnicodeEncodeError)
_CHANGE_COMMANDS = ("INSERT", "UPDATE", "DELETE", "MERGE")
_DEFAULTS: dict[str, str | int] = {
    "application_name": "pentad",
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 6_000,
    "client_encoding": "UTF8",
    "options": "-c statement_timeout=60s -c idle_in_transaction_session_timeout=60s",
}
_OLDEST_SERVER = 140_000


def settings(url: str) -> dict[str, Any]:
    """The arguments of `psycopg.connect`: Pentad's defaults, overridden by the URL."""
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise connection_error(error) from None
    return {**_DEFAULTS, **given, "autocommit": True, "context": _adapters()}


def connect(url: str, **more: Any) -> Connection:
    """One connection outside the pool; the caller closes it."""
    try:
        return psycopg.connect("", **{**settings(url), **more})
    except psycopg.Error as error:
        raise connection_error(error) from None


def check_server(connection: Connection) -> None:
    """Raise Misconfigured unless the server and the database can hold a store."""
    if connection.info.server_version < _OLDEST_SERVER:
        raise Misconfigured("The PostgreSQL server is too old.", hint="Pentad needs PostgreSQL 14 or newer.")
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise Misconfigured(
            "The database does not use UTF-8.",
            hint="Create it with: CREATE DATABASE pentad ENCODING 'UTF8' TEMPLATE template0",
        )


class _NumberLoader(adapt.Loader):
    def load(self, data: Buffer) -> int | float:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


class _BooleanLoader(adapt.Loader):
    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


class _TextLoader(adapt.Loader):
    def load(self, data: Buffer) -> str:
        return bytes(data).decode()


def _adapters() -> adapt.AdaptersMap:
    """psycopg's conversions with the portable ones on top."""
    adapters = adapt.AdaptersMap(psycopg.adapters)
    adapters.register_loader("numeric", _NumberLoader)
    adapters.register_loader("bool", _BooleanLoader)
    for name in ("json", "jsonb", "uuid"):
        adapters.register_loader(name, _TextLoader)
    return adapters


class PostgresRows:
    """The port `Rows`. `failure` is the first error of any statement."""

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
            return self.connection.execute(psycopg_statement(sql), _bound(params))
        except _STATEMENT_FAILURES as error:
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        """Doom the unit, even if it swallows the error. After the first failure PostgreSQL only repeats itself."""
        if self.failure is None:
            self.failure = translate_error(error, writing=self.writing)
            raise_translated(error, writing=self.writing)
        raise self.failure from error


class PostgresTransaction(PostgresRows):
    """The port `Transaction`."""

    __slots__ = ()
    writing = True

    def run(self, sql: str, *params: Value) -> int:
        return _rows_changed(self._execute(sql, params))

    def run_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        with self.connection.cursor() as cursor:
            try:
                cursor.executemany(psycopg_statement(sql), (_bound(params) for params in rows))
            except _STATEMENT_FAILURES as error:
                self._fail(error)

    def signal(self, channel: str, payload: str = "", *, has_row: bool = False) -> None:
        check_signal(channel, payload)
        self.run("SELECT pg_notify(?, ?)", CHANNEL, f"{channel}\n{payload}")


def _bound(params: Sequence[Value]) -> tuple[Value, ...]:
    """Booleans are stored as 0 or 1 in both dialects."""
    return tuple([int(value) if value is True or value is False else value for value in checked(params)])


def _rows_changed(cursor: psycopg.Cursor[Row]) -> int:
    return cursor.rowcount if (cursor.statusmessage or "").startswith(_CHANGE_COMMANDS) else 0
