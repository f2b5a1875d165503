"""Inverted lists of collections: which documents have a term in a field, and how often. Packed, by segment.

Writing a segment writes its lists. Reading takes cached lists from memory and fetches the rest in one statement.
A segment never changes and its number is never reused, so cached lists are never stale. The cache holds the packed
bytes, a third of what arrays would take; turning them into arrays is cheap.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Rows, Transaction
from pentad.search.arrays import Mask, Numbers
from pentad.search.collection import Collection

MOST_DOCUMENTS: Final = 65_536
"""The most documents in a segment: a position in it has two bytes."""
LONGEST: Final = 65_535
BYTES_EACH: Final = 3
_MOST_OFTEN: Final = 255
_INSERT: Final = "INSERT INTO search_postings (collection, segment, term, field, postings) VALUES (?, ?, ?, ?, ?)"
_INSERT_LENGTHS: Final = "INSERT INTO search_lengths (collection, segment, field, lengths) VALUES (?, ?, ?, ?)"

Terms = Mapping[str, list[str]]
"""The terms of a document by field."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The documents that have a term in a field, ascending, with counts."""

    documents: Numbers
    counts: NDArray[np.uint8]

    def where(self, keep: Mask) -> "Postings":
        return Postings(self.documents[keep], self.counts[keep])


def halves(data: bytes) -> tuple[bytes, bytes]:
    """The positions and the counts of a list."""
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
    """Write already packed lists: term, field, bytes."""
    tx.run_many(_INSERT, ((collection, segment, term, field, data) for term, field, data in lists))


def insert_lengths(tx: Transaction, collection: int, segment: int, field: str, lengths: NDArray[np.uint16]) -> None:
    """Write the length of a field in each document of a segment."""
    tx.run(_INSERT_LENGTHS, collection, segment, field, lengths.tobytes())


class _Gathered:
    """Collects the occurrences in one field before they become lists: columns, sorted once at the end."""

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
        """Every term with its packed list, in term order, which the store inserts fastest."""
        keys = np.array(self._terms, np.int32)
        order = np.argsort(keys, kind="stable")
        places = np.array(self._places, "<u2")[order].tobytes()
        counts = np.minimum(np.array(self._counts, np.int64), _MOST_OFTEN).astype("u1")[order].tobytes()
        ends: list[int] = np.cumsum(np.bincount(keys, minlength=len(self._numbers))).tolist()
        for term, number in sorted(self._numbers.items()):
            first, last = (ends[number - 1] if number else 0), ends[number]
            yield term, places[2 * first : 2 * last] + counts[first:last]


_REMEMBERED_BYTES: Final = 96 << 20
_OVERHEAD: Final = 300

Key = tuple[int, int, str]
"""Collection, segment, term."""
Packed = tuple[tuple[str, bytes], ...]
"""Fields and lists; none if the segment does not have the term."""


class PostingLists:
    """Reads lists, and caches recently used ones."""

    def __init__(self) -> None:
        self._remembered = LruCache[Key, Packed](_REMEMBERED_BYTES, size=_size)
        self._lock = Lock()

    def read(self, rows: Rows, collection: Collection, terms: Sequence[str]) -> dict[str, dict[str, Postings]]:
        """The lists of these terms over all segments, by term and field."""
        segments = rows.all(
            "SELECT first_document, segment FROM search_segments WHERE collection = ? ORDER BY first_document",
            collection.number,
        )
        keys: list[Key] = [(collection.number, segment, term) for term in terms for _, segment in segments]
        known = self._recalled(keys)
        if missing := [key for key in keys if key not in known]:
            fresh = _fetched(rows, collection, missing)
            self._remember(fresh)
            known |= fresh
        lists: dict[str, dict[str, Postings]] = {}
        for term in terms:
            parts: dict[str, list[tuple[int, bytes]]] = {}
            for first, segment in segments:
                for field, data in known[collection.number, segment, term]:
                    parts.setdefault(field, []).append((first, data))
            lists[term] = {field: _whole(parts[field]) for field in sorted(parts)}
        return lists

    def _recalled(self, keys: Sequence[Key]) -> dict[Key, Packed]:
        with self._lock:
            return {key: found for key in keys if (found := self._remembered.get(key)) is not None}

    def _remember(self, fresh: Mapping[Key, Packed]) -> None:
        with self._lock:
            for key, packed in fresh.items():
                self._remembered.put(key, packed)


def _size(packed: Packed) -> int:
    return _OVERHEAD + sum(len(data) for _, data in packed)


def _fetched(rows: Rows, collection: Collection, missing: Sequence[Key]) -> dict[Key, Packed]:
    """Read the lists with these keys from the store."""
    segments, terms = ({key[place]: None for key in missing} for place in (1, 2))
    found = rows.all(
        "SELECT segment, term, field, postings FROM search_postings WHERE collection = ?"  # noqa: S608  only marks
        f" AND segment IN ({', '.join('?' * len(segments))}) AND term IN ({', '.join('?' * len(terms))})",
        collection.number, *segments, *terms,
    )  # fmt: skip
    fresh: dict[Key, Packed] = dict.fromkeys(missing, ())
    for segment, term, field, data in found:
        key = collection.number, segment, term
        if key in fresh:
            fresh[key] += ((field, bytes(data)),)
    return fresh


def _whole(parts: Sequence[tuple[int, bytes]]) -> Postings:
    """Join the lists of all segments, with positions converted to document numbers."""
    sizes = [len(data) // BYTES_EACH for _, data in parts]
    documents = np.empty(sum(sizes), np.int32)
    counts = np.empty(documents.size, np.uint8)
    end = 0
    for (first, data), size in zip(parts, sizes, strict=True):
        begin, end = end, end + size
        documents[begin:end] = np.frombuffer(data, "<u2", size)
        documents[begin:end] += np.int32(first)
        counts[begin:end] = np.frombuffer(data, "u1", size, 2 * size)
    return Postings(documents, counts)
