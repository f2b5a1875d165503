"""Reads parts of a ZIP (DOCX, EPUB) in memory, within limits. Nothing is unpacked to disk.

The sizes a ZIP declares may be false, so the limits count the bytes actually extracted. Names that lead out of the
archive are ignored.
"""

import io
import posixpath
import zipfile
import zlib
from typing import Final
from urllib.parse import unquote

from pentad.documents.document import Unreadable

MIB: Final = 1024 * 1024
MOST_PARTS: Final = 20_000
MOST_UNPACKED: Final = 96 * MIB
MOST_RATIO: Final = 200
_SMALL: Final = 1 * MIB
_ENCRYPTED: Final = 0x1
_OLE: Final = b"\xd0\xcf\x11\xe0"
_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError, RuntimeError)


class Archive:
    """A ZIP, possibly hostile."""

    def __init__(self, data: bytes, what: str) -> None:
        if data.startswith(_OLE):
            raise Unreadable("encrypted", f"It is protected by a password or in an old format, not {what}.")
        self._what = what
        self._left = MOST_UNPACKED
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            parts = self._zip.infolist()
        except _BROKEN:
            raise Unreadable("damaged", f"It is damaged or not {what}: the archive cannot be opened.") from None
        if len(parts) > MOST_PARTS:
            raise Unreadable("unsafe", f"It has {len(parts):,} parts; the limit is {MOST_PARTS:,}.")
        self._parts = {part.filename: part for part in parts}

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def read(self, name: str) -> bytes:
        """Read one part; Unreadable if it is missing, expands too far, or needs a password."""
        part = self._parts.get(name)
        if part is None:
            raise Unreadable("damaged", f"It is damaged or not {self._what}: {name[:80]!r} is missing.")
        if part.flag_bits & _ENCRYPTED:
            raise Unreadable("encrypted", "It is protected by a password.")
        most = min(self._left, max(part.compress_size, 1) * MOST_RATIO + _SMALL)
        try:
            with self._zip.open(part) as opened:
                data = opened.read(most + 1)
        except _BROKEN:
            raise Unreadable("damaged", f"It is damaged: {name[:80]!r} cannot be unpacked.") from None
        if len(data) > most:
            raise Unreadable("unsafe", f"{name[:80]!r} unpacks to far more than a document part would.")
        self._left -= len(data)
        return data


def part_at(base: str, reference: str) -> str | None:
    """Resolve a reference in the part `base`; None if it leads out of the archive."""
    path = unquote(reference.split("#", 1)[0].split("?", 1)[0])
    if not path or ":" in path.split("/", 1)[0] or "\\" in path or "\x00" in path or path.startswith("/"):
        return None
    name = posixpath.normpath(posixpath.join(posixpath.dirname(base), path))
    return None if name.startswith(("../", "/")) or name in ("..", ".") else name
