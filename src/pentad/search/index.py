"""The search engine's interface for rooms: collections of documents, found by words and by meaning.

Documents are added and removed inside the room's own transaction, so an object and its index entry change together.
This module is light; the engine is loaded with the first document or query.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pentad.kernel import sql
from pentad.kernel.background import start_task
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Database, Embedder, Rows, Transaction
from pentad.search.documents import Document, EmbeddedQuery, Ranking, Readiness, Supply
from pentad.search.relevance import MINILM, CosineScale, measure_cosines
from pentad.search.searchable import Searchable, SearchFields

if TYPE_CHECKING:
    from pentad.search.engine import Allowed, Engine, Model
    from pentad.search.fusion import Scope, VectorQuery
    from pentad.search.maintenance import Maintenance

T = TypeVar("T")

log = logging.getLogger("pentad.search")

CHANGED: Final = "search.changed"
"""Signals that a collection changed; carries its name."""

EXACT_UP_TO: Final = 50_000
"""If a collection has at most this many vectors, or a filter leaves at most this many, all are compared."""

QUIET_SECONDS: Final = 2.0
"""Documents are embedded only after this long without writes or queries."""

_SECONDS_BETWEEN: Final = 1.0
_SLICE: Final = 8
"""Documents embedded in the background before checking again whether the store is in use."""
_LEFT_OVER: Final = (
    "SELECT number FROM search_collections WHERE name IS NULL UNION ALL SELECT collection FROM search_pending LIMIT 1"
)
_REMEMBERED: Final = 256
_MOST_COUNTED: Final = 1_000
_NO_EMBEDDER: Final = "No embedding model is installed; `pentad models pull` fetches one."
_NO_PGVECTOR: Final = "The database has no pgvector."
_EMBEDDER_FAILED: Final = "The embedding model did not respond."


class SearchIndex:
    """Every room's collections. A collection is named by its room, for example `avatar:<id>:<generation>`."""

    def __init__(
        self,
        database: Database,
        folder: Path,
        embedder: Embedder | Callable[[], Embedder | None] | None = None,
        exact_up_to: int = EXACT_UP_TO,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._embedder = embedder
        self._database = database
        self._folder = folder
        self._exact_up_to = exact_up_to
        self._quiet_seconds = quiet_seconds
        self._last_used = 0.0
        self._questions = LruCache[str, bytes](_REMEMBERED)
        self._scales: dict[str, CosineScale] = {}
        self._declared: dict[str, Searchable] = {}
        self._supplies: dict[str, Supply] = {}
        self._has_vectors: bool | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def embedder(self) -> Embedder | None:
        """The embedder, if there is one; opened on first use."""
        if callable(self._embedder):
            self._embedder = self._embedder()
        return self._embedder

    def put(self, tx: Transaction, collection: str, documents: Sequence[Document]) -> None:
        """Index documents in the caller's transaction; documents with the same id are replaced."""
        self._used()
        self._engine.put(tx, collection, documents, self._model)
        tx.signal(CHANGED, collection)

    async def put_missing(self, collection: str, documents: Sequence[Document]) -> None:
        """Index the documents whose ids are not there yet, for documents that never change under their id."""

        def missing(rows: Rows) -> list[Document]:
            known = self._engine.known(rows, collection, [document.id for document in documents])
            return [document for document in documents if document.id not in known]

        if await self._database.read(missing):
            await self._database.write(lambda tx: self.put(tx, collection, missing(tx)))

    def remove(self, tx: Transaction, collection: str, ids: Sequence[int]) -> None:
        """Remove documents in the caller's transaction."""
        self._used()
        self._engine.remove(tx, collection, ids)
        tx.signal(CHANGED, collection)

    def drop(self, tx: Transaction, collection: str) -> None:
        """Remove a whole collection in the caller's transaction. Fast, however large it is."""
        from pentad.search.collection import drop

        if drop(tx, collection):
            tx.signal(CHANGED, collection)

    async def search(
        self,
        collection: str,
        query: str,
        *,
        limit: int,
        allowed: "Allowed | None" = None,
    ) -> Ranking:
        """The best documents for a query; with `allowed`, only those ids are considered."""
        from pentad.search.engine import Question

        self._used()
        words = Question(query, limit, allowed, self._fields(collection))
        before: Scope | None = None
        if self._to_be_embedded(query):
            # Uses two processors: the query is embedded while its words are looked up.
            (vector, why_not), before = await asyncio.gather(
                self._embedded(query),
                self._database.read(lambda rows: self._engine.by_words(rows, collection, words)),
            )
        else:
            vector, why_not = await self._embedded(query)
        scale = await self._scale() if vector is not None else MINILM
        if scale is None:
            vector, why_not, scale = None, _EMBEDDER_FAILED, MINILM
        question = replace(words, vector=vector, model=self._model, scale=scale, why_no_vector=why_not)
        ranking = await self._database.read(lambda rows: self._engine.search(rows, collection, question, before))
        self._used()
        return ranking

    async def embed_query(self, query: str) -> EmbeddedQuery:
        """A query with its vector, to use on collections inside a room's own reading unit of work."""
        self._used()
        vector, why_not = await self._embedded(query)
        if vector is None or self.embedder is None:
            return EmbeddedQuery(query, lexical_because=why_not)
        if (scale := await self._scale()) is None:
            return EmbeddedQuery(query, lexical_because=_EMBEDDER_FAILED)
        return EmbeddedQuery(query, vector, self.embedder.model, scale)

    def vector_query(
        self, rows: Rows, collection: str, query: EmbeddedQuery, up_to: int | None = None
    ) -> "VectorQuery | None":
        """A query on the vectors of a collection, for a room that looks its words up with SQL; None if there are no
        vectors to compare."""
        return None if query.vector is None else self._engine.vector_query(rows, collection, query, up_to)

    def readiness(self, rows: Rows, collection: str) -> Readiness:
        """The progress of a collection's vectors."""
        from pentad.search.collection import readiness

        return readiness(rows, collection)

    async def waiting(self, collections: Sequence[str]) -> int:
        """How many documents of these collections have no vector yet, counted up to a bound; 0 without a model."""
        if self.embedder is None or not collections:
            return 0
        marks = sql.marks(len(collections))
        found = await self._database.lookup(
            "SELECT count(*) FROM (SELECT 1 FROM search_pending WHERE collection IN"  # noqa: S608  only marks
            f" (SELECT number FROM search_collections WHERE name IN ({marks})) LIMIT {_MOST_COUNTED}) AS w",
            *collections,
        )
        return 0 if found is None else found[0]

    def declare(self, searchable: Searchable) -> None:
        """Register a room's declaration, which says how its collections are scored and may supply their documents."""
        self._declared[searchable.collection] = searchable
        if searchable.supply is not None:
            self._supplies[searchable.collection] = searchable.supply

    def _fields(self, collection: str) -> SearchFields:
        declared = self._declared.get(collection.partition(":")[0])
        return {} if declared is None else declared.fields

    def supply_changed(self, tx: Transaction, collection: str) -> None:
        """Announce in a transaction that a supply has more documents; this is all the writer has to do."""
        self._used()
        tx.signal(CHANGED, collection)

    async def embed_pending(self, most: int | None = None) -> int:
        """Compute vectors for documents that lack them or are supplied; returns how many documents got theirs."""
        done = 0
        while self.embedder is not None and self._model is not None and await self._vectors_work():
            done += await self._maintenance.embed(self.embedder, None if most is None else most - done)
            if most is not None and done >= most:
                break
            taken = [await self._maintenance.index_missing(*one, self._model) for one in self._supplies.items()]
            if not any(taken):
                break
        return done

    async def tidy(self) -> None:
        """Merge small segments, remove dropped data, and build indexes that are due. Safe at any time."""
        await self._maintenance.tidy()

    def start(self) -> None:
        """Maintain the index in the background, whenever something changes in any process.

        Vectors are computed only while the store is idle, so that they do not slow down a bulk load.
        """
        if self._task is None:
            self._task = start_task(self._maintain(), "search index")

    async def stop(self) -> None:
        """Stop the background maintenance."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    @property
    def _model(self) -> "Model | None":
        if self.embedder is None:
            return None
        from pentad.search.engine import Model

        return Model(self.embedder.model, self.embedder.dimensions)

    @cached_property
    def _engine(self) -> "Engine":
        from pentad.search.engine import Engine

        if self._database.dialect == "sqlite":
            from pentad.search.vector_files import VectorFiles

            return Engine(VectorFiles(self._folder, self._exact_up_to))
        from pentad.search.pgvector import PgVectors

        return Engine(PgVectors(self._exact_up_to))

    @cached_property
    def _maintenance(self) -> "Maintenance":
        from pentad.search.maintenance import Maintenance

        return Maintenance(self._database, self._engine)

    def _to_be_embedded(self, query: str) -> bool:
        """Whether the query's vector still has to be computed, which takes a while."""
        return self.embedder is not None and bool(query.strip()) and _key(self.embedder, query) not in self._questions

    async def _embedded(self, query: str) -> tuple[bytes | None, str | None]:
        """The vector of a query, or the reason for its absence."""
        if self.embedder is None:
            return None, _NO_EMBEDDER
        if not await self._vectors_work():
            return None, _NO_PGVECTOR
        if not query.strip():
            return None, None
        key = _key(self.embedder, query)
        if (known := self._questions.get(key)) is None:
            try:
                known = await self.embedder.embed([query])
            except PentadError as error:
                log_failure(error, "Embedding a question")
                return None, _EMBEDDER_FAILED
            self._questions.put(key, known)
        return known, None

    async def _scale(self) -> CosineScale | None:
        """The scale of the embedding model's cosines; None if it does not respond."""
        if self.embedder is None:
            return MINILM
        if (known := self._scales.get(self.embedder.model)) is None:
            try:
                known = self._scales[self.embedder.model] = await measure_cosines(self.embedder)
            except PentadError as error:
                log_failure(error, "Measuring the embedding model")
        return known

    async def _vectors_work(self) -> bool:
        """Whether the store can compare vectors. PostgreSQL needs pgvector, which is enabled here if necessary."""
        if self._has_vectors is None:
            if self._database.dialect == "sqlite":
                self._has_vectors = True
            else:
                from pentad.search.pgvector import switched_on

                self._has_vectors = await switched_on(self._database)
        return self._has_vectors

    def _used(self) -> None:
        self._last_used = time.monotonic()

    def _seconds_until_idle(self) -> float:
        """Seconds until the store will have been idle for long enough."""
        return max(0.0, self._last_used + self._quiet_seconds - time.monotonic())

    async def _maintain(self) -> None:
        changed = asyncio.Event()
        named: set[str] = set()

        def on_change(collection: str) -> None:
            self._used()
            named.add(collection)
            changed.set()

        end = self._database.listen(CHANGED, on_change)
        try:
            waiting = await self._database.lookup(_LEFT_OVER) is not None or await self._has_more()
            if waiting:
                changed.set()
            while True:
                if changed.is_set():
                    changed.clear()
                    waiting = True
                    if not named or named - self._supplies.keys():  # a supply with more leaves nothing to tidy
                        await self._attempt(self.tidy())
                    named.clear()
                    await asyncio.sleep(_SECONDS_BETWEEN)
                elif waiting and not self._seconds_until_idle():
                    waiting = bool(await self._attempt(self._embed_slice()))
                else:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._seconds_until_idle() if waiting else None):
                            await changed.wait()
        finally:
            end()

    async def _has_more(self) -> bool:
        """Whether a supply has documents that could be embedded."""
        from pentad.search.collection import lacks

        more = await self._database.read(lambda rows: any(lacks(rows, *one) for one in self._supplies.items()))
        return more and self.embedder is not None

    async def _embed_slice(self) -> int:
        """Embed a few documents; after the last ones, files and indexes are brought up to date."""
        done = await self.embed_pending(_SLICE)
        if 0 < done < _SLICE:
            await self.tidy()
        return done

    async def _attempt(self, chore: Coroutine[None, None, T]) -> T | None:
        """The result of a chore; None if it failed, because the background work must go on."""
        try:
            return await chore
        except PentadError as error:
            log_failure(error, "Keeping the search index in order")
            return None


def _key(embedder: Embedder, query: str) -> str:
    """The cache key for a query's vector."""
    return f"{embedder.model}\n{query}"
