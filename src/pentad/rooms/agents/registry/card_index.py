"""Cards in the shared search: found by words and by meaning, best match first."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from pentad.kernel.json_values import as_objects, as_texts, text_or_empty
from pentad.rooms.agents.models import Json
from pentad.rooms.agents.registry.store import CardRecord
from pentad.search.documents import Document
from pentad.search.searchable import Searchable, SearchField

COLLECTION: Final = "agent-cards"
SEARCHABLE: Final = Searchable(
    COLLECTION,
    fields={
        "name": SearchField(3.0),
        "id": SearchField(2.0),
        "skills": SearchField(2.0),
        "tags": SearchField(2.0),
        "description": SearchField(1.0),
    },
    vector_of=("name", "description", "skills"),
    filters=("tags", "skill", "auth_scheme", "dialect", "mcp_context", "tee", "tee_type", "extension"),
)


def number_of(card_id: str) -> int:
    """The number of a card in the index, the same in every process: 63 bits of a hash."""
    return int.from_bytes(hashlib.sha256(card_id.encode()).digest()[:8]) >> 1


def documents_of(cards: Iterable[CardRecord]) -> list[Document]:
    return [_document(one) for one in cards]


def texts_of(card: CardRecord) -> dict[str, str]:
    """The texts of a card that are searched, by field."""
    metadata = card.metadata
    return {
        "name": metadata.name,
        "id": metadata.readable_id,
        "skills": " ".join(_skills(card.card)),
        "tags": " ".join(metadata.all("tag")),
        "description": metadata.description,
    }


def _document(card: CardRecord) -> Document:
    fields = texts_of(card)
    return Document(number_of(card.id), fields, windows=(SEARCHABLE.vector_text(fields),))


def _skills(card: Json) -> Iterator[str]:
    """The words of the skills."""
    for skill in as_objects(card.get("skills")):
        for key in ("name", "description"):
            yield text_or_empty(skill.get(key))
        yield from as_texts(skill.get("examples"))
