"""Converts evidence to a score: the probability that a best hit with this evidence is what the query asked for.

The score means the same in every query and room, so it can be compared with a threshold, and a document whose vector
is not ready yet competes fairly with others. The maps and thresholds were fitted on one half of
`benchmarks/search/judged_agents.json` and of `judged_directory.json`; `docs/decisions/016-search.md` has the figures.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from pentad.kernel.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GOOD_MATCH: Final = 0.4
"""If no hit reaches this score, the answer says that there is no good match."""
FEW_WORDS, FAR = 0.62, 0.28
"""A best hit below both this share of the query's words and this cosine was right half of the time."""
RELATED: Final = 0.165
"""A document that has none of the words is found if it reaches this score."""

WORDS_IN_COSINES: Final = 0.8
"""A full match of words counts as much as this cosine."""
_BIAS, _EVIDENCE = -3.6, 9.9
_COSINE_OF_NONE, _COSINE_OF_ALL = 0.12, 0.48
"""The average cosines of documents that have none of the words, and of those that have all."""

Number = TypeVar("Number", float, "NDArray[np.float64]")
"""One value, or an array of them."""


def logit(share: Number, cosine: Number) -> Number:
    """The logit of the score of a document that has a vector; the cosine is on MiniLM's scale."""
    return _BIAS + _EVIDENCE * (cosine + WORDS_IN_COSINES * share)


def logit_of_words(share: Number, coverage: Number) -> Number:
    """The same for a document without a vector: its cosine is assumed to be the usual one for its coverage."""
    return logit(share, _COSINE_OF_NONE + (_COSINE_OF_ALL - _COSINE_OF_NONE) * coverage)


def is_doubtful(coverage: float, cosine: float) -> bool:
    """Whether a best hit shares some words with the query but not its meaning, as in "tax return" and a desk for
    returned goods. Its score is then too high. The cosine is on MiniLM's scale."""
    return coverage < FEW_WORDS and cosine < FAR


def part_of_words(score: float, share: float, cosine: float | None) -> float:
    """The part of a score that is due to words; the cosine is on MiniLM's scale, None without a vector."""
    if cosine is None:
        return score
    words = WORDS_IN_COSINES * share
    return score * words / (words + max(cosine, 0.0)) if words else 0.0


def logistic(value: float) -> float:
    if value < -40:
        return 0.0
    return 1.0 if value > 40 else 1.0 / (1.0 + math.exp(-value))


def never_rising(values: Sequence[float]) -> list[float]:
    """The nearest sequence that never rises: neighbours in the wrong order are replaced by their mean."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        total, size = value, 1
        while blocks and blocks[-1][0] / blocks[-1][1] < total / size:
            before, length = blocks.pop()
            total, size = total + before, size + length
        blocks.append((total, size))
    return [total / size for total, size in blocks for _ in range(size)]


class CosineScale(Struct, frozen=True):
    """The scale of a model's cosines: three standard deviations above the cosines of unrelated texts, and the cosine
    of paraphrases.

    Models differ: unrelated texts have a cosine of .05 with one and of .7 with another. The maps above were fitted on
    MiniLM's cosines, so those of other models are moved to MiniLM's scale.
    """

    unrelated: float
    same: float

    def standard(self, cosine: Number) -> Number:
        """A cosine, or an array of them, on MiniLM's scale."""
        if self == MINILM:
            return cosine
        stretch = (MINILM.same - MINILM.unrelated) / max(self.same - self.unrelated, 0.01)
        return MINILM.unrelated + (cosine - self.unrelated) * stretch

    def cosine(self, standard: float) -> float:
        """The model's own cosine for one on MiniLM's scale."""
        stretch = (self.same - self.unrelated) / (MINILM.same - MINILM.unrelated)
        return self.unrelated + (standard - MINILM.unrelated) * stretch

    @property
    def related(self) -> float:
        """The model's own cosine that a document without any of the words must reach to be found."""
        return self.cosine((math.log(RELATED / (1 - RELATED)) - _BIAS) / _EVIDENCE)


MINILM: Final = CosineScale(0.192, 0.888)

_QUESTIONS: Final = (
    "how do glaciers carve valleys",
    "recipe for sourdough bread",
    "who won yesterday's football match",
    "reset forgotten email password",
    "train timetable Vienna to Prague",
    "symptoms of vitamin deficiency",
)
_SAME: Final = (
    "how ice and glaciers carve deep valleys",
    "a recipe for rye and sourdough bread",
    "which team won yesterday's football match",
    "reset a forgotten password of an email account",
    "timetable of the night train Vienna to Prague",
    "common symptoms of vitamin D deficiency",
)
_UNRELATED: Final = (
    "This tenant may terminate their lease with three months notice.",
    "Violin strings were once made from sheep gut.",
    "An octopus hides by changing its colour.",
    "Quarterly revenue grew because licences sold well.",
    "Knights wore chain mail under surcoats.",
    "Solder both wires before closing that housing.",
    "Poems by anonymous monks filled every margin.",
    "Paint dries slower when humidity rises.",
)
_SPREADS: Final = 3.0


async def measure_cosines(embedder: Embedder) -> CosineScale:
    """Measure the scale of a model's cosines. MiniLM's is known."""
    from statistics import fmean, pstdev  # rarely needed

    if embedder.model.startswith("all-minilm-l6-v2"):
        return MINILM
    data = await embedder.embed([*_QUESTIONS, *_SAME, *_UNRELATED])
    rows = _rows(data, embedder.dimensions)
    questions, same, unrelated = (
        rows[: len(_QUESTIONS)],
        rows[len(_QUESTIONS) : -len(_UNRELATED)],
        rows[-len(_UNRELATED) :],
    )
    apart = [_cosine(one, other) for one in questions for other in unrelated]
    alike = [_cosine(one, other) for one, other in zip(questions, same, strict=True)]
    low = fmean(apart) + _SPREADS * pstdev(apart)
    return CosineScale(low, max(low + 0.05, fmean(alike)))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(float.__mul__, one, other))


def _rows(data: bytes, dimensions: int) -> list[Sequence[float]]:
    values = memoryview(data).cast("f").tolist()
    rows = [values[start : start + dimensions] for start in range(0, len(values), dimensions)]
    return [[value / (math.hypot(*row) or 1.0) for value in row] for row in rows]
