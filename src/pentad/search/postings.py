"""Inverted lists as they lie in the store: a row for each segment, term and field, packed.

A list holds, for every document with the term, its number (int32), the length of its field (uint16) and how often the
term occurs (uint8): all a score needs, so no other table is read. Both dialects keep the same bytes. Lists are written
once and never changed; merging replaces whole segments.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ports import Rows, Transaction
from pentad.search.arrays import Numbers
from pentad.search.collection import Collection

BYTES_EACH: Final = 7
LONGEST: Final = 65_535
_MOST_OFTEN: Final = 255
_INSERT: Final = "INSERT INTO search_postings (collection, segment, term, field, postings) VALUES (?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Postings:
    """One list, in the order of the documents' numbers."""

    documents: Numbers
    lengths: NDArray[np.uint16]
    counts: NDArray[np.uint8]

    def packed(self) -> bytes:
        return self.documents.tobytes() + self.lengths.tobytes() + self.counts.tobytes()

    def where(self, keep: NDArray[np.bool_]) -> "Postings":
        return Postings(self.documents[keep], self.lengths[keep], self.counts[keep])


def unpacked(data: bytes) -> Postings:
    """A list from its bytes."""
    size = len(data) // BYTES_EACH
    return Postings(
        np.frombuffer(data, "<i4", size),
        np.frombuffer(data, "<u2", size, 4 * size),
        np.frombuffer(data, "u1", size, 6 * size),
    )


def joined(parts: Sequence[Postings]) -> Postings:
    """Lists over distinct ranges of documents as one."""
    if len(parts) == 1:
        return parts[0]
    parts = sorted(parts, key=lambda part: int(part.documents[0]) if part.documents.size else -1)
    return Postings(
        np.concatenate([part.documents for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )


def write(
    tx: Transaction, collection: Collection, segment: int, documents: Iterable[tuple[int, Mapping[str, list[str]]]]
) -> None:
    """Write the lists of a new segment: numbers of documents, ascending, with the terms of each field."""
    gathered: dict[str, _Gathered] = {}
    for number, fields in documents:
        for field, terms in fields.items():
            gathered.setdefault(field, _Gathered()).add(number, terms)
    for field, lists in gathered.items():
        rows = ((collection.number, segment, term, field, data) for term, data in lists.packed())
        tx.run_many(_INSERT, rows)


def insert(tx: Transaction, collection: int, segment: int, lists: Iterable[tuple[str, str, bytes]]) -> None:
    """Write lists that are packed already: term, field, bytes."""
    tx.run_many(_INSERT, ((collection, segment, term, field, data) for term, field, data in lists))


def read(rows: Rows, collection: Collection, terms: Sequence[str]) -> dict[str, dict[str, Postings]]:
    """The lists of these terms over all segments, by term and field."""
    found = rows.all(
        "SELECT term, field, postings FROM search_postings WHERE collection = ?"  # noqa: S608  only marks
        " AND segment IN (SELECT segment FROM search_segments WHERE collection = ?)"
        f" AND term IN ({', '.join('?' * len(terms))})",
        collection.number, collection.number, *terms,
    )  # fmt: skip
    parts: dict[tuple[str, str], list[Postings]] = {}
    for term, field, data in found:
        parts.setdefault((term, field), []).append(unpacked(data))
    lists: dict[str, dict[str, Postings]] = {}
    for (term, field), each in sorted(parts.items()):
        lists.setdefault(term, {})[field] = joined(each)
    return lists


class _Gathered:
    """The occurrences in one field, on their way to lists: columns, put into order once at the end."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._terms: list[int] = []
        self._documents: list[int] = []
        self._lengths: list[int] = []
        self._counts: list[int] = []

    def add(self, document: int, terms: list[str]) -> None:
        counts: dict[str, int] = {}
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        numbers = self._numbers
        self._terms += [numbers.setdefault(term, len(numbers)) for term in counts]
        self._counts += counts.values()
        self._documents += [document] * len(counts)
        self._lengths += [min(len(terms), LONGEST)] * len(counts)

    def packed(self) -> Iterable[tuple[str, bytes]]:
        """Every term with the bytes of its list, in the order of the terms: the store inserts those fastest."""
        keys = np.array(self._terms, np.int32)
        order = np.argsort(keys, kind="stable")
        documents = np.array(self._documents, "<i4")[order].tobytes()
        lengths = np.array(self._lengths, "<u2")[order].tobytes()
        counts = np.minimum(np.array(self._counts, np.int64), _MOST_OFTEN).astype("u1")[order].tobytes()
        ends: list[int] = np.cumsum(np.bincount(keys, minlength=len(self._numbers))).tolist()
        for term, number in sorted(self._numbers.items()):
            first, last = (ends[number - 1] if number else 0), ends[number]
            yield term, documents[4 * first : 4 * last] + lengths[2 * first : 2 * last] + counts[first:last]
