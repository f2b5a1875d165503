"""Plans an ingest: lists the files of a corpus, and says which are new, unchanged or gone. Writes nothing.

A document is identified by its path and the hash of its bytes. If the bytes and the chunking are unchanged, it keeps
its passages and vectors; its description is still updated from sources.json.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from pentad.documents.document import FORMATS, PICTURE_FORMATS, Format
from pentad.documents.normalization import normal
from pentad.kernel.default_limits import MIB
from pentad.rooms.avatars.config import CONFIG_FILE, AvatarConfig
from pentad.rooms.avatars.corpus.ingest_report import FileLine
from pentad.rooms.avatars.corpus.sources import SOURCES_FILE, Source, SourceBook, slug
from pentad.rooms.avatars.models import CorpusDocument

CORPUS_FOLDER: Final = "corpus"
_DESCRIPTIONS: Final = (CONFIG_FILE, SOURCES_FILE)
READABLE: Final = "PDF, Markdown, text, HTML, DOCX, EPUB and pictures"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that may be a document; `name` is its path within the corpus."""

    path: Path
    name: PurePosixPath
    format: Format


def corpus_of(folder: Path) -> Path:
    """Where the documents of an avatar's folder are: under `corpus/`, or in the folder itself if there is none."""
    corpus = folder / CORPUS_FOLDER
    return corpus if corpus.is_dir() else folder


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
    suffix = path.suffix.lower()
    kind = FORMATS.get(suffix) or PICTURE_FORMATS.get(suffix)
    if root is not None and not path.resolve().is_relative_to(root):
        return FileLine(str(shown), "skipped", note="a link that leads out of the folder")
    if not path.is_file():
        return FileLine(str(shown), "failed", reason="unreadable", note="There is no such file.")
    if kind is None:
        return FileLine(str(shown), "skipped", note=f"not a document that can be read ({READABLE})")
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


PIPELINE: Final = 6
"""Increase this if the same bytes now give other passages or vectors, for example with a new reader."""

Origin = Literal["folder", "file", "refresh"]
"""How a document came in. A refresh changes only what documents say, not how they came in."""


@dataclass(frozen=True, slots=True)
class Hashed:
    """A file with the hash and the size of its bytes."""

    found: FoundFile
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A document that keeps its passages; `now` has its new description."""

    before: CorpusDocument
    now: CorpusDocument


@dataclass(frozen=True, slots=True)
class ToRead:
    """A file to read, and the document it replaces."""

    file: Hashed
    source: Source
    source_id: str
    replaced: CorpusDocument | None


@dataclass(slots=True)
class Plan:
    """`removed` are documents whose files are gone."""

    pipeline: str
    kept: list[Unchanged] = field(default_factory=list[Unchanged])
    to_read: list[ToRead] = field(default_factory=list[ToRead])
    removed: list[CorpusDocument] = field(default_factory=list[CorpusDocument])
    lines: list[FileLine] = field(default_factory=list[FileLine])


def pipeline_of(config: AvatarConfig) -> str:
    """What determines the passages of a document besides its bytes."""
    return f"{PIPELINE}:{config.chunk_size}:{config.chunk_overlap}"


def make_plan(
    files: Sequence[Hashed],
    stored: Sequence[CorpusDocument],
    book: SourceBook,
    config: AvatarConfig,
    *,
    origin: Origin,
    force: bool,
    gone: Sequence[CorpusDocument],
) -> Plan:
    """Compare files with stored documents. `gone` are documents of this ingest's folder without a file."""
    plan = Plan(pipeline_of(config))
    matched = _matched(files, stored, gone, plan)
    taken = {document.source_id for document in stored} - {before.source_id for _, before in matched if before}
    still_there = {before.id for _, before in matched if before is not None}
    plan.removed = [document for document in gone if document.id not in still_there]
    taken -= {document.source_id for document in plan.removed}
    for file, before in sorted(matched, key=lambda one: (one[1] is None, one[1].id if one[1] else 0)):
        source = book.of_file(file.found.name)
        source_id = _free_id(source, file, taken)
        taken.add(source_id)
        if before is None or force or (before.sha256, before.pipeline) != (file.sha256, plan.pipeline):
            plan.to_read.append(ToRead(file, source, source_id, before))
        else:
            plan.kept.append(
                Unchanged(before, with_description(before, source, source_id, str(file.found.name), origin))
            )
    plan.to_read.sort(key=lambda one: str(one.file.found.name))
    return plan


def with_description(
    document: CorpusDocument, source: Source, source_id: str, path: str, origin: Origin
) -> CorpusDocument:
    """The document as its source describes it now."""
    return replace(
        document, path=path, origin=document.origin if origin == "refresh" else origin, source_id=source_id,
        title=source.title, type=source.type, year=source.year, role=source.role, details=source.details,
    )  # fmt: skip


def _matched(
    files: Sequence[Hashed], stored: Sequence[CorpusDocument], gone: Sequence[CorpusDocument], plan: Plan
) -> list[tuple[Hashed, CorpusDocument | None]]:
    """Each file with its stored document, by path, or by hash if it was moved. Copies are left out."""
    by_path = {document.path: document for document in stored}
    paths = {str(file.found.name) for file in files}
    staying = [document for document in stored if document not in gone and document.path not in paths]
    first = {document.sha256: document.path for document in staying}
    moved = {document.sha256: document for document in gone}
    matched: list[tuple[Hashed, CorpusDocument | None]] = []
    for file in files:
        path = str(file.found.name)
        if (other := first.setdefault(file.sha256, path)) != path:
            plan.lines.append(FileLine(path, "skipped", note=f"the same bytes as {other}"))
            continue
        matched.append((file, by_path.get(path) or moved.pop(file.sha256, None)))
    return matched


def _free_id(source: Source, file: Hashed, taken: set[str]) -> str:
    """The source's id, or another one if a second document of the same source already has it."""
    return next(candidate for candidate in _candidates(source, file) if candidate not in taken)


def _candidates(source: Source, file: Hashed) -> Iterator[str]:
    yield source.id
    named = slug(str(file.found.name)) or "document"
    yield named
    number = 2
    while True:
        yield f"{named}-{number}"
        number += 1
