"""SQL that passes from objects to related ones.

References are compared as they are in the data: the index of a reference property is on that expression, and it also
works for the past. Only references inside a list of objects are looked up in `object_references`.

A filter starts at the far side if few objects match it there (`narrowed`): neither store can estimate their number, so
it would check every near object.

The far side is always a separate table with few columns, including `u` (what the near side is compared with). Names
such as `data` and `objects.uuid` mean the far object inside it and the near one outside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_pointer import pointer
from pentad.kernel.ports import Rows
from pentad.kernel.sql import TRUE, Sql, composed, joined, nested, select
from pentad.rooms.registers.query.conditions import value_sql
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.from_clause import RowSource, row_source
from pentad.rooms.registers.query.json_sql import reference_text
from pentad.rooms.registers.query.models import And, Filter, Hop, Hops, In, Or, Path, Related, Scope

_UUID: Final = "objects.uuid"
_EACH: Final = "*"
_SELF_UUID: Final[Path] = ("@self", "uuid")
_FEW: Final = 5_000
_NOBODY: Final = Or(())
"""Without a scope, nothing may be read."""


def has_related(sql: SqlDialect, criteria: Related) -> Sql:
    """Whether some related object matches the part."""
    hop = criteria.hop
    far = _far(sql, hop, criteria.part)
    here = far.source.select(far.key)
    if hop.back:
        return composed(f"{_UUID} IN (", here, ")")
    if not hop.many:
        return composed(f"{value_sql(sql, hop.path, 'text')} IN (", here, ")")
    elements, element = sql.elements(sql.array(hop.path), "text")
    return composed("EXISTS (", select("1", Sql(elements), composed(f"{element} IN (", here, ")")), ")")


def narrowed(rows: Rows, sql: SqlDialect, scope: Scope, criteria: Filter | None) -> Filter | None:
    """An equivalent filter: relations with few objects at the far end become lists of their references."""
    match criteria:
        case And():
            return And(tuple(_narrowed(rows, sql, scope, part) for part in criteria.parts))
        case None:
            return None
        case _:
            return _narrowed(rows, sql, scope, criteria)


def looked_up(sql: SqlDialect, scope: Scope, criteria: Filter | None) -> RowSource | None:
    """The current objects, read in the order of a reference's index; None if no part that must hold is a relation
    through an indexed reference.

    SQLite assumes that a list from a subquery is long and would check every near object, so the far side is joined.
    """
    parts = criteria.parts if isinstance(criteria, And) else () if criteria is None else (criteria,)
    for place, part in enumerate(parts):
        if not isinstance(part, Related) or not _is_indexed(scope, part.hop):
            continue
        if sql.dialect != "sqlite":
            return row_source(sql, scope, criteria, looked_up=True)
        near = row_source(sql, scope, And((*parts[:place], *parts[place + 1 :])), looked_up=True)
        far = _far(sql, part.hop, part.part)
        tables = composed(nested(far.source.select(f"{far.key} AS u"), "sought"), " CROSS JOIN ", near.tables)
        match = Sql(f"{value_sql(sql, part.hop.path, 'text')} = +sought.u")
        return RowSource(tables, joined("AND", [near.where, match]))
    return None


def _narrowed(rows: Rows, sql: SqlDialect, scope: Scope, criteria: Filter) -> Filter:
    if not isinstance(criteria, Related):
        return criteria
    hop, beyond = criteria.hop, criteria.hop.scope
    if beyond is None or hop.as_of is not None:
        return criteria
    inner = narrowed(rows, sql, beyond, criteria.part) or criteria.part
    if hop.many or (not hop.back and not _is_indexed(scope, hop)):
        return Related(hop, inner)
    far = _far(sql, hop, inner)
    statement = far.source.select(f"DISTINCT {far.key}" if hop.back else far.key, None, f" LIMIT {_FEW + 1}")
    found = rows.all(statement.text, *statement.params)
    if len(found) > _FEW:
        return Related(hop, inner)
    return In(_SELF_UUID if hop.back else hop.path, tuple(value for (value,) in found if value is not None))


def _is_indexed(scope: Scope, hop: Hop) -> bool:
    return not hop.back and not hop.many and hop.path in scope.indexed


def with_values(sql: SqlDialect, found: RowSource, wanted: Sequence[tuple[Hops, str]]) -> tuple[RowSource, list[str]]:
    """The source with single related objects joined, and each wanted value as SQL over it.

    A value is an expression over the object at the end of its hops; NULL if there is none.
    """
    columns: dict[Hops, dict[str, str]] = {}
    for hops, value in wanted:
        for depth in range(1, len(hops) + 1):
            here = columns.setdefault(hops[:depth], {})
            asked = value if depth == len(hops) else reference_text(sql.dialect, hops[depth].path)
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
        near = column(hops[:-1], reference_text(sql.dialect, hops[-1].path))
        tables = composed(tables, " LEFT JOIN ", nested(rows, names[hops]), f" ON {names[hops]}.u = {near}")
    return RowSource(tables, found.where, found.relevance), [column(hops, value) for hops, value in wanted]


def first_key(sql: SqlDialect, hops: Hops) -> str:
    """SQL for what `related_pairs` first needs from each object; NULL if the uuid suffices."""
    return "NULL" if hops[0].back or hops[0].lists else _reference(sql, hops[0])


def related_pairs(sql: SqlDialect, kept: Sequence[str], first: str, hops: Hops, value: str) -> Sql:
    """For each row of the table `seen`, a row for each related object at the end of the hops.

    `seen` has the uuid of its object as `n` and its first key as `first`. The rows have `n`, the columns in `kept`, the
    related object's uuid as `f` and the value as `v`. An object that is related in several ways counts once.
    """
    here = {name: f"seen.{name}" for name in ("n", *kept)}
    start = _keys(sql, RowSource(Sql("seen"), TRUE), here, "seen.n", f"seen.{first}", hops[0])
    tables = nested(start, "hop0")
    for number, hop in enumerate(hops):
        far, further = _far(sql, hop), hops[number + 1 : number + 2]
        if further:
            rows = _keys(sql, far.source, {"u": far.key}, _UUID, _reference(sql, further[0]), further[0])
        else:
            rows = far.source.select(f"{far.key} AS u, {_UUID} AS f, {value} AS v")
        name, near = f"hop{number + 1}", f"hop{number}"
        tables = composed(tables, " JOIN ", nested(rows, name), f" ON {name}.u = {near}.k")
    columns = ", ".join((*(f"hop0.{name}" for name in ("n", *kept)), f"hop{len(hops)}.f", f"hop{len(hops)}.v"))
    once = all(hop.back and not hop.many for hop in hops)  # in a tree there is only one path to each leaf
    return select(columns if once else f"DISTINCT {columns}", tables)


def _reference(sql: SqlDialect, hop: Hop) -> str:
    return sql.array(hop.path) if hop.many else reference_text(sql.dialect, hop.path)


def _keys(sql: SqlDialect, source: RowSource, kept: Mapping[str, str], uuid: str, reference: str, hop: Hop) -> Sql:
    """The rows of a source with the value the far side of a hop is compared with, as `k`."""
    columns = ", ".join(f"{value} AS {name}" for name, value in kept.items())
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
    elements, element = sql.elements("listed.k", "text")
    inner = nested(source.select(f"{columns}, {reference} AS k"), "listed")
    names = ", ".join(f"listed.{name} AS {name}" for name in kept)
    return select(f"{names}, {element} AS k", composed(inner, f" CROSS JOIN {elements}"))


@dataclass(frozen=True, slots=True)
class _Far:
    """The far objects of a hop, and the value the near side is compared with."""

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
