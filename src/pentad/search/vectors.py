"""The interface of vector stores, and the requirements for vectors.

All vectors have length 1, so the cosine is the scalar product. A document may have several, one for each of its
windows; its cosine is the best of them. Vectors of different models cannot be compared: mixing them is an error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pentad.kernel.errors import Conflict, InvalidInput
from pentad.kernel.ports import Rows, Transaction
from pentad.search.arrays import Mask, Matrix
from pentad.search.collection import Collection
from pentad.search.document_table import Members

_SHORTEST: Final = 1e-6


@dataclass(frozen=True, slots=True)
class NearDocuments:
    """Documents by number, with their cosines and the vector of each that has it."""

    documents: NDArray[np.intp]
    cosines: NDArray[np.float64]
    vectors: Matrix
    again: "Callable[[Matrix, int], NearDocuments] | None" = None
    """Set if not every document was compared: returns the nearest of those that were, for another query vector. A query
    close to this one need not search again."""


class VectorStore(Protocol):
    """Stores the vectors of all collections."""

    exact_up_to: int
    """Up to this many vectors, all are compared."""

    def add(self, tx: Transaction, collection: Collection, vectors: Sequence[tuple[int, Matrix]]) -> None:
        """Store the vectors of documents, by number; they take effect when the transaction is committed."""
        ...

    def remove(self, tx: Transaction, collection: Collection, documents: Sequence[int]) -> int:
        """Delete the vectors of documents; returns how many there were."""
        ...

    def nearest(
        self, rows: Rows, collection: Collection, members: Members, allowed: Mask | None, query: Matrix, count: int
    ) -> NearDocuments:
        """The documents nearest to the query, best first, ties by room id; only allowed ones take part."""
        ...

    def compared(
        self,
        rows: Rows,
        collection: Collection,
        members: Members,
        query: Matrix,
        documents: NDArray[np.intp],
    ) -> NearDocuments:
        """The best cosine of each of these documents, for those that have a vector."""
        ...


def checked(data: bytes, dimensions: int, windows: int) -> Matrix:
    """Validate and normalise vectors from outside; InvalidInput if they are not vectors."""
    if len(data) != windows * dimensions * 4:
        raise InvalidInput(
            f"The vectors are {len(data)} bytes; {windows} of {dimensions} dimensions are {windows * dimensions * 4}.",
            hint="Give one row of float32 numbers for each window.",
        )
    rows = np.frombuffer(data, "<f4").reshape(windows, dimensions)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < _SHORTEST).any():
        raise InvalidInput("A vector has no length or is not made of numbers.", hint="Embed the text again.")
    return (rows / lengths).astype(np.float32)


def check_model(collection: Collection, model: str, dimensions: int) -> None:
    """Raise Conflict if the collection has vectors of another model."""
    if collection.model is not None and (collection.model, collection.dimensions) != (model, dimensions):
        raise Conflict(
            f"The collection's vectors are of {collection.model} ({collection.dimensions} dimensions), not of {model}"
            f" ({dimensions}).",
            hint="Rebuild the collection's index with one model; vectors of different models cannot be compared.",
            details={"stored": collection.model, "given": model},
        )


def best_windows(
    documents: NDArray[np.intp], cosines: NDArray[np.float64], vectors: Matrix, members: Members, count: int | None
) -> NearDocuments:
    """Each document once, with its best window; best first, ties by room id."""
    order = np.lexsort((members.ids[documents], -cosines))
    _, firsts = np.unique(documents[order], return_index=True)
    kept = order[np.sort(firsts)][:count]
    return NearDocuments(documents[kept], cosines[kept], vectors[kept])
