"""Inverted lists as they lie in the store: a row for each segment, term and field, packed.

A list holds, for every document with the term, its place in the segment (uint16) and how often the term occurs (uint8);
how long each document's field is stands once in a segment (uint16), because every list needs it. Both dialects keep the
same bytes. Lists are written once and never changed; merging replaces whole segments.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ports import Transaction
from pentad.search.arrays import Mask, Numbers
from pentad.search.collection import Collection

MOST_DOCUMENTS: Final = 65_536
"""No segment holds more: a place in it has two bytes."""
LONGEST: Final = 65_535
BYTES_EACH: Final = 3
_MOST_OFTEN: Final = 255
_INSERT: Final = "INSERT INTO search_postings (collection, segment, term, field, postings) VALUES (?, ?, ?, ?, ?)"
_INSERT_LENGTHS: Final = "INSERT INTO search_lengths (collection, segment, field, lengths) VALUES (?, ?, ?, ?)"

Terms = Mapping[str, list[str]]
"""The terms of a document by field."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The documents that have a term in a field, ascending, and how often each has it."""

    documents: Numbers
    counts: NDArray[np.uint8]

    def where(self, keep: Mask) -> "Postings":
        return Postings(self.documents[keep], self.counts[keep])


def halves(data: bytes) -> tuple[bytes, bytes]:
    """The places and the counts of a list."""
    middle = len(data) // BYTES_EACH * 2
    return data[:middle], data[middle:]


def write(tx: Transaction, collection: Collection, segment: int, documents: Sequence[Terms]) -> None:
    """Write the lists of a new segment, and the lengths of its documents."""
    gathered: dict[str, _Gathered] = {}
    for place, fields in enumerate(documents):
        for field, terms in fields.items():
            gathered.setdefault(field, _Gathered()).add(place, terms)
    for field, lists in gathered.items():
        lengths = np.array([min(len(fields.get(field, ())), LONGEST) for fields in documents], "<u2")
        insert(tx, collection.number, segment, ((term, field, data) for term, data in lists.packed()))
        insert_lengths(tx, collection.number, segment, field, lengths)


def insert(tx: Transaction, collection: int, segment: int, lists: Iterable[tuple[str, str, bytes]]) -> None:
    """Write lists that are packed already: term, field, bytes."""
    tx.run_many(_INSERT, ((collection, segment, term, field, data) for term, field, data in lists))


def insert_lengths(tx: Transaction, collection: int, segment: int, field: str, lengths: NDArray[np.uint16]) -> None:
    """Write how long a field is in each document of a segment."""
    tx.run(_INSERT_LENGTHS, collection, segment, field, lengths.tobytes())


class _Gathered:
    """The occurrences in one field, on their way to lists: columns, put into order once at the end."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._terms: list[int] = []
        self._places: list[int] = []
        self._counts: list[int] = []

    def add(self, place: int, terms: list[str]) -> None:
        counts: dict[str, int] = {}
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        numbers = self._numbers
        self._terms += [numbers.setdefault(term, len(numbers)) for term in counts]
        self._counts += counts.values()
        self._places += [place] * len(counts)

    def packed(self) -> Iterable[tuple[str, bytes]]:
        """Every term with the bytes of its list, in the order of the terms: the store inserts those fastest."""
        keys = np.array(self._terms, np.int32)
        order = np.argsort(keys, kind="stable")
        places = np.array(self._places, "<u2")[order].tobytes()
        counts = np.minimum(np.array(self._counts, np.int64), _MOST_OFTEN).astype("u1")[order].tobytes()
        ends: list[int] = np.cumsum(np.bincount(keys, minlength=len(self._numbers))).tolist()
        for term, number in sorted(self._numbers.items()):
            first, last = (ends[number - 1] if number else 0), ends[number]
            yield term, places[2 * first : 2 * last] + counts[first:last]
