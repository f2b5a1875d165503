"""Where objects come from: the table, the table through full-text search, or the past.

Whatever the source, its rows are called `objects` and have the columns of the table, so that everything else is
written once. The scope stands in the text as numbers: SQLite only uses a partial index where it can see that it fits.
"""

from dataclasses import dataclass

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.models import OBJECT_COLUMNS
from pentad.rooms.registers.query.conditions import condition
from pentad.rooms.registers.query.dialects import Parts
from pentad.rooms.registers.query.sql import FALSE, Sql, joined, nested, select
from pentad.rooms.registers.query.tree import AsOf, Filter, Scope
from pentad.rooms.registers.query.words import search_expression

COLUMNS = ", ".join(f"objects.{name}" for name in OBJECT_COLUMNS.split(", "))
"""The columns of a StoredObject, in order."""

_PAST_COLUMNS = (
    "objects.id, objects.uuid, objects.register, objects.schema, changed.version - 1, changed.before, objects.slug,"
    " objects.owner, objects.organisation, objects.created_at, changed.since, NULL, NULL"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A FROM and a WHERE. `relevance` is there when the source is a search."""

    tables: Sql
    where: Sql
    relevance: str | None = None

    def select(self, columns: str, more: Sql | None = None, tail: str = "") -> Sql:
        """The statement that reads columns (without parameters) under one more condition."""
        where = self.where if more is None else joined("AND", [self.where, more])
        return select(columns, self.tables, where, tail)


def source(
    parts: Parts,
    scope: Scope,
    wanted: Filter | None,
    *,
    search: str | None = None,
    as_of: AsOf | None = None,
    include_deleted: bool = False,
) -> Source:
    """The objects of a scope that a filter and a search are true of."""
    pieces = _place(parts, scope)
    if as_of is None and not include_deleted:
        pieces.append(Sql("objects.deleted IS NULL"))
    if scope.organisations is not None:
        marks = ", ".join("?" for _ in scope.organisations)
        pieces.append(Sql(f"objects.organisation IN ({marks})", scope.organisations) if marks else FALSE)
    pieces.extend(condition(parts, one) for one in (scope.rule, wanted) if one is not None)
    tables, relevance = Sql("objects"), None
    if as_of is not None:
        if search is not None:
            raise InvalidInput("The past cannot be searched by words.", hint="Use a filter with like or contains.")
        tables = _past(parts, scope, as_of)
    elif search is not None:
        expression = search_expression(parts.dialect, search)
        if expression is None:
            pieces.append(FALSE)
        else:
            tables, match, relevance = parts.search(expression)
            pieces.insert(0, match)
    return Source(tables, joined("AND", pieces) if pieces else Sql("TRUE"), relevance)


def _place(parts: Parts, scope: Scope, table: str = "objects") -> list[Sql]:
    pieces: list[Sql] = []
    if scope.register is not None:
        pieces.append(Sql(f"{table}.register = {int(scope.register)}"))
    if len(scope.schemas) == 1:
        pieces.append(Sql(parts.expected(f"{table}.schema = {int(scope.schemas[0])}")))
    elif scope.schemas:
        pieces.append(Sql(f"{table}.schema IN ({', '.join(str(int(schema)) for schema in scope.schemas)})"))
    return pieces


def _past(parts: Parts, scope: Scope, as_of: AsOf) -> Sql:
    """What has not changed since, and for each object that has, what its first later change replaced."""
    if as_of.change is not None:
        later = "EXISTS (SELECT 1 FROM object_changes AS later WHERE later.uuid = {0}.uuid AND later.seq > ?"
        later += " AND later.action NOT IN ('lock', 'unlock'){1})"
        unchanged = Sql("NOT " + later.format("objects", ""), (as_of.change,))
        replaced = Sql(
            "changed.seq > ? AND NOT " + later.format("changed", " AND later.seq < changed.seq"),
            (as_of.change, as_of.change),
        )
    else:
        unchanged = Sql("objects.updated_at <= ?", (as_of.at,))
        replaced = Sql("changed.since <= ? AND changed.at > ?", (as_of.at, as_of.at))
    now = joined("AND", [*_place(parts, scope), Sql("objects.deleted IS NULL"), unchanged])
    then = joined(
        "AND",
        [*_place(parts, scope, "changed"), Sql("changed.before IS NOT NULL AND changed.before_deleted = 0"), replaced],
    )
    unchanged_rows = select(f"{COLUMNS}{parts.past_columns('objects.data')}", Sql("objects"), now)
    replaced_rows = select(
        f"{_PAST_COLUMNS}{parts.past_columns('changed.before')}",
        Sql("object_changes AS changed JOIN objects ON objects.uuid = changed.uuid"),
        then,
    )
    text = f"{unchanged_rows.text} UNION ALL {replaced_rows.text}"
    return nested(Sql(text, (*unchanged_rows.params, *replaced_rows.params)), "objects")
