"""Ingest: find documents, read new ones, embed them, and replace the avatar's generation.

Everything slow happens before the single transaction that changes the avatar, so an ingest that fails or is killed
leaves the avatar unchanged. What it had read and embedded is kept, and the next ingest continues from there.
"""

import asyncio
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pentad.documents.document import Unreadable
from pentad.documents.sandbox import DocumentReaders, ReadDocument, ReadingLimits
from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Rows
from pentad.rooms.avatars import store
from pentad.rooms.avatars.config import AvatarConfig, read_config, warnings
from pentad.rooms.avatars.corpus.checkpoints import Checkpoints
from pentad.rooms.avatars.corpus.embedding import PassageEmbedder
from pentad.rooms.avatars.corpus.ingest_plan import (
    READABLE,
    FoundFile,
    Hashed,
    Origin,
    Plan,
    ToRead,
    corpus_of,
    document_at,
    documents_in,
    make_plan,
    sha256_of,
    size_line,
)
from pentad.rooms.avatars.corpus.ingest_report import FileLine, IngestReport, Progress, ignore_progress
from pentad.rooms.avatars.corpus.publish_generation import Draft, GenerationSwap
from pentad.rooms.avatars.corpus.referenced_documents import ReferenceReader, is_web, names_of_failures, read_references
from pentad.rooms.avatars.corpus.sources import Source, SourceBook, read_sources, slug
from pentad.rooms.avatars.models import Avatar, CorpusDocument
from pentad.search import collection as collections
from pentad.search.index import SearchIndex

_READERS: Final = min(max(os.cpu_count() or 2, 2), 8)
"""Documents read at once."""
_HASHED_AT_ONCE: Final = 256


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """`source` limits the ingest to one source, by id; `force` reads unchanged documents again."""

    source: str | None = None
    dry_run: bool = False
    force: bool = False


@dataclass(slots=True)
class _Run:
    """The state of one ingest."""

    config: AvatarConfig
    book: SourceBook
    origin: Origin
    options: IngestOptions
    progress: Progress
    avatar: Avatar | None
    stored: Sequence[CorpusDocument]
    model: str | None
    report: IngestReport
    checkpoints: Checkpoints
    drafts: list[Draft] = field(default_factory=list[Draft])


class Ingest:
    """Ingests folders and files."""

    def __init__(
        self, database: Database, search: SearchIndex, clock: Clock, limits: ReadingLimits | None = None
    ) -> None:
        self._database = database
        self._search = search
        self._clock = clock
        self._limits = limits or ReadingLimits()

    async def folder(
        self,
        folder: Path,
        options: IngestOptions | None = None,
        progress: Progress = ignore_progress,
        follow: ReferenceReader | None = None,
    ) -> IngestReport:
        """Create or update an avatar from a folder. Documents missing from it are removed from the avatar.

        A source without a document whose `url` can be followed is read from there.
        """
        config = await asyncio.to_thread(read_config, folder)
        corpus = corpus_of(folder)
        book = await asyncio.to_thread(read_sources, corpus, config)
        run = await self._start(config, book, "folder", options or IngestOptions(), progress)
        run.report.warnings += [*warnings(config), *book.warnings]
        found = await asyncio.to_thread(lambda: list(documents_in(corpus)))
        there = {book.of_file(one.name).id for one in found if isinstance(one, FoundFile)}
        wanted = [(url, one) for one in book.missing(there) if follow and (url := follow.followed(one.details))]
        if not wanted and not any(isinstance(one, FoundFile) for one in found) and run.stored:
            raise InvalidInput(
                f"There is no document in the folder any more, and {config.id} has {len(run.stored)}.",
                hint="Nothing was changed. To delete the avatar, remove it.",
            )
        if not wanted and not any(isinstance(one, FoundFile) for one in found):
            run.report.warnings.append(f"the folder has no documents ({READABLE})")
        async with read_references(follow and follow.resolve, wanted) as more:
            book.referenced = more.sources
            return await self._ingest(run, [*found, *more.found])

    async def files(
        self,
        avatar_id: str,
        paths: Sequence[Path],
        options: IngestOptions | None = None,
        progress: Progress = ignore_progress,
        uris: Sequence[str] = (),
        follow: ReferenceReader | None = None,
    ) -> IngestReport:
        """Add files, documents of folders, or what references lead to, to an existing avatar. Nothing is removed."""
        avatar = await self._database.read(lambda rows: store.avatar(rows, avatar_id))
        if avatar is None:
            raise NotFound(f"There is no avatar {avatar_id[:60]!r}.", hint="Ingest its folder first.")
        book = SourceBook(avatar.config, avatar.sources)
        run = await self._start(avatar.config, book, "file", options or IngestOptions(), progress)
        found = await asyncio.to_thread(files_in, paths)
        async with read_references(follow and follow.resolve, [(uri, None) for uri in uris]) as more:
            book.referenced = more.sources
            return await self._ingest(run, [*found, *more.found])

    async def refresh(
        self,
        avatar_id: str,
        follow: ReferenceReader,
        options: IngestOptions | None = None,
        progress: Progress = ignore_progress,
    ) -> IngestReport | None:
        """Read the documents of an avatar that came from the web again; None if there are none."""
        avatar = await self._database.read(lambda rows: store.avatar(rows, avatar_id))
        if avatar is None:
            return None
        book = SourceBook(avatar.config, avatar.sources)
        run = await self._start(avatar.config, book, "refresh", options or IngestOptions(), progress)
        wanted = [(one.details["url"], _source_of(one)) for one in run.stored if is_web(one.details.get("url"))]
        wanted = [(url, source) for url, source in wanted if "snapshot" in source.details]
        if not wanted:
            return None
        async with read_references(follow.resolve, wanted) as more:
            book.referenced = more.sources
            return await self._ingest(run, more.found)

    async def _start(
        self, config: AvatarConfig, book: SourceBook, origin: Origin, options: IngestOptions, progress: Progress
    ) -> _Run:
        def work(rows: Rows) -> tuple[Avatar | None, list[CorpusDocument], str | None]:
            avatar = store.avatar(rows, config.id)
            if avatar is None:
                return None, [], None
            indexed = collections.find(rows, avatar.collection)
            return avatar, store.documents(rows, avatar.number), indexed and indexed.model

        avatar, stored, model = await self._database.read(work)
        report = IngestReport(config.id, avatar.generation if avatar else 0, options.dry_run)
        checkpoints = Checkpoints(None if options.dry_run else self._database, self._clock, config.id)
        if not options.force:
            await checkpoints.open()
        return _Run(config, book, origin, options, progress, avatar, stored, model, report, checkpoints)

    async def _ingest(self, run: _Run, found: Iterable[FoundFile | FileLine]) -> IngestReport:
        files = self._selected(run, found)
        hashed = await self._hashed(run, files)
        gone = self._missing_documents(run, files)
        plan = make_plan(
            hashed, run.stored, run.book, run.config, origin=run.origin, force=run.options.force, gone=gone
        )
        await self._read(run, plan)
        await self._drop_unchanged(run, plan)
        _report(run, plan)
        if not run.options.dry_run:
            await self._store(run, plan)
        run.report.lines.sort(key=lambda line: line.path)
        return run.report

    def _selected(self, run: _Run, found: Iterable[FoundFile | FileLine]) -> list[FoundFile]:
        """The files to ingest; the rest goes into the report."""
        files: dict[str, FoundFile] = {}
        only = run.options.source
        for one in found:
            if isinstance(one, FileLine):
                if only is None:
                    run.report.lines.append(one)
            elif str(one.name) in files:
                run.report.lines.append(FileLine(str(one.name), "skipped", note="another file has this name"))
            elif only is None or slug(only) == run.book.of_file(one.name).id:
                files[str(one.name)] = one
        if only is not None and not files:
            raise NotFound(f'Source "{only[:80]}" not found.', hint="A source's document is named <source id>.pdf.")
        if only is None and run.origin == "folder":
            there = {run.book.of_file(file.name).id for file in files.values()}
            run.report.warnings += [f"there is no file for {source.title!r}" for source in run.book.missing(there)]
        return list(files.values())

    def _missing_documents(self, run: _Run, files: Sequence[FoundFile]) -> list[CorpusDocument]:
        """Stored documents of the folder whose files are gone."""
        if run.origin != "folder" or run.options.source is not None:
            return []
        there = {str(file.name) for file in files}
        unread = names_of_failures(run.report.lines)
        kept = {
            source.details.get("url") for source in run.book.missing({run.book.of_file(one.name).id for one in files})
        }
        of_folder = [
            document
            for document in run.stored
            if document.origin == "folder"
            and ("snapshot" not in document.details or document.details["url"] not in kept)
        ]  # a reference that this caller cannot follow stays as it was
        return [one for one in of_folder if one.path not in there and one.path.rpartition(".")[0] not in unread]

    async def _hashed(self, run: _Run, files: Sequence[FoundFile]) -> list[Hashed]:
        def work(file: FoundFile) -> Hashed | FileLine:
            try:
                if (line := size_line(file, self._limits.file_bytes)) is not None:
                    return line
                return Hashed(file, sha256_of(file.path), file.path.stat().st_size)
            except OSError as error:
                return FileLine(str(file.name), "failed", reason="unreadable", note=f"{error.strerror}.")

        def several(some: Sequence[FoundFile]) -> list[Hashed | FileLine]:
            return [work(file) for file in some]

        hashed: list[Hashed | FileLine] = []
        for start in range(0, len(files), _HASHED_AT_ONCE):
            some = files[start : start + _HASHED_AT_ONCE]
            hashed += await asyncio.to_thread(several, some)
        run.report.lines += [one for one in hashed if isinstance(one, FileLine)]
        return [one for one in hashed if isinstance(one, Hashed)]

    async def _read(self, run: _Run, plan: Plan) -> None:
        """Read the new documents, a few at a time; failures go into the report."""
        waiting = iter(enumerate(plan.to_read))
        drafts: dict[int, Draft] = {}
        done = 0

        async def read(readers: DocumentReaders) -> None:
            nonlocal done
            for place, job in waiting:
                try:
                    drafts[place] = Draft(job, await self._document(run, plan.pipeline, job, readers))
                except Unreadable as refusal:
                    run.report.lines.append(_unread(job, refusal))
                done += 1
                run.progress("reading", done, len(plan.to_read))

        async with DocumentReaders(self._limits) as readers, asyncio.TaskGroup() as group:
            for _ in range(min(_READERS, len(plan.to_read))):
                group.create_task(read(readers))
        run.drafts = [drafts[place] for place in sorted(drafts)]

    async def _document(self, run: _Run, pipeline: str, job: ToRead, readers: DocumentReaders) -> ReadDocument:
        found = job.file.found
        key = f"{pipeline}:{found.format}:{job.file.sha256}"
        if (read_before := await run.checkpoints.reading(key)) is not None:
            run.report.resumed += 1
            return read_before
        try:
            document = await readers.read(found.path, found.format, run.config.chunk_size, run.config.chunk_overlap)
        except OSError as error:
            raise Unreadable("unreadable", f"{error.strerror}.") from None
        if document.sha256 != job.file.sha256:
            raise Unreadable("changed", "It was changed while it was being read; ingest it again.")
        await run.checkpoints.keep_reading(key, document)
        return document

    async def _drop_unchanged(self, run: _Run, plan: Plan) -> None:
        """Forget what was read from references and has the same text: pages contain much that nobody sees."""

        def is_same(rows: Rows, draft: Draft) -> bool:
            before = draft.job.replaced
            return (
                before is not None
                and str(draft.job.file.found.name) in run.book.referenced
                and before.pipeline == plan.pipeline
                and store.text_of(rows, before.id) == draft.read.text
            )

        if run.book.referenced and not run.options.force:
            same = await self._database.read(lambda rows: [draft for draft in run.drafts if is_same(rows, draft)])
            run.drafts = [draft for draft in run.drafts if draft not in same]
            run.report.lines += [
                FileLine(
                    str(one.job.file.found.name), "unchanged", one.job.source_id, len(one.read.chunks), one.read.pages
                )
                for one in same
            ]

    async def _store(self, run: _Run, plan: Plan) -> None:
        """Embed the new passages and store everything in one transaction."""
        replaced = {draft.job.replaced.id for draft in run.drafts if draft.job.replaced}
        leaving = replaced | {document.id for document in plan.removed}
        untouched = [document for document in run.stored if document.id not in leaving]
        swap = GenerationSwap(
            self._search, self._clock, run.config, run.book, run.avatar, untouched, plan, run.drafts, run.origin,
            run.model,
        )  # fmt: skip
        if not swap.changes_anything:
            return
        kept = await self._database.read(swap.passages_to_index)
        vectors = PassageEmbedder(self._search.embedder, run.progress, run.checkpoints)
        texts = await asyncio.to_thread(swap.texts, kept)
        await vectors.make(texts)
        if vectors.failure is not None:
            run.report.warnings.append(f"not embedded yet, found by words until then: {vectors.failure}")
        run.progress("storing", 0, 1)
        run.report.generation = await self._database.write(lambda tx: swap.run(tx, texts, vectors.made))
        run.report.stored = True
        run.progress("storing", 1, 1)
        try:
            await self._search.embed_pending()
        except PentadError as error:  # passages without vectors are found by words until they get some
            log_failure(error, "Embedding new documents")


def _source_of(document: CorpusDocument) -> Source:
    """The source of a stored document, as it is described there."""
    return Source(
        document.source_id, document.title, document.type, document.year, document.role, dict(document.details)
    )  # fmt: skip


def files_in(paths: Sequence[Path]) -> list[FoundFile | FileLine]:
    """The files given on a command line, and the documents in the folders given."""
    found: list[FoundFile | FileLine] = []
    for path in paths:
        found.extend(documents_in(path) if path.is_dir() else [document_at(path, Path(path.name))])
    return found


def _unread(job: ToRead, refusal: Unreadable) -> FileLine:
    """A failure; a picture without text next to the documents is not one."""
    path, former = str(job.file.found.name), " The former version stays." if job.replaced else ""
    if job.file.found.format == "image" and refusal.reason == "no_text" and not job.replaced:
        return FileLine(path, "skipped", note=refusal.message)
    return FileLine(path, "failed", job.source_id, reason=refusal.reason, note=refusal.message + former)


def _report(run: _Run, plan: Plan) -> None:
    """Report what was read, kept and removed."""
    lines = plan.lines
    for kept in plan.kept:
        same = kept.now == kept.before
        moved = f"was {kept.before.path}" if kept.now.path != kept.before.path else "its description only"
        lines.append(
            FileLine(kept.now.path, "unchanged" if same else "changed", kept.now.source_id, kept.now.passages,
                     kept.now.pages, note=None if same else moved)
        )  # fmt: skip
    for draft in run.drafts:
        lines.append(
            FileLine(str(draft.job.file.found.name), "changed" if draft.job.replaced else "added", draft.job.source_id,
                     len(draft.read.chunks), draft.read.pages, note="; ".join(draft.read.notes) or None)
        )  # fmt: skip
    lines.extend(FileLine(document.path, "removed", document.source_id) for document in plan.removed)
    run.report.lines += lines
