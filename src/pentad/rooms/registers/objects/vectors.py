"""What objects mean, kept in the shared search for schemas that ask for it (`configuration.search`: "hybrid").

Words stay with the registers' own index; the shared one holds vectors, made in the background of what is put here in
the transaction that writes an object. An object is found by its words until then. For other schemas nothing is done.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pentad.kernel.ports import Transaction
from pentad.rooms.registers.catalogue_definitions import Definitions
from pentad.rooms.registers.objects.pending_changes import Draft
from pentad.search.documents import Document
from pentad.search.index import SearchIndex

_WINDOW: Final = 900
_MOST_WINDOWS: Final = 16
"""Of a very long object the beginning counts; its words are searched all the same."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")

Texts = Callable[[Mapping[str, Any]], str]
"""What is searched of an object's data."""


def collection_of(schema: int) -> str:
    """Where the vectors of a schema's objects are."""
    return f"objects:{int(schema)}"


def schema_of(collection: str) -> int | None:
    """The schema whose objects' vectors a collection has; None for a collection of somebody else."""
    room, _, schema = collection.partition(":")
    return int(schema) if room == "objects" and schema.isdecimal() else None


def windows(texts: str) -> list[str]:
    """Pieces of an object's texts that a vector is made of; names of other objects and bare numbers mean nothing."""
    lines = [line.strip() for line in texts.split("\n") if _LETTERS.search(line) and not _UUID.fullmatch(line.strip())]
    found: list[str] = []
    rest = ". ".join(line.rstrip(".") for line in lines)
    while rest and len(found) < _MOST_WINDOWS:
        cut = len(rest) if len(rest) <= _WINDOW else rest.rfind(" ", _WINDOW // 2, _WINDOW)
        cut = cut if cut > 0 else _WINDOW
        found.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    return found


class Meanings:
    """Keeps the vectors of one store's objects in step with the objects."""

    def __init__(self, index: SearchIndex, definitions: Definitions) -> None:
        self._index = index
        self._definitions = definitions

    def keep(self, tx: Transaction, schema: int, drafts: Sequence[Draft], before: Texts | None) -> None:
        """Take in what was written of a hybrid schema's objects. An object that means what it meant `before` keeps
        its vectors; None where no object of the schema has any."""
        name = collection_of(schema)
        made: list[Document] = []
        gone: list[int] = []
        for draft in drafts:
            if draft.words is None:
                continue
            pieces = windows(draft.words)
            if before is not None and _windows_before(draft, before) == pieces:
                continue
            if pieces:
                made.append(Document(draft.after.id, {}, pieces))
            elif draft.before is not None:
                gone.append(draft.after.id)
        if gone:
            self._index.remove(tx, name, gone)
        if made:
            self._index.put(tx, name, made)

    def follow(self, tx: Transaction, drafts: Sequence[Draft]) -> None:
        """The same for objects of any schemas, whichever of these are hybrid."""
        by_schema: dict[int, list[Draft]] = {}
        for draft in drafts:
            by_schema.setdefault(draft.after.schema, []).append(draft)
        for schema, some in by_schema.items():
            found = self._definitions.by_id(tx, schema)
            if found is not None and found[1].hybrid:
                self.keep(tx, schema, some, found[1].texts)

    def drop(self, tx: Transaction, schema: int) -> None:
        """Forget everything of a schema."""
        self._index.drop(tx, collection_of(schema))


def _windows_before(draft: Draft, texts: Texts) -> list[str] | None:
    """What an object's vectors were made of until now; None for one that was not there."""
    held = draft.before
    return None if held is None or held.stored.is_deleted else windows(texts(held.stored.data))
