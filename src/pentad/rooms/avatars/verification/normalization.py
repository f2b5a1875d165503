"""Normalizes text for comparison: removes typographic differences and keeps everything that carries meaning."""

import re
import unicodedata
from typing import Final

_HYPHENATED: Final = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\s*\n\s*(?=[a-z])")
_PLAIN: Final = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u2032": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"', "\u2033": '"',
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2015": "-", "\u2212": "-",
        "\u00ad": None, "\u200b": None, "\ufeff": None,
    }
)  # fmt: skip
_WORD: Final = re.compile(
    r"\d+(?:[.,:/]\d+)*(?:(?:st|nd|rd|th|s)(?![^\W_]))?%?"
    r"|[^\W\d_]+(?:'[^\W\d_]+)*|[^\W_]+|[%$\u20ac\u00a3<>=\u00b1]"
)


def normalized(text: str) -> str:
    """Apply NFKC, plain quotes and dashes, join hyphenated words, and collapse white space. Keeps case."""
    joined = _HYPHENATED.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(joined.translate(_PLAIN).split())


def normal_words(text: str) -> list[str]:
    """The words and signs to compare, in order, in lower case."""
    return _WORD.findall(normalized(text).lower())


def cased_words(text: str) -> list[str]:
    """The same words in their original case."""
    return _WORD.findall(normalized(text))


def find_run(needle: list[str], hay: list[str]) -> int | None:
    """The position of one list of words inside another; None if it is not there."""
    if not needle:
        return None
    first, size = needle[0], len(needle)
    for place in range(len(hay) - size + 1):
        if hay[place] == first and hay[place : place + size] == needle:
            return place
    return None
