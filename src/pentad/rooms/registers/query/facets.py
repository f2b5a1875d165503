"""Facets: counts of values among the objects found, computed in the store.

A facet of an indexed property over a whole pair reads only the index, in a separate statement. All others share one
statement that reads each object once.
"""

from collections.abc import Iterable, Sequence
from typing import Any, assert_never

from pentad.kernel.ports import Row, Rows
from pentad.kernel.sql import Sql, nested, select
from pentad.rooms.registers.query.conditions import parameter, value_sql
from pentad.rooms.registers.query.count_cache import CountCache, Counts
from pentad.rooms.registers.query.datetimes import datetime_text, seconds_sql
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.from_clause import RowSource
from pentad.rooms.registers.query.metadata import SELF, column_of
from pentad.rooms.registers.query.models import (
    And,
    Facet,
    Filter,
    Histogram,
    Instant,
    Kind,
    Not,
    Or,
    Path,
    Query,
    Ranges,
    Related,
    Scope,
    Terms,
)
from pentad.rooms.registers.query.related_rows import first_key, related_pairs, with_values
from pentad.rooms.registers.query.relations import to_many


def facets(
    rows: Rows, sql: SqlDialect, scope: Scope, query: Query, found: RowSource, count_cache: CountCache | None = None
) -> dict[str, Any]:
    """The facets of the query over the source's objects, by name."""
    alone = [facet for facet in query.facets if _from_index(sql, scope, query, facet)]
    together = [facet for facet in query.facets if facet not in alone]
    answers: dict[str, Any] = {}
    for facet in alone:
        value = facet_value(sql, facet)
        if count_cache is not None and isinstance(facet, Terms):
            counts = count_cache.counts(rows, sql, scope, query.filter, value)
            if counts is not None:
                answers[facet.name] = _answer(facet, _most_frequent(counts, facet.size + 1))
                continue
        direct = RowSource(found.tables, found.where)
        statement = _buckets(sql, facet, 0, value, direct)
        answers[facet.name] = _answer(facet, rows.all(statement.text, *statement.params))
    if together:
        statement = _one_pass(sql, together, found)
        counted = rows.all(statement.text, *statement.params)
        for number, facet in enumerate(together):
            answers[facet.name] = _answer(facet, [row for row in counted if row[0] == number])
    return {facet.name: answers[facet.name] for facet in query.facets}


def facet_value(sql: SqlDialect, facet: Facet) -> str:
    """SQL for the value that a facet counts."""
    match facet:
        case Terms():
            return sql.array(facet.path) if facet.many else value_sql(sql, facet.path, facet.kind)
        case Ranges():
            return value_sql(sql, facet.path, facet.kind)
        case Histogram():
            return day_value(sql, facet.path, facet.kind)
        case _:
            assert_never(facet)


def day_value(sql: SqlDialect, path: Path, kind: Kind) -> str:
    """SQL for the text at a path that begins with a day, or the UTC day of a time."""
    column = column_of(path)
    if column is not None and column.time:
        return sql.day_of(column.sql)
    value = value_sql(sql, path, kind)
    return sql.day_of(seconds_sql(value)) if kind == "moment" else value


def plain_key(value: Any, kind: Kind) -> Any:
    """A key as a JSON value: PostgreSQL returns text, SQLite the value; 3.0 becomes 3, 1 becomes true."""
    if value is None or kind == "text":
        return value
    if kind == "moment":
        return datetime_text(value)
    if kind == "boolean":
        return bool(int(value))
    return plain_number(value)


def plain_number(value: Any) -> int | float:
    """A number; a whole one is always an int."""
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _from_index(sql: SqlDialect, scope: Scope, query: Query, facet: Facet) -> bool:
    """Counts read from an index alone. PostgreSQL cannot do that with an index on an expression."""
    if sql.dialect != "sqlite" or facet.hops or facet.path not in scope.indexed or isinstance(facet, Histogram):
        return False
    if isinstance(facet, Terms) and facet.many:
        return False
    requested = query.filter is not None or query.search is not None or query.as_of is not None or query.include_deleted
    return not requested and (scope.rule is None or _only_organisation(scope.rule))


def _only_organisation(criteria: Filter) -> bool:
    match criteria:
        case And() | Or():
            return all(map(_only_organisation, criteria.parts))
        case Not():
            return _only_organisation(criteria.part)
        case Related():
            return False
        case _:
            return criteria.path == (SELF, "organisation")


def _most_frequent(counts: Counts, criteria: int) -> list[Row]:
    """The rows of `_buckets`, most frequent first; Python orders values like SQLite."""
    known = [(value, count) for value, count in counts.items() if value is not None]
    known.sort(key=lambda one: (-one[1], one[0]))
    return [(0, value, count) for value, count in known[:criteria]]


def _one_pass(sql: SqlDialect, requested: Sequence[Facet], found: RowSource) -> Sql:
    several = [number for number, facet in enumerate(requested) if to_many(facet.hops)]
    asked = [
        ((), first_key(sql, facet.hops)) if number in several else (facet.hops, facet_value(sql, facet))
        for number, facet in enumerate(requested)
    ]
    source, values = with_values(sql, found, asked)
    columns = ", ".join(f"{value} AS f{number}" for number, value in enumerate(values))
    seen = source.select(f"objects.id AS id, objects.uuid AS n, {columns}")
    pieces = [
        _related_terms(sql, facet, number)
        if number in several
        else _buckets(sql, facet, number, f"f{number}", RowSource(Sql("seen"), Sql(f"f{number} IS NOT NULL")))
        for number, facet in enumerate(requested)
    ]
    text = " UNION ALL ".join(select("*", nested(piece, f"part{number}")).text for number, piece in enumerate(pieces))
    params = tuple(value for piece in pieces for value in piece.params)
    return Sql(f"WITH seen AS MATERIALIZED ({seen.text}) {text}", (*seen.params, *params))


def _related_terms(sql: SqlDialect, facet: Facet, number: int) -> Sql:
    """Values in several related objects; each value counts once per object."""
    assert isinstance(facet, Terms)  # noqa: S101  the parser refuses the others
    pairs = nested(related_pairs(sql, (), f"f{number}", facet.hops, facet_value(sql, facet)), "pairs")
    columns = f"{number} AS facet, {sql.portable('v')} AS key, count(DISTINCT n) AS found"
    return select(columns, pairs, Sql("v IS NOT NULL"), f" GROUP BY v ORDER BY 3 DESC, v LIMIT {facet.size + 1}")


def _buckets(sql: SqlDialect, facet: Facet, number: int, value: str, seen: RowSource) -> Sql:
    """Rows with facet number, key and count."""
    match facet:
        case Terms(many=True):
            table, element = sql.elements(value, facet.kind)
            seen = RowSource(Sql(f"{seen.tables.text}, {table}"), Sql(f"{element} IS NOT NULL"))
            columns = f"{number} AS facet, {sql.portable(element)} AS key, count(DISTINCT seen.id) AS found"
            return seen.select(columns, None, f" GROUP BY {element} ORDER BY 3 DESC, {element} LIMIT {facet.size + 1}")
        case Terms():
            columns = f"{number} AS facet, {sql.portable(value)} AS key, count(*) AS found"
            tail = f" GROUP BY {value} ORDER BY 3 DESC, {value} LIMIT {facet.size + 1}"
            return seen.select(columns, Sql(f"{value} IS NOT NULL"), tail)
        case Histogram():
            columns = f"{number} AS facet, {sql.bucket(value, facet.bucket)} AS key, count(*) AS found"
            known = nested(seen.select(columns, None, " GROUP BY 2"), "known")
            return select("*", known, Sql("key IS NOT NULL"), f" ORDER BY key DESC LIMIT {facet.size + 1}")
        case Ranges():
            place = _place(sql, facet, value)
            columns = f"{number} AS facet, {sql.portable('place')} AS key, count(*) AS found"
            inner = seen.select(f"{place.text} AS place", Sql(f"{value} IS NOT NULL"))
            placed = nested(Sql(inner.text, (*place.params, *inner.params)), "placed")
            return select(columns, placed, None, " GROUP BY place")
        case _:
            assert_never(facet)


def _place(sql: SqlDialect, facet: Ranges, value: str) -> Sql:
    """The number of bounds a value has reached."""
    marked = [parameter(sql, bound) for bound in facet.bounds]
    steps = " ".join(f"WHEN {value} < {mark} THEN {number}" for number, (mark, _) in enumerate(marked))
    return Sql(f"CASE {steps} ELSE {len(marked)} END", tuple(bound for _, bound in marked))


def _answer(facet: Facet, counted: Iterable[Row]) -> dict[str, Any]:
    found = [(row[1], row[2]) for row in counted]
    match facet:
        case Terms():
            buckets = [{"key": plain_key(key, facet.kind), "count": count} for key, count in found[: facet.size]]
            return {"type": "terms", "buckets": buckets, "more": len(found) > facet.size}
        case Histogram():
            latest = [{"key": key, "count": count} for key, count in reversed(found[: facet.size])]
            return {"type": "histogram", "by": facet.bucket, "buckets": latest, "more": len(found) > facet.size}
        case Ranges():
            counts = {int(place): count for place, count in found}
            bounds = [bound.text if isinstance(bound, Instant) else bound for bound in facet.bounds]
            edges = [None, *bounds, None]
            buckets = [
                {"from": edges[place], "to": edges[place + 1], "count": counts.get(place, 0)}
                for place in range(len(facet.bounds) + 1)
            ]
            return {"type": "ranges", "buckets": buckets}
        case _:
            assert_never(facet)
