"""Keeps the number of segments small: neighbours are merged, and what removed documents left behind is dropped.

Every write leaves a segment of its own, so a question would have to read ever more rows. A merge is one unit of work,
small enough not to hold up other writers for long, and changes no result. The rows of dropped collections are cleared
away here too, some at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pentad.kernel.ports import Rows, Transaction
from pentad.search import collection as collections
from pentad.search.arrays import Mask
from pentad.search.postings import Postings, insert, joined, unpacked

_TOGETHER: Final = 8
_TIERS: Final = (16, 128, 1_024, 8_192)
"""Segments smaller than one of these are merged with neighbours that are as well."""
_MOST_DOCUMENTS: Final = 32_768
_MOST_SEGMENTS: Final = 1_000
_CLEARED: Final = 2_000
_TABLES: Final = (
    ("search_documents", "id"),
    ("search_segments", "segment"),
    ("search_removed", "version"),
    ("search_vectors", "document"),
    ("search_pending", "document"),
    ("search_fields", "field"),
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of documents that were indexed together."""

    number: int
    first: int
    documents: int


def due(rows: Rows, number: int) -> list[Segment]:
    """Neighbours that should be one segment; empty if all is well."""
    found = rows.all(
        "SELECT segment, first_document, documents FROM search_segments WHERE collection = ? ORDER BY first_document",
        number,
    )
    segments = [Segment(*row) for row in found]
    for tier in _TIERS:
        for run in _runs(segments, tier):
            if len(run) >= _TOGETHER:
                return run
    return []


def merge(tx: Transaction, number: int) -> bool:
    """Merge the neighbours that are due, if any; whether there were."""
    collection = collections.numbered(tx, number)
    run = due(tx, number) if collection is not None else []
    if collection is None or not run:
        return False
    collections.hold(tx, collection)
    first, last = run[0].first, run[-1].first + run[-1].documents
    present = _present(tx, number, first, last)
    fresh = collection.next_segment
    numbers = [segment.number for segment in run]
    marks = ", ".join("?" * len(numbers))
    found = tx.all(
        f"SELECT term, field, postings FROM search_postings WHERE collection = ? AND segment IN ({marks})"  # noqa: S608  marks
        " ORDER BY term, field",
        number, *numbers,
    )  # fmt: skip
    ids = _ids(tx, number, run)
    for table in ("search_postings", "search_segments"):
        tx.run(f"DELETE FROM {table} WHERE collection = ? AND segment IN ({marks})", number, *numbers)  # noqa: S608  fixed names
    insert(tx, number, fresh, _merged(found, present, first))
    tx.run(
        "INSERT INTO search_segments (collection, segment, first_document, documents, ids) VALUES (?, ?, ?, ?, ?)",
        number, fresh, first, last - first, ids,
    )  # fmt: skip
    collections.save(tx, replace(collection, next_segment=fresh + 1))
    return True


def clear(tx: Transaction, number: int) -> bool:
    """Take away some rows of a dropped collection; False when nothing was left and its own row is gone too."""
    segment = tx.value("SELECT segment FROM search_postings WHERE collection = ? ORDER BY segment LIMIT 1", number)
    if segment is not None:
        key = number, segment
        bound = tx.value(
            "SELECT term FROM search_postings WHERE collection = ? AND segment = ? ORDER BY term LIMIT 1 OFFSET ?",
            *key, _CLEARED,
        )  # fmt: skip
        if bound is None:
            tx.run("DELETE FROM search_postings WHERE collection = ? AND segment = ?", *key)
        else:
            tx.run("DELETE FROM search_postings WHERE collection = ? AND segment = ? AND term <= ?", *key, bound)
        return True
    for table, key in _TABLES:
        bound = tx.value(
            f"SELECT {key} FROM {table} WHERE collection = ? ORDER BY {key} LIMIT 1 OFFSET ?",  # noqa: S608  fixed names
            number, _CLEARED,
        )  # fmt: skip
        if bound is not None:
            tx.run(f"DELETE FROM {table} WHERE collection = ? AND {key} <= ?", number, bound)  # noqa: S608  fixed names
            return True
        tx.run(f"DELETE FROM {table} WHERE collection = ?", number)  # noqa: S608  fixed names
    tx.run("DELETE FROM search_collections WHERE number = ? AND name IS NULL", number)
    return False


def _runs(segments: Sequence[Segment], tier: int) -> Iterator[list[Segment]]:
    """Neighbours that are all below a size, no run larger than a merge may be."""
    run: list[Segment] = []
    size = 0
    for segment in segments:
        if segment.documents >= tier or size + segment.documents > _MOST_DOCUMENTS or len(run) == _MOST_SEGMENTS:
            yield run
            run, size = [], 0
        if segment.documents < tier:
            run.append(segment)
            size += segment.documents
    yield run


def _present(tx: Transaction, number: int, first: int, last: int) -> Mask:
    present = np.ones(last - first, np.bool_)
    removed = tx.all(
        "SELECT document FROM search_removed WHERE collection = ? AND document >= ? AND document < ?",
        number, first, last,
    )  # fmt: skip
    present[[document - first for (document,) in removed]] = False
    return present


def _ids(tx: Transaction, number: int, run: Sequence[Segment]) -> bytes:
    return b"".join(
        tx.value("SELECT ids FROM search_segments WHERE collection = ? AND segment = ?", number, segment.number)
        for segment in run
    )


def _merged(found: Sequence[tuple[Any, ...]], present: Mask, first: int) -> Iterator[tuple[str, str, bytes]]:
    """Each term's lists as one, without documents that are gone."""
    key: tuple[str, str] | None = None
    parts: list[Postings] = []
    for term, field, data in [*found, ("", "", b"")]:
        if key is not None and key != (term, field):
            whole = joined(parts)
            whole = whole if present.all() else whole.where(present[whole.documents - first])
            if whole.documents.size:
                yield *key, whole.packed()
            parts = []
        key = term, field
        parts.append(unpacked(data))
