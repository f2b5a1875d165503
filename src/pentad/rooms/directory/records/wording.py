"""What the full-text index of each dialect is given of a record's texts, and how a question is cut."""

from collections.abc import Sequence
from typing import Final

from pentad.kernel import words as kernel_words

_LONGEST_TEXT: Final = 30_000
_LAST_PLACE: Final = 16_383
_MOST_PLACES: Final = 255


def words(text: str) -> list[str]:
    """The words of a text, in order; what is past the bound is left out."""
    return kernel_words.words(text[:_LONGEST_TEXT])


def fts_text(text: str) -> str:
    """What a column of the FTS5 table is given."""
    return " ".join(words(text))


def tsvector_text(fields: Sequence[tuple[str, str]]) -> str:
    """The literal of a tsvector made of texts, each with its weight (A to D)."""
    places: dict[str, list[str]] = {}
    place = 0
    for text, weight in fields:
        for word in words(text):
            place = min(place + 1, _LAST_PLACE)
            found = places.setdefault(word, [])
            if len(found) < _MOST_PLACES:
                found.append(f"{place}{weight}")
    return " ".join(f"'{word}':{','.join(found)}" for word, found in places.items())
