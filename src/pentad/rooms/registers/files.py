"""Files attached to objects: kept in the data folder, one folder an object, under the names they came with.

Who may see or change the object may see or change its files; that is asked before anything here is called. Names are
checked, never repaired: nothing a caller writes can leave the object's folder.
"""

import asyncio
import mimetypes
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.kernel.ids import opaque_id
from pentad.platform import Platform

T = TypeVar("T")

MOST_FILES: Final = 100
_LONGEST_NAME: Final = 200
_FORBIDDEN: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\u200b-\u200f\u202a-\u202e\u2066-\u2069]')
_UNFINISHED: Final = ".part-"


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attached file."""

    name: str
    size: int
    modified_at: float

    @property
    def media_type(self) -> str:
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"

    def wire(self) -> dict[str, Any]:
        return {"name": self.name, "size": self.size, "type": self.media_type, "modified": iso(self.modified_at)}


class Files:
    """The attachments of all objects."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    async def list(self, uuid: str) -> list[Attachment]:
        """The files of an object, by name."""
        return await _aside(lambda: _listed(self._of(uuid)))

    async def read(self, uuid: str, name: str) -> tuple[Attachment, bytes]:
        """One file and its content."""
        path = self._of(uuid) / checked_name(name)

        def read() -> tuple[Attachment, bytes]:
            try:
                return _attachment(path), path.read_bytes()
            except FileNotFoundError:
                raise _missing(name) from None

        return await _aside(read)

    async def write(self, uuid: str, name: str, content: bytes) -> Attachment:
        """Attach a file, in place of one that has the name already; whole or not at all."""
        folder, wanted = self._of(uuid), checked_name(name)
        if len(content) > self._most_bytes:
            raise LimitExceeded(f"The file has {len(content)} bytes; the limit is {self._most_bytes}.")

        def write() -> Attachment:
            folder.mkdir(parents=True, exist_ok=True)
            others = [one for one in _listed(folder) if one.name != wanted]
            if len(others) >= MOST_FILES:
                raise LimitExceeded(f"An object has at most {MOST_FILES} files.", hint="Delete one first.")
            unfinished = folder / f"{_UNFINISHED}{opaque_id(size=9)}"
            try:
                with unfinished.open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(folder / wanted)
            finally:
                unfinished.unlink(missing_ok=True)
            return _attachment(folder / wanted)

        return await _aside(write)

    async def delete(self, uuid: str, name: str) -> None:
        path = self._of(uuid) / checked_name(name)

        def delete() -> None:
            try:
                path.unlink()
            except FileNotFoundError:
                raise _missing(name) from None

        await _aside(delete)

    async def forget(self, uuid: str) -> None:
        """Remove all files of an object that is gone for good."""
        await _aside(lambda: shutil.rmtree(self._of(uuid), ignore_errors=True))

    def _of(self, uuid: str) -> Path:
        return self._folder / str(UUID(uuid))


def files_of(platform: Platform) -> Files:
    """The attachments in a server's data folder."""
    return Files(platform.data / "registers" / "files", platform.limits.upload_bytes)


def checked_name(name: str) -> str:
    """A name that is one, and nothing more than a name."""
    if (
        not name
        or name != name.strip()
        or name.startswith(".")
        or name.endswith(".")
        or _FORBIDDEN.search(name)
        or len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME
    ):
        raise InvalidInput(
            f"{name[:80]!r} cannot be a file's name.",
            hint=f'At most {_LONGEST_NAME} bytes, no dot at either end, none of / \\ : * ? " < > |.',
        )
    return name


def _listed(folder: Path) -> list[Attachment]:
    try:
        found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []
    return [_attachment(path) for path in found]


def _attachment(path: Path) -> Attachment:
    facts = path.stat()
    return Attachment(path.name, facts.st_size, facts.st_mtime)


def _missing(name: str) -> NotFound:
    return NotFound(f"The object has no file {name[:80]!r}.", hint="List its files.", details={"kind": "file"})


async def _aside(work: Callable[[], T]) -> T:
    """Disks are slow: never on the event loop."""
    return await asyncio.to_thread(work)
