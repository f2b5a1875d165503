"""One store that grows from size to size, and what is measured at each of them.

Times are what a caller waits, as medians. What is compared takes turns: the vector part and an exact scan in memory;
then whole questions (words looked up and text embedded by the real model, if it is here), the vector part, and words
alone. Writing counts until everything is ready to be asked: lists merged, files for the vectors made.
"""

import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks.effort import Effort
from benchmarks.environment import CACHE, say
from benchmarks.search.material import DIMENSIONS, Vectors, Words
from pentad.kernel.ports import Database, Embedder, Rows
from pentad.net.fetch import HttpFetcher
from pentad.search import collection as collections
from pentad.search.document_table import DocumentTables
from pentad.search.documents import Document, Retrieval
from pentad.search.embedders import open_embedder
from pentad.search.index import EXACT_UP_TO, SearchIndex
from pentad.search.vector_files import VectorFiles
from pentad.settings.sources import load_settings
from pentad.storage.migrations import STORAGE, MigrationSet, apply
from pentad.storage.open import open_database

PER_ROUND: Final = 10
_SETS: Final = (STORAGE, MigrationSet("search", "pentad.search.schema"))
_NAME: Final = "bench"
_BATCH: Final = 5_000
_TOLD: Final = 100_000
"""Passages between two lines of progress."""


@dataclass(slots=True)
class Lane:
    """One size and what was measured at it; times in milliseconds."""

    size: int
    passages_per_second: float
    vectors_per_second: float
    vector: float = 0.0
    exact: float = 0.0
    recall: float = 0.0
    beyond: float = 0.0
    words: float = 0.0
    embedded: bool = False


class QuestionEmbedder:
    """Embeds with the real model, so that its time counts, and answers with the vectors that were made."""

    def __init__(self, real: Embedder | None, vectors: Vectors) -> None:
        self.model = "made"
        self.dimensions = DIMENSIONS
        self._real = real
        self._vectors = vectors
        self._turn = 0

    def embeds_with(self, real: Embedder | None) -> None:
        """Embed with another model from now on, or with none."""
        self._real = real

    async def embed(self, texts: Sequence[str]) -> bytes:
        if self._real is not None:
            await self._real.embed(texts)
        first, self._turn = self._turn + 1, self._turn + len(texts)
        rows = [turn % len(self._vectors) for turn in range(first, self._turn + 1)]
        return self._vectors[rows].astype("<f4").tobytes()


@dataclass(frozen=True, slots=True)
class Store:
    """The store under measurement."""

    database: Database
    folder: Path
    index: SearchIndex

    @property
    def files(self) -> Path:
        return self.folder / "search"


async def grown(sizes: Sequence[int], rows: Vectors, asked: Vectors, effort: Effort) -> AsyncIterator[Lane]:
    """Every size in turn; the store grows on when the next one is asked for."""
    settings = load_settings({})
    fetcher = HttpFetcher(settings.fetch)
    real = open_embedder(settings.search.embedder, settings.model_folders(), settings.remote_embedder(), fetcher)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        database = await open_database(None, Path(folder))
        try:
            await apply(database, _SETS)
            store = Store(
                database, Path(folder), SearchIndex(database, Path(folder) / "search", QuestionEmbedder(real, asked))
            )
            for before, size in zip((0, *sizes), sizes, strict=False):
                say(f"Search: writing passages up to {size:,} ...")
                spent = await _fill(store, rows, before, size, Words())
                lane = Lane(size, (size - before) / spent, await _vectors_alone(rows, asked, size))
                say(f"Search: asking {size:,} passages ...")
                await _beside_a_scan(lane, store, rows, asked)
                await _whole(lane, store, asked, effort)
                lane.embedded = real is not None
                say(f"  vectors {lane.vector:.1f} ms, a scan {lane.exact:.1f} ms, beyond {lane.beyond:.1f} ms")
                yield lane
        finally:
            await database.close()
            await fetcher.close()
            if real is not None:
                real.close()


async def _vectors_alone(rows: Vectors, asked: Vectors, size: int) -> float:
    """Vectors written a second into a store of their own, no words with them."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        database = await open_database(None, Path(folder))
        try:
            await apply(database, _SETS)
            index = SearchIndex(database, Path(folder) / "search", QuestionEmbedder(None, asked))
            return size / await _fill(Store(database, Path(folder), index), rows, 0, size, None)
        finally:
            await database.close()


async def _fill(store: Store, rows: Vectors, first: int, last: int, words: Words | None) -> float:
    """Seconds spent indexing; making the passages is not timed, and their vectors are there already."""
    spent = 0.0
    for start in range(first, last, _BATCH):
        count = min(_BATCH, last - start)
        texts = [""] * count if words is None else words.passages(start, count)
        batch = [
            Document(start + place, text, ["made"], rows[start + place].tobytes()) for place, text in enumerate(texts)
        ]
        before = time.perf_counter()
        await store.database.write(lambda tx, batch=batch: store.index.put(tx, _NAME, batch))
        spent += time.perf_counter() - before
        if (start + count) % _TOLD == 0:
            say(f"  {start + count:,}")
    before = time.perf_counter()
    await store.index.tidy()
    return spent + time.perf_counter() - before


class VectorPart:
    """The vector part of a question by itself."""

    def __init__(self, store: Store) -> None:
        self._files = VectorFiles(store.files, EXACT_UP_TO)
        self._tables = DocumentTables()

    def nearest(self, read: Rows, question: Vectors) -> tuple[float, list[int]]:
        """How many milliseconds it takes to find the nearest ten, and their ids."""
        collection = collections.find(read, _NAME)
        if collection is None:
            raise SystemExit("The collection under measurement is gone.")
        members = self._tables.members(read, collection)
        start = time.perf_counter()
        near = self._files.nearest(read, collection, members, None, question, 10)
        return (time.perf_counter() - start) * 1e3, members.ids[near.documents].tolist()


async def _beside_a_scan(lane: Lane, store: Store, rows: Vectors, asked: Vectors) -> None:
    whole = np.array(rows[: lane.size])
    times: tuple[list[float], list[float]] = [], []
    right = 0

    def work(read: Rows) -> None:
        nonlocal right
        part = VectorPart(store)
        part.nearest(read, asked[0])
        for question in asked:
            took, found = part.nearest(read, question)
            start = time.perf_counter()
            cosines = whole @ question
            best = np.argpartition(cosines, -10)[-10:]
            times[1].append((time.perf_counter() - start) * 1e3)
            times[0].append(took)
            right += len(set(found) & set(best.tolist()))

    await store.database.read(work)
    lane.vector, lane.exact = median(times[0]), median(times[1])
    lane.recall = right / (10 * len(asked))


async def _whole(lane: Lane, store: Store, asked: Vectors, effort: Effort) -> None:
    """Whole questions beside the vector part of others, and words alone; no question comes twice."""
    by_words, part, words = SearchIndex(store.database, store.files), VectorPart(store), Words()
    turns: list[tuple[float, float, float]] = []
    for turn in range(effort.rounds * PER_ROUND + 1):
        text = words.question(lane.size + turn)
        whole = await _timed(store.index, text, "hybrid")
        near, _ = await store.database.read(lambda read, turn=turn: part.nearest(read, asked[turn % len(asked)]))
        turns.append((whole, near, await _timed(by_words, text, "lexical")))
    wholes, nears, lexicals = zip(*turns[1:], strict=True)  # the first turn warms up
    lane.beyond = median(wholes) - median(nears)
    lane.words = median(lexicals)


async def _timed(index: SearchIndex, text: str, retrieval: Retrieval) -> float:
    """How many milliseconds a question takes, with its answer checked."""
    start = time.perf_counter()
    found = await index.search(_NAME, text, limit=10)
    took = (time.perf_counter() - start) * 1e3
    if found.retrieval != retrieval or len(found.hits) != 10:
        raise SystemExit(f"A question under measurement was not answered as it should: {retrieval}.")
    return took
