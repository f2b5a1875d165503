"""How well an object answers words: BM25 over its texts, computed here so that both stores give the same scores.

A word counts the more the fewer of the found objects have it, in short texts, and less and less each further time. It
is found at the beginning of a word, as in the stores' own indexes. A score is exactly the sum of what the words give.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from pentad.rooms.registers.query.words import words
from pentad.search.text import STOP_WORDS

_COUNTED: Final = 20_000
"""Characters of an object's texts in which words are counted; what stands behind is found all the same."""
_MOST_WORDS: Final = 32
_SATURATION: Final = 1.2
_LENGTH_MATTERS: Final = 0.75
_SEPARATORS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}


class Counted(NamedTuple):
    """A text as words separated by single or several spaces, with one in front, and its length."""

    text: str
    length: int

    def times(self, word: str) -> int:
        return self.text.count(f" {word}")


def telling_words(search: str) -> tuple[str, ...]:
    """The words of a search that can tell one object from another, each once; all of them when there is no such."""
    found = list(dict.fromkeys(words(search)))
    return tuple([word for word in found if word not in STOP_WORDS] or found)[:_MOST_WORDS]


def counted(text: str) -> Counted:
    """A text made ready for counting."""
    cut = text[:_COUNTED]
    plain = cut.lower().translate(_SEPARATORS) if cut.isascii() else " ".join(words(cut))
    return Counted(f" {plain}", len(plain))


class Scorer:
    """Words, and what each is worth among some objects. The first `complete` of these have all of the words."""

    def __init__(self, asked: Sequence[str], among: Sequence[Counted], complete: int) -> None:
        others = among[complete:]
        size = len(among)
        self._usual = max(1.0, sum(one.length for one in among) / size) if size else 1.0
        self._worth: dict[str, float] = {}
        for word in asked:
            having = complete + sum(f" {word}" in one.text for one in others)
            self._worth[word] = math.log(1 + (size - having + 0.5) / (having + 0.5))

    def of(self, text: Counted, *, has_all: bool) -> dict[str, float]:
        """What each word gives to an object; one that `has_all` may have some of them beyond what is counted."""
        stretch = _SATURATION * (1 - _LENGTH_MATTERS + _LENGTH_MATTERS * text.length / self._usual)
        found: dict[str, float] = {}
        for word, worth in self._worth.items():
            if times := text.times(word) or int(has_all):
                found[word] = worth * times * (_SATURATION + 1) / (times + stretch)
        return found
