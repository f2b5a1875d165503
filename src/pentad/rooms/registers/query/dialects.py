"""What SQLite and PostgreSQL say differently, as one interface; the rest of a query is written once.

Both implementations must mean the same. The tests put generated queries to both and to a plain Python evaluator.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from pentad.kernel.ports import Dialect, Value
from pentad.kernel.sql import Sql
from pentad.rooms.registers.query.models import Bucket, Kind, Path, Scalar
from pentad.rooms.registers.query.postgres import PostgresDialect
from pentad.rooms.registers.query.sqlite import SqliteDialect


class SqlDialect(Protocol):
    """The parts of a statement that a dialect has its own words for."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def number_mark(self) -> str:
        """The mark of a parameter that is a number."""
        ...

    def number(self, value: float) -> Value:
        """A number as that parameter."""
        ...

    def expected(self, test: str) -> str:
        """A test that most rows pass, so that no index is chosen for it."""
        ...

    def decisive(self, test: str) -> str:
        """A test that few rows pass, so that an index that knows its column is chosen."""
        ...

    @property
    def unwalked_id(self) -> str:
        """The id as something to sort by, not to walk along."""
        ...

    def each_of(self, value: str, values: Sequence[str | int | float | bool]) -> tuple[Sql, Sql] | None:
        """Tables and condition that look values up one by one; None where a plain list does as well."""
        ...

    def like(self, value: str) -> str:
        """A text against a parameter from `conditions.like_parameter`."""
        ...

    def has_part(self, value: str) -> str:
        """A text that has the parameter, in small letters, as a part."""
        ...

    def has_element(self, path: Path, value: Scalar) -> Sql:
        """Whether an array has this element; the caller has checked that it is an array."""
        ...

    def past_columns(self, text: str) -> str:
        """The columns of the objects table beyond those of a StoredObject, made from a past text."""
        ...

    def day_of(self, seconds: str) -> str:
        """The UTC day of a time as YYYY-MM-DD."""
        ...

    def bucket(self, day: str, bucket: Bucket) -> str:
        """The label of the bucket of a text that begins with a day; NULL when it does not."""
        ...

    def array(self, path: Path) -> str:
        """The array at a path as JSON; NULL if there is none."""
        ...

    def elements(self, array: str, kind: Kind) -> tuple[str, str]:
        """A table function over that array, and the value of one row if it is of this kind."""
        ...

    def objects_in(self, path: Path) -> str:
        """The objects of that array as a table whose rows read like those of `objects`."""
        ...

    def empty(self, path: Path, holds: Literal["array", "object"]) -> str:
        """Whether there is an array or an object at a path, with nothing in it."""
        ...

    def portable(self, value: str) -> str:
        """A value of any kind, fit to stand in one column with values of other kinds."""
        ...

    def total(self, value: str) -> str:
        """The sum of numbers, NULL when there are none; never fails for being large."""
        ...

    def mean(self, value: str) -> str:
        """The average of numbers as a double."""
        ...

    def missing(self, kind: Kind) -> str:
        """NULL, where values of a kind stand in other rows."""
        ...


_SQLITE, _POSTGRES = SqliteDialect(), PostgresDialect()


def sql_dialect(dialect: Dialect) -> SqlDialect:
    """The implementation for one dialect."""
    return _SQLITE if dialect == "sqlite" else _POSTGRES
