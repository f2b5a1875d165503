"""Replaces an avatar's generation in one transaction: documents, passages and their search index.

Passages of unchanged documents are not touched. All passages are indexed again only if every document was read again,
or if their vectors come from another model than the current one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pentad.documents.chunks import SECTION_JOINT, Chunk, windows
from pentad.documents.sandbox import ReadDocument
from pentad.documents.sentences import Span
from pentad.events.outbox import emit
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Rows, Transaction
from pentad.listings.listing import listings_changed
from pentad.mcp.changes import list_changed, resource_updated
from pentad.rooms.avatars import store
from pentad.rooms.avatars.config import AvatarConfig
from pentad.rooms.avatars.corpus.embedding import Key, PassageText
from pentad.rooms.avatars.corpus.ingest_plan import Origin, Plan, ToRead
from pentad.rooms.avatars.corpus.sources import SourceBook
from pentad.rooms.avatars.models import Avatar, CorpusDocument, Passage
from pentad.search.documents import Document
from pentad.search.index import SearchIndex

_AT_ONCE: Final = 4_000
"""Passages indexed per call."""

_MOST_OF_HEADING: Final = 160
"""Characters of a heading that precede a window; a model reads only so much."""

_STORED: Final = -1
"""In a key, instead of the index of a draft: the passage is already stored and has a number."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A document that was read but is not stored yet."""

    job: ToRead
    read: ReadDocument

    def content(self, chunk: Chunk) -> tuple[str, list[Span]]:
        """The text of a passage, and its sentences as ranges within it."""
        spans = [(start - chunk.start, end - chunk.start) for start, end in chunk.sentences]
        return self.read.text[chunk.start : chunk.end], spans

    def document(self, origin: Origin, pipeline: str, generation: int, now: float) -> CorpusDocument:
        """The document as it will be stored."""
        source, file, read, before = self.job.source, self.job.file, self.read, self.job.replaced
        kept = before.origin if before is not None and origin == "refresh" else origin
        return CorpusDocument(
            0, str(file.found.name), kept, self.job.source_id, source.title, source.type, source.year, source.role,
            source.details, file.found.format, file.sha256, pipeline, file.size, read.pages, len(read.text),
            read.tokens, len(read.chunks), read.notes, generation, now,
        )  # fmt: skip


class GenerationSwap:
    """One replacement of a generation. `run` may be called again if its transaction is retried."""

    def __init__(
        self,
        search: SearchIndex,
        clock: Clock,
        config: AvatarConfig,
        book: SourceBook,
        before: Avatar | None,
        untouched: Sequence[CorpusDocument],
        plan: Plan,
        drafts: Sequence[Draft],
        origin: Origin,
        indexed_model: str | None,
    ) -> None:
        embedder = search.embedder
        self._search = search
        self._now = clock.now()
        self._config = config
        self._sources = book.data
        self._before = before
        self._untouched = untouched
        self._plan = plan
        self._drafts = drafts
        self._origin: Origin = origin
        self._other_model = embedder is not None and indexed_model is not None and indexed_model != embedder.model
        self._reindex_all = before is None or self._other_model or not untouched

    @property
    def changes_anything(self) -> bool:
        before = self._before
        return (
            before is None
            or self._other_model
            or bool(self._drafts or self._plan.removed)
            or any(kept.now != kept.before for kept in self._plan.kept)
            or (before.config, before.sources) != (self._config, self._sources)
        )

    def passages_to_index(self, rows: Rows) -> list[Passage]:
        """The stored passages to index again."""
        if not self._reindex_all:
            return []
        return [passage for document in self._untouched for passage in store.passages_of(rows, document.id)]

    def texts(self, stored: Sequence[Passage]) -> list[PassageText]:
        """The texts to index."""
        new = [
            _text((place, position), chunk.section, *draft.content(chunk))
            for place, draft in enumerate(self._drafts)
            for position, chunk in enumerate(draft.read.chunks)
        ]
        return new + [_text((_STORED, one.id), one.section, one.content, one.sentences) for one in stored]

    def run(self, tx: Transaction, texts: Sequence[PassageText], vectors: Mapping[Key, bytes]) -> int:
        """Store everything and return the new generation."""
        before, avatar_id = self._before, self._config.id
        current = store.avatar(tx, avatar_id)
        if (current and current.generation) != (before and before.generation):
            raise Conflict(
                f"Another ingest changed {avatar_id} while this one was reading.",
                hint="Nothing was stored. Run the ingest again.",
            )
        generation = before.generation + 1 if before else 1
        collection = f"avatar:{avatar_id}:{generation}" if self._reindex_all or before is None else before.collection
        number = current.number if current else store.make_avatar(tx, avatar_id, collection, self._now)
        self._clear(tx, collection)
        for kept in self._plan.kept:
            if kept.now != kept.before:
                store.describe_document(tx, kept.now)
        firsts = self._add(tx, number, generation)
        indexed = [
            Document(
                place if draft == _STORED else firsts[draft] + place, text.words, text.windows, vectors.get(text.key)
            )
            for text in texts
            for draft, place in [text.key]
        ]
        for start in range(0, len(indexed), _AT_ONCE):
            self._search.put(tx, collection, indexed[start : start + _AT_ONCE])
        if before is not None and collection != before.collection:
            self._search.drop(tx, before.collection)
        config, sources = _json(self._config.as_json()), None if self._sources is None else _json(self._sources)
        store.save_avatar(tx, number, config, sources, generation, collection, self._now)
        store.remove_checkpoints(tx, avatar_id)
        _announce(tx, avatar_id, new=before is None)
        return generation

    def _clear(self, tx: Transaction, collection: str) -> None:
        """Remove documents that are gone or replaced."""
        replaced = [draft.job.replaced for draft in self._drafts]
        for document in [*self._plan.removed, *(one for one in replaced if one is not None)]:
            if not self._reindex_all:
                self._search.remove(tx, collection, store.passage_ids(tx, document.id))
            store.remove_document(tx, document.id)

    def _add(self, tx: Transaction, number: int, generation: int) -> list[int]:
        """Store the new documents and return the number of each one's first passage."""
        firsts: list[int] = []
        first = store.take_numbers(tx, number, sum(len(draft.read.chunks) for draft in self._drafts))
        for draft in self._drafts:
            read = draft.read
            described = draft.document(self._origin, self._plan.pipeline, generation, self._now)
            document = store.add_document(tx, number, described, read.text)
            store.add_passages(tx, number, document, first, read.text, read.chunks)
            store.add_scans(tx, document, read.scans)
            firsts.append(first)
            first += len(read.chunks)
        return firsts


def remove_avatar(tx: Transaction, search: SearchIndex, avatar: Avatar) -> None:
    """Remove an avatar with its documents, its passages and its search index."""
    search.drop(tx, avatar.collection)
    store.remove_avatar(tx, avatar.number)
    store.remove_checkpoints(tx, avatar.id)
    list_changed(tx, "resources", "avatars")
    resource_updated(tx, f"avatar://{avatar.id}")
    listings_changed(tx)
    emit(tx, "avatars", "avatar.removed", [f"avatar://{avatar.id}"])


def _text(key: Key, section: str | None, content: str, sentences: Sequence[Span]) -> PassageText:
    """A passage as the search indexes it: its headings are among its words, the nearest one precedes each window."""
    parts = windows(content, sentences)
    if not section:
        return PassageText(key, content, parts)
    nearest = section.rpartition(SECTION_JOINT)[2][:_MOST_OF_HEADING]
    return PassageText(key, f"{section}\n{content}", [f"{nearest}\n{part}" for part in parts])


def _announce(tx: Transaction, avatar_id: str, *, new: bool) -> None:
    if new:
        list_changed(tx, "resources", "avatars")
    resource_updated(tx, f"avatar://{avatar_id}")
    resource_updated(tx, f"avatar://{avatar_id}/sources")
    listings_changed(tx)
    emit(tx, "avatars", "avatar.created" if new else "corpus.changed", [f"avatar://{avatar_id}"])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
