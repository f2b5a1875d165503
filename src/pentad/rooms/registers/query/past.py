"""Objects as they were, with the columns they have now.

Whatever else is asked of the past, the scope's rule also has to hold for the object as it is today: a state that could
be read then cannot be read any more once the object cannot.
"""

from pentad.kernel.sql import Sql, joined, nested, select
from pentad.rooms.registers.models import OBJECT_COLUMNS
from pentad.rooms.registers.query.conditions import condition
from pentad.rooms.registers.query.dialects import Parts
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.tree import AsOf, Scope, filter_paths

COLUMNS = ", ".join(f"objects.{name}" for name in OBJECT_COLUMNS.split(", "))
"""The columns of a StoredObject, in order."""

_PAST_COLUMNS = (
    "objects.id, objects.uuid, objects.register, objects.schema, changed.version - 1 AS version,"
    " changed.before AS data, objects.slug, objects.owner, objects.organisation, objects.created_at,"
    " changed.since AS updated_at, NULL AS deleted, NULL AS lock"
)
_LATER = (
    "EXISTS (SELECT 1 FROM object_changes AS later WHERE later.uuid = {0}.uuid AND later.seq > ?"
    " AND later.action NOT IN ('lock', 'unlock'){1})"
)


def past(parts: Parts, scope: Scope, as_of: AsOf) -> Sql:
    """What has not changed since, and for each object that has, what its first later change replaced."""
    if as_of.change is not None:
        unchanged = Sql("NOT " + _LATER.format("objects", ""), (as_of.change,))
    else:
        unchanged = Sql("objects.updated_at <= ?", (as_of.at,))
    now = joined("AND", [*place(parts, scope), Sql("objects.deleted IS NULL"), unchanged])
    unchanged_rows = select(f"{COLUMNS}{parts.past_columns('objects.data')}", Sql("objects"), now)
    replaced_rows = replaced(parts, scope, as_of, today=_today(parts, scope))
    text = f"{unchanged_rows.text} UNION ALL {replaced_rows.text}"
    return nested(Sql(text, (*unchanged_rows.params, *replaced_rows.params)), "objects")


def _today(parts: Parts, scope: Scope) -> Sql | None:
    """The rule for an object as it is now; None where it cannot have changed, for owner and organisation never do."""
    if scope.rule is None or all(path[0] == SELF for path in filter_paths(scope.rule)):
        return None
    return condition(parts, scope.rule)


def replaced(parts: Parts, scope: Scope, as_of: AsOf, today: Sql | None = None) -> Sql:
    """The statement that reads what the first later change of each changed object replaced.

    `today` is a condition on the objects as they are now.
    """
    if as_of.change is not None:
        first = "changed.seq > ? AND NOT " + _LATER.format("changed", " AND later.seq < changed.seq")
        then = Sql(first, (as_of.change, as_of.change))
    else:
        then = Sql("changed.since <= ? AND changed.at > ?", (as_of.at, as_of.at))
    known = Sql("changed.before IS NOT NULL AND changed.before_deleted = 0")
    return select(
        f"{_PAST_COLUMNS}{parts.past_columns('changed.before')}",
        Sql("object_changes AS changed JOIN objects ON objects.uuid = changed.uuid"),
        joined("AND", [*place(parts, scope, "changed"), known, then, *([] if today is None else [today])]),
    )


def place(parts: Parts, scope: Scope, table: str = "objects") -> list[Sql]:
    """The register and the schemas of a scope, as numbers in the text."""
    pieces: list[Sql] = []
    if scope.register is not None:
        pieces.append(Sql(f"{table}.register = {int(scope.register)}"))
    if len(scope.schemas) == 1:
        here = f"{table}.schema = {int(scope.schemas[0])}"
        pieces.append(Sql(parts.expected(here) if table == "objects" else here))
    elif scope.schemas:
        pieces.append(Sql(f"{table}.schema IN ({', '.join(str(int(schema)) for schema in scope.schemas)})"))
    return pieces
