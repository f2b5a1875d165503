"""Aggregates over groups of objects, in one statement."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pentad.kernel.ports import Row, Rows
from pentad.kernel.sql import TRUE, Sql, composed, joined, nested, select
from pentad.rooms.registers.query.conditions import SQL_OPERATORS, parameter, value_sql
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.facets import day_value, plain_key, plain_number
from pentad.rooms.registers.query.from_clause import RowSource
from pentad.rooms.registers.query.json_sql import joined_text
from pentad.rooms.registers.query.metadata import column_of
from pentad.rooms.registers.query.models import AggregateQuery, AggregateResult, GroupKey, Hops, Kind, Metric
from pentad.rooms.registers.query.related_rows import first_key, related_pairs, with_values
from pentad.rooms.registers.query.relations import to_many


def run_aggregation(
    rows: Rows, sql: SqlDialect, query: AggregateQuery, found: RowSource, *, total: bool = False
) -> AggregateResult:
    """Compute the groups of a query over the source's objects; with `total`, also the figures over all of them."""
    statement = _statement(sql, query, found)
    groups = [_group(query, row) for row in rows.all(statement.text, *statement.params)]
    answer = AggregateResult(groups[: query.limit], len(groups) > query.limit)
    if not total or len(groups) < 2 or query.having or query.offset:
        return answer
    if not answer.more and _adds_up(query):
        return replace(answer, total={metric.name: _sum_of(groups, metric.name) for metric in query.metrics})
    everything = replace(query, group_by=(), sort=(), limit=1)
    statement = _statement(sql, everything, found)
    [row] = rows.all(statement.text, *statement.params)
    return replace(answer, total=_group(everything, row))


def _adds_up(query: AggregateQuery) -> bool:
    """Whether the figures over all objects are the sums of the groups' figures."""
    disjoint = not any(to_many(key.hops) for key in query.group_by)
    return disjoint and all(metric.function in ("count", "sum") for metric in query.metrics)


def _sum_of(groups: Sequence[Mapping[str, Any]], name: str) -> Any:
    figures = [group[name] for group in groups if group[name] is not None]
    return plain_number(sum(figures)) if figures else None


def _statement(sql: SqlDialect, query: AggregateQuery, found: RowSource) -> Sql:
    groups = _groups(sql, query, found)
    names = _names(query)
    bounds: list[Sql] = []
    for one in query.having:
        mark, bound = parameter(sql, one.value)
        bounds.append(Sql(f"{names[one.metric]} {SQL_OPERATORS[one.op]} {mark}", (bound,)))
    having = joined("AND", bounds) if bounds else None
    order = [f"{names[name]}{' DESC' if descending else ''} NULLS LAST" for name, descending in query.sort]
    order += [f"g{number} NULLS LAST" for number in range(len(query.group_by))]
    tail = f" ORDER BY {', '.join(order)}" if order else ""
    return select("*", nested(groups, "groups"), having, f"{tail} LIMIT {query.limit + 1} OFFSET {query.offset}")


def _groups(sql: SqlDialect, query: AggregateQuery, found: RowSource) -> Sql:
    """The statement for groups. A bucket reads its time several times, so then every value is first extracted once."""
    asked = [(key.hops, _raw(sql, key)) for key in query.group_by]
    asked += [(metric.hops, _input(sql, metric)) for metric in query.metrics]
    if any(to_many(hops) for hops, _ in asked):
        return _stacked_groups(sql, query, found, asked)
    found, values = with_values(sql, found, asked)
    if any(key.bucket for key in query.group_by):
        columns = ", ".join(f"{value} AS v{number}" for number, value in enumerate(values))
        seen = found.select(columns)
        found = RowSource(Sql("seen"), TRUE)
        values = [f"v{number}" for number in range(len(values))]
    else:
        seen = None
    groups = _grouped(sql, query, found, values)
    if seen is None:
        return groups
    return Sql(f"WITH seen AS MATERIALIZED ({seen.text}) {groups.text}", (*seen.params, *groups.params))


def _stacked_groups(sql: SqlDialect, query: AggregateQuery, found: RowSource, asked: Sequence[tuple[Hops, str]]) -> Sql:
    """Groups and figures over several related objects, without multiplying the rows of other figures.

    `seen` has a row for each object. A group key with several values gives the object a row in each of its groups. A
    figure over several related objects adds its own rows below those of `seen`, with NULL for every other figure.
    """
    depth = len(query.group_by)
    several = [number for number, (hops, _) in enumerate(asked) if to_many(hops)]
    single = [((), "NULL") if number in several else one for number, one in enumerate(asked)]
    source, values = with_values(sql, found, single)
    columns = [f"{value} AS v{number}" for number, value in enumerate(values) if number not in several]
    columns += [f"{first_key(sql, asked[number][0])} AS h{number}" for number in several]
    seen = source.select(", ".join(("objects.uuid AS n", *columns)))
    kept = [f"v{number}" for number in range(depth) if number not in several]
    kinds: list[Kind] = [*(key.kind for key in query.group_by), *(metric.kind for metric in query.metrics)]
    tables, values = Sql("seen"), [f"v{number}" for number in range(len(asked))]
    branches: list[Sql] = []
    for number in several:
        hops, value = asked[number]
        pairs = nested(related_pairs(sql, [] if number < depth else kept, f"h{number}", hops, value), "pairs")
        if number < depth:
            once = nested(select("DISTINCT n, v", pairs, Sql("v IS NOT NULL")), f"key{number}")
            tables = composed(tables, " LEFT JOIN ", once, f" ON key{number}.n = seen.n")
            values[number] = f"key{number}.v"
        else:
            cells = [_cell(sql, kinds[other], f"v{other}", other < depth) for other in range(len(asked))]
            cells[number] = f"v AS v{number}"
            branches.append(select(", ".join(cells), pairs))
    rows = RowSource(tables, TRUE)
    if branches:
        base = [
            f"{sql.missing(kinds[number])} AS v{number}" if number in several else f"seen.v{number}"
            for number in range(len(asked))
        ]
        stacked = [select(", ".join(base), Sql("seen")), *branches]
        text = " UNION ALL ".join(one.text for one in stacked)
        rows = RowSource(nested(Sql(text, tuple(p for one in stacked for p in one.params)), "stacked"), TRUE)
    groups = _grouped(sql, query, rows, values)
    return Sql(f"WITH seen AS MATERIALIZED ({seen.text}) {groups.text}", (*seen.params, *groups.params))


def _cell(sql: SqlDialect, kind: Kind, name: str, is_key: bool) -> str:
    return name if is_key else f"{sql.missing(kind)} AS {name}"


def _grouped(sql: SqlDialect, query: AggregateQuery, found: RowSource, values: Sequence[str]) -> Sql:
    depth = len(query.group_by)
    keys = [
        f"{_key(sql, key, value)} AS g{number}"
        for number, (key, value) in enumerate(zip(query.group_by, values, strict=False))
    ]
    figures = [
        f"{figure_sql(sql, metric, value)} AS m{number}"
        for number, (metric, value) in enumerate(zip(query.metrics, values[depth:], strict=True))
    ]
    grouping = f" GROUP BY {', '.join(str(number + 1) for number in range(depth))}" if keys else ""
    return found.select(", ".join((*keys, *figures)), None, grouping)


def _names(query: AggregateQuery) -> dict[str, str]:
    keys = {key.name: f"g{number}" for number, key in enumerate(query.group_by)}
    return {**keys, **{metric.name: f"m{number}" for number, metric in enumerate(query.metrics)}}


def _raw(sql: SqlDialect, key: GroupKey) -> str:
    if key.hops and key.bucket is None and key.kind == "text" and column_of(key.path) is None:
        return joined_text(sql.dialect, key.path)
    return value_sql(sql, key.path, key.kind) if key.bucket is None else day_value(sql, key.path, key.kind)


def _key(sql: SqlDialect, key: GroupKey, value: str) -> str:
    return value if key.bucket is None else sql.bucket(value, key.bucket)


def _input(sql: SqlDialect, metric: Metric) -> str:
    return "1" if metric.path is None else value_sql(sql, metric.path, metric.kind)


def figure_sql(sql: SqlDialect, metric: Metric, value: str) -> str:
    """The SQL for a figure over a value."""
    match metric.function:
        case "count":
            return f"count({value})"
        case "distinct":
            return f"count(DISTINCT {value})"
        case "sum":
            return sql.total(value)
        case "avg":
            return sql.mean(value)
        case "min" | "max":
            return f"{metric.function}({value})"


def _group(query: AggregateQuery, row: Row) -> dict[str, Any]:
    keys = {
        key.name: value if key.bucket else plain_key(value, key.kind)
        for key, value in zip(query.group_by, row, strict=False)
    }
    figures = zip(query.metrics, row[len(keys) :], strict=True)
    return {**keys, **{metric.name: plain_figure(metric, value) for metric, value in figures}}


def plain_figure(metric: Metric, value: Any) -> Any:
    """A figure as a JSON value."""
    if value is None:
        return None
    if metric.function in ("min", "max") and metric.kind in ("text", "moment"):
        return plain_key(value, metric.kind)
    if metric.function == "sum":
        value = float(value)  # above 2**53 only PostgreSQL would be exact
    return plain_number(value) if math.isfinite(value) else None
