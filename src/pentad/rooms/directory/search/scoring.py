"""How well a record answers words: BM25F over its fields, computed here so that both stores give the same scores.

A word counts the more the fewer records have it, in fields that say more about a record, in short fields, and less and
less each further time. A score is exactly the sum of what the fields contribute, and each contribution names its words.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pentad.rooms.directory.records.facts import FieldTexts
from pentad.rooms.directory.records.wording import words
from pentad.rooms.directory.search.query import Reason
from pentad.rooms.directory.search.words import Part, Word


class _Field(NamedTuple):
    weight: float
    usual_words: int


_FIELDS: Final[dict[str, _Field]] = {
    "name": _Field(4.0, 3),
    "description": _Field(1.0, 30),
    "skills": _Field(2.0, 12),
    "domains": _Field(1.6, 8),
    "modules": _Field(1.2, 4),
    "authors": _Field(1.0, 3),
    "annotations": _Field(0.6, 6),
}
_PART_WEIGHTS: Final[dict[Part, float]] = {"name": 4.0, "classes": 2.0, "description": 1.0, "others": 0.8}
_SATURATION: Final = 1.5
_LENGTH_MATTERS: Final = 0.5
_DIGITS: Final = 4


def rarity(records: int, having: int) -> float:
    """What a word that so many of the records have is worth at most."""
    return math.log(1 + (records - having + 0.5) / (having + 0.5))


def points(rare: float) -> dict[Part, int]:
    """The share of a score that is known from the index alone, as whole numbers: they add up alike everywhere."""
    return {part: round(1000 * rare * weight / (_SATURATION + weight)) for part, weight in _PART_WEIGHTS.items()}


def score(texts: FieldTexts, asked: Sequence[tuple[Word, float]]) -> tuple[float, tuple[Reason, ...]]:
    """The score of a record and its reasons, the largest first."""
    cut = {name: words(text) for name, text in zip(FieldTexts._fields, texts, strict=True) if text}
    contributions: dict[str, float] = {}
    matched: dict[str, list[str]] = {}
    for word, rare in asked:
        strengths = _strengths(cut, word)
        whole = sum(strengths.values())
        for name, strength in strengths.items():
            share = rare * strength / (_SATURATION + whole)
            contributions[name] = contributions.get(name, 0.0) + share
            matched.setdefault(name, []).append(word.text)
    reasons = [Reason(name, tuple(matched[name]), round(value, _DIGITS)) for name, value in contributions.items()]
    reasons.sort(key=lambda reason: (-reason.contribution, reason.field))
    return round(sum(reason.contribution for reason in reasons), _DIGITS), tuple(reasons)


def _strengths(cut: Mapping[str, list[str]], word: Word) -> dict[str, float]:
    """How strongly each field that has the word has it."""
    found: dict[str, float] = {}
    for name, in_field in cut.items():
        if times := sum(in_field.count(form) for form in word.forms):
            field = _FIELDS[name]
            stretch = 1 - _LENGTH_MATTERS + _LENGTH_MATTERS * len(in_field) / field.usual_words
            found[name] = field.weight * times / stretch
    return found
