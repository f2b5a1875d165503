"""Ranks records by words and by meaning.

The word table gives the candidates: the records with the most points for the words of the query. A word in most
records, or in very many, adds to the score but makes no record a candidate. If all words are that common, a record must
have all of them, and the newest come first. Candidates are scored in windows of a fixed size, so the order does not
depend on paging. The first window is ranked together with the records most similar to the query; `search/relevance.py`
weighs both. Records whose name is the query come first, whatever else it means.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec

from pentad.kernel.ports import Dialect, Rows
from pentad.kernel.sql import FALSE, TRUE, Sql, among, composed, joined, negated
from pentad.rooms.directory import store
from pentad.rooms.directory.records.index_fields import FIELDS, WORDS, FieldTexts, indexed_fields
from pentad.rooms.directory.search.clauses import TermClause, resolve_group
from pentad.rooms.directory.search.filters import required
from pentad.rooms.directory.search.plan import Plan, Source, ids_among, matching
from pentad.rooms.directory.search.query import Filter, FilterKind, Hit, Query
from pentad.search.relevance import GOOD_MATCH, is_doubtful, logistic, logit_of_words
from pentad.search.scoring import (
    K1,
    Reason,
    WordMatch,
    WordScorer,
    inverse_frequency,
    reasons,
    rounded,
    saturated,
    word_lists,
)
from pentad.search.word_table import Word

if TYPE_CHECKING:
    from pentad.search.fusion import VectorQuery

WINDOW: Final = 300
COMMON: Final = 10_000
MANY: Final = 20_000
"""Up to this many records that pass the filters are compared one by one. Beyond, the most similar records are filtered
instead.
"""
_DOUBTFUL: Final = 0.39
"""The score of a doubtful best hit: just below that of a good match."""
NEAREST: Final = 3
"""If fewer records are found and none is a good match, the nearest fill the list up to this number, however distant."""
_NEAR: Final = 200
_MANY_VERSIONS: Final = 2_000
_FEW_LEFT: Final = 20
_SHORTEST_NAME, _LONGEST_NAME = 2, 200
_MOST_SPACES: Final = 4
_MOST_NAMED: Final = 50
_NEVER_COMMON: Final = 50
_SCORED_AT_ONCE: Final = 500
_DIGITS: Final = 4
_PART_WEIGHTS: Final = {part: max(FIELDS[name].weight for name in names) for part, (_, names) in WORDS.parts.items()}


@dataclass(frozen=True, slots=True)
class Statistics:
    """Everything that scores depend on besides the record. A cursor carries it, so that all pages are scored alike.
    `newest` is the last record that counts; `having` is how many records have each word, counted up to COMMON."""

    newest: int
    records: int
    having: tuple[int, ...]


def statistics(rows: Rows, dialect: Dialect, words: tuple[Word, ...], common: int) -> Statistics:
    """The current statistics."""
    counted: list[int] = []
    for word in words:
        table = WORDS.having(dialect, WORDS.expression(dialect, (word,), "or"))
        statement = composed("SELECT COUNT(*) FROM (SELECT 1 FROM ", table, Sql(" LIMIT ?) AS c", (common,)))
        counted.append(rows.value(statement.text, *statement.params))
    return Statistics(
        rows.value("SELECT COALESCE(MAX(id), 0) FROM directory_records"), store.count(rows), tuple(counted)
    )


@dataclass(frozen=True, slots=True)
class Matched:
    """A record, and how the words of the query match it."""

    cid: str
    words: WordMatch

    def hit(self) -> Hit:
        """The hit, scored by words alone."""
        return explained(self, logistic(logit_of_words(self.words.share, self.words.coverage)))


class Ranking:
    """Finds and scores records by the words of a query."""

    def __init__(self, dialect: Dialect, words: tuple[Word, ...], known: Statistics, common: int) -> None:
        self._dialect: Dialect = dialect
        counted = list(zip(words, known.having, strict=True))
        self._weights = {
            word.text: 0.0 if word.text in kind_words() else inverse_frequency(known.records, records)
            for word, records in counted
        }
        self._scorer = WordScorer(FIELDS, self._weights)
        self._base_forms = {form: word.text for word in words for form in word.forms}
        many = min(common, max(_NEVER_COMMON, known.records // 2))
        self._rare = tuple(word for word, records in counted if 0 < records < many)
        self._all = words
        self._can_match = bool(words) and bool(self._rare or all(known.having))
        self.newest = known.newest
        """The last record that counts."""

    def source(self) -> Source:
        """All records that the words find."""
        if not self._can_match:
            return Source(Sql("(SELECT id AS record FROM directory_records WHERE FALSE) AS d"))
        if self._rare:
            return Source(WORDS.having(self._dialect, WORDS.expression(self._dialect, self._rare, "or")))
        return Source(WORDS.having(self._dialect, WORDS.expression(self._dialect, self._all, "and")))

    def known_at(self) -> Sql:
        """The condition that a record existed when the statistics were made."""
        return Sql("d.record <= ?", (self.newest,)) if self._can_match else FALSE

    def others(self, without: Sequence[int]) -> Sql:
        """The condition that a record is none of these."""
        return negated(among(self._dialect, "d.record", without)) if without else TRUE

    def window(
        self, rows: Rows, plan: Plan, first: int, size: int, without: Sequence[int] = ()
    ) -> list[tuple[int, Hit]]:
        """Some windows of candidates, each ordered by score, then newest first."""
        found = self.candidates(rows, plan, first, size, without)
        hits = {record: one.hit() for record, one in self.matched(rows, found).items()}
        ordered: list[tuple[int, Hit]] = []
        for start in range(0, len(found), WINDOW):
            window = [(record, hits[record]) for record in found[start : start + WINDOW] if record in hits]
            ordered += sorted(window, key=lambda pair: (-(pair[1].score or 0.0), -pair[0]))
        return ordered

    def candidates(self, rows: Rows, plan: Plan, first: int, size: int, without: Sequence[int] = ()) -> list[int]:
        """Some of the records that the words find, the most promising first."""
        source, order = self.source(), "d.record DESC"
        if self._can_match and self._rare:
            source = Source(WORDS.pointed(self._dialect, ((word, self._points(word)) for word in self._rare)))
            order = "d.points DESC, d.record DESC"
        conditions = [source.link(with_row=plan.needs_row), self.known_at(), self.others(without)]
        where = joined("AND", (*conditions, *plan.checks(source.record)))
        statement = composed(
            "SELECT d.record FROM ", source.tables(with_row=plan.needs_row), " WHERE ", where, f" ORDER BY {order}",
            Sql(" LIMIT ? OFFSET ?", (size, first)),
        )  # fmt: skip
        return [record for (record,) in rows.all(statement.text, *statement.params)]

    def matched(self, rows: Rows, records: list[int]) -> dict[int, Matched]:
        """How the words match each of these records."""
        found: dict[int, Matched] = {}
        for start in range(0, len(records), _SCORED_AT_ONCE):
            some = among(self._dialect, "r.id", records[start : start + _SCORED_AT_ONCE])
            statement = composed(
                "SELECT r.id, r.cid, x.data FROM directory_records r JOIN directory_texts x ON x.record = r.id WHERE ",
                some,
            )
            for record, cid, data in rows.all(statement.text, *statement.params):
                found[record] = Matched(cid, self.match(indexed_fields(msgspec.json.decode(data)).texts))
        return found

    def match(self, texts: FieldTexts) -> WordMatch:
        """How the words match a record with these texts."""
        base_forms = self._base_forms
        split = {
            name: [base_forms.get(word, word) for word in WORDS.words(text)]
            for name, text in zip(FieldTexts._fields, texts, strict=True)
            if text
        }
        return self._scorer.match(word_lists(split))

    def _points(self, word: Word) -> dict[str, int]:
        """The part of a score that the index alone gives. Integers, so that the sum is the same on both stores."""
        weight_of_word = self._weights[word.text]
        return {
            part: round(1000 * weight_of_word * saturated(weight) / (K1 + 1)) for part, weight in _PART_WEIGHTS.items()
        }


@dataclass(frozen=True, slots=True)
class Head:
    """The best records, ranked together: exact names, the first window of candidates, and the most similar records."""

    hits: list[Hit]
    others: tuple[int, ...]
    """Records from outside the first window. Later windows must skip them."""
    complete: bool
    """Whether no window follows."""

    @classmethod
    def of(
        cls, rows: Rows, plan: Plan, checks: Plan, ranking: Ranking, text: str, query: "VectorQuery | None"
    ) -> "Head":
        """`plan` starts from the rarest filter; `checks` has all filters as conditions, to start from the words."""
        by_words = ranking.candidates(rows, checks, 0, WINDOW)
        named = {record for record in exactly_named(rows, plan, text) if record <= ranking.newest}
        near = set[int]() if query is None else _similar(rows, plan, query)
        others = sorted((near | named) - set(by_words))
        matched = ranking.matched(rows, [*by_words, *others])
        hits = _scored(matched, query)
        hits.update((record, _exact(hits[record], text)) for record in named & hits.keys())
        hits = _less_sure(hits, matched, named, query)
        if query is not None and len(hits) < NEAREST and all((hit.score or 0.0) < GOOD_MATCH for hit in hits.values()):
            nearest = _nearest(rows, plan, query, hits.keys())
            others += nearest
            hits |= _scored(ranking.matched(rows, nearest), query)
        ordered = sorted(hits.items(), key=lambda pair: (pair[0] not in named, -(pair[1].score or 0.0), -pair[0]))
        return cls([hit for _, hit in ordered], tuple(others), complete=len(by_words) < WINDOW)

    def capped(self, hit: Hit) -> Hit:
        """A hit found by words alone. It ranks after the head, so its score may not exceed the head's last one."""
        last = self.hits[-1].score or 0.0 if self.hits else 1.0
        return hit if (hit.score or 0.0) <= last else _rescaled(hit, last)


def _scored(matched: Mapping[int, Matched], query: "VectorQuery | None") -> dict[int, Hit]:
    if query is None:
        return {record: one.hit() for record, one in matched.items()}
    from pentad.search.fusion import fused

    ranked = fused([query], {record: one.words for record, one in matched.items()})
    return {record: explained(matched[record], one.score, one.words, one.cosine) for record, one in ranked.items()}


def _less_sure(
    hits: dict[int, Hit], matched: Mapping[int, Matched], named: Collection[int], query: "VectorQuery | None"
) -> dict[int, Hit]:
    """The hits in the same order, with scores lowered if the best one is doubtful."""
    best = max(hits, key=lambda record: (hits[record].score or 0.0, record), default=None)
    if query is None or best is None or named or (meaning := hits[best].meaning) is None:
        return hits
    highest = hits[best].score or 0.0
    if highest < GOOD_MATCH or not is_doubtful(matched[best].words.coverage, query.scale.standard(meaning)):
        return hits
    return {record: _rescaled(hit, (hit.score or 0.0) * _DOUBTFUL / highest) for record, hit in hits.items()}


def _exact(hit: Hit, text: str) -> Hit:
    """A hit whose name is the query."""
    return Hit(hit.cid, 1.0, (Reason("name", (text,), 1.0),), hit.meaning)


def exactly_named(rows: Rows, plan: Plan, text: str) -> set[int]:
    """Some of the records whose name, or its last part, is this text. Spaces also match hyphens and underscores."""
    name = " ".join(text.lower().split())
    if not _SHORTEST_NAME <= len(name) <= _LONGEST_NAME or name.count(" ") > _MOST_SPACES or set(name) & set("*?["):
        return set()
    spellings = dict.fromkeys((name, name.replace(" ", "-"), name.replace(" ", "_")))
    filters = [Filter(FilterKind.NAME, one) for spelling in spellings for one in (spelling, f"*/{spelling}")]
    (group,) = required(plan.dialect, Query(tuple(filters)))
    clause = resolve_group(rows, plan.dialect, group)
    if not isinstance(clause, TermClause) or not clause.ids:
        return set()
    terms = among(plan.dialect, "term", clause.ids)
    statement = composed(
        "SELECT record FROM directory_postings WHERE ", terms, Sql(" ORDER BY record DESC LIMIT ?", (_MOST_NAMED,))
    )
    return ids_among(rows, plan, [record for (record,) in rows.all(statement.text, *statement.params)])


def _similar(rows: Rows, plan: Plan, query: "VectorQuery") -> set[int]:
    """The records most similar to the query among those that pass the filters."""
    every = plan.of_all_versions()
    near = _nearest_left(rows, every, query, _NEAR)
    if every == plan:
        return set(near)
    left = ids_among(rows, plan, near)
    if len(left) < _FEW_LEFT and len(near) == _NEAR:  # versions of a few agents fill the nearest places
        wide = list(query.nearest(_MANY_VERSIONS)) if every.is_open else _nearest_left(rows, plan, query, _FEW_LEFT)
        left |= ids_among(rows, plan, wide)
    return left


def _nearest(rows: Rows, plan: Plan, query: "VectorQuery", known: Collection[int]) -> list[int]:
    """The nearest records besides those known, related or not, for an answer without a good match."""
    near = _nearest_left(rows, plan, query, NEAREST + len(known), related=False)
    return [record for record in near if record not in known][: NEAREST - len(known)]


def _nearest_left(rows: Rows, plan: Plan, query: "VectorQuery", most: int, *, related: bool = True) -> list[int]:
    """The nearest of the records that pass the filters, best first."""
    if plan.is_open:
        return list(query.nearest(most, related=related))

    def left(records: list[int]) -> set[int]:
        return ids_among(rows, plan, records)

    return list(query.nearest_left(most, MANY, lambda count: matching(rows, plan, count), left, related=related))


def explained(matched: Matched, score: float, words: float | None = None, cosine: float | None = None) -> Hit:
    """A hit whose reasons add up to its score. `words` is the part of the score from words, by default all of it."""
    why = reasons(matched.words, score, score if words is None else words, has_vector=cosine is not None)
    meaning = None if cosine is None else round(cosine, _DIGITS)
    return Hit(matched.cid, round(sum(reason.contribution for reason in why), _DIGITS), tuple(why), meaning)


def _rescaled(hit: Hit, score: float) -> Hit:
    scale = score / hit.score if hit.score else 0.0
    why = tuple(rounded([Reason(one.field, one.words, one.contribution * scale) for one in hit.why]))
    return Hit(hit.cid, round(sum(reason.contribution for reason in why), _DIGITS), why, hit.meaning)


_MOST_WORDS: Final = 24
_SHORTEST_FOLDED: Final = 3
_STOP_WORDS: Final = (
    "a about an and any are as at be best by can could do does find for from get give good great has have help how i"
    " in into is it its like looking me my need of on or please search should show some something that the their them"
    " there these they this to us want was we what when which who will with would you your"
)
_KIND_WORDS: Final = "a2a agent agents ai assistant assistants bot bots llm mcp server servers skill skills tool tools"
"""Words for the kind of thing that records describe. They do not distinguish one record from another."""


def query_words(text: str) -> tuple[Word, ...]:
    """The words of a query, each once, in order. Stop words and kind words are dropped, unless there are no others."""
    found = list(dict.fromkeys(WORDS.words(text)))
    telling = [word for word in found if word not in _stop_words()] or found
    words = [word for word in telling if word not in kind_words()] or telling
    by_forms = {_forms(word): word for word in reversed(words)}  # singular and plural are one word
    unique = sorted(((word, forms) for forms, word in by_forms.items()), key=lambda pair: words.index(pair[0]))
    return tuple(Word(word, forms) for word, forms in unique[:_MOST_WORDS])


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(_STOP_WORDS.split())


@cache
def kind_words() -> frozenset[str]:
    """Words for kinds of things, which have no weight."""
    return frozenset(_KIND_WORDS.split())


def _forms(word: str) -> tuple[str, ...]:
    """Singular and plural, by spelling."""
    if not word.isascii() or not word.isalpha() or len(word) < _SHORTEST_FOLDED:
        return (word,)
    if word.endswith("ies"):
        return word[:-3] + "y", word
    if word.endswith("y") and word[-2] not in "aeiou":
        return word, word[:-1] + "ies"
    if word.endswith("ss"):
        return (word,)
    return (word[:-1], word) if word.endswith("s") else (word, word + "s")
