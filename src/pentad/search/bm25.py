"""BM25F (`scoring.py`) over inverted lists, as arrays: the same arithmetic on both stores.

As BM25F prescribes, the weighted, length-normalised frequencies of the fields are added before saturation, so a
document with one field scores exactly as in plain BM25. Removed documents take no part in any statistic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ports import Rows
from pentad.search.arrays import Mask, Matrix, Numbers, Scores, absent, best
from pentad.search.collection import Collection, field_lengths
from pentad.search.document_table import Members
from pentad.search.posting_lists import LONGEST, PostingLists, Postings
from pentad.search.scoring import K1, inverse_frequency
from pentad.search.searchable import SearchField, SearchFields, field_named

_FREQUENT: Final = 16
"""Before reading a term that more than one in this many documents contain, check whether rarer terms decide already."""
_WORTH_SPARING: Final = 8
"""Check only if the remaining lists together exceed one in this many documents: the check takes time, too."""
_FEW: Final = 4
"""While the lists read so far together cover less than one in this many documents, only those are examined."""
_DEARER: Final = 16
"""The cost of looking up one document in a list, relative to scanning one."""
_ROUNDING: Final = 1e-3
"""Greater than the rounding error of sums in single precision."""

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Field:
    """The occurrences of a term in one field: counts, document lengths, and the field's declaration."""

    counts: NDArray[np.uint8]
    lengths: NDArray[np.uint16]
    average: float
    declared: SearchField

    @property
    def most(self) -> float:
        """An upper bound of the frequency: the highest count, as if in the shortest document."""
        shortest = int(self.lengths.min(initial=LONGEST))
        b = self.declared.length_matters
        return self.declared.weight * int(self.counts.max(initial=0)) / (1 - b + b * shortest / self.average)

    def frequencies(self, documents: Numbers, places: Places | slice) -> Scores:
        """The weighted, length-normalised frequency at some positions of the list."""
        norms = self.lengths.take(documents[places].astype(np.intp), mode="clip").astype(np.float32)
        norms *= np.float32(self.declared.length_matters / self.average)
        norms += np.float32(1 - self.declared.length_matters)
        np.divide(np.float32(self.declared.weight) * self.counts[places], norms, out=norms)
        return norms


@dataclass(frozen=True)
class Term:
    """A query term: its weight, and its score for each document that contains it."""

    text: str
    idf: float
    documents: Numbers
    frequencies: Field | Scores
    """Those of the only field, computed on demand, or sums over several fields."""

    @cached_property
    def most(self) -> float:
        """An upper bound of its score for any document."""
        known = self.frequencies
        frequency = known.most if isinstance(known, Field) else float(known.max(initial=0))
        return self.idf * (K1 + 1) * frequency / (K1 + frequency)

    @cached_property
    def scores(self) -> Scores:
        """The term's score for each of its documents."""
        return self._saturated(slice(None))

    def scores_of(self, documents: Places) -> Scores:
        """The term's scores for these documents."""
        given = np.zeros(documents.size, np.float32)
        if self.documents.size:
            wanted = documents.astype(np.int32)
            places = np.minimum(np.searchsorted(self.documents, wanted), self.documents.size - 1)
            having = np.flatnonzero(self.documents[places] == wanted)
            given[having] = self._saturated(places[having])
        return given

    def _saturated(self, places: Places | slice) -> Scores:
        known = self.frequencies
        found = known.frequencies(self.documents, places) if isinstance(known, Field) else known[places]
        return (np.float32(self.idf * (K1 + 1)) * found / (np.float32(K1) + found)).astype(np.float32, copy=False)


class TermScores:
    """The scores of a query's terms for documents. Looks up each document once."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self._terms = terms
        self._documents = np.empty(0, np.intp)
        self._scores = np.empty((len(terms), 0), np.float32)

    def to(self, documents: Places) -> Matrix:
        """A row for each term."""
        fresh = absent(documents, self._documents)
        if fresh.size:
            scores = np.empty((len(self._terms), fresh.size), np.float32)
            for row, term in zip(scores, self._terms, strict=True):
                row[:] = term.scores_of(fresh)
            both = np.concatenate((self._documents, fresh))
            order = np.argsort(both)
            self._documents = both[order]
            self._scores = np.concatenate((self._scores, scores), axis=1)[:, order]
        return self._scores[:, np.searchsorted(self._documents, documents)]

    def sums(self, documents: Places) -> NDArray[np.float64]:
        """The score of each document, summed in the order of the terms."""
        return self.to(documents).sum(axis=0, dtype=np.float64)


class Lexicon:
    """Looks terms up."""

    def __init__(self) -> None:
        self._lists = PostingLists()

    def terms(
        self, rows: Rows, collection: Collection, members: Members, asked: Sequence[str], fields: SearchFields
    ) -> list[Term]:
        """The terms of a query, in its order."""
        if not asked:
            return []
        totals = field_lengths(rows, collection)
        lists = self._lists.read(rows, collection, asked)
        return [_scored(text, lists[text], collection, members, totals, fields) for text in asked]


def top(terms: Sequence[Term], members: Members, allowed: Mask | None, count: int) -> Places:
    """At least the `count` best documents by these terms, if that many match, including all ties, in no
    particular order.

    Rare terms are read first. Once `count` documents score more than the remaining terms could add together, no other
    document can be among the best, and the remaining, frequent terms are looked up only for the candidates.
    """
    sums = _Sums(members.ids.size, allowed)
    rarest_first = sorted(terms, key=lambda term: term.documents.size)
    left = sum(term.documents.size for term in terms)
    for done, term in enumerate(rarest_first):
        frequent = term.documents.size * _FREQUENT > sums.size and left * _WORTH_SPARING > sums.size
        if done and frequent and (places := _decided(sums, rarest_first[done:], count)) is not None:
            return places
        sums.add(term)
        left -= term.documents.size
    places, scores = sums.so_far()
    chosen = best(scores, count, _ROUNDING)
    return chosen if places is None else places[chosen]


class _Sums:
    """Partial scores of documents. As long as only a few have one, only those are examined."""

    def __init__(self, size: int, allowed: Mask | None) -> None:
        self.size = size
        self._scores = np.zeros(size, np.float32)
        self._allowed = allowed
        self._met: list[Places] | None = []
        self._most_met = size // _FEW

    def add(self, term: Term) -> None:
        """Add the scores from a term's list."""
        documents, given = term.documents.astype(np.intp), term.scores
        if self._allowed is not None:
            kept = self._allowed[documents]
            documents, given = documents[kept], given[kept]
        held = self._scores[documents]
        self._scores[documents] = held + given
        self._most_met -= documents.size
        if self._met is not None:
            self._met = [*self._met, documents[held == 0]] if self._most_met >= 0 else None

    def so_far(self) -> tuple[Places | None, Scores]:
        """Documents (each once unless its score is 0) and their scores. None means all, in order of number."""
        if self._met is None:
            return None, self._scores
        documents = np.concatenate(self._met) if self._met else np.empty(0, np.intp)
        return documents, self._scores[documents]


def _decided(sums: _Sums, left: Sequence[Term], count: int) -> Places | None:
    """The result of `top`, if it can be determined without scanning the lists of the remaining terms."""
    places, scores = sums.so_far()
    leading = best(scores, count)
    more = sum(term.most for term in left) + _ROUNDING
    if leading.size < count or (least := float(scores[leading].min())) <= more:
        return None
    close = np.flatnonzero(scores >= np.float32(least - more))
    if close.size * _DEARER > sum(term.documents.size for term in left):
        return None
    values, places = scores[close], close if places is None else places[close]
    for term in left:
        values += term.scores_of(places)
    return places[best(values, count, _ROUNDING)]


def _scored(
    text: str,
    lists: Mapping[str, Postings],
    collection: Collection,
    members: Members,
    totals: Mapping[str, int],
    declared: SearchFields,
) -> Term:
    fields: list[tuple[Numbers, Field]] = []
    for name, postings in lists.items():
        present = postings if members.present is None else postings.where(members.present[postings.documents])
        field = field_named(declared, name)
        average = field.usual_length or max(totals.get(name, 0) / max(collection.documents, 1), 1e-9)
        fields.append((present.documents, Field(present.counts, members.lengths[name], average, field)))
    documents, frequencies = _summed(fields)
    return Term(text, inverse_frequency(collection.documents, documents.size), documents, frequencies)


def _summed(fields: Sequence[tuple[Numbers, Field]]) -> tuple[Numbers, Field | Scores]:
    """The documents of all fields with their frequencies, summed for each document."""
    if not fields:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    if len(fields) == 1:
        return fields[0]
    each = [field.frequencies(documents, slice(None)) for documents, field in fields]
    having, places = np.unique(np.concatenate([documents for documents, _ in fields]), return_inverse=True)
    return having, np.bincount(places, np.concatenate(each), having.size).astype(np.float32)
