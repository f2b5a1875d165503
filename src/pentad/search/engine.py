"""The index's operations inside a unit of work: add documents, remove documents, run queries.

Everything here runs in the store's threads. This module loads numpy, so only `index.py` imports it, when the first
document or query arrives.
"""

import json
import secrets
from collections.abc import Collection as Several
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Rows, Transaction
from pentad.search import collection as collections
from pentad.search import posting_lists
from pentad.search.arrays import Matrix
from pentad.search.bm25 import Lexicon
from pentad.search.collection import Collection
from pentad.search.document_table import DocumentTables
from pentad.search.documents import Document, EmbeddedQuery, Ranking
from pentad.search.fusion import Scope, VectorQuery, Vectors, hybrid, lexical
from pentad.search.relevance import MINILM, CosineScale
from pentad.search.searchable import SearchFields
from pentad.search.text import query_terms, terms
from pentad.search.vector_files import VectorFiles
from pentad.search.vectors import VectorStore, check_model, checked

Allowed = Several[int] | NDArray[Any]

_LARGEST_STEP: Final = 1 << 20
"""Versions grow by random steps, so that two histories of one collection (a restored backup) never share them."""
_LOOKED_UP: Final = 500
_WRITTEN: Final = msgspec.json.Encoder()
_OTHER_MODEL: Final = "The collection's vectors are of another model than the one in use."
_NO_VECTORS: Final = "The collection has no vectors yet."


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model in use; vectors are stored and compared under its name."""

    name: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its vector, if it has one."""

    text: str
    limit: int
    allowed: Allowed | None = None
    fields: SearchFields | None = None
    vector: bytes | None = None
    model: Model | None = None
    scale: CosineScale = MINILM
    why_no_vector: str | None = None


class Engine:
    """Adds, removes and finds documents, using one vector store."""

    def __init__(self, vectors: VectorStore) -> None:
        self.vectors = vectors
        self._tables = DocumentTables()
        self._lexicon = Lexicon()

    def put(self, tx: Transaction, name: str, documents: Sequence[Document], model: Model | None) -> None:
        """Index documents; existing ones are replaced."""
        latest = list({document.id: document for document in documents}.values())
        if not latest:
            return
        collection = collections.get_or_create(tx, name)
        collections.lock(tx, collection)
        self._take_out(tx, collection, [document.id for document in latest])
        collection = _changed(collections.get_or_create(tx, name))
        numbered = list(enumerate(latest, collection.next_document))
        for start in range(0, len(latest), posting_lists.MOST_DOCUMENTS):
            collection = _with_segment(tx, collection, latest[start : start + posting_lists.MOST_DOCUMENTS])
        collections.save(tx, self._with_vectors(tx, collection, numbered, model))

    def known(self, rows: Rows, name: str, ids: Sequence[int]) -> set[int]:
        """The ids, among these, that the collection contains."""
        collection = collections.find(rows, name)
        return set() if collection is None else {id_ for id_, _, _ in _listed(rows, collection, ids)}

    def remove(self, tx: Transaction, name: str, ids: Sequence[int]) -> None:
        """Remove documents; unknown ids are ignored."""
        if (collection := collections.find(tx, name)) is not None:
            collections.lock(tx, collection)
            self._take_out(tx, collection, list(dict.fromkeys(ids)))

    def add_vectors(
        self, tx: Transaction, collection: Collection, ready: Sequence[tuple[int, Matrix]], model: Model
    ) -> None:
        """Store vectors for documents that were waiting for them; documents deleted in the meantime are skipped."""
        check_model(collection, model.name, model.dimensions)
        collections.lock(tx, collection)
        waiting = "DELETE FROM search_pending WHERE collection = ? AND document = ?"
        kept = [(number, rows) for number, rows in ready if tx.run(waiting, collection.number, number)]
        if kept:
            collection = _changed(collection)
            self.vectors.add(tx, collection, kept)
            total = collection.vectors + sum(rows.shape[0] for _, rows in kept)
            collections.save(tx, replace(collection, vectors=total, model=model.name, dimensions=model.dimensions))

    def by_words(self, rows: Rows, name: str, question: Question) -> Scope | None:
        """The word scores for a query, computed before it has its vector; None if vectors take no part."""
        collection = collections.find(rows, name)
        if collection is None or not collection.vectors or question.limit < 1:
            return None
        scope = self._scope(rows, collection, question)
        _ = scope.by_words  # computed and cached
        return scope

    def search(self, rows: Rows, name: str, question: Question, before: Scope | None = None) -> Ranking:
        """Run a query on one snapshot of the store. The word scores computed before are reused if they are still
        valid."""
        collection = collections.find(rows, name)
        if collection is None or not collection.documents or question.limit < 1:
            return Ranking([], "lexical", lexical_because=question.why_no_vector or _NO_VECTORS)
        scope = before
        if scope is None or scope.collection != collection:
            scope = self._scope(rows, collection, question)
        idf = {term.text: term.idf for term in scope.terms}
        why_not = _why_lexical(collection, question)
        if why_not is not None or question.vector is None:
            hits, features = lexical(scope)
            return Ranking(hits, "lexical", features, idf, why_not)
        query = checked(question.vector, collection.dimensions or 0, 1)[0]
        hits, features = hybrid(scope, Vectors(rows, self.vectors), query, question.scale)
        return Ranking(hits, "hybrid", features, idf)

    def vector_query(self, rows: Rows, name: str, query: EmbeddedQuery, up_to: int | None = None) -> VectorQuery | None:
        """A query on the vectors of a collection alone; None if there are no comparable vectors."""
        collection = collections.find(rows, name)
        if query.vector is None or collection is None or not collection.vectors or collection.model != query.model:
            return None
        vector = checked(query.vector, collection.dimensions or 0, 1)[0]
        members = self._tables.members(rows, collection)
        return VectorQuery(rows, self.vectors, collection, members, vector, query.scale, up_to)

    def prepare(self, rows: Rows, number: int) -> None:
        """Load what queries on a collection will need."""
        collection = collections.by_number(rows, number)
        if collection is not None and collection.vectors and isinstance(self.vectors, VectorFiles):
            self.vectors.prepare(rows, collection, self._tables.members(rows, collection))

    def _scope(self, rows: Rows, collection: Collection, question: Question) -> Scope:
        members = self._tables.members(rows, collection)
        words = query_terms(question.text)
        found = self._lexicon.terms(rows, collection, members, words, question.fields or {})
        return Scope(collection, members, members.mask(question.allowed), found, question.limit)

    def _with_vectors(
        self, tx: Transaction, collection: Collection, numbered: Sequence[tuple[int, Document]], model: Model | None
    ) -> Collection:
        """Store the vectors that came with documents, and record which documents still need some."""
        given = [(number, document) for number, document in numbered if document.vectors is not None]
        waiting = [
            (collection.number, number, json.dumps(list(document.windows)))
            for number, document in numbered
            if document.vectors is None and document.windows
        ]
        if waiting:
            tx.run_many("INSERT INTO search_pending (collection, document, windows) VALUES (?, ?, ?)", waiting)
        if not given:
            return collection
        if model is None:
            raise InvalidInput(
                "Vectors were given, but no embedding model is in use.", hint="Run `pentad models pull`."
            )
        check_model(collection, model.name, model.dimensions)
        ready = _checked(given, model)
        self.vectors.add(tx, collection, ready)
        total = collection.vectors + sum(rows.shape[0] for _, rows in ready)
        return replace(collection, vectors=total, model=model.name, dimensions=model.dimensions)

    def _take_out(self, tx: Transaction, collection: Collection, ids: Sequence[int]) -> None:
        there = _listed(tx, collection, ids)
        if not there:
            return
        collection = _changed(collection)
        numbers = [number for _, number, _ in there]
        lost: dict[str, int] = {}
        for _, _, lengths in there:
            for field, length in json.loads(lengths).items():
                lost[field] = lost.get(field, 0) - length
        removed = self.vectors.remove(tx, collection, numbers) if collection.vectors else 0
        tx.run_many(
            "INSERT INTO search_removed (collection, version, document) VALUES (?, ?, ?)",
            [(collection.number, collection.version, number) for number in numbers],
        )
        for table, key, values in (
            ("search_documents", "id", [id_ for id_, _, _ in there]),
            ("search_pending", "document", numbers),
        ):
            tx.run_many(
                f"DELETE FROM {table} WHERE collection = ? AND {key} = ?",  # noqa: S608  fixed names
                [(collection.number, value) for value in values],
            )
        collections.add_lengths(tx, collection, lost)
        left = collection.documents - len(there)
        vectors = collection.vectors - removed
        model, dimensions = (collection.model, collection.dimensions) if vectors else (None, None)
        collections.save(tx, replace(collection, documents=left, vectors=vectors, model=model, dimensions=dimensions))


def _checked(given: Sequence[tuple[int, Document]], model: Model) -> list[tuple[int, Matrix]]:
    """Validate the vectors of documents: the shape of each, then the values of all together."""
    each = [(document.vectors or b"", max(1, len(document.windows))) for _, document in given]
    row = 4 * model.dimensions
    for data, windows in each:
        if len(data) != windows * row:
            checked(data, model.dimensions, windows)
    rows = checked(b"".join([data for data, _ in each]), model.dimensions, sum(windows for _, windows in each))
    ends = accumulate(windows for _, windows in each)
    return [
        (number, rows[end - windows : end]) for (number, _), (_, windows), end in zip(given, each, ends, strict=True)
    ]


def _changed(collection: Collection) -> Collection:
    return replace(collection, version=collection.version + 1 + secrets.randbelow(_LARGEST_STEP))


def _terms(document: Document) -> dict[str, list[str]]:
    fields = {"": document.fields} if isinstance(document.fields, str) else document.fields
    return {field: found for field, text in fields.items() if (found := terms(text))}


def _with_segment(tx: Transaction, collection: Collection, documents: Sequence[Document]) -> Collection:
    """Write documents as a segment: their words, ids and lengths."""
    segment = collections.new_segment(collection)
    by_field = [_terms(document) for document in documents]
    posting_lists.write(tx, collection, segment, by_field)
    totals: dict[str, int] = {}
    rows: list[tuple[int, int, int, str]] = []
    for number, (document, fields) in enumerate(zip(documents, by_field, strict=True), collection.next_document):
        lengths = {field: min(len(found), posting_lists.LONGEST) for field, found in fields.items()}
        rows.append((collection.number, document.id, number, _WRITTEN.encode(lengths).decode()))
        for field, length in lengths.items():
            totals[field] = totals.get(field, 0) + length
    tx.run_many("INSERT INTO search_documents (collection, id, document, lengths) VALUES (?, ?, ?, ?)", rows)
    tx.run(
        "INSERT INTO search_segments (collection, segment, first_document, documents, ids) VALUES (?, ?, ?, ?, ?)",
        collection.number, segment, collection.next_document, len(documents),
        np.array([document.id for document in documents], "<i8").tobytes(),
    )  # fmt: skip
    collections.add_lengths(tx, collection, totals)
    return replace(
        collection,
        next_document=collection.next_document + len(documents),
        next_segment=segment + 1,
        documents=collection.documents + len(documents),
    )


def _listed(rows: Rows, collection: Collection, ids: Sequence[int]) -> list[tuple[int, int, str]]:
    """Id, number and lengths of the documents that exist."""
    found: list[Any] = []
    if not collection.documents:
        return found
    for start in range(0, len(ids), _LOOKED_UP):
        part = ids[start : start + _LOOKED_UP]
        found += rows.all(
            "SELECT id, document, lengths FROM search_documents"  # noqa: S608  only marks
            f" WHERE collection = ? AND id IN ({', '.join('?' * len(part))})",
            collection.number, *part,
        )  # fmt: skip
    return found


def _why_lexical(collection: Collection, question: Question) -> str | None:
    """The reason vectors are not used; None if they are."""
    if question.vector is None or question.model is None:
        return question.why_no_vector
    if not collection.vectors:
        return _NO_VECTORS
    wanted = question.model.name, question.model.dimensions
    return None if (collection.model, collection.dimensions) == wanted else _OTHER_MODEL
