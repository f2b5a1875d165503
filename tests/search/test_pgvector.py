"""PostgreSQL with pgvector: words alone if its user may not switch it on, and complete results through its index."""

from pathlib import Path

import numpy as np
import pytest

from pentad.kernel.ports import Rows
from pentad.search.documents import Document, EmbeddedQuery
from pentad.search.index import SearchIndex
from pentad.storage.migrations import apply
from pentad.storage.open import open_database
from tests.search.hashing import DIMENSIONS, HashingEmbedder
from tests.search.opening import SENTENCES, SETS, put
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio


async def test_without_pgvector_search_is_lexical_until_it_is_there(postgres_server: PostgresServer, tmp_path: Path):
    with postgres_server.empty_database() as url:
        postgres_server.execute("CREATE ROLE plain LOGIN", "GRANT ALL ON SCHEMA public TO plain", url=url)
        database = await open_database(url.replace("postgres@", "plain@"), tmp_path)
        try:
            await apply(database, SETS)
            index = SearchIndex(database, tmp_path, HashingEmbedder())
            await put(database, index, SENTENCES)
            await index.tidy()
            ranking = await index.search("shore", "copper ships", limit=3)
            assert (ranking.retrieval, ranking.hits[0].id) == ("lexical", 2)
            assert "pgvector" in (ranking.lexical_because or "")
            postgres_server.execute("CREATE EXTENSION vector", url=url)
            later = SearchIndex(database, tmp_path, HashingEmbedder())
            assert (await later.search("shore", "copper ships", limit=3)).retrieval == "hybrid"
        finally:
            await database.close()
            postgres_server.execute("DROP OWNED BY plain", "DROP ROLE plain", url=url)


@pytest.mark.requirement("search:vectors:all")
@pytest.mark.parametrize("up_to", [None, 1_500])
async def test_as_many_vectors_as_were_asked_for_are_found_wherever_the_index_stops(
    postgres_server: PostgresServer, tmp_path: Path, up_to: int | None
):
    with postgres_server.empty_database() as url:
        database = await open_database(url, tmp_path)
        try:
            await apply(database, SETS)
            index = SearchIndex(database, tmp_path, HashingEmbedder(), exact_up_to=100)
            rows = np.random.default_rng(20).normal(size=(1_500, DIMENSIONS)).astype("<f4")
            rows[:600] = rows[0]
            documents = [Document(number, "", ["x"], row.tobytes()) for number, row in enumerate(rows, 1)]
            await database.write(lambda tx: index.put(tx, "shore", documents))
            await index.tidy()
            query = EmbeddedQuery("x", rows[0].tobytes(), "hashing")

            def found(rows: Rows, most: int) -> int:
                for name, value in (("enable_seqscan", "off"), ("enable_sort", "off"), ("hnsw.max_scan_tuples", "1")):
                    rows.all("SELECT set_config(?, ?, true)", name, value)
                asked = index.vector_query(rows, "shore", query, up_to)
                assert asked is not None
                return len(asked.nearest(most, related=False))

            for most in (10, 600, 1_499, 1_500, 1_000_000):
                assert await database.read(lambda rows, most=most: found(rows, most)) == min(most, 1_500)
        finally:
            await database.close()
