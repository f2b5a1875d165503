"""Chores: merging, clearing away, vectors that come later, indexes for large collections."""

import numpy as np
import pytest

from pentad.kernel.ports import Database
from pentad.search import index as index_module
from pentad.search import posting_lists, segments
from pentad.search.documents import Document
from pentad.search.index import SearchIndex
from tests.search.hashing import HashingEmbedder
from tests.search.opening import SENTENCES, found, put, remove
from tests.stores import Stores
from tests.waiting import until

pytestmark = pytest.mark.anyio
TABLES = ("collections", "fields", "documents", "segments", "lengths", "postings", "removed", "vectors", "pending")


class Neighbours(HashingEmbedder):
    """Asks for what is near the row a question names."""

    def __init__(self, rows: np.ndarray) -> None:
        super().__init__(dimensions=rows.shape[1])
        self._rows = rows

    def vector(self, text: str) -> np.ndarray:
        if not text.isdecimal():  # the questions a model is measured with
            return super().vector(text)
        near = self._rows[int(text)] + 0.05 * np.random.default_rng(int(text)).standard_normal(self.dimensions)
        return (near / np.linalg.norm(near)).astype("<f4")


async def count(database: Database, table: str) -> int:
    return await database.read(lambda rows: rows.value(f"SELECT count(*) FROM search_{table}"))


async def test_many_small_segments_become_few(database: Database, index: SearchIndex):
    for number in range(40):
        await put(database, index, {number: f"ship number{number}"})
    await remove(database, index, range(5))
    before = await index.search("shore", "ship number7", limit=50)
    assert await count(database, "postings") == 80
    await index.tidy()
    assert await count(database, "segments") < 8
    assert await count(database, "postings") < 45
    assert await index.search("shore", "ship number7", limit=50) == before


async def test_lists_of_removed_documents_are_dropped_by_a_merge(database: Database, index: SearchIndex):
    for number in range(9):
        await put(database, index, {number: f"only{number}"})
    await remove(database, index, [3])
    await index.tidy()
    left = await database.read(lambda rows: rows.value("SELECT count(*) FROM search_postings WHERE term = 'only3'"))
    assert left == 0


async def test_nothing_is_left_of_a_dropped_collection(database: Database, index: SearchIndex, stores: Stores):
    await put(database, index, SENTENCES)
    await put(database, index, {7: "waiting"}, with_vectors=False)
    await remove(database, index, [1])
    await found(index, "ships")
    await database.write(lambda tx: index.drop(tx, "shore"))
    await index.tidy()
    assert {table: await count(database, table) for table in TABLES} == dict.fromkeys(TABLES, 0)
    assert list((stores.data / "search").glob("*")) == []


async def test_documents_get_their_vectors_later(database: Database, index: SearchIndex, embedder: HashingEmbedder):
    await put(database, index, SENTENCES, with_vectors=False)
    assert (await index.search("shore", "ships", limit=3)).retrieval == "lexical"
    await remove(database, index, [6])
    assert await index.embed_pending() == 5
    assert await count(database, "pending") == 0
    ranking = await index.search("shore", "ships", limit=9)
    assert ranking.retrieval == "hybrid"
    assert all(hit.cosine is not None for hit in ranking.hits)


async def test_what_waits_is_embedded_and_merged_in_the_background(
    database: Database, stores: Stores, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index_module, "_SECONDS_BETWEEN", 0.02)
    index = SearchIndex(database, stores.data / "search", embedder, quiet_seconds=0.0)
    await put(database, index, {0: "left over"}, with_vectors=False)
    index.start()
    try:
        await until(lambda: count(database, "pending"), lambda waiting: waiting == 0)
        for number in range(1, 12):
            await put(database, index, {number: f"ship {number}"}, with_vectors=False)

        async def is_tidy() -> bool:
            return await count(database, "pending") == 0 and await count(database, "segments") <= 8

        await until(is_tidy)
    finally:
        await index.stop()


async def test_nothing_is_embedded_in_the_background_while_somebody_is_at_work(
    database: Database, stores: Stores, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index_module, "_SECONDS_BETWEEN", 0.02)
    index = SearchIndex(database, stores.data / "search", embedder, quiet_seconds=3_600.0)
    index.start()
    try:
        for number in range(20):
            await put(database, index, {number: f"ship {number}"}, with_vectors=False)
        await until(lambda: count(database, "segments"), lambda segments: segments <= 8)
        assert await count(database, "pending") == 20
        assert embedder.asked == []
    finally:
        await index.stop()


async def test_no_more_are_embedded_at_once_than_asked_for(
    database: Database, index: SearchIndex, embedder: HashingEmbedder
):
    await put(database, index, SENTENCES, with_vectors=False)
    assert await index.embed_pending(4) == 4
    assert len(embedder.asked) == 4
    assert await count(database, "pending") == 2


async def test_many_documents_at_once_become_several_segments(
    database: Database, index: SearchIndex, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(posting_lists, "MOST_DOCUMENTS", 4)
    await put(database, index, SENTENCES)
    assert await count(database, "segments") == 2
    assert set(await found(index, "lighthouse copper ships")) == set(SENTENCES)
    assert (await found(index, "letters"))[0] == 6


async def test_segments_that_fill_one_are_merged_however_few(
    database: Database, index: SearchIndex, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(segments, "MOST_DOCUMENTS", 20)
    for start in (0, 9, 18):
        await put(
            database, index, {number: f"ship number{number} " + "grain " * number for number in range(start, start + 9)}
        )
    before = await index.search("shore", "ship grain number12", limit=50)
    await index.tidy()
    sizes = "SELECT documents FROM search_segments ORDER BY first_document"
    assert await database.read(lambda rows: rows.all(sizes)) == [(18,), (9,)]
    assert await index.search("shore", "ship grain number12", limit=50) == before


@pytest.mark.interop
async def test_a_large_collection_is_searched_almost_exactly(database: Database, stores: Stores):
    random = np.random.default_rng(5)
    centres = random.standard_normal((40, 128))
    vectors = centres[random.integers(0, 40, 1_500)] + 0.5 * random.standard_normal((1_500, 128))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f4")
    embedder = Neighbours(vectors)
    sieved = SearchIndex(database, stores.data / "sieved", embedder, exact_up_to=1_000)
    exact = SearchIndex(database, stores.data / "exact", embedder, exact_up_to=100_000)
    documents = [Document(number, "", ["x"], row.tobytes()) for number, row in enumerate(vectors)]
    await database.write(lambda tx: sieved.put(tx, "large", documents))
    await sieved.tidy()
    names = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'search_vectors_of_%'"
    if database.dialect == "postgres":
        assert await database.read(lambda rows: rows.value(names)) == 1
    same = 0
    for turn in range(20):
        answers = [await one.search("large", str(turn * 74), limit=10) for one in (sieved, exact)]
        same += len(set.intersection(*({hit.id for hit in answer.hits} for answer in answers)))
    assert same >= 198
    narrow = await sieved.search("large", "7", limit=10, allowed=[5, 6])
    assert {hit.id for hit in narrow.hits} == {5, 6}
    await database.write(lambda tx: sieved.drop(tx, "large"))
    await sieved.tidy()
    if database.dialect == "postgres":
        assert await database.read(lambda rows: rows.value(names)) == 0
