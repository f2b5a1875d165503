"""Records ranked by words and by what they mean.

Words give candidates: those with the most points in the word table. A word that most records or very many have is no
reason to be found, it only adds to the score; unless no asked word is rarer, then a record must have them all and the
newest come first. Candidates are taken in windows of a fixed size, so that the order does not depend on paging. The
first window is ranked together with the records nearest to the question; `search/relevance.py` weighs both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from pentad.kernel.ports import Dialect, Rows
from pentad.kernel.sql import FALSE, TRUE, Sql, among, composed, joined, negated
from pentad.rooms.directory import store
from pentad.rooms.directory.records.index_fields import FIELDS, WORDS, FieldTexts, facts_of
from pentad.rooms.directory.search.plan import Plan, Source, ids_among, matching
from pentad.rooms.directory.search.query import Hit
from pentad.search.relevance import logistic, logit_of_words
from pentad.search.scoring import K1, Reason, WordMatch, WordScorer, inverse_frequency, reasons, saturated, word_lists
from pentad.search.word_table import Word

if TYPE_CHECKING:
    from pentad.search.fusion import VectorQuery

WINDOW: Final = 300
COMMON: Final = 10_000
MANY: Final = 20_000
"""Records that filters leave: up to so many only these are compared; beyond, the nearest of all are checked first."""
_NEAR: Final = 200
_NEVER_COMMON: Final = 50
_SCORED_AT_ONCE: Final = 500
_DIGITS: Final = 4
_PART_WEIGHTS: Final = {part: max(FIELDS[name].weight for name in names) for part, (_, names) in WORDS.parts.items()}


@dataclass(frozen=True, slots=True)
class Statistics:
    """What scores depend on besides the record. A cursor carries it, so that all pages are scored alike.

    `newest` is the last record that takes part; `having` how many records have each word, counted up to COMMON.
    """

    newest: int
    records: int
    having: tuple[int, ...]


def statistics(rows: Rows, dialect: Dialect, asked: tuple[Word, ...], common: int) -> Statistics:
    """The statistics of this moment."""
    counted: list[int] = []
    for word in asked:
        table = WORDS.having(dialect, WORDS.expression(dialect, (word,), "or"))
        statement = composed("SELECT COUNT(*) FROM (SELECT 1 FROM ", table, Sql(" LIMIT ?) AS c", (common,)))
        counted.append(rows.value(statement.text, *statement.params))
    return Statistics(
        rows.value("SELECT COALESCE(MAX(id), 0) FROM directory_records"), store.count(rows), tuple(counted)
    )


@dataclass(frozen=True, slots=True)
class Matched:
    """A record, and what the words of the question give to it."""

    cid: str
    words: WordMatch

    def hit(self) -> Hit:
        """The hit, ranked by words alone."""
        return explained(self, logistic(logit_of_words(self.words.share, self.words.coverage)))


class Ranking:
    """Words, what is known of them, and the records they find."""

    def __init__(self, dialect: Dialect, asked: tuple[Word, ...], known: Statistics, common: int) -> None:
        self._dialect: Dialect = dialect
        self._worth = {
            word.text: inverse_frequency(known.records, had) for word, had in zip(asked, known.having, strict=True)
        }
        self._scorer = WordScorer(FIELDS, self._worth)
        self._meant = {form: word.text for word in asked for form in word.forms}
        many = min(common, max(_NEVER_COMMON, known.records // 2))
        self._rare = tuple(word for word, had in zip(asked, known.having, strict=True) if 0 < had < many)
        self._all = asked
        self._possible = bool(asked) and bool(self._rare or all(known.having))
        self._newest = known.newest

    def source(self) -> Source:
        """All records the words find."""
        if not self._possible:
            return Source(Sql("(SELECT id AS record FROM directory_records WHERE FALSE) AS d"))
        if self._rare:
            return Source(WORDS.having(self._dialect, WORDS.expression(self._dialect, self._rare, "or")))
        return Source(WORDS.having(self._dialect, WORDS.expression(self._dialect, self._all, "and")))

    def known_at(self) -> Sql:
        """Only records that were there when the statistics were made."""
        return Sql("d.record <= ?", (self._newest,)) if self._possible else FALSE

    def others(self, without: Sequence[int]) -> Sql:
        """Only records that are none of these."""
        return negated(among(self._dialect, "d.record", without)) if without else TRUE

    def window(
        self, rows: Rows, plan: Plan, first: int, size: int, without: Sequence[int] = ()
    ) -> list[tuple[int, Hit]]:
        """Some windows of candidates, each in the order of its scores, then the newest first."""
        found = self.candidates(rows, plan, first, size, without)
        hits = {record: one.hit() for record, one in self.matched(rows, found).items()}
        ordered: list[tuple[int, Hit]] = []
        for start in range(0, len(found), WINDOW):
            window = [(record, hits[record]) for record in found[start : start + WINDOW] if record in hits]
            ordered += sorted(window, key=lambda pair: (-(pair[1].score or 0.0), -pair[0]))
        return ordered

    def candidates(self, rows: Rows, plan: Plan, first: int, size: int, without: Sequence[int] = ()) -> list[int]:
        """Some of the records the words find, the most promising first."""
        source, order = self.source(), "d.record DESC"
        if self._possible and self._rare:
            source = Source(WORDS.pointed(self._dialect, ((word, self._points(word)) for word in self._rare)))
            order = "d.points DESC, d.record DESC"
        conditions = [source.link(with_row=plan.of_row), self.known_at(), self.others(without)]
        where = joined("AND", (*conditions, *plan.checks(source.record)))
        statement = composed(
            "SELECT d.record FROM ", source.tables(with_row=plan.of_row), " WHERE ", where, f" ORDER BY {order}",
            Sql(" LIMIT ? OFFSET ?", (size, first)),
        )  # fmt: skip
        return [record for (record,) in rows.all(statement.text, *statement.params)]

    def matched(self, rows: Rows, records: list[int]) -> dict[int, Matched]:
        """Records with what the words give to them."""
        found: dict[int, Matched] = {}
        for start in range(0, len(records), _SCORED_AT_ONCE):
            wanted = among(self._dialect, "r.id", records[start : start + _SCORED_AT_ONCE])
            statement = composed(
                "SELECT r.id, r.cid, x.data FROM directory_records r JOIN directory_texts x ON x.record = r.id WHERE ",
                wanted,
            )
            for record, cid, data in rows.all(statement.text, *statement.params):
                found[record] = Matched(cid, self.match(facts_of(msgspec.json.decode(data)).texts))
        return found

    def match(self, texts: FieldTexts) -> WordMatch:
        """What the words give to a record with these texts."""
        meant = self._meant
        cut = {
            name: [meant.get(word, word) for word in WORDS.words(text)]
            for name, text in zip(FieldTexts._fields, texts, strict=True)
            if text
        }
        return self._scorer.match(word_lists(cut))

    def _points(self, word: Word) -> dict[str, int]:
        """The share of a score that is known from the index alone, as whole numbers: they add up alike everywhere."""
        worth = self._worth[word.text]
        return {part: round(1000 * worth * saturated(weight) / (K1 + 1)) for part, weight in _PART_WEIGHTS.items()}


@dataclass(frozen=True, slots=True)
class Head:
    """The best by words and by meaning: the first window of what the words found and what is near, as one ranking."""

    hits: list[Hit]
    only_near: tuple[int, ...]
    """Those that are not in the first window; they may have the words all the same, further down."""
    complete: bool
    """Whether there is nothing behind."""

    @classmethod
    def of(cls, rows: Rows, plan: Plan, undriven: Plan, ranking: Ranking, query: "VectorQuery") -> "Head":
        """`plan` starts from the rarest filter, `undriven` from the words."""
        from pentad.search.fusion import fused

        by_words = ranking.candidates(rows, undriven, 0, WINDOW)
        only_near = sorted(_near(rows, plan, query).keys() - set(by_words))
        matched = ranking.matched(rows, [*by_words, *only_near])
        ranked = fused([query], {record: one.words for record, one in matched.items()})
        hits = {record: explained(matched[record], one.score, one.words, one.cosine) for record, one in ranked.items()}
        ordered = sorted(hits.items(), key=lambda pair: (-(pair[1].score or 0.0), -pair[0]))
        return cls([hit for _, hit in ordered], tuple(only_near), complete=len(by_words) < WINDOW)

    def behind(self, hit: Hit) -> Hit:
        """A hit of words alone, which ranks behind all of these and so scores no more than they do."""
        last = self.hits[-1].score or 0.0 if self.hits else 1.0
        return hit if (hit.score or 0.0) <= last else _rescaled(hit, last)


def _near(rows: Rows, plan: Plan, query: "VectorQuery") -> Mapping[int, float]:
    """The records nearest to the question among those the filters leave, with their cosines."""
    if plan.driver is None and not plan.clauses and not plan.excluded:
        return query.nearest(_NEAR)
    return query.nearest_left(
        _NEAR, MANY, lambda most: matching(rows, plan, most), lambda records: ids_among(rows, plan, records)
    )


def explained(matched: Matched, score: float, words: float | None = None, cosine: float | None = None) -> Hit:
    """A hit whose reasons add up to its score; `words` is the part that its words have in it, all if not given."""
    why = reasons(matched.words, score, score if words is None else words, has_vector=cosine is not None)
    meaning = None if cosine is None else round(cosine, _DIGITS)
    return Hit(matched.cid, round(sum(reason.contribution for reason in why), _DIGITS), tuple(why), meaning)


def _rescaled(hit: Hit, score: float) -> Hit:
    scale = score / hit.score if hit.score else 0.0
    why = tuple(Reason(one.field, one.words, round(one.contribution * scale, _DIGITS)) for one in hit.why)
    return Hit(hit.cid, round(sum(reason.contribution for reason in why), _DIGITS), why, hit.meaning)
