"""Splits text into words, in the same way for documents and queries: NFKC, lower case, stemmed.

Documents keep every word. A query loses its function words, unless nothing else is left of it, and the measure it
asks for: the answer to `how many?` is a number, and rarely the word `many`. Chinese and Japanese are written without
spaces, so each of their characters counts as a word.
"""

import re
import threading
import unicodedata
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

_IDEOGRAPHS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORDS: Final = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")
_LONGEST: Final = 64
_MOST_QUERY_WORDS: Final = 64
_REMEMBERED: Final = 1 << 18
_OWN: Final = threading.local()

_FUNCTION_WORDS: Final = (
    "a about an and are as at be been but by can could did do does for from had has have he her him his how i if in"
    " into is it its me my no not of on or s she should so such t than that the their them then there these they this"
    " to was we were what when where which who whom whose why will with would you your"
)
STOP_WORDS: Final = frozenset(_FUNCTION_WORDS.split())
_MEASURES: Final = frozenset(("far", "long", "many", "much", "often", "old"))


def words(text: str) -> list[str]:
    """The words of a text in order, not stemmed."""
    return [word[:_LONGEST] for word in _WORDS.findall(unicodedata.normalize("NFKC", text).lower())]


def terms(text: str) -> list[str]:
    """The stems of all words of a text, in order."""
    return [stem(word) for word in words(text)]


def query_terms(text: str) -> list[str]:
    """The distinct stems of a query, in order."""
    found = words(text)
    asked = [
        word
        for place, word in enumerate(found)
        if word not in STOP_WORDS and not (word in _MEASURES and place and found[place - 1] == "how")
    ]
    telling = asked or [word for word in found if word not in STOP_WORDS] or found
    return list(dict.fromkeys(stem(word) for word in telling))[:_MOST_QUERY_WORDS]


@lru_cache(maxsize=_REMEMBERED)
def stem(word: str) -> str:
    """The stem of a word."""
    return _stemmer().stemWord(word)


def _stemmer() -> Any:
    """This thread's own stemmer, because a stemmer stores the word it works on."""
    if not hasattr(_OWN, "stemmer"):
        _OWN.stemmer = import_module("snowballstemmer").stemmer("english")
    return _OWN.stemmer
