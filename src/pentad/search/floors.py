"""From which cosine on two texts have to do with each other, for any embedding model.

Models differ: what is unrelated has a cosine of .05 with one and of .7 with another. So each model is asked,
once, to embed questions and statements that have nothing in common; what lies far above those cosines counts.
"""

import math
from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import Final

from pentad.kernel.ports import Embedder

_SPREADS: Final = 4.0
_HIGHEST: Final = 0.9
_QUESTIONS: Final = (
    "how do glaciers carve valleys",
    "recipe for sourdough bread",
    "who won yesterday's football match",
    "reset forgotten email password",
    "train timetable Vienna to Prague",
    "symptoms of vitamin deficiency",
)
_STATEMENTS: Final = (
    "This tenant may terminate their lease with three months notice.",
    "Violin strings were once made from sheep gut.",
    "An octopus hides by changing its colour.",
    "Quarterly revenue grew because licences sold well.",
    "Knights wore chain mail under surcoats.",
    "Solder both wires before closing that housing.",
    "Poems by anonymous monks filled every margin.",
    "Paint dries slower when humidity rises.",
)


async def floor_of(embedder: Embedder) -> float:
    """The cosine above which a text is near a question."""
    data = await embedder.embed([*_QUESTIONS, *_STATEMENTS])
    rows = _rows(data, embedder.dimensions)
    questions, statements = rows[: len(_QUESTIONS)], rows[len(_QUESTIONS) :]
    cosines = [sum(map(float.__mul__, one, other)) for one in questions for other in statements]
    return min(_HIGHEST, fmean(cosines) + _SPREADS * pstdev(cosines))


def _rows(data: bytes, dimensions: int) -> list[Sequence[float]]:
    values = memoryview(data).cast("f").tolist()
    rows = [values[start : start + dimensions] for start in range(0, len(values), dimensions)]
    return [[value / length for value in row] for row in rows if (length := math.hypot(*row))]
