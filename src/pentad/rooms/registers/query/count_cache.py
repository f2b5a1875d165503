"""Caches counts of many objects, and keeps them exact by applying later changes.

Counting is the only part of a query whose cost grows with the store. A count is cached with the newest change it
includes, read in the same transaction. The next query finds the same newest change, or subtracts the states that later
changes replaced and adds those they led to. So counts are exact whichever process wrote, at no cost to writers. In
PostgreSQL, changes become visible in a different order than their numbers, so it counts every time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pentad.kernel.ports import Row, Rows
from pentad.kernel.sql import Sql, joined, nested
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.from_clause import RowSource, replaced_rows, row_source
from pentad.rooms.registers.query.models import And, AnyElement, AsOf, Filter, Not, Or, Query, Related, Scope

MOST_VALUES: Final = 1_000
"""The most values counted separately; above that, the store counts every time."""
_MOST_CACHED: Final = 2_000
_UNCHANGING: Final = ("organisation", "owner")
_NEWEST: Final = "SELECT seq, hash FROM object_changes WHERE schema = ? AND register = ? ORDER BY seq DESC LIMIT 1"
_SINCE: Final = "object_changes WHERE schema = ? AND register = ? AND seq > ? AND action NOT IN ('lock', 'unlock')"

Counts = dict[Any, int]
"""How many objects have each value (None: no value); a plain count is stored under None."""


@dataclass(frozen=True, slots=True)
class _CachedCount:
    seq: int
    hash: bytes
    counts: Counts
    total: int


class CountCache:
    """The cached counts of one process.

    Threads share it through atomic dictionary operations; at worst something is counted twice. Up to `few` objects,
    counting is as fast as the cache. Applying one change costs as much as counting `each` objects.
    """

    __slots__ = ("_cached", "_each", "_few")

    def __init__(self, *, few: int = 1_000, each: int = 100) -> None:
        self._few = few
        self._each = each
        self._cached: dict[Sql, _CachedCount] = {}

    def count(self, rows: Rows, sql: SqlDialect, scope: Scope, criteria: Filter | None) -> int:
        """How many objects match a filter."""
        return sum((self.counts(rows, sql, scope, criteria, None) or {}).values())

    def counts(
        self, rows: Rows, sql: SqlDialect, scope: Scope, criteria: Filter | None, value: str | None
    ) -> Counts | None:
        """How many objects have each value; None for more than MOST_VALUES values."""
        found = row_source(sql, scope, criteria)
        limit = "" if value is None else f" LIMIT {MOST_VALUES + 1}"
        statement = _grouped(found, value, limit)
        newest = rows.one(_NEWEST, scope.schemas[0], scope.register)
        cached = self._cached.get(statement)
        if cached is not None and newest == (cached.seq, cached.hash):
            return cached.counts
        counts = None
        if cached is not None and _can_update(rows, scope, cached, cached.total // self._each):
            counts = _updated_counts(rows, sql, scope, criteria, value, cached)
        if counts is None:
            counts = dict(rows.all(statement.text, *statement.params))
        if len(counts) > MOST_VALUES:
            return None
        if newest is not None and (total := sum(counts.values())) >= self._few:
            self._store(statement, _CachedCount(newest[0], newest[1], counts, total))
            if value is not None:  # the counts of all values add up to the plain count
                self._store(_grouped(found, None), _CachedCount(newest[0], newest[1], {None: total}, total))
        return counts

    def _store(self, statement: Sql, cached: _CachedCount) -> None:
        if len(self._cached) >= _MOST_CACHED:
            self._cached.clear()
        self._cached[statement] = cached


def is_cacheable(sql: SqlDialect, scope: Scope, query: Query) -> bool:
    """Whether the history contains everything that can change the answer."""
    if sql.dialect != "sqlite" or scope.register is None or len(scope.schemas) != 1:
        return False
    if query.search is not None or query.as_of is not None or query.include_deleted:
        return False
    return _is_in_history(query.filter) and _is_in_history(scope.rule)


def _is_in_history(criteria: Filter | None) -> bool:
    match criteria:
        case None:
            return True
        case And() | Or():
            return all(map(_is_in_history, criteria.parts))
        case Not() | AnyElement():
            return _is_in_history(criteria.part)
        case Related():
            return False
        case _:
            return criteria.path[0] != "@self" or criteria.path[1:] in [(name,) for name in _UNCHANGING]


def _grouped(found: RowSource, value: str | None, limit: str = "") -> Sql:
    if value is None:
        return found.select("NULL, count(*)")
    return found.select(f"{value}, count(*)", None, f" GROUP BY {value}{limit}")


def _can_update(rows: Rows, scope: Scope, cached: _CachedCount, most: int) -> bool:
    """Whether the cached count belongs to this history, and only few changes, none of them a purge, came later."""
    if rows.value("SELECT hash FROM object_changes WHERE seq = ?", cached.seq) != cached.hash:
        return False
    later = rows.all(
        f"SELECT action FROM {_SINCE} LIMIT {most + 1}",  # noqa: S608  constants
        scope.schemas[0], scope.register, cached.seq,
    )  # fmt: skip
    return len(later) <= most and ("purge",) not in later


def _updated_counts(
    rows: Rows, sql: SqlDialect, scope: Scope, criteria: Filter | None, value: str | None, cached: _CachedCount
) -> Counts:
    """The cached count with later changes applied."""
    counts = dict(cached.counts)
    anywhere = replace(scope, indexed=frozenset())
    where = row_source(sql, anywhere, criteria).where
    then = RowSource(nested(replaced_rows(sql, anywhere, AsOf(change=cached.seq)), "objects"), where)
    _add(counts, _rows_of(rows, then, value), -1)
    changed = Sql(
        f"(SELECT DISTINCT uuid FROM {_SINCE}) AS changed CROSS JOIN objects",  # noqa: S608  constants
        (scope.schemas[0], scope.register, cached.seq),
    )
    now = RowSource(changed, joined("AND", [Sql("objects.uuid = changed.uuid"), where]))
    _add(counts, _rows_of(rows, now, value), 1)
    return counts


def _rows_of(rows: Rows, found: RowSource, value: str | None) -> list[Row]:
    statement = _grouped(found, value)
    return rows.all(statement.text, *statement.params)


def _add(counts: Counts, found: Iterable[Row], sign: int) -> None:
    for value, count in found:
        counts[value] = counts.get(value, 0) + sign * count
        if counts[value] == 0:
            del counts[value]
