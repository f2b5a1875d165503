"""The declaration of a searchable collection (`Room.searchable`): fields and their weights, the text to embed, filters.

The engine reads it wherever it scores or embeds, so weights are defined only here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from pentad.search.documents import Supply

TEXT: Final = ""
"""The field name for documents that have a single text."""
OTHERS: Final = "*"
"""The name for all fields that are not declared."""

_LONGEST: Final = 900
"""How many characters of a field go into a vector; embedding models read only so much."""


class SearchField(NamedTuple):
    """A field's weight, its usual length (None: measured on the documents), and the effect of length, 0 to 1."""

    weight: float = 1.0
    usual_length: float | None = None
    length_matters: float = 0.75


SearchFields = Mapping[str, SearchField]
"""Fields by name."""

_PLAIN: Final = SearchField()


def field_named(fields: SearchFields, name: str) -> SearchField:
    """The declaration of a field: its own, the one for all others, or a default."""
    return fields.get(name) or fields.get(OTHERS, _PLAIN)


class Searchable(Struct, frozen=True):
    """One kind of document that a room makes searchable."""

    collection: str
    """The name of the collection; for several, the part of their names before the first colon."""
    fields: SearchFields
    vector_of: tuple[str, ...]
    """The fields a document's vector is made of."""
    filters: tuple[str, ...] = ()
    """The filters of a search, as the room's tools call them. Filters apply before ranking."""
    supply: Supply | None = None
    """Supplies the background work with documents to embed, for rooms that do not `put` documents themselves."""

    def vector_text(self, texts: Mapping[str, str]) -> str:
        """The text a document's vector is made of, if one window is enough for it."""
        parts = [texts[name][:_LONGEST] for name in self.vector_of if texts.get(name, "").strip()]
        return ". ".join(parts) or "-"
