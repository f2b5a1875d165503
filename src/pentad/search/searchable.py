"""The declaration of a searchable collection (`Room.searchable`): fields and their weights, the text to embed, filters.

The engine reads it wherever it scores or embeds, so weights are defined only here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from pentad.search.documents import Supply

TEXT: Final = ""
"""The field of documents that have a single text."""
OTHERS: Final = "*"
"""The name for all fields that are not declared."""

_LONGEST: Final = 900
"""Characters of a field that go into a vector; an embedding model reads only so much."""


class SearchField(NamedTuple):
    """A field's weight, its usual length (None: measured on the documents), and how much length matters, 0 to 1."""

    weight: float = 1.0
    usual_length: float | None = None
    length_matters: float = 0.75


SearchFields = Mapping[str, SearchField]
"""Fields by name."""

_PLAIN: Final = SearchField()


def field_named(fields: SearchFields, name: str) -> SearchField:
    """The declaration of a field: its own, that of the others, or a plain one."""
    return fields.get(name) or fields.get(OTHERS, _PLAIN)


class Searchable(Struct, frozen=True):
    """One kind of document that a room has searched."""

    collection: str
    """The name of the collection, or of several: what their names have before the first colon."""
    fields: SearchFields
    vector_of: tuple[str, ...]
    """The fields a document's vector is made of."""
    filters: tuple[str, ...] = ()
    """What a search can be narrowed by, as the room's tools call it. Filters apply before anything is ranked."""
    supply: Supply | None = None
    """Gives the background what to embed, for rooms that do not `put` documents themselves."""

    def vector_text(self, texts: Mapping[str, str]) -> str:
        """The text a document's vector is made of, if one window is enough for it."""
        parts = [texts[name][:_LONGEST] for name in self.vector_of if texts.get(name, "").strip()]
        return ". ".join(parts) or "-"
