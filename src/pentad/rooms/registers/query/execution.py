"""Runs queries and aggregations against the store; call these inside one unit of work."""

from collections.abc import Sequence
from dataclasses import replace

from pentad.kernel.ports import Dialect, Row, Rows
from pentad.kernel.sql import Sql, composed, joined, nested, select
from pentad.rooms.registers.query.aggregation import run_aggregation
from pentad.rooms.registers.query.count_cache import CountCache, is_cacheable
from pentad.rooms.registers.query.dialects import SqlDialect, sql_dialect
from pentad.rooms.registers.query.facets import facets
from pentad.rooms.registers.query.from_clause import (
    COLUMNS,
    RowSource,
    finds_one,
    indexed_value,
    may_be_selective,
    row_source,
)
from pentad.rooms.registers.query.models import AggregateQuery, AggregateResult, Query, QueryResult, Scope
from pentad.rooms.registers.query.pagination import Key, Phase, phases, position, read_cursor, sort_keys, write_cursor
from pentad.rooms.registers.query.related_rows import looked_up, narrowed, with_values
from pentad.rooms.registers.query.text_search import SearchRequest, SearchSettings, TextSearch

_WIDTH = COLUMNS.count(",") + 1


def find(
    rows: Rows,
    dialect: Dialect,
    scope: Scope,
    query: Query,
    count_cache: CountCache | None = None,
    settings: SearchSettings | None = None,
) -> QueryResult:
    """One page of a query's objects, with total and facets if requested.

    Pass a `count_cache` only with the rows of a read transaction. `settings` says what a search covers, by default all
    texts of the objects.
    """
    sql = sql_dialect(dialect)
    if count_cache is None or not is_cacheable(sql, scope, query):
        count_cache = None
    narrow = replace(query, filter=narrowed(rows, sql, scope, query.filter))
    search = None
    if query.search is not None and query.as_of is None:
        search = TextSearch.of(rows, sql, scope, narrow, settings or SearchSettings())
    found = _source(sql, scope, narrow) if search is None else search.source()
    ranked = None if query.sort else search
    page = _sorted(rows, sql, scope, query, narrow, found) if ranked is None else ranked.page(query)
    counted = facets(rows, sql, scope, query, found, count_cache) if query.facets else {}  # may also give the total
    total = None
    if query.count:
        total = _total_on_last_page(query, page)
        if total is None:
            if search is None and query.as_of is None and not query.include_deleted:
                found = looked_up(sql, scope, narrow.filter) or found
            if count_cache is None:
                total = _count(rows, found, most=query.count_to)
            else:
                total = count_cache.count(rows, sql, scope, query.filter)
    answer = replace(page, total=total, facets=counted, ignored=query.ignored)
    return answer if search is None else search.described(answer)


def aggregate(
    rows: Rows,
    dialect: Dialect,
    scope: Scope,
    query: AggregateQuery,
    settings: SearchSettings | None = None,
    *,
    total: bool = False,
) -> AggregateResult:
    """Aggregate figures for groups of a query's objects; with `total`, also over all of them."""
    sql = sql_dialect(dialect)
    criteria = narrowed(rows, sql, scope, query.filter)
    if settings is None or query.search is None or query.as_of is not None:
        found = None
        if query.search is None and query.as_of is None:
            found = looked_up(sql, scope, criteria)
        found = found or row_source(sql, scope, criteria, search=query.search, as_of=query.as_of)
        return run_aggregation(rows, sql, query, found, total=total)
    search = TextSearch(rows, sql, SearchRequest(scope, criteria, query.search), settings)
    return replace(run_aggregation(rows, sql, query, search.source(), total=total), retrieval=search.retrieval)


def _source(sql: SqlDialect, scope: Scope, query: Query) -> RowSource:
    return row_source(
        sql,
        scope,
        query.filter,
        search=query.search,
        as_of=query.as_of,
        include_deleted=query.include_deleted,
    )


def _sorted(rows: Rows, sql: SqlDialect, scope: Scope, query: Query, narrow: Query, found: RowSource) -> QueryResult:
    """A page in the order of the keys; reads one more row, to know whether to return a cursor.

    `narrow` is the equivalent query with its relations looked up; a cursor belongs to the original query.
    """
    if query.limit == 0:
        return QueryResult([], None, None)
    keys = sort_keys(sql, query.sort)
    found, values = with_values(sql, found, [(one.hops, key.sql) for one, key in zip(query.sort, keys, strict=True)])
    keys = [replace(key, sql=value) for key, value in zip(keys, values, strict=True)]
    if not keys and (owner := _only_organisation(rows, sql, scope, narrow, found)) is not None:
        here = Sql(sql.decisive("objects.organisation = ?"), (owner,))
        found = RowSource(found.tables, joined("AND", [found.where, here]))
    after = read_cursor(scope, query, [*(one.kind for one in query.sort), "number"])
    few = may_be_selective(scope, narrow.filter)
    walk = list(phases(sql, keys, after, few=few or finds_one(scope, narrow.filter)))
    if few and not keys and sql.dialect == "sqlite":
        listed = _page_by_ids(rows, found, walk[0], query.limit + 1, query.offset)
    else:
        listed = _page(rows, found, keys, walk, query.limit + 1, query.offset)

    def cursor_after(shown: int) -> str:
        return write_cursor(scope, query, position(listed[shown - 1], len(keys)))

    cursor = cursor_after(query.limit) if len(listed) > query.limit else None
    return QueryResult([row[:_WIDTH] for row in listed[: query.limit]], None, cursor, cursor_after=cursor_after)


def _only_organisation(rows: Rows, sql: SqlDialect, scope: Scope, query: Query, found: RowSource) -> str | None:
    """The organisation of all hits, if naming it avoids sorting them, because their index starts with it."""
    looked_up = indexed_value(scope, query.filter)
    now = query.search is None and query.as_of is None and not query.include_deleted
    if sql.dialect != "sqlite" or looked_up is None or not now or scope.rule:
        return None
    if looked_up is not query.filter:
        found = row_source(sql, scope, looked_up)
    first = found.select("objects.organisation", None, " ORDER BY objects.organisation LIMIT 1")
    last = found.select("objects.organisation", None, " ORDER BY objects.organisation DESC LIMIT 1")
    owner = rows.value(first.text, *first.params)
    return owner if owner == rows.value(last.text, *last.params) else None


def _page(
    rows: Rows, found: RowSource, keys: Sequence[Key], walk: Sequence[Phase], criteria: int, offset: int
) -> list[Row]:
    columns = ", ".join((COLUMNS, *(f"{key.sql} AS k{number}" for number, key in enumerate(keys))))
    listed: list[Row] = []
    for number, phase in enumerate(walk):
        tail = f" ORDER BY {phase.order} LIMIT {criteria - len(listed)}" + (f" OFFSET {offset}" if offset else "")
        statement = found.select(columns, phase.where, tail)
        read = rows.all(statement.text, *statement.params)
        listed += read
        if len(listed) >= criteria or number == len(walk) - 1:
            break
        offset = 0 if read or not offset else max(0, offset - _count(rows, found, phase.where))
    return listed


def _page_by_ids(rows: Rows, found: RowSource, phase: Phase, criteria: int, offset: int) -> list[Row]:
    """A page without sort keys: if the ids come from an index, only the page's rows are read."""
    ids = found.select("objects.id", phase.where, f" ORDER BY objects.id LIMIT {criteria} OFFSET {offset}")
    page = select(COLUMNS, Sql("objects"), composed("objects.id IN (", ids, ")"), " ORDER BY objects.id")
    return rows.all(page.text, *page.params)


def _total_on_last_page(query: Query, page: QueryResult) -> int | None:
    """The total, if the page includes the end of the list, so no counting is needed."""
    if query.cursor is None and page.cursor is None and query.limit and (page.rows or not query.offset):
        return query.offset + len(page.rows)
    return None


def _count(rows: Rows, found: RowSource, more: Sql | None = None, most: int | None = None) -> int:
    if most is None:
        statement = found.select("count(*)", more)
    else:
        statement = select("count(*)", nested(found.select("1", more, f" LIMIT {most}"), "counted"))
    return rows.value(statement.text, *statement.params)
