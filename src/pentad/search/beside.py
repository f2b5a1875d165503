"""Meaning beside words that a room searches by itself: what is near a question, and one ranking of both.

A room that has its own word index puts documents here with windows alone. It asks what is near, adds what its words
found, and has both scores fused as everywhere else: the other arm's true cosine for each, feedback from the best three.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Several
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ports import Rows
from pentad.search.arrays import Matrix
from pentad.search.collection import Collection
from pentad.search.hybrid import CANDIDATES, FEEDBACK_FROM, moved, shares
from pentad.search.roster import Members
from pentad.search.vectors import Near, VectorStore

_DIGITS: Final = 6
_WIDE: Final = 2_000
_ALL: Final = 2**62


@dataclass(frozen=True, slots=True)
class Fused:
    """The score of a document: what its words and its meaning give, and its cosine if it has a vector."""

    words: float
    meaning: float
    cosine: float | None

    @property
    def score(self) -> float:
        return self.words + self.meaning


@dataclass(frozen=True, slots=True)
class Beside:
    """One question to the vectors of a collection, at one moment. Documents below `floor` are not near at all."""

    rows: Rows
    vectors: VectorStore
    collection: Collection
    members: Members
    query: Matrix
    floor: float
    up_to: int | None = None
    """Only documents whose id is no larger take part."""

    def nearest(self, most: int = CANDIDATES, allowed: Several[int] | None = None) -> dict[int, float]:
        """The nearest documents by id with their cosines, best first; with `allowed`, only these are compared."""
        mask = self.members.mask(allowed)
        if self.up_to is not None:
            early = self.members.ids <= self.up_to
            mask = early if mask is None else mask & early
        near = self.vectors.nearest(self.rows, self.collection, self.members, mask, self.query, most)
        ids = self.members.ids[near.documents]
        return {int(id_): float(cos) for id_, cos in zip(ids, near.cosines, strict=True) if cos >= self.floor}

    def nearest_left(
        self, most: int, many: int, matching: Callable[[int], Several[int]], among: Callable[[list[int]], Several[int]]
    ) -> dict[int, float]:
        """The nearest of the documents a room's filters leave: `matching` gives so many of these at most, `among` those
        of some ids. Up to `many` only they are compared; beyond, the nearest of all are checked first."""
        allowed = matching(many + 1)
        if len(allowed) > many:
            wide = self.nearest(_WIDE)
            left = set(among(list(wide)))
            near = {id_: cosine for id_, cosine in wide.items() if id_ in left}
            if len(wide) < _WIDE or len(near) >= most:  # all that are near were seen, or enough of them
                return dict(list(near.items())[:most])
            allowed = matching(_ALL)
        return self.nearest(most, allowed)

    def fused(self, words: Mapping[int, float], near: Mapping[int, float]) -> dict[int, Fused]:
        """Every document of either arm with its fused score, best first, the larger id first among equals."""
        return fused([self], words, near)

    def towards(self, query: Matrix, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], Near]:
        """Those of the documents that are here, and how near a question they are."""
        near = self.vectors.compared(self.rows, self.collection, self.members, query, self._places(ids))
        return self.members.ids[near.documents], near

    def _places(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        mask = self.members.mask(ids)
        places = np.empty(0, np.intp) if mask is None else np.flatnonzero(mask)
        return places if self.up_to is None else places[self.members.ids[places] <= self.up_to]


def fused(besides: Sequence[Beside], words: Mapping[int, float], near: Mapping[int, float]) -> dict[int, Fused]:
    """The same over several collections that share one question and one numbering of documents; what is in none of them
    has its words alone."""
    ids = np.array(sorted({*words, *near}), np.int64)
    if not ids.size:
        return {}
    by_words = np.array([words.get(int(id_), 0.0) for id_ in ids])
    query = besides[0].query if besides else None
    first = _cosines(besides, query, ids)
    word_shares, meaning_shares = shares(by_words, first)
    leading = np.sort(ids[_order(word_shares + meaning_shares, ids)[:FEEDBACK_FROM]])
    moved_query = None if query is None else _moved(besides, query, leading)
    second = first if moved_query is None else _cosines(besides, moved_query, ids)
    word_shares, meaning_shares = shares(by_words, second)
    return {
        int(ids[place]): Fused(
            float(word_shares[place]),
            float(meaning_shares[place]),
            None if np.isnan(first[place]) else float(first[place]),
        )
        for place in _order(word_shares + meaning_shares, ids)
    }


def _cosines(besides: Sequence[Beside], query: Matrix | None, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """NaN for a document without a vector."""
    cosines = np.full(ids.size, np.nan)
    if query is not None:
        for beside in besides:
            there, near = beside.towards(query, ids)
            cosines[np.searchsorted(ids, there)] = near.cosines
    return cosines


def _moved(besides: Sequence[Beside], query: Matrix, leading: NDArray[np.int64]) -> Matrix | None:
    """The question, moved towards the leading documents; None where these have no vectors."""
    found = [beside.towards(query, leading) for beside in besides]
    ids = np.concatenate([there for there, _ in found])
    if not ids.size:
        return None
    vectors = np.concatenate([near.vectors for there, near in found if there.size])
    return moved(query, Near(ids.astype(np.intp), np.zeros(ids.size), vectors))


def _order(scores: NDArray[np.float64], ids: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.lexsort((-ids, -np.round(scores, _DIGITS)))
