"""Documents and short ways to write and ask, for the tests of search."""

from collections.abc import Iterable, Mapping

from pentad.kernel.ports import Database
from pentad.search.documents import Document
from pentad.search.index import SearchIndex
from pentad.storage.migrations import STORAGE, MigrationSet
from tests.search.hashing import HashingEmbedder

SETS = (STORAGE, MigrationSet("search", "pentad.search.schema"))

SENTENCES = {
    1: "The harbour master counts the ships at dawn.",
    2: "Ships carry grain and copper across the strait.",
    3: "Bees return to the hive before the rain begins.",
    4: "A hive of bees makes honey from clover.",
    5: "Copper wire carries the current to the lighthouse.",
    6: "The lighthouse keeper writes letters in winter.",
}


def document(number: int, text: str, embedder: HashingEmbedder | None = None) -> Document:
    """A document of one window, with its vector if there is an embedder."""
    return Document(number, text, [text], None if embedder is None else embedder.vectors([text]))


async def put(
    database: Database, index: SearchIndex, texts: Mapping[int, str], name: str = "shore", *, with_vectors: bool = True
) -> None:
    embedder = index.embedder if with_vectors else None
    assert embedder is None or isinstance(embedder, HashingEmbedder)
    documents = [document(number, text, embedder) for number, text in texts.items()]
    await database.write(lambda tx: index.put(tx, name, documents))


async def remove(database: Database, index: SearchIndex, numbers: Iterable[int], name: str = "shore") -> None:
    await database.write(lambda tx: index.remove(tx, name, list(numbers)))


async def found(index: SearchIndex, query: str, name: str = "shore", limit: int = 10) -> list[int]:
    return [hit.id for hit in (await index.search(name, query, limit=limit)).hits]
