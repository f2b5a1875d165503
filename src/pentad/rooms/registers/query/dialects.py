"""The differences between SQLite and PostgreSQL behind one interface; the rest of a query is written once.

Both implementations must mean the same. The tests run generated queries on both and on a plain Python evaluator.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from pentad.kernel.ports import Dialect, Value
from pentad.kernel.sql import Sql
from pentad.rooms.registers.query.models import Bucket, Kind, Path, Scalar
from pentad.rooms.registers.query.postgres import PostgresDialect
from pentad.rooms.registers.query.sqlite import SqliteDialect


class SqlDialect(Protocol):
    """The parts of a statement that differ between dialects."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def number_mark(self) -> str:
        """The placeholder of a numeric parameter."""
        ...

    def number(self, value: float) -> Value:
        """A number, as such a parameter."""
        ...

    def expected(self, test: str) -> str:
        """Marks a test that most rows pass, so no index is chosen for it."""
        ...

    def decisive(self, test: str) -> str:
        """Marks a test that few rows pass, so an index with its column is chosen."""
        ...

    @property
    def unwalked_id(self) -> str:
        """The id to sort by, in a form that keeps the store from scanning along it."""
        ...

    def each_of(self, value: str, values: Sequence[str | int | float | bool]) -> tuple[Sql, Sql] | None:
        """Tables and a condition that look values up one by one; None if a plain list is as good."""
        ...

    def like(self, value: str) -> str:
        """Compares a text with a parameter from `conditions.like_parameter`."""
        ...

    def has_part(self, value: str) -> str:
        """Whether a text contains the parameter, which is in lower case."""
        ...

    def has_element(self, path: Path, value: Scalar) -> Sql:
        """Whether an array has this element; the caller has checked that the value is an array."""
        ...

    def past_columns(self, text: str) -> str:
        """The further columns of the objects table (beyond those of a StoredObject), made from a past text."""
        ...

    def day_of(self, seconds: str) -> str:
        """The UTC day of a time as YYYY-MM-DD."""
        ...

    def bucket(self, day: str, bucket: Bucket) -> str:
        """The bucket label of a text that begins with a day; NULL if it does not."""
        ...

    def array(self, path: Path) -> str:
        """The array at a path as JSON; NULL if there is none."""
        ...

    def elements(self, array: str, kind: Kind) -> tuple[str, str]:
        """A table function over that array, and a row's value if it is of this kind."""
        ...

    def objects_in(self, path: Path) -> str:
        """The objects of that array as a table that can be read like `objects`."""
        ...

    def empty(self, path: Path, holds: Literal["array", "object"]) -> str:
        """Whether there is an empty array or object at a path."""
        ...

    def portable(self, value: str) -> str:
        """A value of any kind, in a form that can share a column with values of other kinds."""
        ...

    def total(self, value: str) -> str:
        """The sum of numbers, NULL if there are none; large sums do not fail."""
        ...

    def mean(self, value: str) -> str:
        """The average of numbers as a double."""
        ...

    def missing(self, kind: Kind) -> str:
        """NULL in a column that has values of a kind in other rows."""
        ...


_SQLITE, _POSTGRES = SqliteDialect(), PostgresDialect()


def sql_dialect(dialect: Dialect) -> SqlDialect:
    """The implementation for one dialect."""
    return _SQLITE if dialect == "sqlite" else _POSTGRES
