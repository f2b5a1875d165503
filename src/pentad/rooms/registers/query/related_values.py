"""Values through relations for the objects of one page: single values in one statement, each rollup in one.

Hops have to be bound (`bind_relations`), so only objects the caller may read count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.ports import Rows
from pentad.kernel.sql import Sql, among, nested, select
from pentad.rooms.registers.query.aggregation import figure_sql, plain_figure
from pentad.rooms.registers.query.conditions import value_sql
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.from_clause import RowSource
from pentad.rooms.registers.query.metadata import column_of
from pentad.rooms.registers.query.models import Filter, Hops, Kind, Metric, Path
from pentad.rooms.registers.query.related_rows import first_key, related_pairs, with_values

RollupFunction = Literal["count", "sum", "avg", "min", "max", "latest"]
_DATA: Final = "objects.data"
_CREATED: Final[Path] = ("@self", "created")


@dataclass(frozen=True, slots=True)
class RelatedValue:
    """The value at a path in the one object at the end of the hops."""

    hops: Hops
    path: Path


@dataclass(frozen=True, slots=True)
class Rollup:
    """A figure over the related objects that satisfy `criteria`. Without a path, `count` counts objects.

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
    """The wanted values of each object, by uuid."""
    asked = [(one.hops, _raw_value(one.path)) for one in wanted]
    source, values = with_values(sql, _page(sql, ids), asked)
    statement = source.select(", ".join(("objects.uuid", *values)))
    return {
        row[0]: [_plain_value(one.path, value) for one, value in zip(wanted, row[1:], strict=True)]
        for row in rows.all(statement.text, *statement.params)
    }


def roll_up(rows: Rows, sql: SqlDialect, rollup: Rollup, ids: Sequence[int]) -> dict[str, Any]:
    """The figure of each object that has one, by uuid."""
    seen = _page(sql, ids).select(f"objects.uuid AS n, {first_key(sql, rollup.hops)} AS h")
    if rollup.function == "latest":
        value, metric = value_sql(sql, rollup.by, rollup.by_kind), None
    else:
        metric = Metric("v", rollup.function, rollup.path, rollup.kind)
        value = "1" if rollup.path is None else value_sql(sql, rollup.path, rollup.kind)
    pairs = nested(related_pairs(sql, (), "h", rollup.hops, value, rollup.criteria), "pairs")
    path = rollup.path or _CREATED
    if metric is None:
        found = _latest(path, pairs)
    else:
        found = select(f"n, {figure_sql(sql, metric, 'v')}", pairs, None, " GROUP BY n")
    read = rows.all(f"WITH seen AS MATERIALIZED ({seen.text}) {found.text}", *seen.params, *found.params)
    return {row[0]: _plain_value(path, row[1]) if metric is None else plain_figure(metric, row[1]) for row in read}


def _latest(path: Path, pairs: Sql) -> Sql:
    order = "ROW_NUMBER() OVER (PARTITION BY n ORDER BY v DESC NULLS LAST, f DESC) AS place"
    ranked = nested(select(f"n, f, {order}", pairs), "ranked")
    tables = Sql(f"{ranked.text} JOIN objects ON objects.uuid = ranked.f", ranked.params)
    return select(f"ranked.n, {_raw_value(path)}", tables, Sql("ranked.place = 1"))


def _page(sql: SqlDialect, ids: Sequence[int]) -> RowSource:
    """The objects of a page, which the caller has read already."""
    return RowSource(Sql("objects"), among(sql.dialect, "objects.id", ids))


def _raw_value(path: Path) -> str:
    """Metadata as its column; anything else is taken out of the object's JSON, whatever its type."""
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
