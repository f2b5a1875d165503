"""Splits text into words, the same way for every index and every query.

The stores would split differently (hyphens, accents, addresses), so it happens here: words are runs of letters and
digits, without accents and case. Long words are cut.
"""

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST_WORD: Final = 100


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    return [word[:_LONGEST_WORD] for word in _WORD.findall(folded(text))]


def folded(text: str) -> str:
    """The text without case and accents."""
    if text.isascii():
        return text.lower()
    # Case folding can produce letters that decompose again, so it goes between two decompositions.
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
