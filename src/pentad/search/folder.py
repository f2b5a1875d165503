"""One collection's vectors on disk, ready to be mapped into memory: a copy of what the store holds.

The store has every vector too, so that a backup is whole and a transaction covers words and vectors alike; these files
only make them fast to scan, and can be thrown away at any time. They grow at the end. Rows are written and synced
first; then `head.json`, replaced in one step, says how many count. Whatever lies beyond was never finished, or never
told of, and is cut off by the next writer. Several processes share the files; who writes holds the lock.
"""

import contextlib
import os
import shutil
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from pentad.kernel.ids import opaque_id
from pentad.search.arrays import Ids, Matrix
from pentad.search.signs import Words, signs, words_for

_FORMAT: Final = 1
_COLUMNS: Final = ("vectors", "slots", "signs")
_SLOT_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Head:
    """What counts: so many rows, which hold everything up to this version of the collection."""

    model: str
    dimensions: int
    rows: int
    version: int
    files: str
    """The part of the files' names that changes when they are written anew."""
    format: int = _FORMAT

    def row_bytes(self, column: str) -> int:
        return {"vectors": 4 * self.dimensions, "slots": _SLOT_BYTES, "signs": 8 * words_for(self.dimensions)}[column]


@dataclass(frozen=True, slots=True)
class Slots:
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
        """What the files hold, if they are of this model and complete."""
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
        """Write rows behind those of `head`; the head returned must still be published."""
        slots = np.stack((documents, versions), axis=1).astype("<i8")
        for column, rows in (("vectors", vectors.astype("<f4")), ("slots", slots), ("signs", signs(vectors))):
            with self._opened(head, column) as file:
                file.truncate(head.rows * head.row_bytes(column))
                file.seek(0, os.SEEK_END)
                file.write(np.ascontiguousarray(rows).data)
        return Head(head.model, head.dimensions, head.rows + vectors.shape[0], head.version, head.files)

    def publish(self, head: Head) -> None:
        """Sync the rows, then let the head count; files of an earlier head go away."""
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

    def slots(self, head: Head) -> Slots:
        """The rows of a head, mapped into memory; they stay readable when the files are replaced."""
        words = words_for(head.dimensions)
        pairs = self._mapped(head, "slots", "<i8", 2)
        return Slots(
            self._mapped(head, "vectors", "<f4", head.dimensions),
            np.ascontiguousarray(pairs[:, 0]),
            np.ascontiguousarray(pairs[:, 1]),
            self._mapped(head, "signs", "<u8", words),
        )

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """Only one process at a time writes."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("ab") as file:
            _lock(file)
            yield

    def remove(self) -> None:
        """Take all of it away."""
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
    """Wait for the file's lock; closing the file gives it back, and so does the end of the process."""
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
