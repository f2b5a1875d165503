"""What rooms rely on: updates in their transaction, filters before ranking, models never mixed, honest fallbacks."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import pytest

from pentad.kernel.errors import Conflict, InvalidInput
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.search.documents import Document
from pentad.search.fusion import Scope
from pentad.search.index import SearchIndex
from tests.search.hashing import HashingEmbedder
from tests.search.opening import SENTENCES, SETS, document, found, put, remove
from tests.stores import Stores

pytestmark = pytest.mark.anyio

T = TypeVar("T")


async def test_a_hit_says_why_it_was_found(database: Database, index: SearchIndex):
    await put(database, index, SENTENCES)
    ranking = await index.search("shore", "copper ships", limit=3)
    best = ranking.hits[0]
    assert ranking.retrieval == "hybrid"
    assert (best.id, set(best.terms)) == (2, {"copper", "ship"})
    assert best.lexical == pytest.approx(sum(best.terms.values()), abs=1e-5)
    assert best.cosine is not None
    assert 0 <= best.score <= 1
    assert ranking.features.coverage == pytest.approx(1.0)
    assert 0 < ranking.features.bm25_share < 1
    assert ranking.features.query_terms == 2


async def test_words_the_best_hit_lacks_are_told(database: Database, index: SearchIndex):
    await put(database, index, SENTENCES)
    ranking = await index.search("shore", "honey volcano", limit=1)
    assert ranking.hits[0].id == 4
    assert ranking.features.missing_idf == pytest.approx(ranking.idf["volcano"])
    assert 0 < ranking.features.coverage < 1


async def test_what_words_say_of_a_question_does_not_depend_on_the_vectors(
    database: Database, index: SearchIndex, stores: Stores
):
    """Rooms calibrate on these features: they must not move when words and vectors are weighed differently."""
    question = "honey volcano"
    near, far = HashingEmbedder().vectors([question]), HashingEmbedder().vectors(["letters in winter"])
    documents = [Document(1, "honey from clover", ["x"], far), Document(2, "rain on the strait", ["x"], near)]
    await database.write(lambda tx: index.put(tx, "shore", documents))
    both = await index.search("shore", question, limit=2)
    words = await SearchIndex(database, stores.data / "search").search("shore", question, limit=2)
    assert [hit.id for hit in both.hits] == [2, 1]
    for feature in ("bm25_share", "coverage", "missing_idf", "query_terms"):
        assert getattr(both.features, feature) == pytest.approx(getattr(words.features, feature)), feature


async def test_what_a_transaction_undoes_was_never_there(database: Database, index: SearchIndex):
    await put(database, index, {1: SENTENCES[1]})

    def work(tx: Transaction) -> None:
        index.put(tx, "shore", [document(2, SENTENCES[2], HashingEmbedder())])
        index.remove(tx, "shore", [1])
        raise InvalidInput("No.")

    with pytest.raises(InvalidInput):
        await database.write(work)
    assert await found(index, "ships") == [1]


async def test_filters_apply_before_ranking(database: Database, index: SearchIndex):
    crowd = dict.fromkeys(range(100, 700), "ships ships ships in the harbour")
    await put(database, index, {**crowd, 1: SENTENCES[1]})
    ranking = await index.search("shore", "ships in the harbour", limit=5, allowed=[1, 9999])
    assert [hit.id for hit in ranking.hits] == [1]
    assert (await index.search("shore", "ships", limit=5, allowed=())).hits == []


async def test_an_empty_question_and_an_unknown_collection_find_nothing(database: Database, index: SearchIndex):
    await put(database, index, SENTENCES)
    assert await found(index, "  ") == []
    assert await found(index, "ships", "elsewhere") == []
    assert (await index.search("shore", "ships", limit=0)).hits == []


async def test_the_document_put_last_counts(database: Database, index: SearchIndex):
    twice = [document(1, "old words", HashingEmbedder()), document(1, "new words", HashingEmbedder())]
    await database.write(lambda tx: index.put(tx, "shore", twice))
    assert (await index.search("shore", "new", limit=5)).hits[0].terms
    assert not (await index.search("shore", "old", limit=5)).hits[0].terms


async def test_vectors_of_another_model_are_refused(database: Database, index: SearchIndex, stores: Stores):
    await put(database, index, SENTENCES)
    other = SearchIndex(database, stores.data / "search", HashingEmbedder("other"))
    with pytest.raises(Conflict, match="hashing"):
        await put(database, other, {9: "ships"})
    ranking = await other.search("shore", "ships", limit=2)
    assert ranking.retrieval == "lexical"
    assert "another model" in (ranking.lexical_because or "")


async def test_an_emptied_collection_may_change_its_model(database: Database, index: SearchIndex, stores: Stores):
    await put(database, index, SENTENCES)
    await remove(database, index, SENTENCES)
    other = SearchIndex(database, stores.data / "search", HashingEmbedder("other", 16))
    await put(database, other, SENTENCES)
    assert (await other.search("shore", "copper ships", limit=1)).retrieval == "hybrid"


@pytest.mark.parametrize("data", [b"", b"\0" * 4 * 48, b"\xff" * 4 * 48, b"\1" * 4 * 47])
async def test_what_is_no_vector_is_refused(database: Database, index: SearchIndex, data: bytes):
    with pytest.raises(InvalidInput):
        await database.write(lambda tx: index.put(tx, "shore", [Document(1, "ships", ["ships"], data)]))


async def test_without_a_model_search_is_lexical_and_says_so(database: Database, stores: Stores):
    index = SearchIndex(database, stores.data / "search")
    await put(database, index, SENTENCES)
    ranking = await index.search("shore", "copper ships", limit=3)
    assert [hit.id for hit in ranking.hits] == [2, 1, 5]
    assert ranking.retrieval == "lexical"
    assert "pentad models pull" in (ranking.lexical_because or "")
    assert 0.5 < ranking.hits[0].score < 1.0


async def test_a_model_that_fails_leaves_lexical_search(
    database: Database, index: SearchIndex, embedder: HashingEmbedder
):
    await put(database, index, SENTENCES)
    embedder.broken = True
    ranking = await index.search("shore", "copper ships", limit=3)
    assert (ranking.retrieval, ranking.hits[0].id) == ("lexical", 2)


async def test_a_question_is_embedded_once(database: Database, index: SearchIndex, embedder: HashingEmbedder):
    await put(database, index, SENTENCES)
    for _ in range(3):
        await found(index, "copper ships")
    assert embedder.asked.count("copper ships") == 1


async def test_two_processes_see_each_others_updates(stores: Stores):
    here, there = [
        (database, SearchIndex(database, stores.data / "search", HashingEmbedder()))
        for database in (await stores.open(SETS), await stores.open(SETS))
    ]
    await put(*here, {1: SENTENCES[1]})
    assert await found(there[1], "ships") == [1]
    await put(*there, {2: SENTENCES[2], 1: "The ships have left."})
    await put(*here, {3: SENTENCES[3]})
    for _, index in (here, there):
        hits = (await index.search("shore", "ships left", limit=5)).hits
        assert hits[0].id == 1
        assert {hit.id for hit in hits} == {1, 2, 3}
        assert all(hit.cosine is not None for hit in hits)
    await here[0].write(lambda tx: here[1].drop(tx, "shore"))
    assert await found(there[1], "ships") == []


async def test_documents_put_at_once_are_all_there(stores: Stores):
    sides = [
        (database, SearchIndex(database, stores.data / "search", HashingEmbedder()))
        for database in (await stores.open(SETS), await stores.open(SETS))
    ]
    await asyncio.gather(*(put(*sides[number % 2], {number: f"ship {number}"}) for number in range(20)))
    for _, index in sides:
        hits = (await index.search("shore", "ship", limit=50)).hits
        assert {hit.id for hit in hits} == set(range(20))
        assert all(hit.cosine is not None for hit in hits)
    total = await sides[0][0].read(lambda rows: rows.all("SELECT documents, vectors FROM search_collections"))
    assert total == [(20, 20)]


async def test_a_document_longer_than_any_list_can_say_is_found(database: Database, index: SearchIndex):
    text = "ship " * 70_000
    await database.write(lambda tx: index.put(tx, "shore", [Document(1, text), Document(2, "a ship")]))
    assert set(await found(index, "ship")) == {1, 2}
    await remove(database, index, [1])
    totals = await database.read(lambda rows: rows.all("SELECT total_length FROM search_fields"))
    assert totals == [(2,)]


async def test_what_is_written_while_a_question_is_embedded_is_found(database: Database, stores: Stores):
    looked_up = asyncio.Event()

    class Watched:
        """The store; it says when the words of a question were looked up."""

        dialect, write = database.dialect, database.write

        async def read(self, work: Callable[[Rows], T]) -> T:
            found = await database.read(work)
            if isinstance(found, Scope):
                looked_up.set()
            return found

    class Slow(HashingEmbedder):
        """Somebody writes while it works, after the words were looked up."""

        async def embed(self, texts: Sequence[str]) -> bytes:
            await asyncio.wait_for(looked_up.wait(), 60)
            await put(database, plain, {7: "Ships wait for the tide.", 2: "Nothing floats here any more."})
            return await super().embed(texts)

    plain = SearchIndex(database, stores.data / "search", HashingEmbedder())
    await put(database, plain, SENTENCES)
    index = SearchIndex(cast("Database", Watched()), stores.data / "search", Slow())
    ranking = await index.search("shore", "ships", limit=10)
    expected = await plain.search("shore", "ships", limit=10)
    assert ranking == expected
    assert [hit.id for hit in ranking.hits if hit.lexical > 0] == [7, 1]
