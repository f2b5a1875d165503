"""Words and vectors as one ranking.

Candidates are the best of each arm; for each, the other arm's true score is computed. Both scores are stretched to 0..1
over the candidates and added, vectors with the larger share. The three best then pull the question towards themselves
(pseudo-relevance feedback) and the vectors are asked once more. Without vectors the words alone decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ports import Rows
from pentad.search import bm25
from pentad.search.arrays import Mask, Matrix
from pentad.search.bm25 import K1, Term
from pentad.search.collection import Collection
from pentad.search.documents import Features, Hit
from pentad.search.roster import Members
from pentad.search.vectors import Near, VectorStore

CANDIDATES: Final = 200
DENSE_SHARE: Final = 0.6
FEEDBACK: Final = 0.4
FEEDBACK_FROM: Final = 3
_DIGITS: Final = 6
"""Scores that differ by less are equal, and ids decide."""

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Scope:
    """What is searched: a collection at one moment, the documents that may be found, and the terms of the question."""

    rows: Rows
    collection: Collection
    members: Members
    allowed: Mask | None
    terms: Sequence[Term]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents by number with their scores, in the order of rank. A cosine is NaN where there is no vector."""

    documents: Places
    scores: Floats
    lexical: Floats
    cosines: Floats


def lexical(scope: Scope, limit: int) -> tuple[list[Hit], Features]:
    """The best documents by their words."""
    documents = bm25.top(scope.terms, scope.members, scope.allowed, limit)
    scores = _lexical_scores(scope.terms, documents)
    shown = scores / scores.max() if scores.size and scores.max() > 0 else scores
    ranked = _ranked(scope, Candidates(documents, shown, scores, np.full(documents.size, np.nan)))
    return _hits(scope, ranked, limit), _features(scope, ranked, None)


def hybrid(scope: Scope, vectors: VectorStore, query: Matrix, limit: int) -> tuple[list[Hit], Features]:
    """The best documents by words and vectors."""
    count = max(CANDIDATES, limit)
    by_words = bm25.top(scope.terms, scope.members, scope.allowed, count)
    by_words = _cut(scope, by_words, count)
    first = _asked(scope, vectors, query, count)
    fused = _fused(scope, vectors, query, by_words, first)
    if not first.documents.size:
        return _hits(scope, fused, limit), _features(scope, fused, None)
    pulled = _pulled(scope, vectors, query, fused)
    second = _asked_again(scope, vectors, pulled, count, first)
    ranked = _fused(scope, vectors, pulled, by_words, second)
    ranked = _with_true_cosines(scope, vectors, query, ranked)
    return _hits(scope, ranked, limit), _features(scope, ranked, first)


def _asked(scope: Scope, vectors: VectorStore, query: Matrix, count: int) -> Near:
    return vectors.nearest(scope.rows, scope.collection, scope.members, scope.allowed, query, count)


def _asked_again(scope: Scope, vectors: VectorStore, query: Matrix, count: int, first: Near) -> Near:
    """The nearest to a question that was moved a little."""
    if first.pool is None:
        return _asked(scope, vectors, query, count)
    near = vectors.compared(scope.rows, scope.collection, scope.members, query, first.pool)
    return Near(near.documents[:count], near.cosines[:count], near.vectors[:count])


def _fused(scope: Scope, vectors: VectorStore, query: Matrix, by_words: Places, near: Near) -> Candidates:
    documents = np.union1d(by_words, near.documents)
    cosines = _cosines(scope, vectors, query, documents, near)
    words = _lexical_scores(scope.terms, documents)
    scores = DENSE_SHARE * _stretched(cosines) + (1 - DENSE_SHARE) * _stretched(words)
    return _ranked(scope, Candidates(documents, scores, words, cosines))


def _cosines(scope: Scope, vectors: VectorStore, query: Matrix, documents: Places, near: Near) -> Floats:
    """The cosine of each document, `near` already having some of them."""
    cosines = np.full(documents.size, np.nan)
    cosines[np.searchsorted(documents, near.documents)] = near.cosines
    if (missing := documents[np.isnan(cosines)]).size:
        others = vectors.compared(scope.rows, scope.collection, scope.members, query, missing)
        cosines[np.searchsorted(documents, others.documents)] = others.cosines
    return cosines


def _pulled(scope: Scope, vectors: VectorStore, query: Matrix, fused: Candidates) -> Matrix:
    """The question, moved towards the best answers so far."""
    leading = vectors.compared(
        scope.rows, scope.collection, scope.members, query, np.sort(fused.documents[:FEEDBACK_FROM])
    )
    if not leading.documents.size:
        return query
    order = np.argsort(leading.documents)
    moved = query.astype(np.float64) + FEEDBACK * leading.vectors[order].astype(np.float64).mean(axis=0)
    return (moved / np.linalg.norm(moved)).astype(np.float32)


def _with_true_cosines(scope: Scope, vectors: VectorStore, query: Matrix, ranked: Candidates) -> Candidates:
    """The ranking with the cosines of the question as it was asked: those are what a caller is told."""
    near = vectors.compared(scope.rows, scope.collection, scope.members, query, np.sort(ranked.documents))
    cosines = np.full(ranked.documents.size, np.nan)
    order = np.argsort(ranked.documents)
    cosines[order[np.searchsorted(ranked.documents, near.documents, sorter=order)]] = near.cosines
    return Candidates(ranked.documents, ranked.scores, ranked.lexical, cosines)


def _lexical_scores(terms: Sequence[Term], documents: Places) -> Floats:
    scores = np.zeros(documents.size)
    for term in terms:
        scores += term.given_to(documents)
    return scores


def _cut(scope: Scope, documents: Places, count: int) -> Places:
    """The best by words, ties by the rooms' ids, in the order of their numbers."""
    scores = _lexical_scores(scope.terms, documents)
    order = np.lexsort((scope.members.ids[documents], -np.round(scores, _DIGITS)))
    return np.sort(documents[order[:count]])


def _stretched(values: Floats) -> Floats:
    """From 0 for the lowest to 1 for the highest; what is missing counts as the lowest."""
    if not values.size or np.isnan(values).all():
        return np.zeros(values.size)
    low, high = np.nanmin(values), np.nanmax(values)
    if high - low < 1e-12:
        return np.where(np.isnan(values) | (values <= 0), 0.0, 1.0)
    return np.nan_to_num((values - low) / (high - low), nan=0.0)


def _ranked(scope: Scope, found: Candidates) -> Candidates:
    order = np.lexsort((scope.members.ids[found.documents], -np.round(found.scores, _DIGITS)))
    return Candidates(found.documents[order], found.scores[order], found.lexical[order], found.cosines[order])


def _hits(scope: Scope, ranked: Candidates, limit: int) -> list[Hit]:
    documents = ranked.documents[:limit]
    given = {term.text: term.given_to(documents) for term in scope.terms}
    return [
        Hit(
            id=int(scope.members.ids[document]),
            score=float(ranked.scores[place]),
            lexical=float(ranked.lexical[place]),
            cosine=None if np.isnan(ranked.cosines[place]) else float(ranked.cosines[place]),
            terms={text: float(values[place]) for text, values in given.items() if values[place] > 0},
        )
        for place, document in enumerate(documents)
    ]


def _features(scope: Scope, ranked: Candidates, near: Near | None) -> Features:
    total = sum(term.idf for term in scope.terms)
    if not ranked.documents.size:
        return Features(query_terms=len(scope.terms), missing_idf=max((term.idf for term in scope.terms), default=0.0))
    top = ranked.documents[:1]
    held = [bool(term.given_to(top)[0] > 0) for term in scope.terms]
    cosines = np.empty(0) if near is None else near.cosines
    strongest = int(ranked.lexical.argmax())
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
