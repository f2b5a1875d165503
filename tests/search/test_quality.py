"""Ranking on a small judged collection stays as good as it was; the measures are right."""

import json
import os
from pathlib import Path

import pytest

from benchmarks.search.quality import Judged, load, ndcg, rankings, recall
from pentad.kernel.ports import Database
from pentad.net.fetch import HttpFetcher
from pentad.search.embedders import open_embedder
from tests.search.judged import DOCUMENTS, QUERIES
from tests.stores import Stores

JUDGED = Judged(
    DOCUMENTS,
    {query: query for query in QUERIES},
    {query: {name: grade for name, grade in grades.items() if grade} for query, grades in QUERIES.items()},
)


@pytest.mark.anyio
async def test_words_alone_rank_the_judged_notes_well(database: Database, stores: Stores):
    scores = await rankings(JUDGED, database, stores.data / "search", None)
    assert list(scores) == ["lexical"]
    assert scores["lexical"].ndcg_10 >= 0.9


@pytest.mark.anyio
async def test_words_and_vectors_together_rank_them_better_than_words(database: Database, stores: Stores):
    fetcher = HttpFetcher()
    models = os.environ.get("PENTAD_MODELS", str(Path(__file__).parents[2] / ".cache" / "models"))
    embedder = open_embedder("auto", [Path(models)], None, fetcher)
    if embedder is None:
        pytest.skip("No embedding model is here: `pentad models pull` fetches it.")
    try:
        scores = await rankings(JUDGED, database, stores.data / "search", embedder)
    finally:
        embedder.close()
        await fetcher.close()
    assert scores["hybrid"].ndcg_10 >= max(0.95, scores["lexical"].ndcg_10)
    assert scores["hybrid"].recall_10 == 1.0


def test_measures_are_those_of_the_books():
    grades = {"a": 2, "b": 1}
    assert ndcg(["a", "b"], grades, 10) == 1.0
    assert ndcg(["x", "a"], grades, 10) == pytest.approx((2 / 1.5849625) / (2 + 1 / 1.5849625))
    assert recall(["x", "b"], grades, 10) == 0.5
    assert recall(["x", "b"], grades, 1) == 0.0


def test_a_folder_is_read_as_it_is_published(tmp_path: Path):
    (tmp_path / "corpus.jsonl").write_text(
        json.dumps({"_id": "d1", "title": "T", "text": "x"}) + "\n", encoding="utf-8"
    )
    queries = [{"_id": "q1", "text": "a"}, {"_id": "q2", "text": "unjudged"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n", encoding="utf-8")
    assert load(tmp_path) == Judged({"d1": "T x"}, {"q1": "a"}, {"q1": {"d1": 1}})
