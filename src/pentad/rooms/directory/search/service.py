"""Search as the rest of the directory sees it: a query in, a page of hits out, in one consistent reading."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pentad.kernel.ports import Database, Dialect, Rows
from pentad.rooms.directory.models import Record
from pentad.rooms.directory.records import store
from pentad.rooms.directory.search.cursors import read_cursor, write_cursor
from pentad.rooms.directory.search.plan import ALL, GATHERED, Order, Plan, Source, count, page, planned
from pentad.rooms.directory.search.query import Found, Hit, Query
from pentad.rooms.directory.search.ranking import COMMON, WINDOW, Ranking, Statistics, statistics
from pentad.rooms.directory.search.words import Word, asked_words


class RecordSearch:
    """Finds records by filters, by words, or both."""

    def __init__(self, database: Database, *, common: int = COMMON) -> None:
        self._database = database
        self._common = common

    async def find(self, query: Query) -> Found:
        """One page of what a query finds; InvalidInput for a filter that cannot be read."""
        dialect, common = self._database.dialect, self._common
        return await self._database.read(lambda rows: found(rows, dialect, query, common))

    async def records(self, cids: Sequence[str]) -> list[Record]:
        """The records of hits, in the same order; those that have gone meanwhile are left out."""
        return await self._database.read(lambda rows: _records(rows, cids))


def found(rows: Rows, dialect: Dialect, query: Query, common: int = COMMON) -> Found:
    """One page, within a reading of the caller's."""
    return _Search(rows, dialect, query, common).found()


def _records(rows: Rows, cids: Sequence[str]) -> list[Record]:
    texts = store.texts_of(rows, cids)
    return [Record(cid, texts[cid]) for cid in cids if cid in texts]


@dataclass(frozen=True, slots=True)
class _Search:
    """One search in one reading."""

    rows: Rows
    dialect: Dialect
    query: Query
    common: int

    def found(self) -> Found:
        plan = planned(self.rows, self.dialect, self.query)
        asked = asked_words(self.query.words or "")
        if not self.query.words:
            return self._listed(plan, plan.source(), None)
        undriven = replace(plan, driver=None, clauses=(*([plan.driver] if plan.driver else []), *plan.clauses))
        if self.query.order == "relevance":
            return self._ranked(undriven, asked)
        known = statistics(self.rows, self.dialect, asked, self.common)
        ranking = Ranking(self.dialect, asked, known, self.common)
        return self._listed(undriven, ranking.source(), ranking)

    def _listed(self, plan: Plan, source: Source, ranking: Ranking | None) -> Found:
        """In the order of insertion or popularity."""
        query, popular = self.query, self.query.order == "popularity"
        length = 2 if popular else 1
        after = read_cursor(query, length, length)
        limit = query.limit or ALL
        counted: int | None = None
        order: Order = "popular" if popular else "few" if plan.few else "newest"
        if plan.rows_decide and ranking is None and not popular:
            counted = count(self.rows, plan, source)
            order = "few" if counted <= GATHERED else "newest"
        found = page(self.rows, plan, source, order=order, after=after, limit=limit + 1, offset=query.offset)
        has_more, found = len(found) > limit, found[:limit]
        cursor = None
        if has_more:
            last, _, often = found[-1]
            cursor = write_cursor(query, (often, last) if popular else (last,))
        hits = [Hit(cid) for _, cid, _ in found]
        if ranking is not None:
            scored = ranking.scored(self.rows, [record for record, _, _ in found])
            hits = [scored[record] for record, _, _ in found]
        if not has_more and after is None and (found or not query.offset):
            return Found(hits, query.offset + len(hits))
        if counted is None and ranking is None:
            counted = plan.known_total(self.rows)
        return Found(hits, count(self.rows, plan, source) if counted is None else counted, has_more, cursor)

    def _ranked(self, plan: Plan, asked: tuple[Word, ...]) -> Found:
        """In the order of relevance."""
        query = self.query
        position = read_cursor(query, 3 + len(asked), 3 + len(asked))
        if position is None:
            start, known = query.offset, statistics(self.rows, self.dialect, asked, self.common)
        else:
            start, known = position[0], Statistics(position[1], position[2], position[3:])
        ranking = Ranking(self.dialect, asked, known, self.common)
        first = start // WINDOW * WINDOW
        size = ((start - first + query.limit) // WINDOW + 1) * WINDOW if query.limit else ALL
        ordered = ranking.window(self.rows, plan, first, size)
        end = start - first + (query.limit or len(ordered))
        hits = [hit for _, hit in ordered[start - first : end]]
        has_more = len(ordered) > end
        cursor = None
        if has_more:
            cursor = write_cursor(query, (first + end, known.newest, known.records, *known.having))
        if len(ordered) < size and (ordered or not first):
            return Found(hits, first + len(ordered), has_more, cursor)
        total = count(self.rows, plan, ranking.source(), (ranking.known_at(),))
        return Found(hits, total, has_more, cursor)
