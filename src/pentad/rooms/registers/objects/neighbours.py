"""The objects an object refers to (`uses`), and those that refer to it (`used`), if the caller may see them.

The rules of each pair are part of the statement, so totals and pages are exact for any number of objects. References in
properties hidden from the caller do not count.
"""

from collections.abc import Callable, Collection
from typing import Final, Literal

from pentad.kernel import sql
from pentad.kernel.json_pointer import pointer
from pentad.kernel.ports import Dialect, Rows
from pentad.kernel.sql import FALSE, Sql, composed, joined, select
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.models import Caller, Page, Pair, StoredObject
from pentad.rooms.registers.query.conditions import condition
from pentad.rooms.registers.query.dialects import sql_dialect
from pentad.rooms.registers.query.from_clause import COLUMNS

Direction = Literal["uses", "used"]
_ENDS: Final[dict[Direction, tuple[str, str]]] = {"uses": ("source", "target"), "used": ("target", "source")}


def neighbours(
    rows: Rows,
    dialect: Dialect,
    access: AccessRules,
    caller: Caller,
    pair_of: Callable[[int, int], Pair],
    pair: Pair,
    stored: StoredObject,
    direction: Direction,
    limit: int,
    offset: int,
) -> Page[tuple[Pair, StoredObject]]:
    """One page of the objects at the other end, oldest first."""
    near, far = _ENDS[direction]
    tables = Sql(f"object_references AS held JOIN objects ON objects.uuid = held.{far}")
    here = Sql(f"held.{near} = ? AND objects.deleted IS NULL", (stored.uuid,))
    if direction == "uses" and (hidden := access.hidden(caller, pair, stored.data, stored.owner)):
        here = joined("AND", [here, _not_by(pair, hidden)])
    places = select("DISTINCT objects.register, objects.schema", tables, here)
    readable: list[Sql] = []
    for register, schema in rows.all(places.text, *places.params):
        there = pair_of(register, schema)
        if access.sees_both(caller, there.register, there.schema):
            readable.append(_readable(dialect, access, caller, there, direction))
    where = joined("AND", [here, joined("OR", readable) if readable else FALSE])
    total = select("count(DISTINCT objects.id)", tables, where)
    ids = composed("objects.id IN (", select("objects.id", tables, where), ")")
    page = select(COLUMNS, Sql("objects"), ids, f" ORDER BY objects.id LIMIT {int(limit)} OFFSET {int(offset)}")
    found = [StoredObject(*row) for row in rows.all(page.text, *page.params)]
    listed = [(pair_of(one.register, one.schema), one) for one in found]
    return Page(listed, rows.value(total.text, *total.params), limit, offset)


def _readable(dialect: Dialect, access: AccessRules, caller: Caller, there: Pair, direction: Direction) -> Sql:
    place = Sql(f"objects.register = {int(there.register.id)} AND objects.schema = {int(there.schema.id)}")
    pieces = [place]
    if (rule := access.row_filter(caller, there, "read")) is not None:
        pieces.append(condition(sql_dialect(dialect), rule))
    if direction == "used" and (hidden := access.hidden(caller, there)):
        pieces.append(_not_by(there, hidden))
    return joined("AND", pieces)


def _not_by(pair: Pair, hidden: Collection[str]) -> Sql:
    """A condition: the reference is in a property that is not hidden."""
    seen = {pointer(one.path) for one in pair.definition.references if one.path[0] not in hidden}
    marks = sql.marks(len(seen))
    return composed(Sql(f"held.path IN ({marks})", tuple(sorted(seen)))) if seen else FALSE
