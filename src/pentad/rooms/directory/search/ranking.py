"""Records ranked by words: candidates by points from the full-text index, then put in order by their exact scores.

A word that most records or very many have is no reason to be found, it only adds to the score; unless no asked word is
rarer, then a record must have them all and the newest come first. Candidates are taken in windows of a fixed size, so
that the order does not depend on how it is paged. `closeness.py` puts meaning beside the first window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from pentad.kernel.ports import Dialect, Rows
from pentad.rooms.directory.records import store
from pentad.rooms.directory.records.facts import facts_of
from pentad.rooms.directory.search.plan import Plan, Source
from pentad.rooms.directory.search.query import Hit
from pentad.rooms.directory.search.scoring import points, rarity, score
from pentad.rooms.directory.search.sql import FALSE, TRUE, Sql, among, composed, joined, negated
from pentad.rooms.directory.search.words import Word, expression, having, pointed

WINDOW: Final = 300
COMMON: Final = 10_000
_NEVER_COMMON: Final = 50
_SCORED_AT_ONCE: Final = 500


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
        table = having(dialect, expression(dialect, (word,), "or"))
        statement = composed("SELECT COUNT(*) FROM (SELECT 1 FROM ", table, Sql(" LIMIT ?) AS c", (common,)))
        counted.append(rows.value(statement.text, *statement.params))
    return Statistics(
        rows.value("SELECT COALESCE(MAX(id), 0) FROM directory_records"), store.count(rows), tuple(counted)
    )


class Ranking:
    """Words, what is known of them, and the records they find."""

    def __init__(self, dialect: Dialect, asked: tuple[Word, ...], known: Statistics, common: int) -> None:
        self._dialect: Dialect = dialect
        self._scored = [(word, rarity(known.records, had)) for word, had in zip(asked, known.having, strict=True)]
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
            return Source(having(self._dialect, expression(self._dialect, self._rare, "or")))
        return Source(having(self._dialect, expression(self._dialect, self._all, "and")))

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
        source, order = self.source(), "d.record DESC"
        if self._possible and self._rare:
            worth = {word: points(rare) for word, rare in self._scored}
            source = Source(pointed(self._dialect, tuple((word, worth[word]) for word in self._rare)))
            order = "d.points DESC, d.record DESC"
        conditions = [source.link(with_row=plan.of_row), self.known_at(), self.others(without)]
        where = joined("AND", (*conditions, *plan.checks(source.record)))
        statement = composed(
            "SELECT d.record FROM ", source.tables(with_row=plan.of_row), " WHERE ", where, f" ORDER BY {order}",
            Sql(" LIMIT ? OFFSET ?", (size, first)),
        )  # fmt: skip
        found = [record for (record,) in rows.all(statement.text, *statement.params)]
        hits = self.scored(rows, found)
        ordered: list[tuple[int, Hit]] = []
        for start in range(0, len(found), WINDOW):
            window = [(record, hits[record]) for record in found[start : start + WINDOW] if record in hits]
            ordered += sorted(window, key=lambda pair: (-(pair[1].score or 0.0), -pair[0]))
        return ordered

    def scored(self, rows: Rows, records: list[int]) -> dict[int, Hit]:
        """Records with their scores and reasons."""
        hits: dict[int, Hit] = {}
        for start in range(0, len(records), _SCORED_AT_ONCE):
            wanted = among(self._dialect, "r.id", records[start : start + _SCORED_AT_ONCE])
            statement = composed(
                "SELECT r.id, r.cid, x.data FROM directory_records r JOIN directory_texts x ON x.record = r.id WHERE ",
                wanted,
            )
            for record, cid, data in rows.all(statement.text, *statement.params):
                hits[record] = Hit(cid, *score(facts_of(msgspec.json.decode(data)).texts, self._scored))
        return hits
