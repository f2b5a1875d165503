"""How sure an answer is, as one number and one word.

The number grows with what the retrieval promises and with what the quotes hold of the question. Two things bound it: a
paraphrase nobody judged, and quotes that are only the nearest thing there is, never get above `medium`.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

from pentad.rooms.avatars.calibration.model import logistic

Level = Literal["high", "medium", "low", "none"]

HIGH: Final = 0.8
MEDIUM: Final = 0.5
LOW: Final = 0.25
_BELOW: Final = 0.001
_SUREST: Final = 0.98
"""What a retrieval can promise at most: that passages are near does not make them right."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What speaks for an answer."""

    probability: float
    coverage: float
    """The share of the question's words, by weight, that the quotes hold."""
    agreement: bool
    sources: int
    quoted: float
    """The share of statements that are word for word."""
    direct: bool = True
    """Whether the quotes themselves show that they answer; however well they were found, that does not."""
    judged: bool = False


def confidence(grounds: Grounds) -> tuple[float, Level]:
    """Of an answer that was given."""
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


def of_silence(probability: float) -> tuple[float, Level]:
    """Of an answer that was not given: below everything that was, in the order of what the retrieval promised."""
    return round(min(probability, 1.0) * (LOW - _BELOW), 4), "none"


def level(number: float) -> Level:
    if number >= HIGH:
        return "high"
    if number >= MEDIUM:
        return "medium"
    return "low" if number >= LOW else "none"
