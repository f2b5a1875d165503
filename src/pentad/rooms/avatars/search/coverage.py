"""What the nearest single sentence says about whether passages cover a question.

A passage's vector blurs what its sentences say: one line that answers is lost among ten that do not. Where the features
of the retrieval leave a doubt, the sentences of the best passages are asked as well. On corpora of several kinds the
cosine of the nearest one told covered questions from others better than any feature of whole passages.
"""

import math
from collections.abc import Sequence
from typing import Final

from pentad.rooms.avatars.calibration.model import logistic
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity

FROM_PASSAGES: Final = 3
_MOST_SENTENCES: Final = 32
_DOUBTFUL: Final = (0.02, 0.98)
"""Outside of these no sentence changes whether there is an answer."""
_NEITHER: Final = 0.4
"""The cosine that speaks neither for an answer nor against it: unrelated sentences stay below, answers lie above."""
_WEIGHT: Final = 10.0
_MOST_AGAINST: Final = -3.0
_MOST_FOR: Final = 4.0


async def refined(probability: float, query: str, passages: Sequence[Passage], similarity: SentenceSimilarity) -> float:
    """The probability that these passages, the best first, cover the question, with their sentences taken into account.

    Without an embedding model it stays as it is.
    """
    low, high = _DOUBTFUL
    if similarity.embedder is None or not low <= probability <= high:
        return probability
    sentences = [
        passage.content[start:end] for passage in passages[:FROM_PASSAGES] for start, end in passage.sentences
    ][:_MOST_SENTENCES]
    await similarity.learn([query, *sentences])
    cosines = [cosine for text in sentences if (cosine := similarity.cosine(query, text)) is not None]
    return moved(probability, max(cosines)) if cosines else probability


def moved(probability: float, cosine: float) -> float:
    """A probability after the nearest sentence was heard, which can turn a doubt and not overrule everything."""
    shift = min(max(_WEIGHT * (cosine - _NEITHER), _MOST_AGAINST), _MOST_FOR)
    return logistic(math.log(probability / (1 - probability)) + shift)
