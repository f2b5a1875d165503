"""BM25 over the inverted lists, the same arithmetic on both stores.

Fields count as BM25F has it: their weighted, length-normalised frequencies are added before saturation, so a document
of one field scores exactly as plain BM25 does. What a term gives each document is remembered until the collection
changes; documents that are gone take no part in any statistic.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ports import Rows
from pentad.search.arrays import Mask, Numbers, Scores, best
from pentad.search.collection import Collection, field_lengths
from pentad.search.postings import Postings, read
from pentad.search.roster import Members

K1: Final = 1.2
B: Final = 0.75
_REMEMBERED_BYTES: Final = 128 << 20

Weights = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a question: its weight, and what it gives to each document that has it."""

    text: str
    idf: float
    documents: Numbers
    scores: Scores

    def given_to(self, documents: NDArray[np.intp]) -> Scores:
        """What the term gives to these documents."""
        if not self.documents.size:
            return np.zeros(documents.size, np.float32)
        wanted = documents.astype(np.int32)
        places = np.minimum(np.searchsorted(self.documents, wanted), self.documents.size - 1)
        return np.where(self.documents[places] == wanted, self.scores[places], np.float32(0))


class Lexicon:
    """Looks terms up, and remembers what it made of them."""

    def __init__(self) -> None:
        self._remembered: OrderedDict[tuple[int, int, Weights, str], Term] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def terms(
        self, rows: Rows, collection: Collection, members: Members, asked: Sequence[str], weights: Mapping[str, float]
    ) -> list[Term]:
        """The terms of a question, in its order; a field without a weight has 1."""
        chosen = tuple(sorted(weights.items()))
        known = {term: self._recall((collection.number, collection.version, chosen, term)) for term in asked}
        if fresh := [term for term, found in known.items() if found is None]:
            lengths = field_lengths(rows, collection)
            lists = read(rows, collection, fresh)
            for text in fresh:
                term = _scored(text, lists.get(text, {}), collection, members, lengths, weights)
                known[text] = term
                self._remember((collection.number, collection.version, chosen, text), term)
        return [term for term in known.values() if term is not None]

    def _recall(self, key: tuple[int, int, Weights, str]) -> Term | None:
        with self._lock:
            if (found := self._remembered.get(key)) is not None:
                self._remembered.move_to_end(key)
            return found

    def _remember(self, key: tuple[int, int, Weights, str], term: Term) -> None:
        size = term.documents.nbytes + term.scores.nbytes + 512
        with self._lock:
            if key in self._remembered or size > _REMEMBERED_BYTES // 4:
                return
            self._remembered[key] = term
            self._bytes += size
            while self._bytes > _REMEMBERED_BYTES:
                _, old = self._remembered.popitem(last=False)
                self._bytes -= old.documents.nbytes + old.scores.nbytes + 512


def inverse_frequency(documents: int, having: int) -> float:
    """How telling a term is."""
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


def top(terms: Sequence[Term], members: Members, allowed: Mask | None, count: int) -> NDArray[np.intp]:
    """At least the `count` best documents by these terms, if so many have one; with all that tie. In no order."""
    scores = np.zeros(members.ids.size, np.float32)
    for term in terms:
        scores[term.documents] += term.scores
    if allowed is not None:
        scores *= allowed
    return best(scores, count)


def _scored(
    text: str,
    lists: Mapping[str, Postings],
    collection: Collection,
    members: Members,
    lengths: Mapping[str, int],
    weights: Mapping[str, float],
) -> Term:
    documents, frequencies = np.empty(0, np.int32), np.empty(0, np.float32)
    for field, postings in lists.items():
        present = postings if members.present is None else postings.where(members.present[postings.documents])
        average = max(lengths.get(field, 0) / max(collection.documents, 1), 1e-9)
        norm = (1 - B) + (B / average) * present.lengths.astype(np.float32)
        share = np.float32(weights.get(field, 1.0)) * present.counts / norm
        documents, frequencies = _added(documents, frequencies, present.documents, share.astype(np.float32))
    idf = inverse_frequency(collection.documents, documents.size)
    scores = (np.float32(idf * (K1 + 1)) * frequencies / (np.float32(K1) + frequencies)).astype(np.float32)
    return Term(text, idf, documents, scores)


def _added(documents: Numbers, values: Scores, more: Numbers, further: Scores) -> tuple[Numbers, Scores]:
    """Two sparse columns as one; values of the same document are added."""
    if not documents.size:
        return more, further
    both, places = np.unique(np.concatenate((documents, more)), return_inverse=True)
    summed = np.bincount(places, np.concatenate((values, further)), both.size)
    return both.astype(np.int32), summed.astype(np.float32)
