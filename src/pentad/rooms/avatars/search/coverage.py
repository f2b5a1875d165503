"""Refines the probability that passages cover a question, by their nearest sentence.

The vector of a passage blurs its sentences: one that answers is lost among ten that do not. So if the retrieval leaves
a doubt, the sentences of the best passages are compared, too. On several kinds of corpora the cosine of the nearest
sentence separated covered questions better than any feature of whole passages.
"""

import math
from collections.abc import Sequence
from typing import Final

from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.search.relevance import logistic

FROM_PASSAGES: Final = 3
_MOST_SENTENCES: Final = 32
_DOUBTFUL: Final = (0.02, 0.98)
"""Probabilities outside this range are certain enough and stay as they are."""
_NEITHER: Final = 0.4
"""The neutral cosine: unrelated sentences are below it, answers above."""
_WEIGHT: Final = 10.0
_MOST_AGAINST: Final = -3.0
_MOST_FOR: Final = 4.0


async def refined(probability: float, query: str, passages: Sequence[Passage], similarity: SentenceSimilarity) -> float:
    """Refine the probability with the sentences of the passages (best first).

    Without an embedding model it stays as it is.
    """
    low, high = _DOUBTFUL
    if similarity.embedder is None or not low <= probability <= high:
        return probability
    sentences = [
        passage.content[start:end] for passage in passages[:FROM_PASSAGES] for start, end in passage.sentences
    ][:_MOST_SENTENCES]
    await similarity.embed([query, *sentences])
    cosines = [cosine for text in sentences if (cosine := similarity.cosine(query, text)) is not None]
    return moved(probability, max(cosines)) if cosines else probability


def moved(probability: float, cosine: float) -> float:
    """Shift a probability by the cosine of the nearest sentence, within bounds."""
    shift = min(max(_WEIGHT * (cosine - _NEITHER), _MOST_AGAINST), _MOST_FOR)
    return logistic(math.log(probability / (1 - probability)) + shift)
