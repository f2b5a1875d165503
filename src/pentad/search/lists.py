"""The inverted lists of a question's terms: from memory where they were read before, the rest in one statement.

A segment never changes and its number is never given twice, so what is remembered of it is never out of date, whatever
is written meanwhile. What is kept are the packed bytes, a third of what arrays would take; turning them into arrays is
cheap.
"""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Final

import numpy as np

from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Rows
from pentad.search.collection import Collection
from pentad.search.postings import BYTES_EACH, Postings

_REMEMBERED_BYTES: Final = 96 << 20
_OVERHEAD: Final = 300

Key = tuple[int, int, str]
"""Collection, segment, term."""
Packed = tuple[tuple[str, bytes], ...]
"""Fields and lists; none if the segment does not have the term."""


class Lists:
    """Reads lists, and remembers those that were needed lately."""

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
    """The lists under these keys, from the store."""
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
    """The lists of all segments as one, places turned into numbers of documents."""
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
