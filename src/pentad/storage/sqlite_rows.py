"""Statements on an SQLite connection, as the ports `Rows` and `Transaction`.

A failed statement dooms its unit of work even if the unit swallows the error: PostgreSQL cannot go on after one, so
SQLite does not either.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NoReturn

import apsw

from pentad.kernel.ports import Row, Value
from pentad.storage.listeners import Signal
from pentad.storage.sqlite_errors import fail, translated
from pentad.storage.sqlite_handle import SqliteCursor, SqliteHandle
from pentad.storage.values import checked, checked_signal

_STATEMENT_FAILURES = (apsw.Error, UnicodeEncodeError)
_KEEP_SIGNALS_SECONDS = 300.0
_PRUNE_EVERY = 256


class SqliteRows:
    """Reading statements; `failure` is the first error of any of them.

    All run on one cursor, whoever begins and ends the transaction too: making one costs more than a short statement.
    """

    __slots__ = ("cursor", "failure")
    writing: ClassVar[bool] = False

    def __init__(self, cursor: SqliteCursor) -> None:
        self.cursor = cursor
        self.failure: Exception | None = None

    def one(self, sql: str, *params: Value) -> Row | None:
        try:
            return self.cursor.execute(sql, checked(params)).fetchone()
        except _STATEMENT_FAILURES as error:
            self._doom(error)

    def all(self, sql: str, *params: Value) -> list[Row]:
        try:
            return self.cursor.execute(sql, checked(params)).fetchall()
        except _STATEMENT_FAILURES as error:
            self._doom(error)

    def value(self, sql: str, *params: Value) -> Any:
        row = self.one(sql, *params)
        return None if row is None else row[0]

    def _doom(self, error: Exception) -> NoReturn:
        if self.failure is None:
            self.failure = translated(error, writing=self.writing)
        fail(error, writing=self.writing)


class SqliteTransaction(SqliteRows):
    """Writing statements; `signals` are kept in order and once each, as PostgreSQL does it."""

    __slots__ = ("connection", "origin", "signals")
    writing = True

    def __init__(self, connection: SqliteHandle, cursor: SqliteCursor, origin: str) -> None:
        super().__init__(cursor)
        self.connection = connection
        self.origin = origin
        self.signals: dict[Signal, None] = {}

    def run(self, sql: str, *params: Value) -> int:
        connection = self.connection
        before = connection.total_changes()
        try:
            self.cursor.execute(sql, checked(params)).fetchall()
        except _STATEMENT_FAILURES as error:
            self._doom(error)
        # `changes` keeps its last figure after a statement that changes nothing
        return connection.changes() if connection.total_changes() != before else 0

    def run_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        try:
            self.cursor.executemany(sql, map(checked, rows)).fetchall()
        except _STATEMENT_FAILURES as error:
            self._doom(error)

    def signal(self, channel: str, payload: str = "") -> None:
        checked_signal(channel, payload)
        if (channel, payload) in self.signals:
            return
        self.signals[channel, payload] = None
        now = time.time()
        self.run(
            "INSERT INTO signals (origin, channel, payload, at) VALUES (?, ?, ?, ?)",
            self.origin, channel, payload, now,
        )  # fmt: skip
        if self.connection.last_insert_rowid() % _PRUNE_EVERY == 0:
            self.run(
                "DELETE FROM signals WHERE id < (SELECT id FROM signals WHERE at >= ? ORDER BY id LIMIT 1)",
                now - _KEEP_SIGNALS_SECONDS,
            )
