"""Vectors in PostgreSQL, compared by pgvector.

A collection of up to some 50,000 vectors, or a filter that leaves no more than that, is compared completely. A larger
collection has its own HNSW index, built in the background, so that no other collection's vectors are ever in the way.
The two casts tell the cases apart: the index is on `vector(n)`, complete comparisons use plain `vector` and never touch
it.
"""

import logging
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.errors import PentadError
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.sql import array_literal
from pentad.search.arrays import Mask, Matrix
from pentad.search.collection import Collection
from pentad.search.document_table import Members
from pentad.search.vectors import NearDocuments, best_windows

log = logging.getLogger("pentad.search")

_OFFERED: Final = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"
_INDEXES: Final = r"search\_vectors\_of\_%"
_LEAST_SEARCHED: Final = 400
_MOST_SEARCHED: Final = 1_000
_ARRAY_HEAD: Final = 20
"""Bytes before the numbers of an array in PostgreSQL's binary form; each number is preceded by its own length."""


def available(rows: Rows) -> bool:
    """Whether pgvector is enabled in this database."""
    return bool(rows.value("SELECT count(*) FROM pg_extension WHERE extname = 'vector'"))


async def switched_on(database: Database) -> bool:
    """Enable pgvector if the server has it and this user may; returns whether it is enabled."""
    if await database.read(available):
        return True
    if not await database.read(lambda rows: rows.value(_OFFERED)):
        return False
    try:
        await database.write(lambda tx: tx.run("CREATE EXTENSION IF NOT EXISTS vector"))
    except PentadError as error:
        log.warning("pgvector could not be switched on: %s", error.sentence())
    return await database.read(available)


class PgVectors:
    """The port `VectorStore` over PostgreSQL."""

    def __init__(self, exact_up_to: int) -> None:
        self.exact_up_to = exact_up_to

    def add(self, tx: Transaction, collection: Collection, vectors: Sequence[tuple[int, Matrix]]) -> None:
        tx.run_many(
            "INSERT INTO search_vectors (collection, document, part, embedding) VALUES (?, ?, ?, ?::real[])",
            (
                (collection.number, document, part, f"{{{_written(row)}}}")
                for document, rows in vectors
                for part, row in enumerate(rows)
            ),
        )

    def remove(self, tx: Transaction, collection: Collection, documents: Sequence[int]) -> int:
        return tx.run(
            "DELETE FROM search_vectors WHERE collection = ? AND document = ANY (?::bigint[])",
            collection.number, array_literal(documents),
        )  # fmt: skip

    def nearest(
        self, rows: Rows, collection: Collection, members: Members, allowed: Mask | None, query: Matrix, count: int
    ) -> NearDocuments:
        wanted = count
        through_index = self._uses_index(rows, collection, members, allowed)
        while True:
            found = _through_index(rows, collection, query, wanted) if through_index else None
            # The index stops early, and does not reach each one of many equal vectors.
            if found is None or len(found) < min(wanted, collection.vectors):
                through_index, found = False, _exactly(rows, collection, members, allowed, query, wanted)
            near = best_windows(*_unpacked(found, query), members, count)
            # Several windows of one document may crowd others out; fetch more until there are enough documents.
            if near.documents.size >= count or len(found) < wanted:
                return near
            wanted *= 4

    def compared(
        self,
        rows: Rows,
        collection: Collection,
        members: Members,
        query: Matrix,
        documents: NDArray[np.intp],
    ) -> NearDocuments:
        found: Sequence[tuple[Any, ...]] = ()
        if documents.size:
            found = rows.all(
                "SELECT document, array_send(embedding) FROM search_vectors"
                " WHERE collection = ? AND document = ANY (?::bigint[])",
                collection.number, array_literal(documents.tolist()),
            )  # fmt: skip
        return best_windows(*_unpacked(found, query), members, None)

    def _uses_index(self, rows: Rows, collection: Collection, members: Members, allowed: Mask | None) -> bool:
        is_open = _narrowed(members, allowed) is None
        return is_open and collection.vectors > self.exact_up_to and indexed(rows, collection)


def _narrowed(members: Members, allowed: Mask | None) -> Mask | None:
    """The documents that may take part; None if all that exist may."""
    return None if allowed is members.present else allowed


def index_name(collection: int) -> str:
    return f"search_vectors_of_{collection}"


def indexed(rows: Rows, collection: Collection) -> bool:
    """Whether the collection has its own usable index."""
    return bool(
        rows.value(
            "SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass(?) AND indisvalid",
            index_name(collection.number),
        )
    )


def make_index(tx: Transaction, collection: Collection) -> None:
    """Build the collection's index. Takes time proportional to its size; searches continue meanwhile."""
    tx.run("SET LOCAL statement_timeout = 0")
    tx.run("SET LOCAL maintenance_work_mem = '512MB'")
    tx.run(
        f"CREATE INDEX IF NOT EXISTS {index_name(collection.number)} ON search_vectors"
        f" USING hnsw ((embedding::vector({collection.dimensions})) vector_ip_ops) WITH (m = 16, ef_construction = 100)"
        f" WHERE collection = {collection.number}"
    )


def strays(rows: Rows) -> list[str]:
    """Indexes left over from dropped collections."""
    live = {
        index_name(number) for (number,) in rows.all("SELECT number FROM search_collections WHERE name IS NOT NULL")
    }
    found = rows.all(
        "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND indexname LIKE ?", _INDEXES
    )
    return sorted(name for (name,) in found if name not in live)


def _exactly(
    rows: Rows, collection: Collection, members: Members, allowed: Mask | None, query: Matrix, count: int
) -> list[tuple[Any, ...]]:
    """Rows of vectors, nearest first; ties by number."""
    chosen, given = "", ()
    if (narrowed := _narrowed(members, allowed)) is not None:
        chosen, given = " AND document = ANY (?::bigint[])", (array_literal(np.flatnonzero(narrowed).tolist()),)
    return rows.all(
        "SELECT document, array_send(embedding) FROM search_vectors"  # noqa: S608  only fixed parts
        f" WHERE collection = ?{chosen} ORDER BY embedding::vector <#> ?::vector, document, part LIMIT ?",
        collection.number, *given, _text(query), count,
    )  # fmt: skip


def _through_index(rows: Rows, collection: Collection, query: Matrix, count: int) -> list[tuple[Any, ...]]:
    """Rows of vectors, nearly the nearest first. May be fewer than there are."""
    size = collection.dimensions
    rows.all("SELECT set_config('hnsw.ef_search', ?, true)", str(min(_MOST_SEARCHED, max(_LEAST_SEARCHED, 2 * count))))
    rows.all("SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true)")
    # The collection's number is a literal: a partial index is only considered for a constant.
    return rows.all(
        f"SELECT document, array_send(embedding) FROM search_vectors WHERE collection = {collection.number}"  # noqa: S608  numbers
        f" ORDER BY embedding::vector({size}) <#> ?::vector({size}) LIMIT ?",
        _text(query), count,
    )  # fmt: skip


def _unpacked(found: Sequence[tuple[Any, ...]], query: Matrix) -> tuple[NDArray[np.intp], NDArray[np.float64], Matrix]:
    """Documents, cosines and vectors, computed as for SQLite, so that both stores give the same numbers."""
    documents = np.array([document for document, _ in found], np.intp)
    data = b"".join(packed[_ARRAY_HEAD:] for _, packed in found)
    pairs = np.frombuffer(data, ">f4").reshape(len(found), query.size, 2)
    vectors = pairs[:, :, 1].astype(np.float32)
    return documents, np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64)), vectors


def _text(query: Matrix) -> str:
    return f"[{_written(query)}]"


def _written(row: Matrix) -> str:
    """A vector's numbers as text; nine digits reproduce the same float32."""
    return ",".join([f"{number:.9g}" for number in row.tolist()])
