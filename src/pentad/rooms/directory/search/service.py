"""The directory's search: a query in, a page of hits out, in one consistent read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.kernel import cursors
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database, Dialect, Rows
from pentad.rooms.directory import store
from pentad.rooms.directory.models import Record
from pentad.rooms.directory.records.index_fields import FIELDS
from pentad.rooms.directory.records.service import COLLECTION
from pentad.rooms.directory.records.trust_marks import trust_marks
from pentad.rooms.directory.search.plan import ALL, GATHERED, Order, Plan, Source, count, make_plan, page
from pentad.rooms.directory.search.query import FILTER_ARRAYS, Found, Hit, Query
from pentad.rooms.directory.search.ranking import (
    COMMON,
    WINDOW,
    Head,
    Ranking,
    Statistics,
    kind_words,
    query_words,
    statistics,
)
from pentad.search.documents import Document, EmbeddedQuery, Readiness
from pentad.search.index import SearchIndex
from pentad.search.relevance import GOOD_MATCH
from pentad.search.searchable import Searchable
from pentad.search.word_table import Word

if TYPE_CHECKING:
    from pentad.search.fusion import VectorQuery


_LONGEST: Final = 2_000
_LARGEST: Final = 2**62


def write_cursor(query: Query, position: tuple[int, ...]) -> str:
    """The cursor that continues after a position, which is a few numbers."""
    return cursors.write_cursor(_identity(query), position)


def read_cursor(query: Query, shortest: int, longest: int) -> tuple[int, ...] | None:
    """The position in a query's cursor, which must have this many numbers. None without a cursor."""
    if query.cursor is None:
        return None
    try:
        return _position(cursors.read_cursor(_identity(query), query.cursor, _LONGEST), shortest, longest)
    except ValueError:
        raise InvalidInput(
            "The cursor does not belong to this search.",
            hint="Send it back unchanged, with the same filters, words and sort; or leave it out to start again.",
        ) from None


def _position(values: list[Any], shortest: int, longest: int) -> tuple[int, ...]:
    if not shortest <= len(values) <= longest or not all(type(v) is int and 0 <= v < _LARGEST for v in values):
        raise ValueError(values)
    return tuple(values)


def _identity(query: Query) -> tuple[object, ...]:
    """The parts of a query that a cursor depends on."""
    of_all = (query.filters, query.words, query.match, query.order, query.id_version, query.pushed, query.newest_only)
    return (*of_all, "quarantined") if query.quarantined else of_all


class RecordSearch:
    """Finds records by filters, by words and meaning, or both."""

    def __init__(self, database: Database, index: SearchIndex | None = None, *, common: int = COMMON) -> None:
        self._database = database
        self._index = index
        self._common = common

    async def find(self, query: Query) -> Found:
        """One page of results; InvalidInput if a filter is malformed."""
        dialect, common, index = self._database.dialect, self._common, self._index
        question = None
        if index is not None and query.words and query.order == "relevance":
            question = _Question(index, await index.embed_query(query.words))
        return await self._database.read(lambda rows: find_page(rows, dialect, query, common, question))

    async def records(self, cids: Sequence[str]) -> list[Record]:
        """The records of hits, in the same order, without those deleted meanwhile."""
        return await self._database.read(lambda rows: _records(rows, cids))


@dataclass(frozen=True, slots=True)
class _Question:
    """The words of a query with their vector, if they have one."""

    index: SearchIndex
    query: EmbeddedQuery

    def vector_query(self, rows: Rows, up_to: int) -> "VectorQuery | None":
        """The query against the vectors of the records up to an id; None if only words count."""
        return self.index.vector_query(rows, COLLECTION, self.query, up_to) if up_to else None

    def waiting(self, rows: Rows) -> int | None:
        """How many records lack a vector; None if there is no embedding model."""
        if self.query.vector is None:
            return None
        return max(0, store.count(rows) - self.index.readiness(rows, COLLECTION).ready)


def find_page(
    rows: Rows, dialect: Dialect, query: Query, common: int = COMMON, question: _Question | None = None
) -> Found:
    """One page of results, inside the caller's transaction, each with what the trust policy says about it."""
    found = _Search(rows, dialect, query, common, question).page()
    trust = trust_marks(rows, [hit.cid for hit in found.hits])
    return replace(found, hits=[replace(hit, **trust[hit.cid]._asdict()) for hit in found.hits])


def _records(rows: Rows, cids: Sequence[str]) -> list[Record]:
    texts = store.texts_of(rows, cids)
    return [Record(cid, texts[cid]) for cid in cids if cid in texts]


@dataclass(frozen=True, slots=True)
class _Search:
    """One search in one transaction."""

    rows: Rows
    dialect: Dialect
    query: Query
    common: int
    question: _Question | None

    def page(self) -> Found:
        plan = make_plan(self.rows, self.dialect, self.query)
        words = query_words(self.query.words or "")
        if not self.query.words:
            return self._in_order(plan, plan.source(), None)
        # A search by words starts from the words, so the plan's driver becomes one more condition.
        checks = replace(plan, driver=None, clauses=(*([plan.driver] if plan.driver else []), *plan.clauses))
        if self.query.order == "relevance":
            return self._by_relevance(plan, checks, words)
        known = statistics(self.rows, self.dialect, words, self.common)
        ranking = Ranking(self.dialect, words, known, self.common)
        return replace(self._in_order(checks, ranking.source(), ranking), retrieval="lexical")

    def _in_order(self, plan: Plan, source: Source, ranking: Ranking | None) -> Found:
        """A page in the order of insertion or popularity."""
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
            last, _, popularity = found[-1]
            cursor = write_cursor(query, (popularity, last) if popular else (last,))
        hits = [Hit(cid) for _, cid, _ in found]
        if ranking is not None:
            matched = ranking.matched(self.rows, [record for record, _, _ in found])
            hits = [matched[record].hit() for record, _, _ in found]
        if not has_more and after is None and (found or not query.offset):
            return Found(hits, query.offset + len(hits))
        if counted is None and ranking is None:
            counted = plan.known_total(self.rows)
        return Found(hits, count(self.rows, plan, source) if counted is None else counted, has_more, cursor)

    def _by_relevance(self, plan: Plan, checks: Plan, words: tuple[Word, ...]) -> Found:
        """A page in the order of relevance. The cursor carries everything the order depends on, including the last
        record whose vector counts, so that all pages have the same order."""
        query = self.query
        position = read_cursor(query, 4 + len(words), 4 + len(words))
        if position is None:
            start, known = query.offset, statistics(self.rows, self.dialect, words, self.common)
            ready = self.question.index.readiness(self.rows, COLLECTION) if self.question is not None else Readiness()
            up_to = min(ready.up_to, known.newest)
        else:
            start, known = position[0], Statistics(position[1], position[2], position[4:])
            up_to = position[3]
        ranking = Ranking(self.dialect, words, known, self.common)
        # A query of kind words alone is not similar to anything in particular.
        telling = any(word.text not in kind_words() for word in words)
        vectors = self.question.vector_query(self.rows, up_to) if self.question is not None and telling else None
        head = Head.of(self.rows, plan, checks, ranking, query.words or "", vectors)
        limit = query.limit or ALL
        hits, total = _Pages(self.rows, checks, ranking, head).page(start, limit)
        has_more = start + len(hits) < total and len(hits) == limit
        cursor = None
        if has_more:
            position = (start + len(hits), known.newest, known.records, 0 if vectors is None else up_to, *known.having)
            cursor = write_cursor(query, position)
        waiting = None if self.question is None else self.question.waiting(self.rows)
        no_good_match = not start and (not hits or (hits[0].score or 0.0) < GOOD_MATCH)
        retrieval = "lexical" if vectors is None else "hybrid"
        return Found(hits, total, has_more, cursor, retrieval, waiting, no_good_match)


@dataclass(frozen=True, slots=True)
class _Pages:
    """A ranking, page by page: the head, then windows of what the words found."""

    rows: Rows
    plan: Plan
    ranking: Ranking
    head: Head

    def page(self, start: int, limit: int) -> tuple[list[Hit], int]:
        """The hits from an offset on, and the total."""
        head = self.head
        hits = head.hits[start : start + limit]
        if head.complete:
            return hits, len(head.hits)
        skipped = max(0, start - len(head.hits))
        more, total = self._by_words(WINDOW + skipped, limit - len(hits), head.others)
        return [*hits, *map(head.capped, more)], total + len(head.others)

    def _by_words(self, start: int, limit: int, without: Sequence[int]) -> tuple[list[Hit], int]:
        hits: list[Hit] = []
        if limit:
            first = start // WINDOW * WINDOW
            size = ALL if limit >= ALL - start else ((start - first + limit) // WINDOW + 1) * WINDOW
            ordered = self.ranking.window(self.rows, self.plan, first, size, without)
            hits = [hit for _, hit in ordered[start - first : start - first + limit]]
            if len(ordered) < size and (ordered or not first):
                return hits, first + len(ordered)
        conditions = (self.ranking.known_at(), self.ranking.others(without))
        return hits, count(self.rows, self.plan, self.ranking.source(), conditions)


_AFTER: Final = "SELECT record, data FROM directory_texts WHERE record > ? ORDER BY record LIMIT ?"


def documents_after(rows: Rows, after: int, most: int) -> Sequence[Document]:
    """The records after an id, for the shared search to embed. Pushes do not embed: records never change and ids only
    grow, so a background job embeds those after the last one it has. Until then a record is ranked by its words."""
    return [
        Document(record, {}, [embedded_text(msgspec.json.decode(data))])
        for record, data in rows.all(_AFTER, after, most)
    ]


def embedded_text(data: Mapping[str, Any]) -> str:
    """The text to embed. Only the last part of a name says what the agent does."""
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    name = texts.get("name", "").rpartition("/")[2].replace("-", " ").replace("_", " ")
    return SEARCHABLE.vector_text({**texts, "name": name})


SEARCHABLE: Final = Searchable(
    COLLECTION,
    FIELDS,
    # Without class captions: they make unrelated records look alike and correct answers less similar.
    vector_of=("name", "description"),
    filters=tuple(FILTER_ARRAYS),
    supply=documents_after,
)
