"""Suggests skills and domains for a free text: the words it shares with the captions and names of the classes.

Plain arithmetic over words (BM25), so the same text always gets the same answer, offline and within a millisecond or
two. A class is suggested only when a word hits the class itself, not merely what stands above it.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from math import log
from typing import Final

from pentad.rooms.directory.oasf.synonyms import SYNONYMS
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, Taxonomy, taxonomy
from pentad.rooms.directory.oasf.versions import Family

MOST_CHARACTERS: Final = 20_000
"""What is read of a text; the rest is not looked at."""

_WORD: Final = re.compile(r"[a-z0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_COMMON: Final = """
a about above agent agents all also an and any are as at be by can do does for from get given has have how i in into is
it its mcp more new no not of on one or our out server servers so such than that the their them then these they this to
tool tools up use used user users uses using via was we what when which who will with you your
"""
_SUFFIXES: Final = """
izations isations ization isation izing ising ized ised izes ises izer iser ize ise ations ation ating ated ates ators
ator ate ings ing ions ion ies ers ed er es s y e
"""
_STOP: Final = frozenset(_COMMON.split())
_ENDINGS: Final = tuple(_SUFFIXES.split())
_SHORTEST: Final = 3
_OWN: Final = 3.0
_ABOVE: Final = 0.8
_SYNONYM: Final = 0.45
_K: Final = 1.2
_B: Final = 0.4


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A class that fits a text, how well (only comparable within one answer), and the words that say so."""

    entry: ClassEntry
    score: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Index:
    entries: tuple[ClassEntry, ...]
    postings: dict[str, list[tuple[int, float]]]
    """By stem: which classes have it, and the weight it has there. A weight of `_OWN` or more is the class's own."""
    norms: tuple[float, ...]
    own: tuple[int, ...]
    """How many different words each class has of its own."""


def suggest(text: str, version: str, family: Family, limit: int = 5) -> list[Suggestion]:
    """The classes that fit a text best, best first."""
    index = _index(taxonomy(version, family))
    scores: dict[int, float] = {}
    hits: dict[int, dict[str, str]] = {}
    for word, stem, weight in _asked(text):
        postings = index.postings.get(stem, ())
        rarity = log(1 + (len(index.entries) + 0.5) / (len(postings) + 0.5))
        for number, share in postings:
            scores[number] = scores.get(number, 0.0) + weight * rarity * share * (_K + 1) / (
                share + index.norms[number]
            )
            if share >= _OWN:
                hits.setdefault(number, {}).setdefault(stem, word)
    ranked: list[Suggestion] = []
    for number, words in hits.items():
        covered = len(words) / index.own[number]
        score = round(scores[number] * (0.5 + 0.5 * covered), 4)
        ranked.append(Suggestion(index.entries[number], score, tuple(dict.fromkeys(words.values()))))
    ranked.sort(key=lambda suggestion: (-suggestion.score, suggestion.entry.name))
    return ranked[:limit]


def _asked(text: str) -> list[tuple[str, str, float]]:
    """The words of a text with their stems and weights, those of synonyms with less."""
    counted = Counter(_words(text[:MOST_CHARACTERS]))
    asked: dict[str, tuple[str, float]] = {}
    for word, count in counted.items():
        kept, best = asked.get(_stem(word), (word, 0.0))
        asked[_stem(word)] = (kept, max(best, 1 + log(count)))
    synonyms = _synonyms()
    for stem, (word, weight) in list(asked.items()):
        for other in synonyms.get(stem, ()):
            asked.setdefault(other, (word, weight * _SYNONYM))
    return [(word, stem, weight) for stem, (word, weight) in asked.items()]


@cache
def _synonyms() -> dict[str, list[str]]:
    return {_stem(word): [_stem(other) for other in others.split()] for word, others in SYNONYMS.items()}


@cache
def _index(classes: Taxonomy) -> _Index:
    entries = tuple(entry for entry in classes.all if not entry.grouping and not entry.deprecated)
    postings: dict[str, list[tuple[int, float]]] = {}
    weights = [_weights(classes, entry) for entry in entries]
    for number, shares in enumerate(weights):
        for stem, share in shares.items():
            postings.setdefault(stem, []).append((number, share))
    lengths = [sum(shares.values()) for shares in weights]
    usual = sum(lengths) / len(lengths)
    return _Index(
        entries,
        postings,
        tuple(_K * (1 - _B + _B * length / usual) for length in lengths),
        tuple(sum(share >= _OWN for share in shares.values()) for shares in weights),
    )


def _weights(classes: Taxonomy, entry: ClassEntry) -> dict[str, float]:
    own = {_stem(word) for word in _words(f"{entry.caption} {entry.short}")} or {entry.short}
    weights = dict.fromkeys(sorted(own), _OWN)
    for parent in classes.parents(entry):
        for stem in sorted({_stem(word) for word in _words(parent.caption)}):
            weights.setdefault(stem, _ABOVE)
    return weights


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(_CAMEL.sub(" ", text).lower()) if word not in _STOP]


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= _SHORTEST), "")
    return word.removesuffix(ending)
