"""Detects changed comparisons: `A is cheaper than B` needs a source that compares with B, in this respect.

A source may name both things without comparing them. If both follow the verb (`prefers A to B`), exchanging them leaves
the order of the rest unchanged.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pentad.rooms.avatars.verification.clauses import clauses, content_words
from pentad.rooms.avatars.verification.normalization import normal_words
from pentad.search.text import stem

_THAN: Final = "than"
_DIRECTED: Final = (_THAN, "to", "into", "for", "from", "over", "before", "after")
_BESIDE: Final = 2
_DEGREES: Final = frozenset(("more", "less", "fewer", "better", "worse", "rather", "other"))
_SHORTEST: Final = 5


def comparison_changed(statement: str, source: str) -> bool:
    """Whether the statement has a comparison that the source lacks, or exchanges the words around a preposition."""
    theirs = list(_around(_THAN, source))
    if any(not any(_is_same(mine, other) for other in theirs) for mine in _around(_THAN, statement)):
        return True
    return any(
        _is_exchanged(mine, other)
        for word in _DIRECTED
        for mine in _around(word, statement)
        for other in _around(word, source)
    )


def _around(word: str, text: str) -> Iterator[tuple[list[str], list[str]]]:
    """The words before and after a word in its clauses."""
    for clause in clauses(text):
        words = normal_words(clause)
        for at in (place for place, found in enumerate(words) if found == word):
            yield words[:at], words[at + 1 :]


def _is_same(mine: tuple[list[str], list[str]], theirs: tuple[list[str], list[str]]) -> bool:
    degrees, others = (_degrees(before) for before, _ in (mine, theirs))
    standard, other = (_stems(after) for _, after in (mine, theirs))
    return bool(degrees & others or not degrees) and bool(standard & other or not standard)


def _is_exchanged(mine: tuple[list[str], list[str]], theirs: tuple[list[str], list[str]]) -> bool:
    left, right = _sides(mine)
    other_left, other_right = _sides(theirs)
    return bool((left - other_left) & other_right and (right - other_right) & other_left)


def _sides(around: tuple[list[str], list[str]]) -> tuple[set[str], set[str]]:
    before, after = (content_words(words) for words in around)
    return {stem(word) for word in before[-_BESIDE:]}, {stem(word) for word in after[:_BESIDE]}


def _stems(words: Sequence[str]) -> set[str]:
    return {stem(word) for word in content_words(words)}


def _degrees(words: Sequence[str]) -> set[str]:
    """The words that may be comparatives."""
    return {word for word in words if word in _DEGREES or (word.endswith("er") and len(word) >= _SHORTEST)}
