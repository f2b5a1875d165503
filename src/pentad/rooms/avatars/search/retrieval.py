"""Finds passages for a question, with the probability that they cover it, and looks up passages of callers.

The vector of a passage blurs its sentences: one that answers is lost among ten that do not. So if the search leaves any
doubt, the sentences of the best passages are compared too (`refine_probability`). On several kinds of corpora, the
cosine of the nearest sentence separated covered questions better than any feature of whole passages.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from pentad.kernel.errors import InvalidInput
from pentad.rooms.avatars.calibration.model import Calibration
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.persona import Persona
from pentad.rooms.avatars.verification.normalization import find_run, normal_words
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.search.documents import Ranking
from pentad.search.relevance import logistic
from pentad.search.scoring import Reason
from pentad.search.sources import explained

ANSWER_FROM: Final = 0.5
"""An avatar answers if the probability that its corpus covers the question is at least this."""
LONGEST_QUESTION: Final = 8_000
MOST_PASSAGES: Final = 50
_SEARCHED_WORDS: Final = 48
_FEWEST_WORDS: Final = 4


class Corpus(Protocol):
    """One avatar's corpus, as answers need it."""

    @property
    def persona(self) -> Persona: ...

    @property
    def calibration(self) -> Calibration: ...

    async def search(self, query: str, limit: int, allowed: Sequence[int] | None = None) -> Ranking:
        """The best passages, by number; only allowed ones take part."""
        ...

    async def passages(self, ids: Sequence[int]) -> Sequence[Passage]:
        """Those of these passages that exist, in this order."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage with the probability that it is relevant, and the raw score it was ranked by."""

    passage: Passage
    score: float
    raw_score: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a search in an avatar's corpus found."""

    query: str
    passages: Sequence[Scored]
    probability: float
    ranking: Ranking

    @property
    def retrieval(self) -> str:
        return self.ranking.retrieval

    @property
    def no_good_match(self) -> bool:
        """Whether the corpus probably does not cover the question."""
        return self.probability < ANSWER_FROM

    def reasons(self, scored: Scored) -> list[Reason]:
        """Why a passage was found: the words in its headings and its text, and its vector."""
        hit = next(one for one in self.ranking.hits if one.id == scored.passage.id)
        return explained(self.query, self.ranking, hit, texts_of(scored.passage))


def texts_of(passage: Passage) -> dict[str, str]:
    """The texts of a passage that are searched, by field."""
    return {"section": passage.section or "", "content": passage.content}


@dataclass(frozen=True, slots=True)
class VerifiedPassages:
    """Passages that a caller passed in: those found in the corpus, and the indexes of the others."""

    passages: tuple[Passage, ...]
    unverified: tuple[int, ...]


async def retrieve(
    corpus: Corpus, query: str, limit: int, similarity: SentenceSimilarity, allowed: Sequence[int] | None = None
) -> Retrieved:
    """The best passages for a question, each with its probability."""
    if not query.strip():
        raise InvalidInput("The question is empty.", hint="Ask something; a few words are enough.")
    if len(query) > LONGEST_QUESTION:
        raise InvalidInput(f"The question has {len(query)} characters; at most {LONGEST_QUESTION} are read.")
    ranking = await corpus.search(query, limit, allowed)
    found = await corpus.passages([hit.id for hit in ranking.hits])
    probability = await refine_probability(corpus.calibration.probability(ranking), query, found, similarity)
    scores = corpus.calibration.scores(ranking, probability)
    held = {passage.id: passage for passage in found}
    scored = [
        Scored(held[hit.id], score, hit.score, hit.cosine)
        for hit, score in zip(ranking.hits, scores, strict=True)
        if hit.id in held
    ]
    return Retrieved(query, scored, probability, ranking)


async def verify_passages(corpus: Corpus, given: Sequence[Any]) -> VerifiedPassages:
    """Look each passage up by its number, or by its words.

    Nothing else that the caller sends is used. A piece of a passage stands for the passage. Anything that is not in the
    corpus word for word is unverified.
    """
    if len(given) > MOST_PASSAGES:
        raise InvalidInput(f"{len(given)} passages were given; at most {MOST_PASSAGES} are read.")
    found: dict[int, Passage] = {}
    unverified: list[int] = []
    for place, entry in enumerate(given):
        passage = await _look_up(corpus, entry)
        if passage is None:
            unverified.append(place)
        else:
            found.setdefault(passage.id, passage)
    return VerifiedPassages(tuple(found.values()), tuple(unverified))


async def _look_up(corpus: Corpus, entry: Any) -> Passage | None:
    number, content = _fields(entry)
    words = normal_words(content) if content is not None else None
    if number is not None:
        held = await corpus.passages([number])
        if held and (words is None or find_run(words, normal_words(held[0].content)) is not None):
            return held[0]
    if words is None or len(words) < _FEWEST_WORDS:
        return None
    ranking = await corpus.search(" ".join(words[:_SEARCHED_WORDS]), 10)
    for passage in await corpus.passages([hit.id for hit in ranking.hits]):
        if find_run(words, normal_words(passage.content)) is not None:
            return passage
    return None


def _fields(entry: Any) -> tuple[int | None, str | None]:
    """The number and the words of a passage in whatever form it is handed in."""
    if isinstance(entry, str):
        return None, entry[:LONGEST_QUESTION]
    if isinstance(entry, int) and not isinstance(entry, bool):
        return entry, None
    if not isinstance(entry, Mapping):
        return None, None
    fields = cast("Mapping[str, Any]", entry)
    content = fields.get("content")
    numbers = [fields.get(key) for key in ("n", "id", "chunk_id")]
    number = next((value for value in numbers if isinstance(value, int) and not isinstance(value, bool)), None)
    return number, content if isinstance(content, str) else None


FROM_PASSAGES: Final = 3
_MOST_SENTENCES: Final = 32
_DOUBTFUL: Final = (0.02, 0.98)
"""Probabilities outside this range are certain enough and stay as they are."""
_NEITHER: Final = 0.4
"""The neutral cosine: unrelated sentences are below it, answers above."""
_WEIGHT: Final = 10.0
_MOST_AGAINST: Final = -3.0
_MOST_FOR: Final = 4.0


async def refine_probability(
    probability: float, query: str, passages: Sequence[Passage], similarity: SentenceSimilarity
) -> float:
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
    return shift_probability(probability, max(cosines)) if cosines else probability


def shift_probability(probability: float, cosine: float) -> float:
    """Shift a probability by the cosine of the nearest sentence, within bounds."""
    shift = min(max(_WEIGHT * (cosine - _NEITHER), _MOST_AGAINST), _MOST_FOR)
    return logistic(math.log(probability / (1 - probability)) + shift)
