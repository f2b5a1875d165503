"""Avatar folders for tests, and what brings them in over a real store."""

import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pentad.app import CORE_SETS
from pentad.documents.sandbox import ReadingLimits
from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Database, Embedder
from pentad.rooms.avatars import store
from pentad.rooms.avatars.corpus.ingest import Ingest
from pentad.rooms.avatars.corpus.ingest_report import IngestReport
from pentad.rooms.avatars.corpus.publish_generation import remove_avatar
from pentad.rooms.avatars.models import Avatar, AvatarInfo, CorpusDocument, Passage
from pentad.rooms.avatars.service import find_avatar
from pentad.rooms.avatars.store import Filters
from pentad.search.documents import Ranking
from pentad.search.index import SearchIndex
from pentad.storage.migrations import MigrationSet

CONFIG: dict[str, Any] = {
    "id": "ada-water",
    "name": "Ada Water",
    "description": "She studied how villages share water.",
    "birthYear": 1900,
    "deathYear": 1980,
    "expertise": ["irrigation", "turns"],
    "corpus": {
        "description": "Her papers.",
        "dateRange": {"start": "1920-01-01", "end": "1979-12-31"},
        "sources": [
            {"title": "Turns", "type": "book", "year": 1950, "archiveUrl": "https://archive.example/turns"},
        ],
    },
    "systemPrompt": {
        "identity": "represents documented research",
        "tone": "plain",
        "constraints": ["no speculation"],
        "citationStyle": "first person past tense",
    },
    "vectorStore": {"chunkSize": 60, "chunkOverlap": 12},
    "mcp": {"name": "avatar-ada-water", "version": "1.2.0", "tools": ["query_corpus", "get_avatar_info"]},
}


def avatar_folder(folder: Path, documents: Mapping[str, bytes], sources: Any = None, **config: Any) -> Path:
    """An avatar's folder with these documents under `corpus/`."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    if sources is not None:
        (corpus / "sources.json").write_text(json.dumps(sources))
    for name, data in documents.items():
        (corpus / name).parent.mkdir(parents=True, exist_ok=True)
        (corpus / name).write_bytes(data)
    return folder


def statuses(report: IngestReport) -> dict[str, str]:
    """What became of each file."""
    return {line.path: line.status for line in report.lines}


class HashedWords:
    """An embedder for tests: the words of a text, each thrown into one of a few dimensions by its hash."""

    def __init__(self, model: str = "hashed-words", dimensions: int = 32) -> None:
        self.model = model
        self.dimensions = dimensions
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> bytes:
        self.embedded += texts
        return b"".join(map(self._row, texts))

    def _row(self, text: str) -> bytes:
        row = [0.01] * self.dimensions
        for word in text.lower().split():
            row[hashlib.sha256(word.encode()).digest()[0] % self.dimensions] += 1.0
        length = math.sqrt(sum(value * value for value in row))
        return struct.pack(f"<{self.dimensions}f", *(value / length for value in row))


class Corpora:
    """Reads what an ingest stored, of every avatar."""

    def __init__(self, database: Database, search: SearchIndex) -> None:
        self._database = database
        self._search = search

    async def list(self) -> list[AvatarInfo]:
        """Every avatar, by id."""
        return await self._database.read(store.avatars)

    async def get(self, avatar_id: str) -> Avatar:
        """One avatar as it is now; NotFound names one that may be meant."""
        return await self._database.read(lambda rows: find_avatar(rows, avatar_id))

    async def sources(self, avatar: Avatar) -> Sequence[CorpusDocument]:
        """The documents of an avatar."""
        return await self._database.read(lambda rows: store.documents(rows, avatar.number))

    async def passages(self, avatar: Avatar, ids: Sequence[int]) -> Sequence[Passage]:
        """Passages by number, in the order asked for; those that are gone are passed over."""
        return await self._database.read(lambda rows: store.passages(rows, avatar.number, ids))

    async def text(self, document: int) -> str:
        """The whole text of a document: what character ranges point into."""
        text = await self._database.read(lambda rows: store.text_of(rows, document))
        assert text is not None
        return text

    async def ranking(self, avatar: Avatar, query: str, limit: int, filters: Filters | None = None) -> Ranking:
        """The best passages by number. Documents a filter excludes take no part at all."""
        allowed = None
        if filters is not None and not filters.empty:
            allowed = await self._database.read(lambda rows: store.allowed(rows, avatar.number, filters))
        return await self._search.search(avatar.collection, query, limit=limit, allowed=allowed)

    async def remove(self, avatar_id: str) -> None:
        await self._database.write(lambda tx: remove_avatar(tx, self._search, find_avatar(tx, avatar_id)))


class Library:
    """One store with all that ingests into it and reads from it."""

    def __init__(
        self, database: Database, folder: Path, embedder: Embedder | None = None, limits: ReadingLimits | None = None
    ) -> None:
        self.database = database
        self.search = SearchIndex(database, folder / "search", embedder)
        self.ingest = Ingest(database, self.search, SystemClock(), limits)
        self.corpora = Corpora(database, self.search)

    async def found(self, query: str, avatar: str = "ada-water", limit: int = 10) -> list[str]:
        """The contents of the passages a question finds."""
        one = await self.corpora.get(avatar)
        ranking = await self.corpora.ranking(one, query, limit)
        return [passage.content for passage in await self.corpora.passages(one, [hit.id for hit in ranking.hits])]

    async def everything(self, avatar: str = "ada-water") -> dict[int, str]:
        """Every passage by number."""
        one = await self.corpora.get(avatar)
        rows = await self.database.read(
            lambda rows: rows.all("SELECT id, content FROM avatar_passages WHERE avatar = ? ORDER BY id", one.number)
        )
        return dict(rows)


SETS = (*CORE_SETS, MigrationSet("avatars", "pentad.rooms.avatars.schema"))
