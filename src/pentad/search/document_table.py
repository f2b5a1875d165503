"""The documents of a collection, in memory: room ids by number, field lengths, and removals.

A search reads the collection's row and advances the table to that version. A search on an older snapshot sees the
table as it was then. The table only ever holds committed state.
"""

from collections.abc import Collection as Several
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Rows
from pentad.search.arrays import Ids, Lookup, Mask
from pentad.search.collection import Collection

_NEVER: Final = np.iinfo(np.int64).max
_KEPT: Final = 512

Lengths = Mapping[str, NDArray[np.uint16]]
"""The length of each document, by field."""


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """All documents up to a version; `gone` is the version at which each was removed."""

    version: int
    ids: Ids
    gone: Ids
    any_gone: bool
    lengths: Lengths


@dataclass(frozen=True)
class Members:
    """The documents at one moment. `present` is None if none has been removed."""

    ids: Ids
    present: Mask | None
    lengths: Lengths
    """May contain documents added later."""

    @cached_property
    def _lookup(self) -> Lookup:
        return Lookup(self.ids)

    def mask(self, allowed: "Several[int] | NDArray[Any] | None") -> Mask | None:
        """The present documents whose ids are allowed; None means all documents."""
        if allowed is None:
            return self.present
        wanted = np.asarray(allowed if isinstance(allowed, np.ndarray) else list(allowed), np.int64)
        chosen = np.zeros(self.ids.size, np.bool_)
        chosen[self._lookup.places(wanted)] = True
        return chosen if self.present is None else chosen & self.present


class DocumentTables:
    """The tables this process used recently."""

    def __init__(self) -> None:
        self._tables = LruCache[int, DocumentTable](_KEPT)
        self._members = LruCache[tuple[int, int], Members](_KEPT)
        self._lock = Lock()

    def members(self, rows: Rows, collection: Collection) -> Members:
        """The documents of the collection in the snapshot that `rows` reads."""
        key = collection.number, collection.version
        with self._lock:
            if (ready := self._members.get(key)) is not None:
                return ready
            table = self._tables.get(collection.number)
        if table is None or table.version < collection.version:
            table = _advanced(rows, collection, table)
        ready = _at(table, collection)
        with self._lock:
            known = self._tables.get(collection.number)
            if known is None or known.version < table.version:
                self._tables.put(collection.number, table)
            self._members.put(key, ready)
            self._members.drop_where(lambda known, _: known[0] == key[0] and known[1] < key[1])
        return ready


def _at(table: DocumentTable, collection: Collection) -> Members:
    size = collection.next_document
    if not table.any_gone:
        return Members(table.ids[:size], None, table.lengths)
    present = table.gone[:size] > collection.version
    return Members(table.ids[:size], None if present.all() else present, table.lengths)


def _advanced(rows: Rows, collection: Collection, table: DocumentTable | None) -> DocumentTable:
    """The table at the moment of `rows`."""
    known = 0 if table is None else table.ids.size
    ids = np.empty(collection.next_document, np.int64)
    gone = np.full(collection.next_document, _NEVER, np.int64)
    if table is not None:
        ids[:known], gone[:known] = table.ids, table.gone
    for first, data in rows.all(
        "SELECT first_document, ids FROM search_segments WHERE collection = ? AND first_document + documents > ?",
        collection.number, known,
    ):  # fmt: skip
        part = np.frombuffer(data, "<i8")
        ids[first : first + part.size] = part
    removed = rows.all(
        "SELECT document, version FROM search_removed WHERE collection = ? AND version > ?",
        collection.number, -1 if table is None else table.version,
    )  # fmt: skip
    if removed:
        documents, versions = np.array(removed, np.int64).T
        gone[documents] = versions
    any_gone = bool(removed) or (table is not None and table.any_gone)
    return DocumentTable(collection.version, ids, gone, any_gone, _lengths(rows, collection, table))


def _lengths(rows: Rows, collection: Collection, table: DocumentTable | None) -> Lengths:
    size = collection.next_document
    lengths = {} if table is None else {field: _longer(column, size) for field, column in table.lengths.items()}
    for first, field, data in rows.all(
        "SELECT s.first_document, l.field, l.lengths FROM search_segments s"
        " JOIN search_lengths l ON l.collection = s.collection AND l.segment = s.segment"
        " WHERE s.collection = ? AND s.first_document + s.documents > ?",
        collection.number, 0 if table is None else table.ids.size,
    ):  # fmt: skip
        part = np.frombuffer(data, "<u2")
        if field not in lengths:
            lengths[field] = np.zeros(size, np.uint16)
        lengths[field][first : first + part.size] = part
    return lengths


def _longer(column: NDArray[np.uint16], size: int) -> NDArray[np.uint16]:
    longer = np.zeros(size, np.uint16)
    longer[: column.size] = column
    return longer
