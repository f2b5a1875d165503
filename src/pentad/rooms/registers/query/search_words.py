"""Words for full-text search. Every word of a search must be a prefix of some word of the object."""

from typing import Final, NamedTuple

from pentad.kernel.words import words as cut_words
from pentad.search.scoring import SearchField, SearchFields
from pentad.search.text import STOP_WORDS
from pentad.search.word_table import Word, WordTable

WORDS: Final = WordTable("object_text", "id", ("text",), longest=200_000, parts={}, prefixes=True)
NAME: Final = SearchField(3.0)
"""What the property that objects are named by weighs; others weigh 1."""

_MOST_SEARCHED: Final = 32
_COUNTED: Final = 20_000
"""Characters of a text in which words are counted; what stands behind is found all the same."""
_SEPARATORS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}


def words(text: str) -> list[str]:
    """The words of a text, in order. What is past the bound is left out, not refused."""
    return WORDS.words(text)


def query_words(search: str) -> list[Word]:
    """The words of a search, each once."""
    return [Word.plain(word) for word in dict.fromkeys(words(search))][:_MOST_SEARCHED]


def distinctive_words(search: str) -> tuple[str, ...]:
    """The words of a search that can tell one object from another, each once; all of them when there is no such."""
    found = list(dict.fromkeys(words(search)))
    return tuple([word for word in found if word not in STOP_WORDS] or found)[:_MOST_SEARCHED]


def searchable_fields(name: str | None) -> SearchFields:
    """What weighs more than other properties: the one objects are named by."""
    return {} if name is None else {name: NAME}


class PrefixText(NamedTuple):
    """A text in which words are found at the beginning of a word: words behind spaces, and its length in characters."""

    text: str
    length: int

    def times(self, word: str) -> int:
        return self.text.count(f" {word}")


def prefix_text(text: str) -> PrefixText:
    """A text made ready for counting."""
    cut = text[:_COUNTED]
    plain = cut.lower().translate(_SEPARATORS) if cut.isascii() else " ".join(cut_words(cut))
    return PrefixText(f" {plain}", len(plain))
