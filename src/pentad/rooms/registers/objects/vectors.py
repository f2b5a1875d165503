"""Keeps the vectors of objects in the shared search, for schemas with `configuration.search` "hybrid".

Words stay in the registers' own index. The transaction that writes an object also stores the text to embed; a
background job makes the vectors. Until then the object is found only by its words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pentad.kernel.ports import Transaction
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions
from pentad.rooms.registers.objects.pending_changes import PendingChange
from pentad.search.documents import Document
from pentad.search.index import SearchIndex

_WINDOW: Final = 900
_MOST_WINDOWS: Final = 16
"""Only the start of a very long object is embedded; all its words are searched."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")

Texts = Callable[[Mapping[str, Any]], str]
"""Extracts the searchable text of an object's data."""


def collection_name(schema: int) -> str:
    """The collection with the vectors of a schema's objects."""
    return f"objects:{int(schema)}"


def schema_id(collection: str) -> int | None:
    """The id of a collection's schema; None if the collection belongs to another room."""
    room, _, schema = collection.partition(":")
    return int(schema) if room == "objects" and schema.isdecimal() else None


def windows(texts: str) -> list[str]:
    """Split an object's text into passages to embed, leaving out uuids and bare numbers."""
    lines = [line.strip() for line in texts.split("\n") if _LETTERS.search(line) and not _UUID.fullmatch(line.strip())]
    found: list[str] = []
    rest = ". ".join(line.rstrip(".") for line in lines)
    while rest and len(found) < _MOST_WINDOWS:
        cut = len(rest) if len(rest) <= _WINDOW else rest.rfind(" ", _WINDOW // 2, _WINDOW)
        cut = cut if cut > 0 else _WINDOW
        found.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    return found


class ObjectVectors:
    """Keeps the vectors of objects up to date."""

    def __init__(self, index: SearchIndex, definitions: Definitions) -> None:
        self._index = index
        self._definitions = definitions

    def update(
        self, tx: Transaction, schema: int, pending_changes: Sequence[PendingChange], before: Texts | None
    ) -> None:
        """Update the vectors of written objects. An object keeps its vectors if its passages equal those `before`; None
        means that no object of the schema has vectors yet.
        """
        name = collection_name(schema)
        made: list[Document] = []
        gone: list[int] = []
        for pending in pending_changes:
            if pending.words is None:
                continue
            pieces = windows(pending.words)
            if before is not None and _windows_before(pending, before) == pieces:
                continue
            if pieces:
                made.append(Document(pending.after.id, {}, pieces))
            elif pending.before is not None:
                gone.append(pending.after.id)
        if gone:
            self._index.remove(tx, name, gone)
        if made:
            self._index.put(tx, name, made)

    def update_any(self, tx: Transaction, pending_changes: Sequence[PendingChange]) -> None:
        """Update the vectors of objects of any schema, if it is hybrid."""
        by_schema: dict[int, list[PendingChange]] = {}
        for pending in pending_changes:
            by_schema.setdefault(pending.after.schema, []).append(pending)
        for schema, some in by_schema.items():
            found = self._definitions.by_id(tx, schema)
            if found is not None and found[1].hybrid:
                self.update(tx, schema, some, found[1].texts)

    def drop(self, tx: Transaction, schema: int) -> None:
        """Delete the vectors of a schema."""
        self._index.drop(tx, collection_name(schema))


def _windows_before(pending: PendingChange, texts: Texts) -> list[str] | None:
    """The passages before the change; None for a new object."""
    existing = pending.before
    return None if existing is None or existing.stored.is_deleted else windows(texts(existing.stored.data))
