"""A PostgreSQL whose user may not switch pgvector on still has search by words, and vectors once it is there."""

from pathlib import Path

import pytest

from pentad.search.index import SearchIndex
from pentad.storage.migrations import apply
from pentad.storage.open import open_database
from tests.search.hashing import HashingEmbedder
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
