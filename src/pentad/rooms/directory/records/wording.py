"""How text is cut into words for full-text search, the same in both dialects and for what is asked.

Left to themselves the dialects cut differently (hyphens, accents, addresses), so words are cut here: runs of letters
and digits, without accents and case. What is past the bounds is left out, not refused.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST_WORD: Final = 100
_LONGEST_TEXT: Final = 30_000
_LAST_PLACE: Final = 16_383
_MOST_PLACES: Final = 255


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    cut = text[:_LONGEST_TEXT]
    if cut.isascii():
        folded = cut.lower()
    else:
        apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", cut).casefold())
        folded = "".join(character for character in apart if not unicodedata.combining(character))
    return [word[:_LONGEST_WORD] for word in _WORD.findall(folded)]


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
