"""Meaning beside words that a room searches by itself: what is near a question, and one ranking of both.

A room that has its own word index puts documents here with windows alone. It asks what is near, adds what its words
found, and has both scores fused as everywhere else: the other arm's true cosine for each, feedback from the best three.
"""

from collections.abc import Collection as Several
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ports import Rows
from pentad.search.arrays import Matrix
from pentad.search.collection import Collection
from pentad.search.hybrid import CANDIDATES, FEEDBACK_FROM, moved, shares
from pentad.search.roster import Members
from pentad.search.vectors import VectorStore

_DIGITS: Final = 6


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

    def fused(self, words: Mapping[int, float], near: Mapping[int, float]) -> dict[int, Fused]:
        """Every document of either arm with its fused score, best first, the larger id first among equals."""
        ids = np.array(sorted({*words, *near}), np.int64)
        if not ids.size:
            return {}
        by_words = np.array([words.get(int(id_), 0.0) for id_ in ids])
        first = self._cosines(self.query, ids)
        word_shares, meaning_shares = shares(by_words, first)
        leading = ids[_order(word_shares + meaning_shares, ids)[:FEEDBACK_FROM]]
        towards = self.vectors.compared(self.rows, self.collection, self.members, self.query, self._places(leading))
        second = self._cosines(moved(self.query, towards), ids) if towards.documents.size else first
        word_shares, meaning_shares = shares(by_words, second)
        return {
            int(ids[place]): Fused(
                float(word_shares[place]),
                float(meaning_shares[place]),
                None if np.isnan(first[place]) else float(first[place]),
            )
            for place in _order(word_shares + meaning_shares, ids)
        }

    def _cosines(self, query: Matrix, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        near = self.vectors.compared(self.rows, self.collection, self.members, query, self._places(ids))
        cosines = np.full(ids.size, np.nan)
        cosines[np.searchsorted(ids, self.members.ids[near.documents])] = near.cosines
        return cosines

    def _places(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        mask = self.members.mask(ids)
        places = np.empty(0, np.intp) if mask is None else np.flatnonzero(mask)
        return places if self.up_to is None else places[self.members.ids[places] <= self.up_to]


def _order(scores: NDArray[np.float64], ids: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.lexsort((-ids, -np.round(scores, _DIGITS)))
