"""The words of a question to the directory.

Words that say nothing are dropped, unless there is no other; singular and plural count as one word.
"""

from functools import cache
from typing import Final

from pentad.rooms.directory.records.index_fields import WORDS
from pentad.search.word_table import Word

_MOST_WORDS: Final = 24
_SHORTEST_FOLDED: Final = 3
_EMPTY_WORDS: Final = (
    "a about an and any are as at be by can could do does find for from get give has have help how i in into is it its"
    " like looking me my need of on or please search should show some something that the their them there these they"
    " this to us want was we what when which who will with would you your"
)


def asked_words(text: str) -> tuple[Word, ...]:
    """The words of a question, each once, in order."""
    found = list(dict.fromkeys(WORDS.words(text)))
    telling = [word for word in found if word not in _empty_words()] or found
    by_forms = {_forms(word): word for word in reversed(telling)}
    kept = sorted(((word, forms) for forms, word in by_forms.items()), key=lambda pair: telling.index(pair[0]))
    return tuple(Word(word, forms) for word, forms in kept[:_MOST_WORDS])


@cache
def _empty_words() -> frozenset[str]:
    return frozenset(_EMPTY_WORDS.split())


def _forms(word: str) -> tuple[str, ...]:
    """Singular and plural, as far as the spelling tells."""
    if not word.isascii() or not word.isalpha() or len(word) < _SHORTEST_FOLDED:
        return (word,)
    if word.endswith("ies"):
        return word[:-3] + "y", word
    if word.endswith("y") and word[-2] not in "aeiou":
        return word, word[:-1] + "ies"
    if word.endswith("ss"):
        return (word,)
    return (word[:-1], word) if word.endswith("s") else (word, word + "s")
