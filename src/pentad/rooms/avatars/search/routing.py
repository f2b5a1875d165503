"""Finds the avatar to ask: the one whose corpus most likely covers the question."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pentad.rooms.avatars.search.abstention import decide
from pentad.rooms.avatars.search.retrieval import ANSWER_FROM, Corpus, retrieve
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.search.text import query_terms

_PASSAGES: Final = 3
_EXPERTISE: Final = 0.05
"""The bonus for each field of expertise the question names; decides between similar probabilities."""


@dataclass(frozen=True, slots=True)
class Route:
    """An avatar and the probability that it can answer. `knows` says whether it would."""

    avatar: str
    name: str
    probability: float
    knows: bool
    reason: str | None
    expertise: tuple[str, ...]


async def routes(question: str, corpora: Sequence[Corpus], similarity: SentenceSimilarity) -> list[Route]:
    """All avatars, the most likely first; those that would not answer come last."""
    found = await asyncio.gather(*(_route(question, corpus, similarity) for corpus in corpora))
    return sorted(found, key=lambda route: (not route.knows, -_rank(route), route.avatar))


async def redirect(question: str, corpora: Sequence[Corpus], similarity: SentenceSimilarity) -> Route | None:
    """The avatar to ask instead; None if no avatar would answer."""
    best = next(iter(await routes(question, corpora, similarity)), None)
    return best if best is not None and best.knows else None


async def _route(question: str, corpus: Corpus, similarity: SentenceSimilarity) -> Route:
    persona = corpus.persona
    found = await retrieve(corpus, question, _PASSAGES, similarity)
    decision = decide(question, found, persona, ANSWER_FROM)
    asked = set(query_terms(question))
    named = tuple(field for field in persona.expertise if asked & set(query_terms(field)))
    return Route(persona.id, persona.name, round(decision.probability, 4), decision.answers, decision.reason, named)


def _rank(route: Route) -> float:
    return route.probability + _EXPERTISE * min(len(route.expertise), 2)
