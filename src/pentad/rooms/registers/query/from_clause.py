"""The FROM and WHERE of a query: current objects, full-text search, or a state of the past.

Rows are always called `objects` and have the table's columns, so everything else is written once. Register and schema
are literals in the statement, because SQLite uses a partial index only if it can see that it applies.

Planner hints: SQLite has no statistics and assumes all indexed columns are equally selective, so it may scan the index
of a whole pair instead of looking up a value. PostgreSQL has no statistics on partial indexes, assumes every list and
range is large, and would scan along the ids. `uses_index` and its siblings find the part of a filter to look up.

For the past, the scope's rule must also hold for the object as it is today: if an object is no longer readable, neither
are its past states.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pentad.kernel.errors import InvalidInput
from pentad.kernel.sql import FALSE, TRUE, Sql, composed, joined, nested, select
from pentad.rooms.registers.models import OBJECT_COLUMNS
from pentad.rooms.registers.query.conditions import condition, parameter, scalar_kind, value_sql
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import And, AsOf, Compare, Filter, In, Instant, Scope, filter_paths
from pentad.rooms.registers.query.search_words import ATTACHMENT_WORDS, WORDS, AskedWords, query_words

_FOUND_OBJECTS = {
    "sqlite": " CROSS JOIN objects",
    "postgres": " CROSS JOIN LATERAL (SELECT * FROM objects WHERE id = d.record OFFSET 0) AS objects",
}
"""Objects looked up one by one from the words that were found, never the other way around: SQLite keeps the order of a
CROSS JOIN, PostgreSQL that of a subquery with an OFFSET."""


def uses_index(scope: Scope, criteria: Filter | None) -> bool:
    """Whether an index answers some part that must hold."""
    match criteria:
        case And():
            return any(uses_index(scope, part) for part in criteria.parts)
        case Compare(op="eq" | "gt" | "gte" | "lt" | "lte") | In(negated=False):
            return criteria.path in scope.indexed
        case _:
            return False


def indexed_value(scope: Scope, criteria: Filter | None) -> Compare | None:
    """The part that asks for a single value of an indexed property, if any."""
    for part in criteria.parts if isinstance(criteria, And) else (criteria,):
        if isinstance(part, Compare) and part.op == "eq" and part.value is not None and part.path in scope.indexed:
            return part
    return None


def finds_one(scope: Scope, criteria: Filter | None) -> bool:
    """Whether some part asks for a unique value."""
    return any(
        isinstance(part, Compare) and part.op == "eq" and part.value is not None and part.path in scope.unique
        for part in (criteria.parts if isinstance(criteria, And) else (criteria,))
    )


def may_be_selective(scope: Scope, criteria: Filter | None) -> bool:
    """Whether an index answers a list or a range."""
    match criteria:
        case And():
            return any(may_be_selective(scope, part) for part in criteria.parts)
        case Compare(op="gt" | "gte" | "lt" | "lte") | In(negated=False):
            return criteria.path in scope.indexed
        case _:
            return False


def indexed_list(scope: Scope, criteria: Filter | None) -> tuple[In, Filter | None] | None:
    """The list whose values to look up one by one, and the rest of the filter.

    None if there is no such list, or if a single value is looked up anyway.
    """
    sql = criteria.parts if isinstance(criteria, And) else (criteria,) if criteria is not None else ()
    if any(isinstance(part, Compare) and part.op == "eq" and part.path in scope.indexed for part in sql):
        return None
    for place, part in enumerate(sql):
        if isinstance(part, In) and not part.negated and part.path in scope.indexed and _of_one_kind(part):
            rest = (*sql[:place], *sql[place + 1 :])
            return part, And(rest) if rest else None
    return None


def _of_one_kind(criteria: In) -> bool:
    texts = sum(isinstance(value, str) and "\0" not in value for value in criteria.values)
    numbers = sum(isinstance(value, int | float) and not isinstance(value, bool) for value in criteria.values)
    moments = sum(isinstance(value, Instant) for value in criteria.values)
    return bool(criteria.values) and len(criteria.values) in (texts, numbers, moments)


COLUMNS = ", ".join(f"objects.{name}" for name in OBJECT_COLUMNS.split(", "))
"""The columns of a StoredObject, in order."""

_PAST_COLUMNS = (
    "objects.id, objects.uuid, objects.register, objects.schema, changed.version - 1 AS version,"
    " changed.before AS data, objects.slug, objects.owner, objects.organisation, objects.created_at,"
    " changed.since AS updated_at, NULL AS deleted, NULL AS lock, NULL AS schema_version"
)
_LATER = (
    "EXISTS (SELECT 1 FROM object_changes AS later WHERE later.uuid = {0}.uuid AND later.seq > ?"
    " AND later.action NOT IN ('lock', 'unlock'){1})"
)


def past_rows(sql: SqlDialect, scope: Scope, as_of: AsOf) -> Sql:
    """The objects unchanged since and, for each changed one, the state its first later change replaced."""
    if as_of.change is not None:
        unchanged = Sql("NOT " + _LATER.format("objects", ""), (as_of.change,))
    else:
        unchanged = Sql("objects.updated_at <= ?", (as_of.at,))
    now = joined("AND", [*scope_conditions(sql, scope), Sql("objects.deleted IS NULL"), unchanged])
    unchanged_rows = select(f"{COLUMNS}{sql.past_columns('objects.data')}", Sql("objects"), now)
    replaced = replaced_rows(sql, scope, as_of, today=_current_rule(sql, scope))
    text = f"{unchanged_rows.text} UNION ALL {replaced.text}"
    return nested(Sql(text, (*unchanged_rows.params, *replaced.params)), "objects")


def _current_rule(sql: SqlDialect, scope: Scope) -> Sql | None:
    """The rule for the object as it is today; None if only owner and organisation matter, which never change."""
    if scope.rule is None or all(path[0] == SELF for path in filter_paths(scope.rule)):
        return None
    return condition(sql, scope.rule)


def replaced_rows(sql: SqlDialect, scope: Scope, as_of: AsOf, today: Sql | None = None) -> Sql:
    """Select the state replaced by the first later change of each changed object.

    `today` is a condition on the current objects.
    """
    if as_of.change is not None:
        first = "changed.seq > ? AND NOT " + _LATER.format("changed", " AND later.seq < changed.seq")
        then = Sql(first, (as_of.change, as_of.change))
    else:
        then = Sql("changed.since <= ? AND changed.at > ?", (as_of.at, as_of.at))
    known = Sql("changed.before IS NOT NULL AND changed.before_deleted = 0")
    return select(
        f"{_PAST_COLUMNS}{sql.past_columns('changed.before')}",
        Sql("object_changes AS changed JOIN objects ON objects.uuid = changed.uuid"),
        joined("AND", [*scope_conditions(sql, scope, "changed"), known, then, *([] if today is None else [today])]),
    )


def scope_conditions(sql: SqlDialect, scope: Scope, table: str = "objects") -> list[Sql]:
    """The register and schemas of a scope, as literal numbers."""
    pieces: list[Sql] = []
    if scope.register is not None:
        pieces.append(Sql(f"{table}.register = {int(scope.register)}"))
    if len(scope.schemas) == 1:
        here = f"{table}.schema = {int(scope.schemas[0])}"
        pieces.append(Sql(sql.expected(here) if table == "objects" else here))
    elif scope.schemas:
        pieces.append(Sql(f"{table}.schema IN ({', '.join(str(int(schema)) for schema in scope.schemas)})"))
    return pieces


@dataclass(frozen=True, slots=True)
class RowSource:
    """A FROM and a WHERE. `relevance` is the SQL that orders the candidates of a search."""

    tables: Sql
    where: Sql
    relevance: str | None = None

    def select(self, columns: str, more: Sql | None = None, tail: str = "") -> Sql:
        """A statement that reads columns (without parameters), with one more condition."""
        where = self.where if more is None else joined("AND", [self.where, more])
        return select(columns, self.tables, where, tail)


def row_source(
    sql: SqlDialect,
    scope: Scope,
    criteria: Filter | None,
    *,
    search: str | None = None,
    asked: AskedWords | None = None,
    as_of: AsOf | None = None,
    include_deleted: bool = False,
    near: Sequence[int] = (),
    attachments: Sequence[int] = (),
    looked_up: bool = False,
    best_first: bool = False,
) -> RowSource:
    """The objects of a scope that match a filter and a search; objects in `near` need not contain its words.

    `asked` are the words to look for, if not all words of the search. For the schemas in `attachments`, an object also
    matches if one of its attachments has the words. `looked_up` means that an index answers some part even if the
    filter does not show it. With `best_first`, the best matches are wanted, in the order of their relevance and id.
    """
    pieces = scope_conditions(sql, scope)
    if as_of is None and not include_deleted:
        pieces.append(Sql("objects.deleted IS NULL"))
    pieces += _scope_rules(sql, scope, decisive=looked_up or uses_index(scope, criteria))
    tables, relevance = Sql("objects"), None
    if as_of is not None:
        if search is not None:
            raise InvalidInput("The past cannot be searched by words.", hint="Use a filter with like or contains.")
        tables = past_rows(sql, scope, as_of)
    elif search is not None:
        expression = (asked or AskedWords(query_words(search))).expression(WORDS, sql.dialect)
        if not expression:
            pieces.append(FALSE)
        else:
            found = (
                WORDS.having_or(sql.dialect, expression, near) if near else WORDS.best_first(sql.dialect, expression)
            )
            if attachments:
                found = _or_attached(found, attached_objects(sql, expression, attachments), ranked=not near)
            if best_first and not near and sql.dialect == "postgres":
                # sorted here, so that only the objects of the page are looked up
                found = nested(composed("SELECT record, points FROM ", found, " ORDER BY points DESC, record"), "d")
            tables, relevance = composed(found, _FOUND_OBJECTS[sql.dialect]), None if near else "d.points"
            pieces.insert(0, Sql("objects.id = d.record"))
    elif (found := indexed_list(scope, criteria)) is not None:
        tables, match, criteria = _join_values(sql, *found)
        pieces.append(match)
    if criteria is not None:
        pieces.append(condition(sql, criteria))
    return RowSource(tables, joined("AND", pieces) if pieces else TRUE, relevance)


def _or_attached(found: Sql, attached: Sql, *, ranked: bool) -> Sql:
    """The table `d` of matches, including objects found through their attachments."""
    if not ranked:
        return composed("(SELECT record FROM ", found, " UNION SELECT record FROM (", attached, ") AS a) AS d")
    # each object once; attachments are the shorter list
    return composed(
        "(WITH a AS (", attached, ") SELECT record, points FROM ", found,
        " WHERE record NOT IN (SELECT record FROM a) UNION ALL SELECT record, points FROM a) AS d",
    )  # fmt: skip


def attached_objects(sql: SqlDialect, expression: str, schemas: Sequence[int]) -> Sql:
    """Select objects of some schemas with an attachment that has all the words, as `record` with `points`."""
    listed = ", ".join(str(int(schema)) for schema in schemas)
    return composed(
        "SELECT texts.object AS record, max(d.points) AS points FROM ",
        ATTACHMENT_WORDS.best_first(sql.dialect, expression),
        f" JOIN attachment_texts AS texts ON texts.number = d.record WHERE texts.schema IN ({listed})"
        " GROUP BY texts.object",
    )


def _join_values(sql: SqlDialect, listed: In, rest: Filter | None) -> tuple[Sql, Sql, Filter | None]:
    """Look up each value of a list separately, if the dialect needs that."""
    values = [one for one in dict.fromkeys(listed.values) if one is not None]
    value = value_sql(sql, listed.path, scalar_kind(values[0]))
    joining = sql.each_of(value, [one.key if isinstance(one, Instant) else one for one in values])
    if joining is None:
        return Sql("objects"), condition(sql, listed), rest
    return *joining, rest


def _scope_rules(sql: SqlDialect, scope: Scope, *, decisive: bool) -> list[Sql]:
    """The conditions of the scope. The organisation is the last column of every property index, so naming it, even
    without a restriction, makes that index the best fit.
    """
    rules = list(scope.rule.parts) if isinstance(scope.rule, And) else [scope.rule] if scope.rule is not None else []
    pieces: list[Sql] = []
    named = False
    for rule in rules:
        match rule:
            case (
                Compare(path=("@self", "organisation"), op="eq", value=str(tenant))
                | In(path=("@self", "organisation"), values=(str(tenant),), negated=False)
            ):
                mark, bound = parameter(sql, tenant)
                test = f"objects.organisation = {mark}"
                pieces.append(Sql(sql.decisive(test) if decisive else sql.expected(test), (bound,)))
                named = True
            case _:
                pieces.append(condition(sql, rule))
    if decisive and not named:
        pieces.append(Sql(sql.decisive("objects.organisation >= ''")))
    return pieces
