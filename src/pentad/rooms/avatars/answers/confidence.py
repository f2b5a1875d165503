"""The confidence of an answer, as a number and a word.

It grows with the probability that the corpus covers the question, and with the share of the question's words in the
quotes. A paraphrase that no model judged, and quotes that are only the closest passage, never get above `medium`.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

from pentad.search.relevance import logistic

Level = Literal["high", "medium", "low", "none"]

HIGH: Final = 0.8
MEDIUM: Final = 0.5
LOW: Final = 0.25
_BELOW: Final = 0.001
_SUREST: Final = 0.98
"""The most a retrieval counts for: similar passages need not be right."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """The evidence for an answer."""

    probability: float
    coverage: float
    """The weighted share of the question's words that the quotes contain."""
    agreement: bool
    sources: int
    quoted: float
    """The share of statements that are verbatim quotes."""
    direct: bool = True
    """Whether the quotes themselves show that they answer the question."""
    judged: bool = False


def confidence(grounds: Grounds) -> tuple[float, Level]:
    """The confidence of an answer."""
    probability = min(max(grounds.probability, 1 - _SUREST), _SUREST)
    value = (
        0.55 * math.log(probability / (1 - probability))
        + 2.4 * (grounds.coverage - 0.5)
        + 0.3 * (1.0 if grounds.agreement else -0.5)
        + 0.2 * min(grounds.sources - 1, 2)
        + 0.5 * (grounds.quoted - 0.5)
    )
    number = logistic(value)
    if not grounds.direct or (grounds.quoted < 1 and not grounds.judged):
        number = min(number, HIGH - _BELOW)
    number = round(max(number, LOW), 4)
    return number, level(number)


def abstention_confidence(probability: float) -> tuple[float, Level]:
    """The confidence when the avatar abstains: below that of any answer, ordered by the retrieval's probability."""
    return round(min(probability, 1.0) * (LOW - _BELOW), 4), "none"


def level(number: float) -> Level:
    if number >= HIGH:
        return "high"
    if number >= MEDIUM:
        return "medium"
    return "low" if number >= LOW else "none"
