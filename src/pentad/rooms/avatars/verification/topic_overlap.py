"""Checks whether a statement is about the topic of the cited sentences.

Similarity can show that a citation points to the wrong place, never that a statement is true. So a low value is a veto,
a middling one leaves the statement unsure, and a high one is necessary but not sufficient.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.rooms.avatars.verification.verb_forms import stem_of_verb
from pentad.search.text import query_terms, terms

SURE_COVERAGE: Final = 0.75
"""What a paraphrase needs to pass without its source next to it."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Below `coverage` or `cosine` a statement is not about its citation. Fitted to the avatar's own sentences."""

    coverage: float = 0.45
    cosine: float = 0.40


@dataclass(frozen=True, slots=True)
class Rarity:
    """The weight of each stem among some texts; an unknown stem has the highest weight."""

    texts: int
    having: Mapping[str, int]

    def of(self, term: str) -> float:
        held = self.having.get(term, 0)
        return math.log(1 + (self.texts - held + 0.5) / (held + 0.5))


def rarity(texts: Iterable[Sequence[str]]) -> Rarity:
    """Compute weights from the stems of each text."""
    having: Counter[str] = Counter()
    count = 0
    for stems in texts:
        having.update({stem_of_verb(each) for each in stems})
        count += 1
    return Rarity(count, having)


def coverage(statement: str, sources: Iterable[str], weights: Rarity, ignored: frozenset[str] = frozenset()) -> float:
    """The weighted share of a statement's words that the cited sentences contain."""
    mine = dict.fromkeys(stem_of_verb(term) for term in query_terms(statement) if term not in ignored)
    total = sum(weights.of(term) for term in mine)
    if not total:
        return 1.0
    theirs = {stem_of_verb(term) for source in sources for term in terms(source)}
    return sum(weights.of(term) for term in mine if term in theirs) / total
