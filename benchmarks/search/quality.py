"""How good search is on a judged collection: `python -m benchmarks.search.quality FOLDER`.

The folder has `corpus.jsonl` ({"_id", "title", "text"}), `queries.jsonl` ({"_id", "text"}) and judgements as
tab-separated `query-id  corpus-id  score` in `qrels/test.tsv` or `qrels.tsv`. It prints nDCG@10 and recall at 10
and 100 by words, by vectors and by both. Collections are not part of this repository; scores may be.
"""

import argparse
import asyncio
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from benchmarks.environment import say
from pentad.kernel.ports import Database, Embedder
from pentad.net.fetch import HttpFetcher
from pentad.search.documents import Document
from pentad.search.embedders import open_embedder
from pentad.search.index import SearchIndex
from pentad.settings.sources import load_settings
from pentad.storage.migrations import STORAGE, MigrationSet, apply
from pentad.storage.open import open_database

DEPTH: Final = 100
_SETS: Final = (STORAGE, MigrationSet("search", "pentad.search.schema"))
_BATCH: Final = 1_000


@dataclass(frozen=True, slots=True)
class Judged:
    """A collection with what people found relevant in it."""

    documents: Mapping[str, str]
    queries: Mapping[str, str]
    judgements: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Score:
    """Means over all judged queries."""

    ndcg_10: float
    recall_10: float
    recall_100: float


def load(folder: Path) -> Judged:
    """Read a collection; queries without a judgement are left out."""
    documents = {row["_id"]: f"{row.get('title', '')} {row['text']}".strip() for row in _lines(folder / "corpus.jsonl")}
    judgements: dict[str, dict[str, int]] = {}
    place = folder / "qrels" / "test.tsv"
    for line in (place if place.exists() else folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split("\t")
        if grade.lstrip("-").isdigit() and int(grade) > 0:
            judgements.setdefault(query, {})[document] = int(grade)
    queries = {row["_id"]: row["text"] for row in _lines(folder / "queries.jsonl") if row["_id"] in judgements}
    return Judged(documents, queries, judgements)


def scored(judged: Judged, rankings: Mapping[str, Sequence[str]]) -> Score:
    """What rankings are worth."""
    each = [(rankings[query], judged.judgements[query]) for query in judged.queries]
    return Score(
        fmean(ndcg(ranking, grades, 10) for ranking, grades in each),
        fmean(recall(ranking, grades, 10) for ranking, grades in each),
        fmean(recall(ranking, grades, 100) for ranking, grades in each),
    )


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """The gain of a ranking, discounted by place, over that of the best one possible."""
    gained = sum(grades.get(document, 0) / math.log2(place + 2) for place, document in enumerate(ranking[:depth]))
    ideal = sorted(grades.values(), reverse=True)[:depth]
    return gained / sum(grade / math.log2(place + 2) for place, grade in enumerate(ideal))


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """The share of relevant documents among the first."""
    return len(grades.keys() & set(ranking[:depth])) / len(grades)


async def rankings(judged: Judged, database: Database, folder: Path, embedder: Embedder | None) -> dict[str, Score]:
    """Index the collection and ask every query, in each way there is."""
    names = list(judged.documents)
    texts = list(judged.documents.values())
    index = SearchIndex(database, folder, embedder)
    rows: list[bytes] = []
    for start in range(0, len(names), _BATCH):
        part = texts[start : start + _BATCH]
        data = None if embedder is None else await embedder.embed(part)
        width = 0 if embedder is None else embedder.dimensions * 4
        documents = [
            Document(start + place, text, [text], None if data is None else data[place * width : (place + 1) * width])
            for place, text in enumerate(part)
        ]
        rows += [data] if data is not None else []
        await database.write(lambda tx, documents=documents: index.put(tx, "judged", documents))
        say(f"{min(start + _BATCH, len(names)):,} of {len(names):,} documents")
    plain = SearchIndex(database, folder)
    found = {"lexical": await _asked(plain, judged, names)}
    if embedder is not None:
        found["dense"] = await _dense(judged, embedder, np.frombuffer(b"".join(rows), "<f4"), names)
        found["hybrid"] = await _asked(index, judged, names)
    return {way: scored(judged, each) for way, each in found.items()}


async def _asked(index: SearchIndex, judged: Judged, names: Sequence[str]) -> dict[str, list[str]]:
    return {
        query: [names[hit.id] for hit in (await index.search("judged", text, limit=DEPTH)).hits]
        for query, text in judged.queries.items()
    }


async def _dense(
    judged: Judged, embedder: Embedder, rows: "np.ndarray[Any, np.dtype[np.float32]]", names: Sequence[str]
) -> dict[str, list[str]]:
    matrix = rows.reshape(-1, embedder.dimensions)
    found: dict[str, list[str]] = {}
    for query, text in judged.queries.items():
        cosines = matrix @ np.frombuffer(await embedder.embed([text]), "<f4")
        found[query] = [names[int(place)] for place in np.argsort(-cosines, kind="stable")[:DEPTH]]
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


async def _run(folder: Path) -> dict[str, Score]:
    settings = load_settings({})
    fetcher = HttpFetcher(settings.fetch)
    chosen = settings.search.embedder
    embedder = open_embedder(chosen, settings.model_folders(), settings.remote_embedder(), fetcher)
    with tempfile.TemporaryDirectory() as data:
        database = await open_database(None, Path(data))
        try:
            await apply(database, _SETS)
            return await rankings(load(folder), database, Path(data) / "search", embedder)
        finally:
            await database.close()
            await fetcher.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search.quality", description="Score a judged folder.")
    parser.add_argument("folder", type=Path)
    print(f"{'':<10}{'nDCG@10':>10}{'recall@10':>12}{'recall@100':>12}")
    for way, score in asyncio.run(_run(parser.parse_args().folder)).items():
        print(f"{way:<10}{score.ndcg_10:>10.3f}{score.recall_10:>12.3f}{score.recall_100:>12.3f}")


if __name__ == "__main__":
    main()
