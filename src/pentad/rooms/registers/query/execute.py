"""Asking the store: plain functions of Rows, for services to call within their one unit of work."""

from collections.abc import Sequence
from dataclasses import replace

from pentad.kernel.ports import Dialect, Row, Rows
from pentad.kernel.sql import Sql, joined
from pentad.rooms.registers.query.aggregation import aggregated
from pentad.rooms.registers.query.count_cache import Tallies, may_be_kept
from pentad.rooms.registers.query.dialects import Parts, parts_of
from pentad.rooms.registers.query.facets import facets
from pentad.rooms.registers.query.from_clause import COLUMNS, Source, may_find_few, source, value_looked_up
from pentad.rooms.registers.query.models import Aggregated, AggregateQuery, Found, Query, Scope
from pentad.rooms.registers.query.pagination import Key, Phase, keys_of, phases, position, read_cursor, write_cursor
from pentad.rooms.registers.query.text_search import Asked, Searched, TextSearch

_WIDTH = COLUMNS.count(",") + 1


def find(
    rows: Rows,
    dialect: Dialect,
    scope: Scope,
    query: Query,
    tallies: Tallies | None = None,
    searched: Searched | None = None,
) -> Found:
    """One page of the objects a query asks for, with their number and facets as far as it asks for them.

    What was counted before is in `tallies`; give them only with rows of a reading transaction. `searched` says what of
    the objects a search looks into; all their texts if it is not given.
    """
    parts = parts_of(dialect)
    if tallies is None or not may_be_kept(parts, scope, query):
        tallies = None
    search = None
    if query.search is not None and query.as_of is None:
        search = TextSearch.of(rows, parts, scope, query, searched or Searched())
    found = _source(parts, scope, query) if search is None else search.source()
    ranked = None if query.sort else search
    page = _sorted(rows, parts, scope, query, found) if ranked is None else ranked.page(query)
    counted = facets(rows, parts, scope, query, found, tallies) if query.facets else {}  # which may tell the total
    total = None
    if query.count:
        total = _shown_to_the_end(query, page)
        if total is None:
            total = _count(rows, found) if tallies is None else tallies.count(rows, parts, scope, query.filter)
    answer = replace(page, total=total, facets=counted, ignored=query.ignored)
    return answer if search is None else search.described(answer)


def aggregate(
    rows: Rows, dialect: Dialect, scope: Scope, query: AggregateQuery, searched: Searched | None = None
) -> Aggregated:
    """Figures over groups of the objects a query asks for."""
    parts = parts_of(dialect)
    if searched is None or query.search is None or query.as_of is not None:
        return aggregated(
            rows, parts, query, source(parts, scope, query.filter, search=query.search, as_of=query.as_of)
        )
    search = TextSearch(rows, parts, Asked(scope, query.filter, query.search), searched)
    return replace(aggregated(rows, parts, query, search.source()), retrieval=search.retrieval)


def _source(parts: Parts, scope: Scope, query: Query) -> Source:
    return source(
        parts, scope, query.filter, search=query.search, as_of=query.as_of, include_deleted=query.include_deleted
    )


def _sorted(rows: Rows, parts: Parts, scope: Scope, query: Query, found: Source) -> Found:
    """A page along the keys; one row more is read, to know whether to give a cursor."""
    if query.limit == 0:
        return Found([], None, None)
    keys = keys_of(parts, query.sort)
    if not keys and (owner := _only_organisation(rows, parts, scope, query, found)) is not None:
        here = Sql(parts.decisive("objects.organisation = ?"), (owner,))
        found = Source(found.tables, joined("AND", [found.where, here]))
    after = read_cursor(scope, query, [*(one.kind for one in query.sort), "number"])
    listed = _page(
        rows,
        found,
        keys,
        list(phases(parts, keys, after, few=may_find_few(scope, query.filter))),
        query.limit + 1,
        query.offset,
    )

    def behind(shown: int) -> str:
        return write_cursor(scope, query, position(listed[shown - 1], len(keys)))

    cursor = behind(query.limit) if len(listed) > query.limit else None
    return Found([row[:_WIDTH] for row in listed[: query.limit]], None, cursor, behind=behind)


def _only_organisation(rows: Rows, parts: Parts, scope: Scope, query: Query, found: Source) -> str | None:
    """The organisation all hits belong to, where naming it spares sorting them: their index is in its order first."""
    looked_up = value_looked_up(scope, query.filter)
    now = query.search is None and query.as_of is None and not query.include_deleted
    if parts.dialect != "sqlite" or looked_up is None or not now or scope.rule:
        return None
    if looked_up is not query.filter:
        found = source(parts, scope, looked_up)
    first = found.select("objects.organisation", None, " ORDER BY objects.organisation LIMIT 1")
    last = found.select("objects.organisation", None, " ORDER BY objects.organisation DESC LIMIT 1")
    owner = rows.value(first.text, *first.params)
    return owner if owner == rows.value(last.text, *last.params) else None


def _page(rows: Rows, found: Source, keys: Sequence[Key], walk: Sequence[Phase], wanted: int, offset: int) -> list[Row]:
    columns = ", ".join((COLUMNS, *(f"{key.sql} AS k{number}" for number, key in enumerate(keys))))
    listed: list[Row] = []
    for number, phase in enumerate(walk):
        tail = f" ORDER BY {phase.order} LIMIT {wanted - len(listed)}" + (f" OFFSET {offset}" if offset else "")
        statement = found.select(columns, phase.where, tail)
        read = rows.all(statement.text, *statement.params)
        listed += read
        if len(listed) >= wanted or number == len(walk) - 1:
            break
        offset = 0 if read or not offset else max(0, offset - _count(rows, found, phase.where))
    return listed


def _shown_to_the_end(query: Query, page: Found) -> int | None:
    """The number of all objects where the page shows the end of the list, which tells it without counting."""
    if query.cursor is None and page.cursor is None and query.limit and (page.rows or not query.offset):
        return query.offset + len(page.rows)
    return None


def _count(rows: Rows, found: Source, more: Sql | None = None) -> int:
    statement = found.select("count(*)", more)
    return rows.value(statement.text, *statement.params)
