"""Background maintenance of the index: merges, missing vectors, indexes, cleanup.

Each step is its own unit of work and checks inside it whether it is still due. So processes that do the same work at
once do no harm, and an interrupted step is done later.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Final

from pentad.kernel.ports import Database, Embedder, Rows, Transaction
from pentad.search import collection as collections
from pentad.search import segments
from pentad.search.arrays import Matrix
from pentad.search.documents import EMBEDDED, Supply
from pentad.search.engine import Engine, Model
from pentad.search.vector_files import VectorFiles
from pentad.search.vectors import checked

_TOGETHER: Final = 32
_TAKEN_IN: Final = 128
_WORTH_PREPARING: Final = 5_000
"""For collections with at least this many vectors, files are written before the first search."""
_COMPLETE: Final = (
    "SELECT name FROM search_collections WHERE number = ?"
    " AND NOT EXISTS (SELECT 1 FROM search_pending WHERE collection = number)"
)
_ONE_AT_A_TIME: Final = 0x53454152_4348
"""The advisory lock a process holds while it builds an index."""


class Maintenance:
    """The maintenance of one store."""

    def __init__(self, database: Database, engine: Engine) -> None:
        self._database = database
        self._engine = engine

    async def tidy(self) -> None:
        """Do everything that is due except embedding."""
        for number, name in await self._database.read(_all):
            if name is None:
                await self._repeat(lambda tx, number=number: segments.clear(tx, number))
            elif await self._database.read(lambda rows, number=number: bool(segments.to_merge(rows, number))):
                await self._repeat(lambda tx, number=number: segments.merge(tx, number))
        if self._database.dialect == "postgres":
            await self._index_large_ones()
        elif isinstance(files := self._engine.vectors, VectorFiles):
            kept = await self._database.read(_tokens)
            await asyncio.to_thread(files.sweep, kept)
            for number, size in await self._database.read(_sizes):
                if size >= _WORTH_PREPARING:
                    await self._database.read(lambda rows, number=number: self._engine.prepare(rows, number))

    async def embed(self, embedder: Embedder, most: int | None) -> int:
        """Compute vectors for documents that are waiting for them, a few at a time."""
        model = Model(embedder.model, embedder.dimensions)
        done = 0
        while most is None or done < most:
            size = _TOGETHER if most is None else min(_TOGETHER, most - done)
            waiting = await self._database.read(lambda rows, size=size: _waiting(rows, model, size))
            if not waiting:
                break
            windows = [window for _, _, each in waiting for window in each]
            data = await embedder.embed(windows)
            await self._database.write(lambda tx, waiting=waiting, data=data: self._store(tx, waiting, data, model))
            done += len(waiting)
        return done

    async def index_missing(self, name: str, supply: Supply, model: Model) -> int:
        """Index some of the documents that a collection lacks; a collection with vectors of another model is
        rebuilt."""
        if not await self._database.read(
            lambda rows: _is_of_another(rows, name, model) or collections.lacks(rows, name, supply)
        ):
            return 0
        return await self._database.write(lambda tx: self._take_in(tx, name, supply, model))

    def _take_in(self, tx: Transaction, name: str, supply: Supply, model: Model) -> int:
        if _is_of_another(tx, name, model):
            collections.drop(tx, name)
        documents = supply(tx, collections.newest(tx, name), _TAKEN_IN)
        self._engine.put(tx, name, documents, model)
        return len(documents)

    def _store(self, tx: Transaction, waiting: list[tuple[int, int, list[str]]], data: bytes, model: Model) -> None:
        rows = checked(data, model.dimensions, sum(len(windows) for _, _, windows in waiting))
        first = 0
        by_collection: dict[int, list[tuple[int, Matrix]]] = {}
        for number, document, windows in waiting:
            by_collection.setdefault(number, []).append((document, rows[first : first + len(windows)]))
            first += len(windows)
        for number, ready in by_collection.items():
            if (collection := collections.by_number(tx, number)) is not None:
                self._engine.add_vectors(tx, collection, ready, model)
                if (name := tx.value(_COMPLETE, number)) is not None:
                    tx.signal(EMBEDDED, name)

    async def _repeat(self, step: Callable[[Transaction], bool]) -> None:
        """Run a step until it finds nothing more to do."""
        more = True
        while more:
            more = await self._database.write(step)

    async def _index_large_ones(self) -> None:
        from pentad.search.pgvector import index_name, indexed, make_index, strays, switched_on

        if not await switched_on(self._database):
            return
        for stray in await self._database.read(strays):
            await self._database.write(lambda tx, stray=stray: tx.run(f"DROP INDEX IF EXISTS {stray}"))
        bound = self._engine.vectors.exact_up_to
        large = await self._database.read(lambda rows: [number for number, size in _sizes(rows) if size > bound])
        for number in large:

            def work(tx: Transaction, number: int = number) -> None:
                tx.run("SELECT pg_advisory_xact_lock(?)", _ONE_AT_A_TIME)
                collection = collections.by_number(tx, number)
                if collection is not None and collection.dimensions and not indexed(tx, collection):
                    tx.run(f"DROP INDEX IF EXISTS {index_name(number)}")
                    make_index(tx, collection)

            await self._database.write(work)


def _all(rows: Rows) -> list[tuple[int, str | None]]:
    return [(number, name) for number, name in rows.all("SELECT number, name FROM search_collections ORDER BY number")]


def _sizes(rows: Rows) -> list[tuple[int, int]]:
    found = rows.all("SELECT number, vectors FROM search_collections WHERE name IS NOT NULL ORDER BY number")
    return [(number, vectors) for number, vectors in found]


def _tokens(rows: Rows) -> set[str]:
    return {token for (token,) in rows.all("SELECT token FROM search_collections WHERE name IS NOT NULL")}


def _is_of_another(rows: Rows, name: str, model: Model) -> bool:
    collection = collections.find(rows, name)
    return (
        collection is not None
        and collection.model is not None
        and (collection.model, collection.dimensions) != (model.name, model.dimensions)
    )


def _waiting(rows: Rows, model: Model, size: int) -> list[tuple[int, int, list[str]]]:
    """Some documents without vectors, from collections that this model may add to."""
    found = rows.all(
        "SELECT p.collection, p.document, p.windows FROM search_pending p"
        " JOIN search_collections c ON c.number = p.collection"
        " WHERE c.name IS NOT NULL AND (c.model IS NULL OR (c.model = ? AND c.dimensions = ?))"
        " ORDER BY p.collection, p.document LIMIT ?",
        model.name, model.dimensions, size,
    )  # fmt: skip
    return [(number, document, json.loads(windows)) for number, document, windows in found]
