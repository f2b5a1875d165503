"""Finds the documents in a folder, in a fixed order. Links that lead out of it are not followed."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pentad.kernel.limits import MIB
from pentad.rooms.avatars.config import CONFIG_FILE
from pentad.rooms.avatars.corpus.extract.document import FORMATS, Format
from pentad.rooms.avatars.corpus.extract.normalization import normal
from pentad.rooms.avatars.corpus.ingest_report import FileLine
from pentad.rooms.avatars.corpus.sources import SOURCES_FILE

_DESCRIPTIONS: Final = (CONFIG_FILE, SOURCES_FILE)
_KNOWN: Final = "PDF, Markdown, text, HTML, DOCX and EPUB"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that may be a document; `name` is its path within the corpus."""

    path: Path
    name: PurePosixPath
    format: Format


def documents_in(folder: Path) -> Iterator[FoundFile | FileLine]:
    """Every document under a folder, and a report line for every other file."""
    root = folder.resolve()
    for parent, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(parent, name)
            if not name.startswith(".") and name not in _DESCRIPTIONS:
                yield document_at(path, path.relative_to(root), root)


def document_at(path: Path, name: Path, root: Path | None = None) -> FoundFile | FileLine:
    """One file. With `root`, links that lead out of it are skipped."""
    shown = PurePosixPath(normal(name.as_posix()))
    kind = FORMATS.get(path.suffix.lower())
    if root is not None and not path.resolve().is_relative_to(root):
        return FileLine(str(shown), "skipped", note="a link that leads out of the folder")
    if not path.is_file():
        return FileLine(str(shown), "failed", reason="unreadable", note="There is no such file.")
    if kind is None:
        return FileLine(str(shown), "skipped", note=f"not a document that can be read ({_KNOWN})")
    return FoundFile(path, shown, kind)


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def size_line(found: FoundFile, most: int) -> FileLine | None:
    """A report line if the file is too large, else None."""
    size = found.path.stat().st_size
    if size <= most:
        return None
    note = f"It has {size / MIB:,.0f} MiB; the limit is {most / MIB:,.0f} MiB."
    return FileLine(str(found.name), "failed", reason="too_large", note=note)
