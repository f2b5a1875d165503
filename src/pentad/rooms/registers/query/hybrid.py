"""Search by words and by meaning together, for schemas that ask for it.

An object is found when it has all the words, as everywhere, or when it is one of those nearest to the question; the
scope and the filter have chosen before anything is compared or ranked, and all figures a hit shows are made of what the
caller may see. The best by words and the nearest are ranked together; behind them come the others that have the words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Row, Rows
from pentad.rooms.registers.models import StoredObject
from pentad.rooms.registers.query.cursors import read_cursor, write_cursor
from pentad.rooms.registers.query.dialects import Parts
from pentad.rooms.registers.query.past import COLUMNS
from pentad.rooms.registers.query.scoring import Counted, Scorer, counted, telling_words
from pentad.rooms.registers.query.source import Source, source
from pentad.rooms.registers.query.sql import Sql
from pentad.rooms.registers.query.tree import Filter, Found, Query, Scope, Why
from pentad.search.documents import Retrieval

if TYPE_CHECKING:
    from pentad.search.beside import Beside

WINDOW: Final = 300
"""So many of the best by words are ranked together with what is near."""
NEAR: Final = 200
MANY: Final = 20_000
"""Objects that a filter leaves: up to so many only these are compared; beyond, the nearest of all are checked first."""

_WIDTH: Final = COLUMNS.count(",") + 1
_DIGITS: Final = 4
_BY_WORDS, _BY_BOTH = 0, 1


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question to the vectors of the hybrid schemas in a scope, in one reading; none where words alone decide, which
    `because` explains. `texts` gives what is searched of an object."""

    besides: Sequence["Beside"]
    texts: Callable[[StoredObject], str]
    because: str | None = None


@dataclass(frozen=True)
class Asked:
    """What is looked for, and among which objects."""

    scope: Scope
    filter: Filter | None
    search: str
    include_deleted: bool = False


@dataclass(slots=True)
class _Hit:
    row: Row
    text: Counted
    terms: Mapping[str, float] = field(default_factory=dict[str, float])
    why: Why = field(default_factory=Why)

    @property
    def by_words(self) -> float:
        return sum(self.terms.values())


class HybridSearch:
    """One search in one reading."""

    def __init__(self, rows: Rows, parts: Parts, asked: Asked, meaning: Meaning) -> None:
        self._rows = rows
        self._parts = parts
        self._asked = asked
        self._meaning = meaning

    @classmethod
    def of(cls, rows: Rows, parts: Parts, scope: Scope, query: Query, meaning: Meaning) -> "HybridSearch":
        """The search of a query; the pages of one listing are all ranked in the way the first one was."""
        after = None if query.sort else read_cursor(scope, query, ["number", "number"])
        if after is not None and after[0] == _BY_WORDS:
            meaning = replace(meaning, besides=())
        elif after is not None and not meaning.besides:
            raise InvalidInput(
                f"The listing cannot go on by meaning. {meaning.because or ''}".strip(),
                hint="Leave the cursor out to start again.",
            )
        return cls(rows, parts, Asked(scope, query.filter, query.search or "", query.include_deleted), meaning)

    @property
    def retrieval(self) -> Retrieval:
        return "hybrid" if self._meaning.besides else "lexical"

    def described(self, found: Found) -> Found:
        """What was found, with how it was looked for."""
        return replace(found, retrieval=self.retrieval, lexical_because=self._meaning.because)

    def source(self) -> Source:
        """Everything that is found: by words, or for being near."""
        return self._source(search=True, near=list(self._near))

    def page(self, query: Query) -> Found:
        """A page by relevance; its cursor counts rows, as relevance moves with every new object."""
        if query.limit == 0:
            return Found([], None, None)
        after = read_cursor(self._asked.scope, query, ["number", "number"])
        offset = query.offset if after is None else max(0, int(after[1] or 0))
        wanted = query.limit + 1
        hits = self._head[offset : offset + wanted]
        if len(hits) < wanted and self._has_more_words:
            start = max(0, offset - len(self._head))
            hits = [*hits, *self._behind(start, wanted - len(hits))]
        shown = hits[: query.limit]
        way = _BY_BOTH if self._meaning.besides else _BY_WORDS

        def behind(count: int) -> str:
            return write_cursor(self._asked.scope, query, (way, offset + count))

        return Found(
            [hit.row for hit in shown],
            None,
            behind(query.limit) if len(hits) > query.limit else None,
            relevance=[hit.why.score for hit in shown],
            why=[hit.why for hit in shown],
            behind=behind,
        )

    # who takes part

    @cached_property
    def _near(self) -> dict[int, float]:
        """The nearest objects of all that the scope and the filter leave, by id, with their cosines."""
        near: dict[int, float] = {}
        for beside in self._meaning.besides:
            near |= beside.nearest_left(NEAR, MANY, self._matching, self._among)
        best = sorted(near.items(), key=lambda one: (-one[1], -one[0]))
        return dict(best[:NEAR])

    def _matching(self, most: int) -> list[int]:
        statement = self._source(search=False).select("objects.id", None, f" LIMIT {int(most)}")
        return [key for (key,) in self._rows.all(statement.text, *statement.params)]

    def _among(self, ids: Sequence[int]) -> list[int]:
        return [row[0] for row in self._read(self._source(search=False), "objects.id", ids)]

    def _source(self, *, search: bool, near: Sequence[int] = ()) -> Source:
        asked = self._asked
        return source(
            self._parts,
            asked.scope,
            asked.filter,
            search=asked.search if search else None,
            include_deleted=asked.include_deleted,
            near=near,
        )

    def _read(self, found: Source, columns: str, ids: Sequence[int]) -> list[Row]:
        if not ids:
            return []
        statement = found.select(columns, _among(ids))
        return self._rows.all(statement.text, *statement.params)

    # how they are ranked

    @cached_property
    def _first_by_words(self) -> list[_Hit]:
        return self._by_words(0, WINDOW, ())

    @cached_property
    def _only_near(self) -> list[_Hit]:
        """Those near that are not in the first window; they may have the words all the same, further down."""
        known = {hit.row[0] for hit in self._first_by_words}
        rows = self._read(self._source(search=False), COLUMNS, [key for key in self._near if key not in known])
        return [self._hit(row) for row in rows]

    @property
    def _has_more_words(self) -> bool:
        return len(self._first_by_words) == WINDOW

    @cached_property
    def _scorer(self) -> Scorer:
        """Counts how telling each word is by what was found, so that no other object has a say in it."""
        by_words, near = self._first_by_words, self._only_near
        scorer = Scorer(telling_words(self._asked.search), [hit.text for hit in (*by_words, *near)], len(by_words))
        for hits, has_all in ((by_words, True), (near, False)):
            for hit in hits:
                hit.terms = scorer.of(hit.text, has_all=has_all)
        return scorer

    @cached_property
    def _head(self) -> list[_Hit]:
        """The best by words and all that is near, as one ranking."""
        from pentad.search.beside import fused

        hits = {hit.row[0]: hit for hit in (*self._first_by_words, *self._only_near)}
        if not hits:
            return []
        strongest = self._strongest
        if not self._meaning.besides:
            for hit in hits.values():
                hit.why = _why(hit, 1.0 / strongest if strongest else 0.0)
            return sorted(hits.values(), key=lambda hit: (-hit.why.score, hit.row[0]))
        near = {key: cosine for key, cosine in self._near.items() if key in hits}
        ranked = fused(self._meaning.besides, {key: hit.by_words for key, hit in hits.items()}, near)
        for key, one in ranked.items():
            hit = hits[key]
            hit.why = _why(hit, one.words / hit.by_words if hit.by_words else 0.0)
            if one.cosine is not None:
                hit.why = replace(hit.why, meaning=round(one.meaning, _DIGITS), cosine=round(one.cosine, _DIGITS))
        return [hits[key] for key in ranked]

    @cached_property
    def _strongest(self) -> float:
        _ = self._scorer
        return max((hit.by_words for hit in (*self._first_by_words, *self._only_near)), default=0.0)

    def _behind(self, start: int, wanted: int) -> list[_Hit]:
        """Hits behind the head, which have the words and are not near; on the head's scale, window by window."""
        from pentad.search.hybrid import DENSE_SHARE

        without = [hit.row[0] for hit in self._only_near]
        first = WINDOW + start // WINDOW * WINDOW
        skipped = WINDOW + start - first
        listed = self._by_words(first, ((skipped + wanted) // WINDOW + 1) * WINDOW, without)
        share = (1 - DENSE_SHARE) if self._meaning.besides else 1.0
        for hit in listed:
            hit.terms = self._scorer.of(hit.text, has_all=True)
            hit.why = _why(hit, share / self._strongest if self._strongest else 0.0)
        ordered: list[_Hit] = []
        for place in range(0, len(listed), WINDOW):
            ordered += sorted(listed[place : place + WINDOW], key=lambda hit: (-hit.why.score, hit.row[0]))
        return ordered[skipped : skipped + wanted]

    def _by_words(self, first: int, size: int, without: Sequence[int]) -> list[_Hit]:
        """Some of those that have all the words, the best first as the store sees it."""
        found = self._source(search=True)
        if found.relevance is None:
            return []
        others = _among(without, negated=True) if without else None
        tail = f" ORDER BY relevance DESC, objects.id LIMIT {size} OFFSET {first}"
        statement = found.select(f"{COLUMNS}, {found.relevance} AS relevance", others, tail)
        return [self._hit(row[:_WIDTH]) for row in self._rows.all(statement.text, *statement.params)]

    def _hit(self, row: tuple[Any, ...]) -> _Hit:
        return _Hit(row, counted(self._meaning.texts(StoredObject(*row))))


def _among(ids: Sequence[int], *, negated: bool = False) -> Sql:
    listed = ", ".join(str(int(key)) for key in ids)
    return Sql(f"objects.id {'NOT IN' if negated else 'IN'} ({listed})")


def _why(hit: _Hit, scale: float) -> Why:
    return Why({word: round(given * scale, _DIGITS) for word, given in hit.terms.items()})
