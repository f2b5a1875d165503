"""The confidence of an answer, as a number and a word.

The number is the probability that the quotes have the answer, from the probability that the corpus covers the question
and from what the answer sentence shows: the question's words, names and numbers, and something of the kind asked for.
`high` needs all of these signs in what is shown first, and search must confirm it: the sentence is from the best
passage, and it is close to the question in meaning, or no other passage comes near. Sentences often have all words of a
question and say something else. A paraphrase is at most `medium`, whoever judged it, and so is a quote from a scan that
could hardly be read. Accepted feedback on an avatar's answers adjusts its numbers. They are neither floored nor capped:
they rank answers.
"""

import math
from dataclasses import dataclass, field
from typing import Final, Literal

from pentad.rooms.avatars.answers.answer_relevance import AnswerSigns
from pentad.rooms.avatars.calibration.model import AnswerAdjustment
from pentad.search.relevance import logistic

Level = Literal["high", "medium", "low", "none"]

HIGH: Final = 0.8
MEDIUM: Final = 0.5
UNADJUSTED: Final = AnswerAdjustment()
_SUREST: Final = 0.98
"""The most a retrieval counts for: similar passages need not be right."""


WEIGHTS: Final = (-2.4, 0.45, 0.64, -1.51, 0.97, 3.18, -3.1)
"""The weights of `Grounds.features`, fitted on the corpora `politics` and `accounting` of the benchmarks, starting at
weights from the demo avatars (`benchmarks/avatars/fitting.py`). The last one is set so that a complete answer without
confirmation has the share of these that are right on the corpora for tuning.
"""
CLOSE: Final = 0.55
"""The cosine of a sentence that is close to the question in meaning."""
AHEAD: Final = 0.03
"""How much more probable the best passage must be than the next one if its sentence is not that close."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """The evidence for an answer."""

    probability: float
    signs: AnswerSigns = field(default_factory=AnswerSigns)
    """What the answer sentence shows."""
    common: bool = False
    """Whether the question's words show nothing here: the corpus is full of them, or an instruction repeats them."""
    quoted: float = 1.0
    """The share of statements that are verbatim quotes."""
    read: bool = False
    """Whether a model read the passages and chose what to say."""
    legible: bool = True
    """Whether no quote is of a scan whose letters may be wrong."""
    lead: float | None = 1.0
    """How much more probable the answer sentence's passage is than the next one; None if another passage is first."""
    cosine: float | None = None
    """How close the answer sentence is to the question in meaning; None without an embedding model."""

    @property
    def complete(self) -> bool:
        """Whether the answer sentence shows everything that is asked for."""
        return self.signs.complete and not self.common

    @property
    def confirmed(self) -> bool:
        """Whether search confirms a complete answer."""
        if not self.complete or self.lead is None:
            return False
        return self.cosine is None or self.cosine >= CLOSE or self.lead >= AHEAD

    @property
    def features(self) -> tuple[float, ...]:
        """One, the retrieval's logit, the share of words, no kind, facts and roles, everything, not confirmed."""
        probability = min(max(self.probability, 1 - _SUREST), _SUREST)
        return (
            1.0,
            math.log(probability / (1 - probability)),
            self.signs.word_share,
            1.0 if self.signs.kind is False else 0.0,
            1.0 if self.signs.facts and self.signs.roles is not False else 0.0,
            1.0 if self.complete else 0.0,
            1.0 if self.complete and not self.confirmed else 0.0,
        )


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure an answer is. `evidence` is the number before feedback adjusted it."""

    number: float
    level: Level
    evidence: float


def confidence(grounds: Grounds, adjustment: AnswerAdjustment = UNADJUSTED) -> Confidence:
    """The confidence of an answer."""
    logit = _logit(grounds)
    number = round(logistic(adjustment.of(logit)), 4)
    word = level(number)
    proven = grounds.confirmed or grounds.read
    if word == "high" and (not proven or grounds.quoted < 1 or not grounds.legible):
        word = "medium"
    return Confidence(number, word, round(logistic(logit), 4))


def abstention_confidence(probability: float) -> Confidence:
    """The confidence when the avatar abstains: that of an answer that shows nothing of what is asked for."""
    number = round(logistic(_logit(Grounds(probability, AnswerSigns(kind=False)))), 4)
    return Confidence(number, "none", number)


def _logit(grounds: Grounds) -> float:
    return sum(weight * value for weight, value in zip(WEIGHTS, grounds.features, strict=True))


def level(number: float) -> Level:
    """The word for the number of an answer that is given."""
    if number >= HIGH:
        return "high"
    return "medium" if number >= MEDIUM else "low"
