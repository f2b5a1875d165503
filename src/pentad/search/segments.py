"""Keeps the number of segments small: neighbours are merged, and the data of removed documents is dropped.

Every write creates its own segment, so queries would have to read more and more rows. A merge is one unit of work,
small enough not to hold up other writers for long, and changes no result. The rows of dropped collections are deleted
here too, some at a time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ports import Rows, Transaction
from pentad.search import collection as collections
from pentad.search.arrays import Mask
from pentad.search.posting_lists import MOST_DOCUMENTS, halves, insert, insert_lengths

_TOGETHER: Final = 8
_TIERS: Final = (16, 128, 1_024, 8_192, 32_768)
"""Segments smaller than one of these sizes are merged with neighbours below the same size, if there are several or
enough to fill a segment."""
_MOST_SEGMENTS: Final = 1_000
_CLEARED: Final = 2_000
_TABLES: Final = (
    ("search_documents", "id"),
    ("search_segments", "segment"),
    ("search_lengths", "segment"),
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


def to_merge(rows: Rows, number: int) -> list[Segment]:
    """Neighbours that should be one segment; empty if none are due."""
    found = rows.all(
        "SELECT segment, first_document, documents FROM search_segments WHERE collection = ? ORDER BY first_document",
        number,
    )
    segments = [Segment(*row) for row in found]
    for tier in _TIERS:
        for run, full in _runs(segments, tier):
            if len(run) >= _TOGETHER or (full and len(run) > 1):
                return run
    return []


def merge(tx: Transaction, number: int) -> bool:
    """Merge the neighbours that are due; returns whether there were any."""
    collection = collections.by_number(tx, number)
    run = to_merge(tx, number) if collection is not None else []
    if collection is None or not run:
        return False
    collections.lock(tx, collection)
    first, last = run[0].first, run[-1].first + run[-1].documents
    fresh = collections.new_segment(collection)
    numbers = [segment.number for segment in run]
    offsets = {segment.number: segment.first - first for segment in run}
    chosen = f"collection = ? AND segment IN ({', '.join('?' * len(numbers))})"
    found = tx.all(f"SELECT term, field, segment, postings FROM search_postings WHERE {chosen}", number, *numbers)  # noqa: S608  marks
    lengths = tx.all(f"SELECT field, segment, lengths FROM search_lengths WHERE {chosen}", number, *numbers)  # noqa: S608  marks
    ids = _ids(tx, number, run)
    for table in ("search_postings", "search_lengths", "search_segments"):
        tx.run(f"DELETE FROM {table} WHERE {chosen}", number, *numbers)  # noqa: S608  fixed names
    insert(tx, number, fresh, _merged(found, offsets, _present(tx, number, first, last)))
    for field, column in _joined(lengths, offsets, last - first).items():
        insert_lengths(tx, number, fresh, field, column)
    tx.run(
        "INSERT INTO search_segments (collection, segment, first_document, documents, ids) VALUES (?, ?, ?, ?, ?)",
        number, fresh, first, last - first, ids,
    )  # fmt: skip
    collections.save(tx, replace(collection, next_segment=fresh + 1))
    return True


def clear(tx: Transaction, number: int) -> bool:
    """Delete some rows of a dropped collection; False when nothing was left and its own row is gone too."""
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


def _runs(segments: Sequence[Segment], tier: int) -> Iterator[tuple[list[Segment], bool]]:
    """Runs of neighbours below a size, each with whether it ended because the next small one does not fit."""
    run: list[Segment] = []
    size = 0
    for segment in segments:
        full = size + segment.documents > MOST_DOCUMENTS or len(run) == _MOST_SEGMENTS
        if segment.documents >= tier or full:
            yield run, full and segment.documents < tier
            run, size = [], 0
        if segment.documents < tier:
            run.append(segment)
            size += segment.documents
    yield run, False


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


def _merged(
    found: Sequence[tuple[Any, ...]], offsets: Mapping[int, int], present: Mask
) -> Iterator[tuple[str, str, bytes]]:
    """Each term's lists joined, without removed documents. Works on a single column, because there are far too many
    lists to process one by one."""
    rows = sorted(found, key=lambda row: (row[0], row[1], offsets[row[2]]))
    parts = [halves(data) for _, _, _, data in rows]
    sizes = np.array([len(counts) for _, counts in parts], np.int64)
    shifts = np.repeat(np.array([offsets[segment] for _, _, segment, _ in rows], np.int64), sizes)
    places = np.frombuffer(b"".join(places for places, _ in parts), "<u2") + shifts
    counts = np.frombuffer(b"".join(counts for _, counts in parts), "u1")
    kept = np.concatenate(([0], np.cumsum(sizes)))
    if not present.all():
        keep = present[places]
        kept = np.concatenate(([0], np.cumsum(keep)))[kept]
        places, counts = places[keep], counts[keep]
    packed, counted, ends = places.astype("<u2").tobytes(), counts.tobytes(), kept.tolist()
    begin = 0
    for row, (term, field, _, _) in enumerate(rows, 1):
        if row < len(rows) and rows[row][:2] == (term, field):
            continue
        if (end := ends[row]) > begin:
            yield term, field, packed[2 * begin : 2 * end] + counted[begin:end]
        begin = end


def _joined(
    found: Iterable[tuple[Any, ...]], offsets: Mapping[int, int], size: int
) -> Mapping[str, NDArray[np.uint16]]:
    """The lengths of documents by field, of all segments."""
    columns: dict[str, NDArray[np.uint16]] = {}
    for field, segment, data in found:
        part = np.frombuffer(data, "<u2")
        column = columns.setdefault(field, np.zeros(size, "<u2"))
        column[offsets[segment] : offsets[segment] + part.size] = part
    return columns
