"""What search costs as a collection grows: vectors beside an exact scan, sqlite-vec and LanceDB; and whole questions.

One store grows from size to size. The vector part is asked for ten and compared with what an exact scan in memory finds
and takes; both take turns. The rivals scan exactly, too, each in a process of its own. The whole question has its words
looked up and its text embedded (by the real model, if it is here) as well; words are asked alone, too. Times are
medians of what a caller waits.
"""

import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks.effort import Effort
from benchmarks.environment import CACHE, ROOT, python_with, say
from benchmarks.search.material import DIMENSIONS, Vectors, Words, questions, vectors_file
from benchmarks.table import Figure, Goal
from pentad.kernel.ports import Database, Embedder, Rows
from pentad.net.fetch import HttpFetcher
from pentad.search import collection as collections
from pentad.search.documents import Document, Retrieval
from pentad.search.embedders import open_embedder
from pentad.search.files import VectorFiles
from pentad.search.index import EXACT_UP_TO, SearchIndex
from pentad.search.roster import Rosters
from pentad.settings.sources import load_settings
from pentad.storage.migration_files import STORAGE, MigrationSet
from pentad.storage.migrations import apply
from pentad.storage.open import open_database

_SETS: Final = (STORAGE, MigrationSet("search", "pentad.search.schema"))
_SMALL: Final = (1_000, 10_000)
_BATCH: Final = 5_000
_PER_ROUND: Final = 10
_RIVAL_QUESTIONS: Final = 7
_RIVALS: Final = ("sqlite-vec==0.1.9", "apsw", "lancedb==0.40.0", "pyarrow", "numpy")
_NUMPY: Final = f"numpy {np.__version__}, exact"


@dataclass(slots=True)
class Lane:
    """One size and what was measured at it, in milliseconds."""

    size: int
    documents_per_second: float
    vector: float = 0.0
    exact: float = 0.0
    recall: float = 0.0
    whole: float = 0.0
    words: float = 0.0


class Asked:
    """Embeds with the real model, so that its time counts, and answers with the vectors that were made."""

    def __init__(self, real: Embedder | None, vectors: Vectors) -> None:
        self.model = "made"
        self.dimensions = DIMENSIONS
        self._real = real
        self._vectors = vectors
        self._turn = 0

    async def embed(self, texts: Sequence[str]) -> bytes:
        if self._real is not None:
            await self._real.embed(texts)
        self._turn += 1
        return self._vectors[self._turn % len(self._vectors)].astype("<f4").tobytes()


def measure(effort: Effort) -> list[Figure]:
    """Every figure of this part."""
    sizes = tuple(sorted({*_SMALL, effort.objects, effort.objects * 10}))
    file = vectors_file(sizes[-1])
    rows: Vectors = np.load(file, mmap_mode="r")
    asked = questions(rows, effort.rounds * _PER_ROUND)
    python = python_with("vectors", _RIVALS)
    lanes = asyncio.run(_grown(sizes, rows, asked, effort))
    figures: list[Figure] = []
    for lane in lanes:
        figures += _figures(lane, _rivals(python, file, asked, lane.size))
    return figures


async def _grown(sizes: Sequence[int], rows: Vectors, asked: Vectors, effort: Effort) -> list[Lane]:
    settings = load_settings({})
    fetcher = HttpFetcher(settings.fetch)
    chosen = settings.search.embedder
    real = open_embedder(chosen, settings.model_folders(), settings.remote_embedder(), fetcher)
    lanes: list[Lane] = []
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        database = await open_database(None, Path(folder))
        try:
            await apply(database, _SETS)
            index = SearchIndex(database, Path(folder) / "search", Asked(real, asked))
            for before, size in zip((0, *sizes), sizes, strict=False):
                say(f"Search: writing passages up to {size:,} ...")
                lanes.append(Lane(size, (size - before) / await _fill(database, index, rows, before, size)))
                await index.tidy()
                await _vector_part(lanes[-1], database, Path(folder), rows, asked)
                lanes[-1].whole = await _asked(index, "hybrid", size, effort)
                by_words = SearchIndex(database, Path(folder) / "search")
                lanes[-1].words = await _asked(by_words, "lexical", size, effort)
        finally:
            await database.close()
            await fetcher.close()
            if real is not None:
                real.close()
    return lanes


async def _fill(database: Database, index: SearchIndex, rows: Vectors, first: int, last: int) -> float:
    """Seconds spent indexing; making the passages is not timed, and their vectors are there already."""
    words, spent = Words(), 0.0
    for start in range(first, last, _BATCH):
        count = min(_BATCH, last - start)
        batch = [
            Document(start + place, text, ["made"], rows[start + place].tobytes())
            for place, text in enumerate(words.passages(start, count))
        ]
        before = time.perf_counter()
        await database.write(lambda tx, batch=batch: index.put(tx, "bench", batch))
        spent += time.perf_counter() - before
    return spent


async def _vector_part(lane: Lane, database: Database, folder: Path, rows: Vectors, asked: Vectors) -> None:
    files, rosters = VectorFiles(folder / "search", EXACT_UP_TO), Rosters()
    whole = np.array(rows[: lane.size])
    times: tuple[list[float], list[float]] = [], []
    right = 0

    def work(read: Rows) -> None:
        nonlocal right
        collection = collections.found(read, "bench")
        if collection is None:
            raise SystemExit("The collection under measurement is gone.")
        members = rosters.members(read, collection)
        files.nearest(read, collection, members, None, asked[0], 10)
        for question in asked:
            start = time.perf_counter()
            near = files.nearest(read, collection, members, None, question, 10)
            middle = time.perf_counter()
            cosines = whole @ question
            best = np.argpartition(cosines, -10)[-10:]
            times[1].append((time.perf_counter() - middle) * 1e3)
            times[0].append((middle - start) * 1e3)
            right += len(set(members.ids[near.documents].tolist()) & set(best.tolist()))

    await database.read(work)
    lane.vector, lane.exact = median(times[0]), median(times[1])
    lane.recall = right / (10 * len(asked))


async def _asked(index: SearchIndex, retrieval: Retrieval, size: int, effort: Effort) -> float:
    """The median of whole questions, in milliseconds; no question comes twice."""
    words = Words()
    times: list[float] = []
    await index.search("bench", words.question(size), limit=10)
    for turn in range(effort.rounds * _PER_ROUND):
        text = words.question(size + turn + 1)
        start = time.perf_counter()
        found = await index.search("bench", text, limit=10)
        times.append((time.perf_counter() - start) * 1e3)
        if found.retrieval != retrieval or len(found.hits) != 10:
            raise SystemExit(f"A question under measurement was not answered as it should: {retrieval}.")
    return median(times)


def _rivals(python: Path, file: Path, asked: Vectors, size: int) -> dict[str, float]:
    say(f"Search: sqlite-vec and LanceDB over {size:,} vectors ...")
    place = CACHE / "search" / "questions.npy"
    np.save(place, asked[:_RIVAL_QUESTIONS])
    script = ROOT / "benchmarks" / "rivals" / "vector_stores.py"
    done = subprocess.run([python, script, file, place, str(size)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _figures(lane: Lane, rivals: dict[str, float]) -> Iterator[Figure]:
    bound = {10_000: 2.0, 1_000_000: 0.25}.get(lane.size)
    goal = None if bound is None else Goal("at most", bound)
    group = f"Search, {lane.size:,} vectors of {DIMENSIONS} dimensions, beside an exact scan"
    yield Figure(group, "vector part, nearest 10", "ms", lane.vector, lane.exact, goal, against=_NUMPY)
    yield Figure(
        group, "recall of the nearest 10", "", lane.recall, None, Goal("at least", 0.99, "figure"), against=_NUMPY
    )
    more = lane.whole - lane.vector
    yield Figure(
        group,
        "whole question beyond the vector part",
        "ms",
        more,
        None,
        Goal("at most", 15.0, "figure"),
        against=_NUMPY,
    )
    yield Figure(group, "words alone", "ms", lane.words, None, Goal("at most", 10.0, "figure"), against=_NUMPY)
    yield Figure(group, "indexing, vectors given", "documents/s", lane.documents_per_second, None, against=_NUMPY)
    for name, theirs in rivals.items():
        group = f"Search, {lane.size:,} vectors, beside {name}"
        yield Figure(group, "vector part, nearest 10", "ms", lane.vector, theirs, Goal("at most", 1.0), against=name)
