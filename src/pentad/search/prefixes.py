"""Matching of word prefixes, for rooms whose word table has `prefixes`."""

from os.path import commonprefix
from typing import Final, NamedTuple

from pentad.kernel.words import words
from pentad.search.text import STOP_WORDS, stem

_COUNTED: Final = 20_000
"""Words are counted for ranking in this many characters of a text; matching covers the whole text."""
_MOST_ASKED: Final = 32
_SHORTEST: Final = 3
_SEPARATORS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}


def question_words(question: str) -> dict[str, str]:
    """The prefix that all forms of a significant word share, with the word: `permit` for permits.

    Prefixes of one or two letters would match too many words, so such words match only whole: they end with a space.
    Scripts that write a word with one or two signs are left alone.
    """
    asked = list(dict.fromkeys(words(question)))
    found: dict[str, str] = {}
    for word in [word for word in asked if word not in STOP_WORDS] or asked:
        shared = commonprefix([word, stem(word)])  # noqa: RUF071  of words, not of paths
        beginning = shared if len(shared) >= _SHORTEST else word
        whole = len(beginning) < _SHORTEST and beginning.isascii()
        found.setdefault(f"{beginning} " if whole else beginning, word)
    return dict(list(found.items())[:_MOST_ASKED])


class PrefixText(NamedTuple):
    """A text for prefix matching: its words between spaces, and its length in characters."""

    text: str
    length: int

    def times(self, word: str) -> int:
        return self.text.count(f" {word}")


def prefix_text(text: str) -> PrefixText:
    """A text prepared for counting word prefixes."""
    cut = text[:_COUNTED]
    plain = cut.lower().translate(_SEPARATORS) if cut.isascii() else " ".join(words(cut))
    return PrefixText(f" {plain} ", len(plain))
