"""Vectors next to an SQLite store, in memory-mapped files.

The store has every vector too, so that a backup is complete and a transaction covers words and vectors alike. The files
only make scans fast and can be deleted at any time. The first search after a change brings them up to date. Up to some
50,000 vectors, all are compared; beyond that, signs select the likely ones (`sign_filter.py`), and those are compared
exactly. Documents that are filtered out never take part.

Files grow at the end. Rows are written and synced first; then `head.json`, replaced atomically, says how many are
valid. Rows beyond that are from an unfinished write, and the next writer cuts them off. Several processes share the
files; the one that writes holds the lock.
"""

import contextlib
import os
import shutil
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ids import opaque_id
from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Rows, Transaction
from pentad.search.arrays import Ids, Lookup, Mask, Matrix
from pentad.search.collection import Collection
from pentad.search.document_table import Members
from pentad.search.sign_filter import SignFilter, Words, signs, words_for
from pentad.search.vectors import NearDocuments, best_windows

_FORMAT: Final = 1
_COLUMNS: Final = ("vectors", "slots", "signs")
_SLOT_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Head:
    """The valid part of the files: this many rows, which cover everything up to this version of the collection."""

    model: str
    dimensions: int
    rows: int
    version: int
    files: str
    """The part of the files' names that changes when they are rewritten."""
    format: int = _FORMAT

    def row_bytes(self, column: str) -> int:
        return {"vectors": 4 * self.dimensions, "slots": _SLOT_BYTES, "signs": 8 * words_for(self.dimensions)}[column]


@dataclass(frozen=True, slots=True)
class MappedRows:
    """The rows of a head: vectors, the document and version of each, and their signs. Mapped, not read."""

    vectors: Matrix
    documents: Ids
    versions: Ids
    signs: Words


class Folder:
    """The files of one collection."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def head(self, model: str, dimensions: int) -> Head | None:
        """The state of the files, if they are complete and of this model."""
        try:
            head = msgspec.json.decode((self.path / "head.json").read_bytes(), type=Head)
            whole = all(
                self._file(head, column).stat().st_size >= head.rows * head.row_bytes(column) for column in _COLUMNS
            )
        except (OSError, msgspec.DecodeError):
            return None
        fits = (head.model, head.dimensions, head.format) == (model, dimensions, _FORMAT)
        return head if fits and whole else None

    def fresh(self, model: str, dimensions: int) -> Head:
        """A head for new, empty files; it counts only when it is published."""
        return Head(model, dimensions, 0, -1, opaque_id(size=6))

    def append(self, head: Head, vectors: Matrix, documents: Ids, versions: Ids) -> Head:
        """Write rows after those of `head`; the returned head must still be published."""
        slots = np.stack((documents, versions), axis=1).astype("<i8")
        for column, rows in (("vectors", vectors.astype("<f4")), ("slots", slots), ("signs", signs(vectors))):
            with self._opened(head, column) as file:
                file.truncate(head.rows * head.row_bytes(column))
                file.seek(0, os.SEEK_END)
                file.write(np.ascontiguousarray(rows).data)
        return Head(head.model, head.dimensions, head.rows + vectors.shape[0], head.version, head.files)

    def publish(self, head: Head) -> None:
        """Sync the rows, then make the head valid; deletes files of an earlier head."""
        for column in _COLUMNS:
            with self._opened(head, column) as file:
                os.fsync(file.fileno())
        partial = self.path / f".head.{opaque_id(size=6)}"
        with partial.open("wb") as file:
            file.write(msgspec.json.encode(asdict(head)))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path / "head.json")
        _sync_folder(self.path)
        for stray in self.path.glob("*.*"):
            if stray.suffix[1:] in _COLUMNS and stray.stem != head.files:
                stray.unlink(missing_ok=True)

    def mapped(self, head: Head) -> MappedRows:
        """The rows of a head, mapped into memory; they stay readable when the files are replaced."""
        words = words_for(head.dimensions)
        pairs = self._mapped(head, "slots", "<i8", 2)
        return MappedRows(
            self._mapped(head, "vectors", "<f4", head.dimensions),
            np.ascontiguousarray(pairs[:, 0]),
            np.ascontiguousarray(pairs[:, 1]),
            self._mapped(head, "signs", "<u8", words),
        )

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """Hold the lock: only one process writes at a time."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("ab") as file:
            _lock(file)
            yield

    def remove(self) -> None:
        """Delete the files."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _file(self, head: Head, column: str) -> Path:
        return self.path / f"{head.files}.{column}"

    def _opened(self, head: Head, column: str) -> IO[bytes]:
        path = self._file(head, column)
        path.touch(mode=0o600)
        return path.open("r+b")

    def _mapped(self, head: Head, column: str, kind: str, width: int) -> NDArray[Any]:
        if not head.rows:
            return np.empty((0, width), kind)
        return np.asarray(np.memmap(self._file(head, column), kind, "r", shape=(head.rows, width)))


def _sync_folder(path: Path) -> None:
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _lock(file: IO[bytes]) -> None:
    """Wait for the file's lock; closing the file releases it, and so does the end of the process."""
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


_BATCH: Final = 4_096
_LEAST_RESCORED: Final = 1_000
_RESCORED_EACH: Final = 4
_OPEN: Final = 256
_LITTLE_WASTE: Final = 1_000
_GATHER_SHARE: Final = 4
"""If a filter leaves less than one in this many rows, they are copied out; otherwise a mask is cheaper."""


@dataclass(frozen=True)
class View:
    """The rows of one collection, mapped by this process and complete up to `version`."""

    head: Head
    version: int
    mapped: MappedRows
    sign_filter: SignFilter | None

    @cached_property
    def lookup(self) -> Lookup:
        return Lookup(self.mapped.documents)

    @cached_property
    def highest(self) -> int:
        return int(self.mapped.documents.max(initial=-1))


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Rows copied out of a view: the document and the vector of each."""

    documents: NDArray[np.intp]
    vectors: Matrix

    def nearest(self, query: Matrix, count: int) -> "CopiedRows":
        """The `count` nearest of them, plus ties."""
        if self.documents.size <= count:
            return self
        # No matrix product: for so few rows, its threads would wait for each other longer than they work.
        chosen = _highest(np.einsum("ij,j->i", self.vectors, query), count)
        return CopiedRows(self.documents[chosen], self.vectors[chosen])

    def compared(self, query: Matrix, members: Members, count: int | None) -> NearDocuments:
        """Their documents by cosine. The same row always gives the same number, whatever its position."""
        cosines = np.einsum("ij,j->i", self.vectors.astype(np.float64), query.astype(np.float64))
        return best_windows(self.documents, cosines, self.vectors, members, count)


class VectorFiles:
    """The port `VectorStore` over SQLite."""

    def __init__(self, folder: Path, exact_up_to: int) -> None:
        self.folder = folder
        self.exact_up_to = exact_up_to
        self._views = LruCache[str, View](_OPEN)
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()

    def add(self, tx: Transaction, collection: Collection, vectors: Sequence[tuple[int, Matrix]]) -> None:
        tx.run_many(
            "INSERT INTO search_vectors (collection, document, version, embedding) VALUES (?, ?, ?, ?)",
            ((collection.number, document, collection.version, rows.tobytes()) for document, rows in vectors),
        )

    def remove(self, tx: Transaction, collection: Collection, documents: Sequence[int]) -> int:
        removed = 0
        for document in documents:
            key = collection.number, document
            size = tx.value("SELECT length(embedding) FROM search_vectors WHERE collection = ? AND document = ?", *key)
            if size is not None:
                tx.run("DELETE FROM search_vectors WHERE collection = ? AND document = ?", *key)
                removed += int(size) // (4 * (collection.dimensions or 1))
        return removed

    def nearest(
        self, rows: Rows, collection: Collection, members: Members, allowed: Mask | None, query: Matrix, count: int
    ) -> NearDocuments:
        view = self._view(rows, collection, members)
        mask = _row_mask(view, members, allowed)
        wanted = count
        while True:
            likely, pool = self._likely(view, mask, query, wanted)
            near = likely.compared(query, members, count)
            # Several windows of one document may crowd others out; fetch more until there are enough documents.
            if near.documents.size >= count or likely.documents.size < wanted or wanted >= view.head.rows:
                return near if pool is None else replace(near, again=partial(_nearest_again, view, members, pool))
            wanted *= 4

    def compared(
        self,
        rows: Rows,
        collection: Collection,
        members: Members,
        query: Matrix,
        documents: NDArray[np.intp],
    ) -> NearDocuments:
        view = self._view(rows, collection, members)
        places = view.lookup.places(documents) if documents.size else documents
        return _copied(view, places).compared(query, members, None)

    def prepare(self, rows: Rows, collection: Collection, members: Members) -> None:
        """Bring the files up to date, so that no search has to wait for it."""
        self._view(rows, collection, members)

    def sweep(self, kept: set[str]) -> None:
        """Delete the files of collections that no longer exist."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name not in kept:
                Folder(path).remove()
                with self._lock:
                    self._views.pop(path.name)

    def _likely(self, view: View, mask: Mask | None, query: Matrix, count: int) -> tuple[CopiedRows, CopiedRows | None]:
        """The rows with the `count` nearest, plus ties; if not all rows were compared, also those that were."""
        size = view.head.rows if mask is None else int(np.count_nonzero(mask))
        if size <= count:
            return _copied(view, np.arange(view.head.rows) if mask is None else np.flatnonzero(mask)), None
        if view.sign_filter is not None and size > self.exact_up_to:
            passing = view.sign_filter.passing(query, mask, max(_LEAST_RESCORED, _RESCORED_EACH * count))
            pool = _copied(view, passing)
            return pool.nearest(query, count), pool
        if mask is not None and size * _GATHER_SHARE < view.head.rows:
            return _copied(view, np.flatnonzero(mask)).nearest(query, count), None
        cosines = view.mapped.vectors @ query
        if mask is not None:
            cosines[~mask] = -2.0
        return _copied(view, _highest(cosines, count)), None

    def _view(self, rows: Rows, collection: Collection, members: Members) -> View:
        with self._lock:
            view = self._views.get(collection.token)
            guard = self._locks.setdefault(collection.token, Lock())
        if view is not None and view.version >= collection.version:
            return view
        with guard:
            view = self._views.peek(collection.token)
            if view is None or view.version < collection.version:
                view = self._brought_up_to_date(rows, collection, members, view)
                with self._lock:
                    self._views.put(collection.token, view)
        return view

    def _brought_up_to_date(self, rows: Rows, collection: Collection, members: Members, view: View | None) -> View:
        """The view with all changes; writes the files only if there are any."""
        fresh = "SELECT 1 FROM search_vectors WHERE collection = ? AND version > ? LIMIT 1"
        if view is not None and rows.one(fresh, collection.number, view.version) is None:
            return replace(view, version=collection.version)
        folder = Folder(self.folder / collection.token)
        with folder.locked():
            head = self._trusted(rows, collection, members, folder, view)
            last = head
            for vectors, documents, versions in _stored(rows, collection, head.version):
                last = folder.append(last, vectors, documents, versions)
            if last.rows != head.rows or head.version < 0:
                last = replace(last, version=collection.version)
                folder.publish(last)
            mapped = folder.mapped(last)
        return View(last, collection.version, mapped, self._sign_filter(view, last, mapped))

    def _trusted(self, rows: Rows, collection: Collection, members: Members, folder: Folder, view: View | None) -> Head:
        """The head to continue from: the one on disk if it matches the store, otherwise an empty one."""
        model, dimensions = collection.model or "", collection.dimensions or 0
        head = folder.head(model, dimensions)
        if head is None or head.version > collection.version:
            return folder.fresh(model, dimensions)
        known = view is not None and view.head.files == head.files and view.version >= head.version
        if not known and not _matches_store(rows, collection, members, folder.mapped(head), head):
            return folder.fresh(model, dimensions)
        waste = head.rows - int(np.count_nonzero(_still_there(members, folder.mapped(head).documents)))
        return folder.fresh(model, dimensions) if waste > max(_LITTLE_WASTE, head.rows // 2) else head

    def _sign_filter(self, view: View | None, head: Head, mapped: MappedRows) -> SignFilter | None:
        if head.rows <= self.exact_up_to:
            return None
        before = view.sign_filter if view is not None and view.head.files == head.files else None
        sign_filter = before or SignFilter()
        return sign_filter.extended(mapped.signs[sign_filter.size :])


def _stored(rows: Rows, collection: Collection, version: int) -> Iterator[tuple[Matrix, Ids, Ids]]:
    """The store's vectors after a version, in batches of rows."""
    last = (version, 1 << 62)
    while found := rows.all(
        "SELECT document, version, embedding FROM search_vectors"
        " WHERE collection = ? AND (version, document) > (?, ?) ORDER BY version, document LIMIT ?",
        collection.number, *last, _BATCH,
    ):  # fmt: skip
        matrix = np.frombuffer(b"".join(data for _, _, data in found), "<f4").reshape(-1, collection.dimensions or 1)
        each = [len(data) // (4 * matrix.shape[1]) for _, _, data in found]
        documents = np.repeat(np.array([document for document, _, _ in found], np.int64), each)
        versions = np.repeat(np.array([version for _, version, _ in found], np.int64), each)
        yield matrix, documents, versions
        last = found[-1][1], found[-1][0]


def _matches_store(rows: Rows, collection: Collection, members: Members, mapped: MappedRows, head: Head) -> bool:
    """Whether the files match the store. After a restore from a backup they do not: the version then restarts, and
    steps between versions are random, so old versions do not recur."""
    stored = rows.all(
        "SELECT version, document FROM search_vectors WHERE collection = ? AND version <= ?",
        collection.number, head.version,
    )  # fmt: skip
    there = _still_there(members, mapped.documents)
    pairs = np.unique(np.stack((mapped.versions[there], mapped.documents[there]), axis=1), axis=0)
    expected = np.array(sorted(stored), np.int64).reshape(-1, 2)
    return np.array_equal(pairs, expected)


def _still_there(members: Members, documents: Ids) -> Mask:
    inside = documents < members.ids.size
    if members.present is not None:
        inside[inside] = members.present[documents[inside]]
    return inside


def _row_mask(view: View, members: Members, allowed: Mask | None) -> Mask | None:
    """The rows that may take part; `allowed` is a mask of documents. None means all."""
    if allowed is None and view.highest < members.ids.size:
        return None
    if allowed is not None and view.highest < members.ids.size:
        return allowed[view.mapped.documents]
    inside = view.mapped.documents < members.ids.size
    if allowed is not None:
        inside[inside] = allowed[view.mapped.documents[inside]]
    return inside


def _copied(view: View, places: NDArray[np.intp]) -> CopiedRows:
    return CopiedRows(view.mapped.documents[places].astype(np.intp), view.mapped.vectors[places])


def _nearest_again(view: View, members: Members, pool: CopiedRows, query: Matrix, count: int) -> NearDocuments:
    """The nearest of the documents picked before; all windows of each take part."""
    if not view.lookup.each_once:
        pool = _copied(view, view.lookup.places(pool.documents))
    return pool.nearest(query, 2 * count).compared(query, members, count)


def _highest(cosines: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """The positions of the highest values, plus all within rounding error of the last of them."""
    last = np.partition(cosines, cosines.size - count)[cosines.size - count]
    return np.flatnonzero(cosines >= last - np.float32(1e-6))
