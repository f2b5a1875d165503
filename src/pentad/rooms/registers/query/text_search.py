"""Full-text search, combined with vector search for hybrid schemas.

An object matches if it, or one of its attachments, has all the words, or if its vector is among the nearest. Scope and
filter apply before anything is compared or ranked, so scores depend only on what the caller may see. The best word
matches and the nearest vectors are ranked together; the other word matches follow.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Row, Rows
from pentad.kernel.sql import Sql
from pentad.rooms.registers.models import StoredObject
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.from_clause import COLUMNS, RowSource, row_source
from pentad.rooms.registers.query.models import Explanation, Filter, Query, QueryResult, Scope
from pentad.rooms.registers.query.pagination import read_cursor, write_cursor
from pentad.rooms.registers.query.search_words import (
    ATTACHMENT_WORDS,
    WORDS,
    AskedWords,
    distinctive_words,
    query_words,
)
from pentad.search.documents import Retrieval
from pentad.search.prefixes import PrefixText, prefix_text, question_words
from pentad.search.relevance import GOOD_MATCH, logistic, logit_of_words
from pentad.search.scoring import WordMatch, WordScorer
from pentad.search.searchable import SearchFields
from pentad.search.word_table import Word

if TYPE_CHECKING:
    from pentad.search.fusion import VectorQuery

WINDOW: Final = 300
"""How many of the best word matches are ranked together with the nearest vectors."""
COMMON: Final = 10_000
"""If one word is enough, only words in at most this many objects find candidates."""
MOST_NEAREST: Final = 200
MOST_COMPARED: Final = 20_000
"""If a filter leaves at most this many objects, only these are compared; otherwise the nearest of all come first."""

ATTACHMENT: Final = "attachment:"
"""The prefix for attachments among the properties of an explanation: `attachment:report.pdf`."""
_COUNTED_OF_ATTACHMENT: Final = 4_000
_MOST_ATTACHMENTS: Final = 1_000
_WIDTH: Final = COLUMNS.count(",") + 1
_DIGITS: Final = 4
_BY_WORDS, _BY_BOTH = 0, 1


def _all_texts(stored: StoredObject) -> dict[str, str]:
    return {name: value for name, value in stored.data.items() if isinstance(value, str)}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What a search covers: texts by property, their weights and, for hybrid schemas, vector queries. Without vector
    queries only words count, and `because` says why.
    """

    texts: Callable[[StoredObject], Mapping[str, str]] = _all_texts
    fields: SearchFields = field(default_factory=dict[str, Any])
    hybrid: bool = False
    queries: Sequence["VectorQuery"] = ()
    because: str | None = None
    attachments: Sequence[int] = ()
    """The schemas whose objects are also found through the texts of their attachments."""


@dataclass(frozen=True)
class SearchRequest:
    """The search text, and the objects to search."""

    scope: Scope
    filter: Filter | None
    search: str
    include_deleted: bool = False
    any_word: bool = False


@dataclass(slots=True)
class _Hit:
    row: Row
    texts: Mapping[str, PrefixText]
    words: WordMatch | None = None
    score: float = 0.0
    why: Explanation = field(default_factory=Explanation)

    def explain(self, match: WordMatch, score: float, by_words: float, cosine: float | None = None) -> None:
        """Set the score and the words' contribution to it."""
        scale = by_words / match.score if match.score else 0.0
        given = {word: round(value, _DIGITS) for word, value in match.by_word(scale).items()}
        fields = {name: found for name, (found, _) in match.by_field().items()}
        meaning = 0.0 if cosine is None else round(score - by_words, _DIGITS)
        self.score, self.why = (
            score,
            Explanation(given, meaning, None if cosine is None else round(cosine, _DIGITS), fields),
        )

    @property
    def rank(self) -> tuple[float, float]:
        return -self.why.score, -self.score


class TextSearch:
    """One search within one read transaction."""

    def __init__(self, rows: Rows, sql: SqlDialect, request: SearchRequest, settings: SearchSettings) -> None:
        self._rows = rows
        self._parts = sql
        self._request = request
        self._settings = settings

    @classmethod
    def of(cls, rows: Rows, sql: SqlDialect, scope: Scope, query: Query, settings: SearchSettings) -> "TextSearch":
        """The search of a query. All pages of a listing are ranked like the first one."""
        after = None if query.sort else read_cursor(scope, query, ["number", "number"])
        if after is not None and after[0] == _BY_WORDS:
            settings = replace(settings, queries=())
        elif after is not None and not settings.queries:
            raise InvalidInput(
                f"The search cannot continue by meaning. {settings.because or ''}".strip(),
                hint="Leave the cursor out to start again.",
            )
        request = SearchRequest(scope, query.filter, query.search or "", query.include_deleted, query.any_word)
        return cls(rows, sql, request, settings)

    @property
    def retrieval(self) -> Retrieval | None:
        """How a hybrid schema was searched; None for other schemas."""
        if not self._settings.hybrid:
            return None
        return "hybrid" if self._settings.queries else "lexical"

    def described(self, found: QueryResult) -> QueryResult:
        """The result, with how it was searched."""
        return replace(found, retrieval=self.retrieval, lexical_because=self._settings.because)

    def source(self) -> RowSource:
        """All matches: by words or by vector."""
        return self._source(search=True, near=list(self._near))

    def page(self, query: Query) -> QueryResult:
        """A page by relevance. Its cursor counts rows, because relevance changes with every new object."""
        if query.limit == 0:
            return QueryResult([], None, None)
        after = read_cursor(self._request.scope, query, ["number", "number"])
        offset = query.offset if after is None else max(0, int(after[1] or 0))
        needed = query.limit + 1
        hits = self._head[offset : offset + needed]
        if len(hits) < needed and self._has_more_words:
            start = max(0, offset - len(self._head))
            hits = [*hits, *self._behind(start, needed - len(hits))]
        shown = hits[: query.limit]
        way = _BY_BOTH if self._settings.queries else _BY_WORDS

        def cursor_after(count: int) -> str:
            return write_cursor(self._request.scope, query, (way, offset + count))

        return QueryResult(
            [hit.row for hit in shown],
            None,
            cursor_after(query.limit) if len(hits) > query.limit else None,
            relevance=[hit.why.score for hit in shown],
            why=[hit.why for hit in shown],
            no_good_match=self._settings.hybrid and not offset and (not shown or shown[0].score < GOOD_MATCH),
            cursor_after=cursor_after,
        )

    # candidates

    @cached_property
    def _near(self) -> dict[int, float]:
        """The nearest objects within scope and filter, by id, with their cosines."""
        near: dict[int, float] = {}
        for query in self._settings.queries:
            near |= query.nearest_left(MOST_NEAREST, MOST_COMPARED, self._matching, self._among)
        best = sorted(near.items(), key=lambda one: (-one[1], -one[0]))
        return dict(best[:MOST_NEAREST])

    def _matching(self, most: int) -> list[int]:
        statement = self._source(search=False).select("objects.id", None, f" LIMIT {int(most)}")
        return [key for (key,) in self._rows.all(statement.text, *statement.params)]

    def _among(self, ids: Sequence[int]) -> list[int]:
        return [row[0] for row in self._read(self._source(search=False), "objects.id", ids)]

    def _source(self, *, search: bool, near: Sequence[int] = (), best_first: bool = False) -> RowSource:
        request = self._request
        return row_source(
            self._parts,
            request.scope,
            request.filter,
            search=request.search if search else None,
            asked=self._asked,
            include_deleted=request.include_deleted,
            near=near,
            attachments=self._settings.attachments if search else (),
            best_first=best_first,
        )

    def _read(self, found: RowSource, columns: str, ids: Sequence[int]) -> list[Row]:
        if not ids:
            return []
        statement = found.select(columns, _among(ids))
        return self._rows.all(statement.text, *statement.params)

    @cached_property
    def _asked(self) -> AskedWords:
        """The words that make an object a candidate. For a question these are the rarest ones, to limit the work; the
        others only add to the score. If all are common, an object needs all of them.
        """
        if not self._request.any_word:
            return AskedWords(query_words(self._request.search))
        words = [Word.of_question(word) for word in question_words(self._request.search)]
        rare = WORDS.rarest(self._rows, self._parts.dialect, words, COMMON)
        return AskedWords(rare, "or") if rare else AskedWords(words)

    # ranking

    @cached_property
    def _first_by_words(self) -> list[_Hit]:
        return self._by_words(0, WINDOW, ())

    @cached_property
    def _only_near(self) -> list[_Hit]:
        """Near objects outside the first window. They may still match by words, further down."""
        known = {hit.row[0] for hit in self._first_by_words}
        rows = self._read(self._source(search=False), COLUMNS, [key for key in self._near if key not in known])
        return self._hits(rows)

    @property
    def _has_more_words(self) -> bool:
        return len(self._first_by_words) == WINDOW

    @cached_property
    def _scorer(self) -> WordScorer:
        """Weighs words by their frequency among the candidates, so hidden objects have no influence."""
        by_words, near = self._first_by_words, self._only_near
        texts = [hit.texts for hit in (*by_words, *near)]
        if self._request.any_word:
            return WordScorer.over(tuple(question_words(self._request.search)), texts, self._settings.fields)
        return WordScorer.over(distinctive_words(self._request.search), texts, self._settings.fields, len(by_words))

    @cached_property
    def _head(self) -> list[_Hit]:
        """The best word matches and all near objects, in one ranking."""
        hits = {hit.row[0]: hit for hit in (*self._first_by_words, *self._only_near)}
        complete = set[int]() if self._request.any_word else {hit.row[0] for hit in self._first_by_words}
        matches = {key: self._scorer.match(hit.texts, has_all=key in complete) for key, hit in hits.items()}
        if not self._settings.queries:
            return self._by_their_words(list(hits.values()), matches)
        from pentad.search.fusion import fused

        ranked = fused(self._settings.queries, matches)
        for key, one in ranked.items():
            hits[key].explain(matches[key], one.score, one.words, one.cosine)
        return sorted((hits[key] for key in ranked), key=lambda hit: hit.rank)

    def _by_their_words(self, hits: list[_Hit], matches: Mapping[int, WordMatch], most: float = 1.0) -> list[_Hit]:
        """Hits ranked by words alone, with no score above `most`."""
        for hit in hits:
            match = matches[hit.row[0]]
            score = min(most, logistic(logit_of_words(match.share, match.coverage)))
            hit.explain(match, score, score)
        return sorted(hits, key=lambda hit: (*hit.rank, hit.row[0]))

    def _behind(self, start: int, needed: int) -> list[_Hit]:
        """Hits after the head: word matches that are not near, window by window, none above the head's last."""
        without = [hit.row[0] for hit in self._only_near]
        first = WINDOW + start // WINDOW * WINDOW
        skipped = WINDOW + start - first
        listed = self._by_words(first, ((skipped + needed) // WINDOW + 1) * WINDOW, without)
        has_all = not self._request.any_word
        matches = {hit.row[0]: self._scorer.match(hit.texts, has_all=has_all) for hit in listed}
        last = self._head[-1].score if self._head else 1.0
        ordered: list[_Hit] = []
        for place in range(0, len(listed), WINDOW):
            ordered += self._by_their_words(listed[place : place + WINDOW], matches, last)
        return ordered[skipped : skipped + needed]

    def _by_words(self, first: int, size: int, without: Sequence[int]) -> list[_Hit]:
        """A slice of the objects with all the words, in the store's own ranking order."""
        found = self._source(search=True, best_first=True)
        if found.relevance is None:
            return []
        others = _among(without, negated=True) if without else None
        tail = f" ORDER BY relevance DESC, objects.id LIMIT {size} OFFSET {first}"
        statement = found.select(f"{COLUMNS}, {found.relevance} AS relevance", others, tail)
        return self._hits([row[:_WIDTH] for row in self._rows.all(statement.text, *statement.params)])

    def _hits(self, rows: Sequence[tuple[Any, ...]]) -> list[_Hit]:
        attached = self._attached([row[0] for row in rows])
        found: list[_Hit] = []
        for row in rows:
            texts = {**self._settings.texts(StoredObject(*row)), **attached.get(row[0], {})}
            found.append(_Hit(row, {name: prefix_text(text) for name, text in texts.items()}))
        return found

    def _attached(self, ids: Sequence[int]) -> dict[int, dict[str, str]]:
        """The attachments of some objects that have all the words: the start of each text, then the words themselves,
        which may occur further down.
        """
        asked = self._asked
        if not self._settings.attachments or not ids or not asked.words:
            return {}
        dialect = self._parts.dialect
        having = ATTACHMENT_WORDS.having(dialect, asked.expression(ATTACHMENT_WORDS, dialect))
        listed = ", ".join(str(int(key)) for key in ids)
        sql = (
            f"SELECT texts.object, files.name, substr(texts.text, 1, {_COUNTED_OF_ATTACHMENT}) FROM {having.text}"  # noqa: S608
            " JOIN attachment_texts AS texts ON texts.number = d.record JOIN files ON files.id = texts.file"
            f" WHERE texts.object IN ({listed}) ORDER BY texts.object, files.name LIMIT {_MOST_ATTACHMENTS}"
        )
        words = " ".join(word.text for word in asked.words) if asked.joint == "and" else ""
        found: dict[int, dict[str, str]] = {}
        for key, name, text in self._rows.all(sql, *having.params):
            found.setdefault(key, {})[f"{ATTACHMENT}{name}"] = f"{text}\n{words}"
        return found


def _among(ids: Sequence[int], *, negated: bool = False) -> Sql:
    listed = ", ".join(str(int(key)) for key in ids)
    return Sql(f"objects.id {'NOT IN' if negated else 'IN'} ({listed})")
