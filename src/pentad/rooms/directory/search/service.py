"""Search as the rest of the directory sees it: a query in, a page of hits out, in one consistent reading."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pentad.kernel.ports import Database, Dialect, Rows
from pentad.rooms.directory import store
from pentad.rooms.directory.models import Record
from pentad.rooms.directory.records.records import COLLECTION
from pentad.rooms.directory.search.cursors import read_cursor, write_cursor
from pentad.rooms.directory.search.plan import ALL, GATHERED, Order, Plan, Source, count, page, planned
from pentad.rooms.directory.search.query import Found, Hit, Query
from pentad.rooms.directory.search.ranking import COMMON, WINDOW, Head, Ranking, Statistics, statistics
from pentad.rooms.directory.search.words import asked_words
from pentad.search.documents import Asked, Readiness
from pentad.search.index import SearchIndex
from pentad.search.relevance import GOOD_MATCH
from pentad.search.word_table import Word

if TYPE_CHECKING:
    from pentad.search.fusion import VectorQuery


class RecordSearch:
    """Finds records by filters, by words and what they mean, or both."""

    def __init__(self, database: Database, index: SearchIndex | None = None, *, common: int = COMMON) -> None:
        self._database = database
        self._index = index
        self._common = common

    async def find(self, query: Query) -> Found:
        """One page of what a query finds; InvalidInput for a filter that cannot be read."""
        dialect, common, index = self._database.dialect, self._common, self._index
        question = None
        if index is not None and query.words and query.order == "relevance":
            question = _Question(index, await index.asked(query.words))
        return await self._database.read(lambda rows: found(rows, dialect, query, common, question))

    async def records(self, cids: Sequence[str]) -> list[Record]:
        """The records of hits, in the same order; those that have gone meanwhile are left out."""
        return await self._database.read(lambda rows: _records(rows, cids))


@dataclass(frozen=True, slots=True)
class _Question:
    """The words of a query with their vector, if they have one."""

    index: SearchIndex
    asked: Asked

    def vector_query(self, rows: Rows, up_to: int) -> "VectorQuery | None":
        """The question, put to the vectors of the records up to one; None where words alone decide."""
        return self.index.vector_query(rows, COLLECTION, self.asked, up_to) if up_to else None

    def waiting(self, rows: Rows) -> int | None:
        """How many records lack a vector; None where none is ever made."""
        if self.asked.vector is None:
            return None
        return max(0, store.count(rows) - self.index.readiness(rows, COLLECTION).ready)


def found(rows: Rows, dialect: Dialect, query: Query, common: int = COMMON, question: _Question | None = None) -> Found:
    """One page, within a reading of the caller's."""
    return _Search(rows, dialect, query, common, question).found()


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
    question: _Question | None

    def found(self) -> Found:
        plan = planned(self.rows, self.dialect, self.query)
        asked = asked_words(self.query.words or "")
        if not self.query.words:
            return self._listed(plan, plan.source(), None)
        undriven = replace(plan, driver=None, clauses=(*([plan.driver] if plan.driver else []), *plan.clauses))
        if self.query.order == "relevance":
            return self._by_relevance(plan, undriven, asked)
        known = statistics(self.rows, self.dialect, asked, self.common)
        ranking = Ranking(self.dialect, asked, known, self.common)
        return replace(self._listed(undriven, ranking.source(), ranking), retrieval="lexical")

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
            matched = ranking.matched(self.rows, [record for record, _, _ in found])
            hits = [matched[record].hit() for record, _, _ in found]
        if not has_more and after is None and (found or not query.offset):
            return Found(hits, query.offset + len(hits))
        if counted is None and ranking is None:
            counted = plan.known_total(self.rows)
        return Found(hits, count(self.rows, plan, source) if counted is None else counted, has_more, cursor)

    def _by_relevance(self, plan: Plan, undriven: Plan, asked: tuple[Word, ...]) -> Found:
        """In the order of relevance. A cursor carries all that the order depends on, so that it is the same on every
        page: also up to which record vectors take part."""
        query = self.query
        position = read_cursor(query, 4 + len(asked), 4 + len(asked))
        if position is None:
            start, known = query.offset, statistics(self.rows, self.dialect, asked, self.common)
            ready = self.question.index.readiness(self.rows, COLLECTION) if self.question is not None else Readiness()
            up_to = min(ready.up_to, known.newest)
        else:
            start, known = position[0], Statistics(position[1], position[2], position[4:])
            up_to = position[3]
        ranking = Ranking(self.dialect, asked, known, self.common)
        nearby = None if self.question is None else self.question.vector_query(self.rows, up_to)
        head = None if nearby is None else Head.of(self.rows, plan, undriven, ranking, nearby)
        wanted = query.limit or ALL
        shown, total = _Pages(self.rows, undriven, ranking, head).page(start, wanted)
        has_more = start + len(shown) < total and len(shown) == wanted
        cursor = None
        if has_more:
            going_on = (start + len(shown), known.newest, known.records, 0 if head is None else up_to, *known.having)
            cursor = write_cursor(query, going_on)
        waiting = None if self.question is None else self.question.waiting(self.rows)
        no_good_match = not start and (not shown or (shown[0].score or 0.0) < GOOD_MATCH)
        way = "lexical" if head is None else "hybrid"
        return Found(shown, total, has_more, cursor, way, waiting, no_good_match)


@dataclass(frozen=True, slots=True)
class _Pages:
    """A ranking, page by page: the head that was fused, if there is one, then windows of what the words found."""

    rows: Rows
    plan: Plan
    ranking: Ranking
    head: Head | None

    def page(self, start: int, wanted: int) -> tuple[list[Hit], int]:
        """Hits from a place on, and how many there are in all."""
        head = self.head
        if head is None:
            return self._of_words(start, wanted, ())
        shown = head.hits[start : start + wanted]
        if head.complete:
            return shown, len(head.hits)
        skipped = max(0, start - len(head.hits))
        left = wanted - len(shown)
        more, total = self._of_words(WINDOW + skipped, left, head.only_near)
        return [*shown, *map(head.behind, more)], total + len(head.only_near)

    def _of_words(self, start: int, wanted: int, without: Sequence[int]) -> tuple[list[Hit], int]:
        hits: list[Hit] = []
        if wanted:
            first = start // WINDOW * WINDOW
            size = ALL if wanted >= ALL - start else ((start - first + wanted) // WINDOW + 1) * WINDOW
            ordered = self.ranking.window(self.rows, self.plan, first, size, without)
            hits = [hit for _, hit in ordered[start - first : start - first + wanted]]
            if len(ordered) < size and (ordered or not first):
                return hits, first + len(ordered)
        conditions = (self.ranking.known_at(), self.ranking.others(without))
        return hits, count(self.rows, self.plan, self.ranking.source(), conditions)
