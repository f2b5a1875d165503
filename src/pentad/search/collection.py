"""A collection in the store: one row that every change of its documents updates.

`version` counts the changes, so reading one row tells a process whether its cached data is current. Numbers of
documents and segments only grow; they are never reused.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Rows, Transaction
from pentad.search.documents import Readiness, Supply

_LARGEST_STEP: Final = 1 << 20
_SELECT: Final = (
    "SELECT number, token, version, next_document, next_segment, documents, vectors, model, dimensions"
    " FROM search_collections"
)


@dataclass(frozen=True, slots=True)
class Collection:
    """The row at one moment."""

    number: int
    token: str
    version: int
    next_document: int
    next_segment: int
    documents: int
    vectors: int
    model: str | None
    dimensions: int | None


def find(rows: Rows, name: str) -> Collection | None:
    """The collection with this name, if anything was ever put into it."""
    row = rows.one(f"{_SELECT} WHERE name = ?", name)
    return None if row is None else Collection(*row)


def by_number(rows: Rows, number: int) -> Collection | None:
    """The collection with this number, unless it was dropped."""
    row = rows.one(f"{_SELECT} WHERE number = ? AND name IS NOT NULL", number)
    return None if row is None else Collection(*row)


def get_or_create(tx: Transaction, name: str) -> Collection:
    """The collection with this name; created if there is none."""
    if (there := find(tx, name)) is not None:
        return there
    tx.run(
        "INSERT INTO search_collections (name, token, version, next_document, next_segment, documents, vectors)"
        " VALUES (?, ?, 0, 0, 0, 0, 0) ON CONFLICT (name) DO NOTHING",
        name, opaque_id(size=12),
    )  # fmt: skip
    there = find(tx, name)
    if there is None:
        raise LookupError(name)
    return there


def lock(tx: Transaction, collection: Collection) -> None:
    """Keep others from changing the collection until this unit ends. Call it before the first change.

    Otherwise a late unit on PostgreSQL would find its numbers taken and fail. With the lock, it is retried.
    """
    tx.run("UPDATE search_collections SET version = version WHERE number = ?", collection.number)


def save(tx: Transaction, collection: Collection) -> None:
    """Write the row back."""
    tx.run(
        "UPDATE search_collections SET version = ?, next_document = ?, next_segment = ?, documents = ?, vectors = ?,"
        " model = ?, dimensions = ? WHERE number = ?",
        collection.version, collection.next_document, collection.next_segment, collection.documents,
        collection.vectors, collection.model, collection.dimensions, collection.number,
    )  # fmt: skip


def newest(rows: Rows, name: str) -> int:
    """The largest id in a collection; 0 if it has none."""
    return rows.value(
        "SELECT coalesce(max(id), 0) FROM search_documents"
        " WHERE collection = (SELECT number FROM search_collections WHERE name = ?)",
        name,
    )


def lacks(rows: Rows, name: str, supply: Supply) -> bool:
    """Whether a supply has more documents for a collection."""
    return bool(supply(rows, newest(rows, name), 1))


def readiness(rows: Rows, name: str) -> Readiness:
    """The progress of a collection's vectors."""
    collection = find(rows, name)
    if collection is None or not collection.vectors:
        return Readiness()
    waiting, first = rows.one(
        "SELECT count(*), min(d.id) FROM search_pending p"
        " JOIN search_documents d ON d.collection = p.collection AND d.document = p.document WHERE p.collection = ?",
        collection.number,
    ) or (0, None)
    return Readiness(collection.documents - waiting, newest(rows, name) if first is None else first - 1)


def new_segment(collection: Collection) -> int:
    """A number for a new segment. Steps are random, so that two histories of one collection (after restoring a backup)
    do not give two segments the same number."""
    return collection.next_segment + secrets.randbelow(_LARGEST_STEP)


def drop(tx: Transaction, name: str) -> bool:
    """Remove the name: the collection is no longer found and the name is free. False if there was none."""
    return bool(tx.run("UPDATE search_collections SET name = NULL WHERE name = ?", name))


def field_lengths(rows: Rows, collection: Collection) -> Mapping[str, int]:
    """The number of words in each field, over all documents."""
    found = rows.all("SELECT field, total_length FROM search_fields WHERE collection = ?", collection.number)
    return {field: length for field, length in found}  # noqa: C416  rows are tuples of any length to the type checker


def add_lengths(tx: Transaction, collection: Collection, lengths: Mapping[str, int]) -> None:
    """Add to the number of words in each field."""
    tx.run_many(
        "INSERT INTO search_fields (collection, field, total_length) VALUES (?, ?, ?)"
        " ON CONFLICT (collection, field) DO UPDATE"
        " SET total_length = search_fields.total_length + excluded.total_length",
        [(collection.number, field, length) for field, length in lengths.items()],
    )
