"""How text is cut into words, for every index and every question alike.

Left to themselves the stores cut differently (hyphens, accents, addresses), so words are cut here: runs of letters and
digits, without accents and case. What is past the bounds is left out, not refused.
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
    # Folding can bring forth letters that fall apart once more, so it stands between two decompositions.
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
