"""Words for full-text search. Every search word must be a prefix of some word of the object."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pentad.kernel.ports import Dialect
from pentad.kernel.words import words as cut_words
from pentad.search.searchable import OTHERS, Searchable, SearchField, SearchFields
from pentad.search.text import STOP_WORDS
from pentad.search.word_table import Word, WordTable

WORDS: Final = WordTable("object_text", "id", ("text",), longest=200_000, parts={}, prefixes=True)
ATTACHMENT_WORDS: Final = WordTable("attachment_words", "number", ("text",), longest=500_000, parts={}, prefixes=True)
"""The words of the texts of attached files, by the number of the text."""
SEARCHABLE: Final = Searchable(
    "objects",
    # The property with an object's name, whatever it is called, and all others.
    {"name": SearchField(3.0), OTHERS: SearchField()},
    vector_of=(OTHERS,),
    filters=(OTHERS,),
)
"""Objects have the properties of their schema, and can be filtered by each of them."""

_MOST_SEARCHED: Final = 32
_MOST_DISTINCT: Final = 400_000
"""The most bytes of distinct words of one attachment; a tsvector holds less than a mebibyte."""


def words(text: str) -> list[str]:
    """The words of a text, in order. Words beyond the limit are left out."""
    return WORDS.words(text)


def distinct_words(text: str) -> str:
    """The distinct words of a long text, up to the limit of the index."""
    found: dict[str, None] = {}
    size = 0
    for word in cut_words(text):
        if word in found:
            continue
        size += len(word.encode()) + 1
        if size > _MOST_DISTINCT:
            break
        found[word] = None
    return " ".join(found)


def query_words(search: str) -> list[Word]:
    """The distinct words of a search."""
    return [Word.plain(word) for word in dict.fromkeys(words(search))][:_MOST_SEARCHED]


def distinctive_words(search: str) -> tuple[str, ...]:
    """The distinct words of a search without stop words; all of them if there are only stop words."""
    found = list(dict.fromkeys(words(search)))
    return tuple([word for word in found if word not in STOP_WORDS] or found)[:_MOST_SEARCHED]


def searchable_fields(name: str | None) -> SearchFields:
    """The declared search fields for the names of a schema's properties."""
    others = {OTHERS: SEARCHABLE.fields[OTHERS]}
    return others if name is None else {**others, name: SEARCHABLE.fields["name"]}


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The words to look up, of which an object needs all, or one."""

    words: Sequence[Word]
    joint: Literal["and", "or"] = "and"

    def expression(self, table: WordTable, dialect: Dialect) -> str:
        """The expression for the store's full-text index; empty without words."""
        return table.expression(dialect, self.words, self.joint) if self.words else ""
