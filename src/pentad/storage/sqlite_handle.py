"""The part of an apsw connection that Pentad uses, with types.

apsw's own stubs name `collections.abc.Buffer`, which Python 3.11 does not have, so that strict checking sees every
statement and row as partly unknown. A real `apsw.Connection` satisfies these protocols as it is.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pentad.kernel.ports import Row, Value


class SqliteCursor(Protocol):
    """The rows of one statement; dropping it ends the statement."""

    @property
    def get(self) -> Any: ...

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...


class SqliteCopy(Protocol):
    """A running copy of one database file into another."""

    @property
    def done(self) -> bool: ...

    def step(self, npages: int = -1) -> bool: ...

    def finish(self) -> None: ...


class SqliteHandle(Protocol):
    """One connection, used by one thread at a time."""

    @property
    def in_transaction(self) -> bool: ...

    @property
    def filename_wal(self) -> str: ...

    def execute(self, statements: str, bindings: Sequence[Value] | None = None) -> SqliteCursor: ...

    def pragma(self, name: str, value: str | int | None = None) -> Any: ...

    def changes(self) -> int: ...

    def total_changes(self) -> int: ...

    def last_insert_rowid(self) -> int: ...

    def status(self, op: int) -> tuple[int, int]: ...

    def config(self, op: int, *args: int) -> int: ...

    def set_busy_timeout(self, milliseconds: int) -> None: ...

    def set_progress_handler(self, callable: Callable[[], bool] | None, nsteps: int = 100) -> None: ...  # noqa: A002  apsw's own name

    def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]: ...

    def backup(self, databasename: str, sourceconnection: Any, sourcedatabasename: str) -> SqliteCopy: ...

    def close(self, force: bool = False) -> None: ...
