"""An avatar at one moment: its persona, calibration and corpus.

A call works on one snapshot. If an ingest finishes meanwhile, the next call sees it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Database, Rows
from pentad.rooms.avatars import store
from pentad.rooms.avatars.models import Avatar, CorpusDocument, Passage
from pentad.rooms.avatars.persona import Persona, persona_of
from pentad.rooms.avatars.store import Filters
from pentad.search.documents import Ranking
from pentad.search.index import SearchIndex

if TYPE_CHECKING:
    from pentad.rooms.avatars.calibration.model import Calibration

_LONGEST_NUMBER: Final = 10


@dataclass(frozen=True)
class AvatarSnapshot:
    """An avatar with its corpus (implements `retrieval.Corpus`)."""

    avatar: Avatar
    calibration: "Calibration"
    database: Database
    index: SearchIndex

    @cached_property
    def _persona(self) -> Persona:
        return persona_of(self.avatar.config)

    @property
    def id(self) -> str:
        return self.avatar.id

    @property
    def persona(self) -> Persona:
        return self._persona

    async def search(self, query: str, limit: int, allowed: Sequence[int] | None = None) -> Ranking:
        """The best passages, by number, among those allowed."""
        return await self.index.search(self.avatar.collection, query, limit=limit, allowed=allowed)

    async def passages(self, ids: Sequence[int]) -> Sequence[Passage]:
        """The passages with these numbers, in this order. Missing ones are skipped."""
        return await self.database.read(lambda rows: store.passages(rows, self.avatar.number, ids))

    async def sources(self) -> Sequence[CorpusDocument]:
        """The documents."""
        return await self.database.read(lambda rows: store.documents(rows, self.avatar.number))

    async def source(self, document: int) -> CorpusDocument | None:
        """One document."""
        return await self.database.read(lambda rows: store.document(rows, self.avatar.number, document))

    async def some_sources(self, words: str, most: int, offset: int = 0) -> Sequence[CorpusDocument]:
        """Some of the documents whose title has these words."""
        work = store.some_documents
        return await self.database.read(lambda rows: work(rows, self.avatar.number, words, most, offset))

    async def neighbours(self, passage: Passage) -> tuple[int | None, int | None]:
        """The numbers of the passages before and after this one in its document."""
        return await self.database.read(lambda rows: store.neighbours(rows, passage.document, passage.position))

    async def passage_ids(self, document: int, most: int, offset: int = 0) -> Sequence[int]:
        """The numbers of some of a document's passages, in order."""
        return await self.database.read(lambda rows: store.some_passage_ids(rows, document, most, offset))

    async def page_picture(self, source_id: str, page: str) -> bytes:
        """The picture of a scanned page of a source, as WebP."""
        number = int(page) if page.isdecimal() and len(page) < _LONGEST_NUMBER else 0
        found = await self.database.read(lambda rows: store.page_picture(rows, self.avatar.number, source_id, number))
        if found is None:
            hint = "Only pages whose text was recognized have one; `page_image` of a citation names it."
            raise NotFound(f"{source_id[:60]!r} has no picture of page {page[:20]!r}.", hint=hint)
        return found

    async def allowed(self, filters: Filters) -> Sequence[int] | None:
        """The numbers of the passages that match the filters; None for all."""
        if filters.empty:
            return None
        return await self.database.read(lambda rows: store.allowed(rows, self.avatar.number, filters))

    async def some_passages(self, most: int) -> Sequence[Passage]:
        """Passages spread over the corpus, always the same ones."""

        def work(rows: Rows) -> Sequence[Passage]:
            ids = store.numbers(rows, self.avatar.number)
            step = max(1, -(-len(ids) // most))
            return store.passages(rows, self.avatar.number, ids[::step])

        return await self.database.read(work)


@dataclass(frozen=True)
class WithoutDocument:
    """An avatar whose corpus has only some of its passages (implements `retrieval.Corpus`)."""

    whole: AvatarSnapshot
    kept: Sequence[int]

    @property
    def persona(self) -> Persona:
        return self.whole.persona

    @property
    def calibration(self) -> "Calibration":
        return self.whole.calibration

    async def search(self, query: str, limit: int, allowed: Sequence[int] | None = None) -> Ranking:
        kept = self.kept if allowed is None else sorted(set(allowed) & set(self.kept))
        return await self.whole.search(query, limit, kept)

    async def passages(self, ids: Sequence[int]) -> Sequence[Passage]:
        return await self.whole.passages(ids)


def sentences_of(passages: Sequence[Passage]) -> list[str]:
    """The sentences of these passages, without duplicates."""
    return list(dict.fromkeys(passage.content[start:end] for passage in passages for start, end in passage.sentences))
