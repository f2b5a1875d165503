"""BM25F, the only scoring of words, in every room and on both stores.

A word counts for more if few documents have it, in fields with a higher weight, and in short fields; each repetition
counts for less. A room declares its fields (`searchable.py`). `WordScorer` scores given texts, `bm25.py` arrays.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from pentad.search.searchable import SearchFields, field_named

K1: Final = 1.2
_DIGITS: Final = 4


class Countable(Protocol):
    """A field's text, ready for counting. Lengths may be in any unit, the same one for all documents."""

    @property
    def length(self) -> int: ...

    def times(self, word: str) -> int: ...


Texts = Mapping[str, Countable]
"""The texts of one document by field."""


@dataclass(frozen=True, slots=True)
class WordMatch:
    """The score of one document from the query's words, by field and word."""

    given: Mapping[tuple[str, str], float]
    worth: Mapping[str, float]

    @property
    def score(self) -> float:
        return sum(self.given.values())

    @property
    def share(self) -> float:
        """The score relative to the highest score these words allow, 0 to 1."""
        highest = (K1 + 1) * sum(self.worth.values())
        return self.score / highest if highest else 0.0

    @property
    def coverage(self) -> float:
        """The weighted share of the query's words that the document has."""
        total = sum(self.worth.values())
        found = {word for _, word in self.given}
        return sum(self.worth[word] for word in found) / total if total else 0.0

    def by_word(self, scale: float = 1.0) -> dict[str, float]:
        """The contribution of each word."""
        words: dict[str, float] = {}
        for (_, word), value in self.given.items():
            words[word] = words.get(word, 0.0) + value * scale
        return words

    def by_field(self) -> dict[str, tuple[tuple[str, ...], float]]:
        """The words found in each field, and the field's score for them."""
        fields: dict[str, tuple[tuple[str, ...], float]] = {}
        for (name, word), value in self.given.items():
            words, given = fields.get(name, ((), 0.0))
            fields[name] = (*words, word), given + value
        return fields


@dataclass(frozen=True, slots=True)
class Reason:
    """One field's contribution to a document's score, and the words behind it; `meaning` stands for the vector."""

    field: str
    words: tuple[str, ...]
    contribution: float

    def as_json(self) -> dict[str, Any]:
        return {"field": self.field, "words": list(self.words), "contribution": self.contribution}


def reasons(match: WordMatch, score: float, by_words: float, *, has_vector: bool) -> list[Reason]:
    """The reasons that make up a score, strongest first. `by_words` is the part of it that is due to words.

    They add up to the rounded score: the strongest one absorbs the rounding differences.
    """
    whole = match.score
    found = [
        Reason(name, words, given / whole * by_words if whole else 0.0)
        for name, (words, given) in match.by_field().items()
    ]
    if has_vector:
        found.append(Reason("meaning", (), score - by_words))
    return rounded(found)


def rounded(found: Sequence[Reason]) -> list[Reason]:
    """Reasons with rounded contributions, strongest first, whose sum is the rounded sum."""
    if not found:
        return []
    strongest, *others = sorted(found, key=lambda reason: -reason.contribution)
    others = [replace(reason, contribution=round(reason.contribution, _DIGITS)) for reason in others]
    left = sum(reason.contribution for reason in found) - sum(reason.contribution for reason in others)
    strongest = replace(strongest, contribution=round(left, _DIGITS))
    return sorted([strongest, *others], key=lambda reason: (-reason.contribution, reason.field))


class WordScorer:
    """Scores documents for the words of one query. `worth` is the inverse document frequency of each word."""

    def __init__(self, fields: SearchFields, worth: Mapping[str, float]) -> None:
        self._fields = fields
        self._worth = worth

    @classmethod
    def over(
        cls, words: Sequence[str], documents: Sequence[Texts], fields: SearchFields, complete: int = 0
    ) -> "WordScorer":
        """A scorer whose statistics come from these documents alone; the first `complete` have all the words."""
        lengths: dict[str, list[int]] = {}
        for texts in documents:
            for name, text in texts.items():
                lengths.setdefault(name, []).append(text.length)
        usual = {
            name: field_named(fields, name)._replace(usual_length=max(1.0, sum(found) / len(found)))
            for name, found in lengths.items()
        }
        worth: dict[str, float] = {}
        for word in words:
            having = complete + sum(any(text.times(word) for text in texts.values()) for texts in documents[complete:])
            worth[word] = inverse_frequency(len(documents), having)
        return cls(usual, worth)

    def match(self, texts: Texts, *, has_all: bool = False) -> WordMatch:
        """The contribution of each word to a document. With `has_all`, uncounted words count as occurring once."""
        given: dict[tuple[str, str], float] = {}
        for word, worth in self._worth.items():
            strengths = {name: self._strength(name, text, times)
                         for name, text in texts.items() if (times := text.times(word))}  # fmt: skip
            if not strengths and has_all and texts:
                longest = max(texts, key=lambda name: texts[name].length)
                strengths = {longest: self._strength(longest, texts[longest], 1)}
            whole = sum(strengths.values())
            for name, strength in strengths.items():
                given[name, word] = worth * saturated(whole) * strength / whole
        return WordMatch(given, self._worth)

    def _strength(self, name: str, text: Countable, times: int) -> float:
        field = field_named(self._fields, name)
        usual = field.usual_length or max(1, text.length)
        return field.weight * times / (1 - field.length_matters + field.length_matters * text.length / usual)


def inverse_frequency(documents: int, having: int) -> float:
    """The inverse document frequency of a word."""
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


def saturated(frequency: float) -> float:
    """The saturated weight of a term frequency, always below K1 + 1."""
    return (K1 + 1) * frequency / (K1 + frequency)


class WordList(tuple[str, ...]):
    """A text as a list of words that must match whole."""

    __slots__ = ()

    @property
    def length(self) -> int:
        return len(self)

    def times(self, word: str) -> int:
        return self.count(word)


def word_lists(texts: Mapping[str, Iterable[str]]) -> dict[str, WordList]:
    """Fields as lists of words; empty ones are left out."""
    return {name: found for name, words in texts.items() if (found := WordList(words))}
