"""Records found by what they mean: the directory's part in the shared search.

Words stay with the directory's own index, which explains itself field by field; the shared one holds a vector of each
record. A push does no work for it: records never change and come in the order of their ids, so the background takes in
those behind the last it has. A record whose vector is not made yet is found by its words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.kernel.ports import Rows
from pentad.rooms.directory.records.facts import classes_of
from pentad.rooms.directory.search.plan import Plan, ids_among, matching
from pentad.rooms.directory.search.query import Hit, Reason
from pentad.rooms.directory.search.ranking import WINDOW, Ranking
from pentad.search.documents import Document

if TYPE_CHECKING:
    from pentad.search.beside import Beside, Fused

MANY: Final = 20_000
"""Records that filters leave: up to so many only these are compared; beyond, the nearest of all are checked first."""
_NEAR: Final = 200
_LONGEST_DESCRIPTION: Final = 900
_DIGITS: Final = 4
_AFTER: Final = "SELECT record, data FROM directory_texts WHERE record > ? ORDER BY record LIMIT ?"


def supply(rows: Rows, after: int, most: int) -> Sequence[Document]:
    """Records behind an id, as the shared search takes them."""
    return [Document(record, {}, [window(msgspec.json.decode(data))]) for record, data in rows.all(_AFTER, after, most)]


def window(data: Mapping[str, Any]) -> str:
    """What a record means, in the few lines a vector is made of: its name, its description, what its classes say."""
    name, description = (text if isinstance(text := data.get(key), str) else "" for key in ("name", "description"))
    said = [(entry.caption or entry.name) for family in ("skill", "domain") for entry in classes_of(data, family)]
    called = name.rpartition("/")[2].replace("-", " ").replace("_", " ")
    parts = [called, description[:_LONGEST_DESCRIPTION], ", ".join(dict.fromkeys(said))]
    return ". ".join(part for part in parts if part.strip()) or "-"


@dataclass(frozen=True, slots=True)
class Closeness:
    """One question to the vectors of the records, in one reading."""

    rows: Rows
    beside: "Beside"

    def near(self, plan: Plan) -> dict[int, float]:
        """The records nearest to the question among those the filters leave, with their cosines."""
        if plan.driver is None and not plan.clauses and not plan.excluded:
            return self.beside.nearest(_NEAR)
        return self.beside.nearest_left(
            _NEAR,
            MANY,
            lambda most: matching(self.rows, plan, most),
            lambda records: ids_among(self.rows, plan, records),
        )

    def ranked(self, hits: Mapping[int, Hit], near: Mapping[int, float]) -> list[tuple[int, Hit]]:
        """Hits of both arms, best first, the newest first among equals; each says what it owes to which."""
        fused = self.beside.fused({record: hit.score or 0.0 for record, hit in hits.items()}, near)
        shown = [(record, _explained(hits[record], one)) for record, one in fused.items()]
        return sorted(shown, key=lambda pair: (-(pair[1].score or 0.0), -pair[0]))


@dataclass(frozen=True, slots=True)
class Head:
    """The best of both arms: the first window of what the words found and what is near, as one ranking."""

    hits: list[Hit]
    only_near: tuple[int, ...]
    """Those that are not in the first window; they may have the words all the same, further down."""
    strongest: float
    complete: bool
    """Whether there is nothing behind."""

    @classmethod
    def of(cls, rows: Rows, plan: Plan, undriven: Plan, ranking: Ranking, closeness: Closeness) -> "Head":
        """`plan` starts from the rarest filter, `undriven` from the words."""
        by_words = dict(ranking.window(rows, undriven, 0, WINDOW))
        near = closeness.near(plan)
        only_near = ranking.scored(rows, sorted(near.keys() - by_words.keys()))
        hits = by_words | only_near
        ranked = closeness.ranked(hits, {record: cosine for record, cosine in near.items() if record in hits})
        strongest = max((hit.score or 0.0 for hit in hits.values()), default=0.0)
        shown = [hit for _, hit in ranked]
        return cls(shown, tuple(only_near), strongest, complete=len(by_words) < WINDOW)


def _explained(hit: Hit, fused: "Fused") -> Hit:
    """A hit whose reasons are shares of the fused score and still add up to it."""
    scale = fused.words / hit.score if hit.score else 0.0
    why = [replace(reason, contribution=round(reason.contribution * scale, _DIGITS)) for reason in hit.why]
    if fused.cosine is not None:
        why.append(Reason("meaning", (), round(fused.meaning, _DIGITS)))
    why.sort(key=lambda reason: (-reason.contribution, reason.field))
    meaning = None if fused.cosine is None else round(fused.cosine, _DIGITS)
    return Hit(hit.cid, round(sum(reason.contribution for reason in why), _DIGITS), tuple(why), meaning)


def scaled(hit: Hit, strongest: float) -> Hit:
    """A hit of words alone, behind those of both arms and on their scale."""
    from pentad.search.hybrid import DENSE_SHARE

    scale = (1 - DENSE_SHARE) / strongest if strongest else 0.0
    why = tuple(replace(reason, contribution=round(reason.contribution * scale, _DIGITS)) for reason in hit.why)
    return replace(hit, score=round(sum(reason.contribution for reason in why), _DIGITS), why=why)
