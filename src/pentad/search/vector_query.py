"""One question to the vectors of a collection, for rooms that look words up with SQL, and one ranking of both.

Such a room keeps its words in a `WordTable`, beside what its filters read, and puts documents here with windows alone.
It asks what is near, adds what its words found, and has both weighed as everywhere else (`relevance.py`).
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
from pentad.search.hybrid import CANDIDATES, logits
from pentad.search.relevance import MINILM, CosineScale, logistic, part_of_words
from pentad.search.roster import Members
from pentad.search.scoring import WordMatch
from pentad.search.vectors import VectorStore

_DIGITS: Final = 6
_WIDE: Final = 2_000
_ALL: Final = 2**62


@dataclass(frozen=True, slots=True)
class Fused:
    """A document's score, the part of it that its words and its meaning give, and its cosine if it has a vector."""

    score: float
    words: float
    cosine: float | None

    @property
    def meaning(self) -> float:
        return self.score - self.words


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A question, put to a collection at one moment."""

    rows: Rows
    vectors: VectorStore
    collection: Collection
    members: Members
    query: Matrix
    scale: CosineScale
    up_to: int | None = None
    """Only documents whose id is no larger take part."""

    def nearest(self, most: int = CANDIDATES, allowed: Several[int] | None = None) -> dict[int, float]:
        """The nearest related documents by id with their cosines, best first; with `allowed`, only these take part."""
        mask = self.members.mask(allowed)
        if self.up_to is not None:
            early = self.members.ids <= self.up_to
            mask = early if mask is None else mask & early
        near = self.vectors.nearest(self.rows, self.collection, self.members, mask, self.query, most)
        ids, least = self.members.ids[near.documents], self.scale.related
        return {int(id_): float(cosine) for id_, cosine in zip(ids, near.cosines, strict=True) if cosine >= least}

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

    def cosines(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Those of the documents that have a vector here, and how near they are."""
        mask = self.members.mask(ids)
        places = np.empty(0, np.intp) if mask is None else np.flatnonzero(mask)
        if self.up_to is not None:
            places = places[self.members.ids[places] <= self.up_to]
        near = self.vectors.compared(self.rows, self.collection, self.members, self.query, places)
        return self.members.ids[near.documents], near.cosines


def fused(queries: Sequence[VectorQuery], matches: Mapping[int, WordMatch]) -> dict[int, Fused]:
    """Documents with their scores, best first, the larger id first among equals.

    The queries put one question to several collections that share one numbering of documents. A document with a vector
    in none of them is weighed by its words alone.
    """
    ids = np.array(sorted(matches), np.int64)
    if not ids.size:
        return {}
    shares = np.array([matches[int(id_)].share for id_ in ids])
    coverage = np.array([matches[int(id_)].coverage for id_ in ids])
    cosines = np.full(ids.size, np.nan)
    for query in queries:
        there, found = query.cosines(ids)
        cosines[np.searchsorted(ids, there)] = found
    scale = queries[0].scale if queries else MINILM
    scores = np.array([logistic(value) for value in logits(shares, coverage, cosines, scale).tolist()], np.float64)
    order = np.lexsort((-ids, -np.round(scores, _DIGITS)))
    return {
        int(ids[place]): _fused(float(scores[place]), float(shares[place]), float(cosines[place]), scale)
        for place in order
    }


def _fused(score: float, share: float, cosine: float, scale: CosineScale) -> Fused:
    if np.isnan(cosine):
        return Fused(score, score, None)
    return Fused(score, part_of_words(score, share, scale.standard(cosine)), cosine)
