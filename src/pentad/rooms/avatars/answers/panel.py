"""Asks several avatars one question and pairs quotes about the same thing.

Similarity does not show whether two people agree. A pair counts as a difference only if there is a sign of one: a
negation, an opposite, or another number for the same thing. The reader gets both quotes.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

from pentad.rooms.avatars.answers.answer import Answer, Citation
from pentad.rooms.avatars.answers.answer_pipeline import AnswerPipeline
from pentad.rooms.avatars.search.conversation import Turn
from pentad.rooms.avatars.verification import polarity
from pentad.rooms.avatars.verification.normalization import normal_words
from pentad.rooms.avatars.verification.numbers import numbers_in
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.search.text import query_terms

Relation = Literal["agreement", "difference"]

_SAME_COSINE: Final = 0.5
_SAME_WORDS: Final = 0.25
_MOST_PAIRS: Final = 12


@dataclass(frozen=True, slots=True)
class PanelAnswer:
    """An avatar on the panel, and its answer."""

    avatar: str
    name: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Pair:
    """Two quotes on the same topic. `sign` is the evidence for a difference."""

    relation: Relation
    left: str
    left_citation: Citation
    right: str
    right_citation: Citation
    similarity: float
    sign: str | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """All answers, and the pairs of quotes. `silent` lists the avatars without an answer."""

    question: str
    answers: Sequence[PanelAnswer]
    agreements: Sequence[Pair]
    differences: Sequence[Pair]
    silent: Sequence[str]


async def panel(
    question: str, members: Sequence[AnswerPipeline], similarity: SentenceSimilarity, turns: Sequence[Turn] = ()
) -> Panel:
    """Ask every member, and pair their quotes."""
    given = await asyncio.gather(*(member.answer(question, turns) for member in members))
    answers = [
        PanelAnswer(member.corpus.persona.id, member.corpus.persona.name, answer)
        for member, answer in zip(members, given, strict=True)
    ]
    await similarity.embed(citation.quote for one in answers for citation in one.answer.citations)
    pairs = sorted(
        (pair for one, other in combinations(answers, 2) for pair in _pairs(one, other, similarity)),
        key=lambda pair: (-pair.similarity, pair.left, pair.right, pair.left_citation.n, pair.right_citation.n),
    )[:_MOST_PAIRS]
    return Panel(
        question,
        answers,
        [pair for pair in pairs if pair.relation == "agreement"],
        [pair for pair in pairs if pair.relation == "difference"],
        [one.avatar for one in answers if one.answer.abstained],
    )


def _pairs(one: PanelAnswer, other: PanelAnswer, similarity: SentenceSimilarity) -> list[Pair]:
    found: list[Pair] = []
    for left in one.answer.citations:
        for right in other.answer.citations:
            if (near := _similarity_of(left.quote, right.quote, similarity)) is not None:
                sign = _sign(left.quote, right.quote)
                relation: Relation = "agreement" if sign is None else "difference"
                found.append(Pair(relation, one.avatar, left, other.avatar, right, round(near, 4), sign))
    return found


def _similarity_of(left: str, right: str, similarity: SentenceSimilarity) -> float | None:
    """The similarity of two quotes; None if they are about different things."""
    cosine = similarity.cosine(left, right)
    if cosine is not None:
        return cosine if cosine >= _SAME_COSINE else None
    mine, theirs = set(query_terms(left)), set(query_terms(right))
    share = len(mine & theirs) / max(1, min(len(mine), len(theirs)))
    return share if share >= _SAME_WORDS else None


def _sign(left: str, right: str) -> str | None:
    """The evidence that two quotes say different things; None if there is none."""
    counted = {number.counts: number for number in numbers_in(left) if number.counts is not None}
    for number in numbers_in(right):
        mine = counted.get(number.counts) if number.counts is not None else None
        if mine is not None and mine.value != number.value:
            return f"{mine.written!r} against {number.written!r}"
    return polarity.difference(normal_words(left), normal_words(right))
