"""What an ingest has to do: which files are new, which are as they were, which are gone. Nothing is read or written.

A document is known by its path and by the hash of its bytes. One whose bytes, and the way they are cut, are as before
keeps its passages and vectors; what sources.json says of it is taken over all the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from pentad.rooms.avatars.config import AvatarConfig
from pentad.rooms.avatars.corpus.file_discovery import FoundFile
from pentad.rooms.avatars.corpus.ingest_report import FileLine
from pentad.rooms.avatars.corpus.sources import Source, SourceBook, slug
from pentad.rooms.avatars.models import CorpusDocument

PIPELINE: Final = 3
"""Goes up when the same bytes would give other passages or other vectors."""

Origin = Literal["folder", "file"]


@dataclass(frozen=True, slots=True)
class Hashed:
    """A file with the hash and the size of its bytes."""

    found: FoundFile
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A document whose passages stay; `now` is how it is described from now on."""

    before: CorpusDocument
    now: CorpusDocument


@dataclass(frozen=True, slots=True)
class ToRead:
    """A file to be read, and the document it takes the place of."""

    file: Hashed
    source: Source
    source_id: str
    replaced: CorpusDocument | None


@dataclass(slots=True)
class Plan:
    """`removed` are documents whose files are gone."""

    pipeline: str
    kept: list[Kept] = field(default_factory=list[Kept])
    to_read: list[ToRead] = field(default_factory=list[ToRead])
    removed: list[CorpusDocument] = field(default_factory=list[CorpusDocument])
    lines: list[FileLine] = field(default_factory=list[FileLine])


def pipeline_of(config: AvatarConfig) -> str:
    """What besides its bytes decides how a document is cut."""
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
    """`gone` are the stored documents that this ingest speaks for and that have no file any more."""
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
            plan.kept.append(Kept(before, described(before, source, source_id, str(file.found.name), origin)))
    plan.to_read.sort(key=lambda one: str(one.file.found.name))
    return plan


def described(document: CorpusDocument, source: Source, source_id: str, path: str, origin: Origin) -> CorpusDocument:
    """The document as its source describes it now."""
    return replace(
        document, path=path, origin=origin, source_id=source_id, title=source.title, type=source.type, year=source.year,
        role=source.role, details=source.details,
    )  # fmt: skip


def _matched(
    files: Sequence[Hashed], stored: Sequence[CorpusDocument], gone: Sequence[CorpusDocument], plan: Plan
) -> list[tuple[Hashed, CorpusDocument | None]]:
    """Each file with the document it was: by its path, or by its bytes if it was moved. Copies are left out."""
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
    """The source's id, unless another document has it: two documents of one source are told apart."""
    return next(candidate for candidate in _candidates(source, file) if candidate not in taken)


def _candidates(source: Source, file: Hashed) -> Iterator[str]:
    yield source.id
    named = slug(str(file.found.name)) or "document"
    yield named
    number = 2
    while True:
        yield f"{named}-{number}"
        number += 1
