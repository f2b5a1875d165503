"""SQL that passes from objects to related ones.

References are compared as they stand in the data, because the index of a reference property is on that expression, and
because that also works for the past. Only a reference inside a list of objects is looked up in `object_references`.

The far side is always a table of its own with few columns, `u` (what the near side is compared with) among them. Names
such as `data` and `objects.uuid` so mean the near object outside of it and the far object inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.schema import pointer
from pentad.kernel.sql import Sql, composed, joined, nested, select
from pentad.rooms.registers.query.conditions import value_sql
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.from_clause import RowSource, row_source
from pentad.rooms.registers.query.models import Filter, Hop, Hops, Or, Path, Related, Scope

_UUID: Final = "objects.uuid"
_EACH: Final = "*"
_NOBODY: Final = Or(())
"""Without a scope there is no right to read anything."""


def has_related(sql: SqlDialect, criteria: Related) -> Sql:
    """Whether some related object satisfies the part."""
    hop = criteria.hop
    far = _far(sql, hop, criteria.part)
    here = far.source.select(far.key)
    if hop.back:
        return composed(f"{_UUID} IN (", here, ")")
    if not hop.many:
        return composed(f"{value_sql(sql, hop.path, 'text')} IN (", here, ")")
    elements, element = sql.elements(sql.array(hop.path), "text")
    return composed("EXISTS (", select("1", Sql(elements), composed(f"{element} IN (", here, ")")), ")")


def with_values(sql: SqlDialect, found: RowSource, wanted: Sequence[tuple[Hops, str]]) -> tuple[RowSource, list[str]]:
    """The source with single related objects joined, and each wanted value as SQL over it.

    A value is an expression over the object at the end of its hops, NULL if there is none.
    """
    columns: dict[Hops, dict[str, str]] = {}
    for hops, value in wanted:
        for depth in range(1, len(hops) + 1):
            here = columns.setdefault(hops[:depth], {})
            asked = value if depth == len(hops) else value_sql(sql, hops[depth].path, "text")
            here.setdefault(asked, f"c{len(here)}")
    if not columns:
        return found, [value for _, value in wanted]
    names = {hops: f"far{number}" for number, hops in enumerate(columns)}

    def column(hops: Hops, value: str) -> str:
        return f"{names[hops]}.{columns[hops][value]}" if hops else value

    tables = found.tables
    for hops, listed in columns.items():
        far = _far(sql, hops[-1])
        rows = far.source.select(
            ", ".join((f"{far.key} AS u", *(f"{value} AS {name}" for value, name in listed.items())))
        )
        near = column(hops[:-1], value_sql(sql, hops[-1].path, "text"))
        tables = composed(tables, " LEFT JOIN ", nested(rows, names[hops]), f" ON {names[hops]}.u = {near}")
    return RowSource(tables, found.where, found.relevance), [column(hops, value) for hops, value in wanted]


def first_key(sql: SqlDialect, hops: Hops) -> str:
    """What `related_pairs` needs of each object to begin with, as SQL over the object; NULL if its uuid does."""
    first = hops[0]
    if first.back or first.lists:
        return "NULL"
    return sql.array(first.path) if first.many else value_sql(sql, first.path, "text")


def related_pairs(sql: SqlDialect, kept: Sequence[str], first: str, hops: Hops, value: str) -> Sql:
    """For each row of the table `seen`, a row for each related object at the end of the hops.

    `seen` has the uuid of its object as `n` and its first key as `first`. The rows have `n`, the columns in `kept`, the
    related object's uuid as `f` and the value as `v`. An object that is related in several ways counts once.
    """
    here = ", ".join(f"seen.{name}" for name in ("n", *kept))
    start = _keys(sql, RowSource(Sql("seen"), Sql("TRUE")), here, "seen.n", f"seen.{first}", hops[0])
    tables = nested(start, "hop0")
    for number, hop in enumerate(hops):
        far, further = _far(sql, hop), hops[number + 1 : number + 2]
        if further:
            rows = _keys(sql, far.source, f"{far.key} AS u", _UUID, _reference(sql, further[0]), further[0])
        else:
            rows = far.source.select(f"{far.key} AS u, {_UUID} AS f, {value} AS v")
        name, near = f"hop{number + 1}", f"hop{number}"
        tables = composed(tables, " JOIN ", nested(rows, name), f" ON {name}.u = {near}.k")
    columns = ", ".join((*(f"hop0.{name}" for name in ("n", *kept)), f"hop{len(hops)}.f", f"hop{len(hops)}.v"))
    once = all(hop.back and not hop.many for hop in hops)  # a tree has one way to each of its leaves
    return select(columns if once else f"DISTINCT {columns}", tables)


def _reference(sql: SqlDialect, hop: Hop) -> str:
    return sql.array(hop.path) if hop.many else value_sql(sql, hop.path, "text")


def _keys(sql: SqlDialect, source: RowSource, columns: str, uuid: str, reference: str, hop: Hop) -> Sql:
    """Rows of a source with what the far side of a hop is compared with, as `k`."""
    if hop.back:
        return source.select(f"{columns}, {uuid} AS k")
    if hop.lists:
        _refuse_past(hop)
        steps = (*(step for path in hop.lists for step in (*path, _EACH)), *hop.path, *((_EACH,) if hop.many else ()))
        tables = composed(source.tables, " CROSS JOIN object_references AS holding")
        here = Sql(f"holding.source = {uuid} AND holding.path = ?", (_pointer(steps),))
        return select(f"{columns}, holding.target AS k", tables, joined("AND", [source.where, here]))
    if not hop.many:
        return source.select(f"{columns}, {reference} AS k")
    names = ", ".join(f"listed.{one.rpartition(' AS ')[2].rpartition('.')[2]}" for one in columns.split(", "))
    elements, element = sql.elements("listed.k", "text")
    inner = nested(source.select(f"{columns}, {reference} AS k"), "listed")
    return select(f"{names}, {element} AS k", composed(inner, f" CROSS JOIN {elements}"))


@dataclass(frozen=True, slots=True)
class _Far:
    """The far objects of a hop, and what the near side is compared with."""

    source: RowSource
    key: str


def _far(sql: SqlDialect, hop: Hop, criteria: Filter | None = None) -> _Far:
    source = _readable(sql, hop, criteria)
    if not hop.back:
        return _Far(source, _UUID)
    if _EACH not in hop.path:
        return _Far(source, value_sql(sql, hop.path, "text"))
    if hop.path.index(_EACH) == len(hop.path) - 1:
        elements, element = sql.elements(sql.array(hop.path[:-1]), "text")
        return _Far(RowSource(composed(source.tables, f" CROSS JOIN {elements}"), source.where), element)
    _refuse_past(hop)
    here = Sql("held.source = objects.uuid AND held.path = ?", (_pointer(hop.path),))
    tables = composed(source.tables, " CROSS JOIN object_references AS held")
    return _Far(RowSource(tables, joined("AND", [source.where, here])), "held.target")


def _readable(sql: SqlDialect, hop: Hop, criteria: Filter | None) -> RowSource:
    if hop.scope is None:
        return row_source(sql, Scope(schemas=(hop.schema,)), _NOBODY)
    return row_source(sql, hop.scope, criteria, as_of=hop.as_of)


def _refuse_past(hop: Hop) -> None:
    if hop.as_of is not None:
        name = ".".join(str(step) for step in hop.path if step != _EACH)
        raise InvalidInput(
            f"{name!r} refers from inside a list of objects; such references are known of the present only.",
            hint="Leave out as_of, or ask by another property.",
        )


def _pointer(path: Path) -> str:
    return pointer(tuple(map(str, path)))
