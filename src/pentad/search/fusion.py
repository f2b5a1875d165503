"""Combines words and vectors into one ranking.

In a collection, the candidates are the best of each arm. For each candidate, the other arm's true score is computed,
and `relevance.py` weighs both; a document without a vector is weighed by its words alone. The query vector is then
moved towards the three best hits (pseudo-relevance feedback) and the vectors are searched once more, unless one of
those has no vector yet. Without vectors, the words decide.

A room that looks words up with SQL (`word_table.py`) puts documents here with windows alone. It asks a `VectorQuery`
for the nearest documents, adds its own word matches, and `fused` weighs both in the same way.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Several
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ports import Rows
from pentad.search import bm25
from pentad.search.arrays import Mask, Matrix, absent
from pentad.search.bm25 import Term, TermScores
from pentad.search.collection import Collection
from pentad.search.document_table import Members
from pentad.search.documents import Features, Hit
from pentad.search.relevance import MINILM, CosineScale, logistic, logit, logit_of_words, never_rising, part_of_words
from pentad.search.scoring import K1, WordMatch
from pentad.search.vectors import NearDocuments, VectorStore

CANDIDATES: Final = 200
FEEDBACK: Final = 0.4
FEEDBACK_FROM: Final = 3
_DIGITS: Final = 6
"""Scores that differ by less count as equal, and ids decide."""
_WIDE: Final = 2_000
_ALL: Final = 2**62

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Scope:
    """The scope of a search: a snapshot of a collection, the documents that may be found, and the query's terms.

    All word scores come from here. It needs neither the store nor the query's vector, so it can be built while the
    query is embedded.
    """

    collection: Collection
    members: Members
    allowed: Mask | None
    terms: Sequence[Term]
    limit: int

    @cached_property
    def term_scores(self) -> TermScores:
        return TermScores(self.terms)

    @cached_property
    def total_idf(self) -> float:
        return sum(term.idf for term in self.terms)

    def share(self, words: Floats) -> Floats:
        """Word scores relative to the highest score these words allow."""
        return words / ((K1 + 1) * self.total_idf) if self.total_idf else np.zeros(words.size)

    def coverage(self, documents: Places) -> Floats:
        """The weighted share of the query's words that each document has."""
        idf = np.array([term.idf for term in self.terms])
        return (
            (self.term_scores.to(documents) > 0).T @ idf / self.total_idf
            if self.total_idf
            else np.zeros(documents.size)
        )

    @property
    def candidates(self) -> int:
        """How many candidates each arm contributes."""
        return max(CANDIDATES, self.limit)

    @cached_property
    def by_words(self) -> Places:
        """The best by words, with ties broken by the rooms' ids, in the order of their numbers."""
        documents = bm25.top(self.terms, self.members, self.allowed, self.candidates)
        order = np.lexsort((self.members.ids[documents], -np.round(self.term_scores.sums(documents), _DIGITS)))
        return np.sort(documents[order[: self.candidates]])


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a collection in one snapshot of the store."""

    rows: Rows
    store: VectorStore

    def nearest(self, scope: Scope, query: Matrix) -> NearDocuments:
        return self.store.nearest(self.rows, scope.collection, scope.members, scope.allowed, query, scope.candidates)

    def others(self, scope: Scope, query: Matrix, listed: Places, *known: NearDocuments) -> NearDocuments:
        """The vectors of the listed documents, except those already known."""
        there = np.sort(np.concatenate([near.documents for near in known]))
        return self.store.compared(self.rows, scope.collection, scope.members, query, absent(listed, there))


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents by number with their scores, best first. A cosine is NaN if there is no vector."""

    documents: Places
    scores: Floats
    lexical: Floats
    cosines: Floats

    def first(self, count: int) -> "Candidates":
        return Candidates(self.documents[:count], self.scores[:count], self.lexical[:count], self.cosines[:count])


def lexical(scope: Scope) -> tuple[list[Hit], Features]:
    """The best documents by their words."""
    documents = bm25.top(scope.terms, scope.members, scope.allowed, scope.limit)
    words = scope.term_scores.sums(documents)
    ranked = _ranked(scope, Candidates(documents, words, words, np.full(documents.size, np.nan)))
    return _hits(scope, ranked, MINILM), _features(scope, ranked, None)


def hybrid(scope: Scope, vectors: Vectors, query: Matrix, scale: CosineScale) -> tuple[list[Hit], Features]:
    """The best documents by words and vectors."""
    first = vectors.nearest(scope, query)
    known = first, vectors.others(scope, query, scope.by_words, first)
    fused = _fused(scope, known, scale)
    if not first.documents.size:
        return _hits(scope, fused, scale), _features(scope, fused, None)
    if np.isnan(fused.cosines[:FEEDBACK_FROM]).any():  # feedback would favour documents that have vectors
        return _hits(scope, fused, scale), _features(scope, fused, first)
    pulled = _with_feedback(query, fused, known)
    second = vectors.nearest(scope, pulled) if first.again is None else first.again(pulled, scope.candidates)
    ranked = _fused(scope, (second, vectors.others(scope, pulled, scope.by_words, second)), scale)
    best = _with_true_cosines(scope, vectors, query, ranked, known)
    return _hits(scope, best, scale), _features(scope, ranked, first)


def _fused(scope: Scope, known: Sequence[NearDocuments], scale: CosineScale) -> Candidates:
    documents = np.unique(np.concatenate([scope.by_words, *(near.documents for near in known)]))
    cosines = np.full(documents.size, np.nan)
    for near in known:
        cosines[np.searchsorted(documents, near.documents)] = near.cosines
    words = scope.term_scores.sums(documents)
    found = Candidates(documents, words, words, cosines)
    return _ranked(scope, replace(found, scores=_logits(scope, found, scale)))


def _logits(scope: Scope, found: Candidates, scale: CosineScale) -> Floats:
    """The logit of each document's score."""
    shares, coverage = scope.share(found.lexical), scope.coverage(found.documents)
    return logits(shares, coverage, found.cosines, scale)


def logits(shares: Floats, coverage: Floats, cosines: Floats, scale: CosineScale) -> Floats:
    """The logits of documents' scores; a document without a vector is weighed by its words alone."""
    standard = scale.standard(cosines)
    return np.where(np.isnan(cosines), logit_of_words(shares, coverage), logit(shares, standard))


def _with_feedback(query: Matrix, fused: Candidates, known: Sequence[NearDocuments]) -> Matrix:
    """The query vector, moved towards the best hits so far by adding a share of their mean vector."""
    leading: list[Matrix] = []
    for document in np.sort(fused.documents[:FEEDBACK_FROM]):
        for near in known:
            leading += [near.vectors[place] for place in np.flatnonzero(near.documents == document)]
    if not leading:
        return query
    sum_ = query.astype(np.float64) + FEEDBACK * np.stack(leading).astype(np.float64).mean(axis=0)
    return (sum_ / np.linalg.norm(sum_)).astype(np.float32)


def _with_true_cosines(
    scope: Scope, vectors: Vectors, query: Matrix, ranked: Candidates, known: Sequence[NearDocuments]
) -> Candidates:
    """The best of a ranking, with the cosines of the original query instead of those after feedback."""
    best = ranked.documents[: scope.limit]
    order = np.argsort(best)
    cosines = np.full(best.size, np.nan)
    for near in (*known, vectors.others(scope, query, best, *known)):
        places = np.minimum(np.searchsorted(best, near.documents, sorter=order), best.size - 1)
        there = best[order[places]] == near.documents
        cosines[order[places[there]]] = near.cosines[there]
    return Candidates(best, ranked.scores[: scope.limit], ranked.lexical[: scope.limit], cosines)


def _ranked(scope: Scope, found: Candidates) -> Candidates:
    order = np.lexsort((scope.members.ids[found.documents], -np.round(found.scores, _DIGITS)))
    return Candidates(found.documents[order], found.scores[order], found.lexical[order], found.cosines[order])


def _hits(scope: Scope, ranked: Candidates, scale: CosineScale) -> list[Hit]:
    """The hits for the caller. Scores are those of the original query, and never increase down the ranking."""
    ranked = ranked.first(scope.limit)
    documents = ranked.documents
    scores = never_rising([logistic(value) for value in _logits(scope, ranked, scale).tolist()])
    shares = scope.share(ranked.lexical).tolist()
    given = dict(zip((term.text for term in scope.terms), scope.term_scores.to(documents), strict=True))
    hits: list[Hit] = []
    for place, document in enumerate(documents):
        cosine = None if np.isnan(ranked.cosines[place]) else float(ranked.cosines[place])
        standard = None if cosine is None else scale.standard(cosine)
        hits.append(
            Hit(
                id=int(scope.members.ids[document]),
                score=scores[place],
                lexical=float(ranked.lexical[place]),
                cosine=cosine,
                terms={text: float(values[place]) for text, values in given.items() if values[place] > 0},
                by_words=part_of_words(scores[place], shares[place], standard),
            )
        )
    return hits


def _features(scope: Scope, ranked: Candidates, near: NearDocuments | None) -> Features:
    total = scope.total_idf
    if not ranked.documents.size:
        return Features(query_terms=len(scope.terms), missing_idf=max((term.idf for term in scope.terms), default=0.0))
    cosines = np.empty(0) if near is None else near.cosines
    strongest = int(ranked.lexical.argmax())
    held = [bool(given > 0) for given in scope.term_scores.to(ranked.documents[strongest : strongest + 1])[:, 0]]
    by_words = int(ranked.documents[strongest]) if ranked.lexical[strongest] > 0 else None
    return Features(
        top_cosine=float(cosines[0]) if cosines.size else 0.0,
        cosine_gap=float(cosines[0] - cosines[min(4, cosines.size - 1)]) if cosines.size else 0.0,
        bm25_share=float(ranked.lexical[strongest]) / ((K1 + 1) * total) if total else 0.0,
        coverage=sum(term.idf for term, has in zip(scope.terms, held, strict=True) if has) / total if total else 0.0,
        missing_idf=max((term.idf for term, has in zip(scope.terms, held, strict=True) if not has), default=0.0),
        agreement=near is not None and cosines.size > 0 and int(near.documents[0]) == by_words,
        query_terms=len(scope.terms),
    )


@dataclass(frozen=True, slots=True)
class Fused:
    """A document's score, the part of it due to words, and its cosine if it has a vector."""

    score: float
    words: float
    cosine: float | None

    @classmethod
    def of(cls, score: float, share: float, cosine: float, scale: CosineScale) -> "Fused":
        if np.isnan(cosine):
            return cls(score, score, None)
        return cls(score, part_of_words(score, share, scale.standard(cosine)), cosine)


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A query on the vectors of a collection at one moment."""

    rows: Rows
    vectors: VectorStore
    collection: Collection
    members: Members
    query: Matrix
    scale: CosineScale
    up_to: int | None = None
    """The largest id of documents that take part."""

    def nearest(
        self, most: int = CANDIDATES, allowed: Several[int] | None = None, *, related: bool = True
    ) -> dict[int, float]:
        """The nearest documents by id with their cosines, best first; only related ones, unless `related` is False.
        With `allowed`, only these documents take part."""
        mask = self.members.mask(allowed)
        early = None if self.up_to is None else self.members.ids <= self.up_to
        if early is not None and not early.all():
            mask = early if mask is None else mask & early
        near = self.vectors.nearest(self.rows, self.collection, self.members, mask, self.query, most)
        ids, least = self.members.ids[near.documents], self.scale.related if related else -1.0
        return {int(id_): float(cosine) for id_, cosine in zip(ids, near.cosines, strict=True) if cosine >= least}

    def nearest_left(
        self,
        most: int,
        many: int,
        matching: Callable[[int], Several[int]],
        among: Callable[[list[int]], Several[int]],
        *,
        related: bool = True,
    ) -> dict[int, float]:
        """The nearest of the documents that a room's filters leave. `matching` returns up to so many of these, and
        `among` those of the given ids. If there are at most `many`, only they are compared; otherwise the nearest of
        all documents are filtered first."""
        allowed = matching(many + 1)
        if len(allowed) > many:
            wide = self.nearest(_WIDE, related=related)
            left = set(among(list(wide)))
            near = {id_: cosine for id_, cosine in wide.items() if id_ in left}
            if len(wide) < _WIDE or len(near) >= most:  # these were all near ones, or there are enough
                return dict(list(near.items())[:most])
            allowed = matching(_ALL)
        return self.nearest(most, allowed, related=related)

    def cosines(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The documents among these that have a vector, and their cosines."""
        mask = self.members.mask(ids)
        places = np.empty(0, np.intp) if mask is None else np.flatnonzero(mask)
        if self.up_to is not None:
            places = places[self.members.ids[places] <= self.up_to]
        near = self.vectors.compared(self.rows, self.collection, self.members, self.query, places)
        return self.members.ids[near.documents], near.cosines


def fused(queries: Sequence[VectorQuery], matches: Mapping[int, WordMatch]) -> dict[int, Fused]:
    """Documents with their scores, best first; on ties, the larger id first.

    The queries are one query on several collections that share one numbering of documents. A document without a
    vector in any of them is weighed by its words alone.
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
        int(ids[place]): Fused.of(float(scores[place]), float(shares[place]), float(cosines[place]), scale)
        for place in order
    }
