"""Related values for the objects of one page: one statement for all single values, and one per rollup.

Hops must be bound (`bind_relations`), so only objects the caller may read count.

A rollup starts from the objects of the page and looks up related ones in `object_references`, hop by hop. The order is
forced, because otherwise both stores would join all objects of a schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.json_pointer import pointer
from pentad.kernel.ports import Rows
from pentad.kernel.sql import FALSE, Sql, among, composed, joined, nested, select
from pentad.rooms.registers.query.aggregation import figure_sql, plain_figure
from pentad.rooms.registers.query.conditions import condition, value_sql
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.from_clause import RowSource, row_source
from pentad.rooms.registers.query.metadata import column_of
from pentad.rooms.registers.query.models import Filter, Hop, Hops, Kind, Metric, Path, RelatedValue
from pentad.rooms.registers.query.related_rows import with_values

RollupFunction = Literal["count", "sum", "avg", "min", "max", "latest"]
EACH: Final = "*"
"""The path step that matches every member of a list."""
_DATA: Final = "objects.data"
_CREATED: Final[Path] = ("@self", "created")


@dataclass(frozen=True, slots=True)
class Rollup:
    """A figure over the related objects that match `criteria`. Without a path, `count` counts objects.

    `latest` is the value in the object with the largest value at `by`.
    """

    function: RollupFunction
    hops: Hops
    path: Path | None = None
    kind: Kind = "number"
    criteria: Filter | None = None
    by: Path = _CREATED
    by_kind: Kind = "number"


def read_related(
    rows: Rows, sql: SqlDialect, wanted: Sequence[RelatedValue], ids: Sequence[int]
) -> dict[str, list[Any]]:
    """The requested values of each object, by uuid."""
    asked = [(one.hops, _raw_value(one.path)) for one in wanted]
    source, values = with_values(sql, _page(sql, ids), asked)
    statement = source.select(", ".join(("objects.uuid", *values)))
    return {
        row[0]: [_plain_value(one.path, value) for one, value in zip(wanted, row[1:], strict=True)]
        for row in rows.all(statement.text, *statement.params)
    }


def roll_up(rows: Rows, sql: SqlDialect, rollup: Rollup, ids: Sequence[int]) -> dict[str, Any]:
    """The figure for each object that has one, by uuid."""
    path = rollup.path or _CREATED
    if rollup.function == "latest":
        metric, value = None, value_sql(sql, rollup.by, rollup.by_kind)
        found = _latest(path, f"l{len(rollup.hops)}")
    else:
        metric = Metric("v", rollup.function, rollup.path, rollup.kind)
        value = "1" if rollup.path is None else value_sql(sql, rollup.path, rollup.kind)
        found = select(f"n, {figure_sql(sql, metric, 'v')}", Sql(f"l{len(rollup.hops)}"), None, " GROUP BY n")
    tables = _tables(sql, rollup, value, ids)
    text = ", ".join(f"l{number} AS MATERIALIZED ({one.text})" for number, one in enumerate(tables))
    read = rows.all(f"WITH {text} {found.text}", *(bound for one in tables for bound in one.params), *found.params)
    return {row[0]: _plain_value(path, row[1]) if metric is None else plain_figure(metric, row[1]) for row in read}


def _tables(sql: SqlDialect, rollup: Rollup, value: str, ids: Sequence[int]) -> list[Sql]:
    """A table for the page and one per hop: the page's object as `n`, the related one as `u`, each pair once.

    The last one also has the related object's value as `v`, and its number as `i`, higher for later objects.
    """
    tables = [_page(sql, ids).select("objects.uuid AS n, objects.uuid AS u")]
    for number, hop in enumerate(rollup.hops):
        last = number == len(rollup.hops) - 1
        conditions = [_readable(sql, hop)]
        if last and rollup.criteria is not None:
            conditions.append(condition(sql, rollup.criteria))
        columns = f"DISTINCT l{number}.n, objects.uuid AS u{f', {value} AS v, objects.id AS i' if last else ''}"
        tables.append(select(columns, _linked(sql, hop, f"l{number}"), joined("AND", conditions)))
    return tables


def _linked(sql: SqlDialect, hop: Hop, near: str) -> Sql:
    """The near objects with those they refer to or, with `back`, those that refer to them, as `objects`."""
    far, here, steps = "held.source", f"held.target = {near}.u AND held.schema = {int(hop.schema)}", hop.path
    if not hop.back:
        far, here = "held.target", f"held.source = {near}.u"
        around = (step for path in hop.lists for step in (*path, EACH))
        steps = (*around, *hop.path, *((EACH,) if hop.many else ()))
    link = Sql(f"{here} AND held.path = ?", (pointer(tuple(map(str, steps))),))
    if sql.dialect == "sqlite":  # keeps the order of a CROSS JOIN, and has an index for each step
        held = composed(f"{near} CROSS JOIN object_references AS held ON ", link)
        return composed(held, f" CROSS JOIN objects ON objects.uuid = {far}")
    held = select(far, Sql("object_references AS held"), link, " OFFSET 0")  # an optimisation fence
    objects = select("*", Sql("objects"), Sql(f"uuid = {far}"), " OFFSET 0")
    return composed(f"{near} CROSS JOIN LATERAL (", held, ") AS held CROSS JOIN LATERAL (", objects, ") AS objects")


def _readable(sql: SqlDialect, hop: Hop) -> Sql:
    """The far objects of a hop that the caller may read; none without a scope."""
    return FALSE if hop.scope is None else row_source(sql, hop.scope, None).where


def _latest(path: Path, pairs: str) -> Sql:
    order = "ROW_NUMBER() OVER (PARTITION BY n ORDER BY v DESC NULLS LAST, i DESC) AS place"
    ranked = nested(select(f"n, u, {order}", Sql(pairs)), "ranked")
    tables = composed(ranked, " JOIN objects ON objects.uuid = ranked.u")
    return select(f"ranked.n, {_raw_value(path)}", tables, Sql("ranked.place = 1"))


def _page(sql: SqlDialect, ids: Sequence[int]) -> RowSource:
    """The objects of a page, which the caller has already read."""
    return RowSource(Sql("objects"), among(sql.dialect, "objects.id", ids))


def _raw_value(path: Path) -> str:
    """Metadata from its column; anything else from the object's JSON, whatever its type."""
    column = column_of(path)
    return _DATA if column is None else column.sql


def _plain_value(path: Path, raw: Any) -> Any:
    column = column_of(path)
    if raw is None:
        return None
    if column is not None:
        return iso(raw) if column.time else raw
    return value_at(msgspec.json.decode(raw), path)


def value_at(node: Any, path: Path) -> Any:
    """The value at a path in JSON; None if there is none."""
    for step in path:
        if isinstance(node, Mapping) and isinstance(step, str):
            node = cast("Mapping[str, Any]", node).get(step)
        elif isinstance(node, list) and isinstance(step, int):
            members = cast("list[Any]", node)
            node = members[step] if step < len(members) else None
        else:
            return None
    return node
