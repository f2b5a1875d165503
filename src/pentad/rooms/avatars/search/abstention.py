"""Decides, before anything is drafted, whether an avatar answers at all, by rules a reader can follow.

It stays silent when the corpus does not cover the question (`corpus_miss`), when the question is from another field
altogether (`out_of_scope`) or in a language that cannot be searched for (`language`), and when it is about a time after
the avatar's own (`after_period`), unless sources from that time speak of it, which are then named as such.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.persona import Persona
from pentad.rooms.avatars.search.language import differs
from pentad.rooms.avatars.search.retrieval import ANSWER_FROM, Retrieved, Scored
from pentad.rooms.avatars.search.time_bounds import mentions_after
from pentad.rooms.avatars.verification.normalization import normalized

Reason = Literal["corpus_miss", "out_of_scope", "after_period", "unverified", "small_talk", "language"]

OUT_OF_SCOPE_BELOW: Final = 0.15
_FEW_KNOWN: Final = 0.6
_ON_TOPIC_WORDS: Final = 2
"""A question with so many words of the corpus is about its subject, even if nothing answers it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Answer from these passages, or abstain for a reason. `later`: what it mentions from after the period."""

    passages: Sequence[Scored]
    probability: float
    reason: Reason | None = None
    later: tuple[str, ...] = ()

    @property
    def answers(self) -> bool:
        return self.reason is None


def decide(question: str, found: Retrieved, persona: Persona, answer_from: float = ANSWER_FROM) -> Decision:
    """Whether to answer a question from the passages found for it."""
    later = () if persona.ends is None else tuple(mentions_after(question, persona.ends, persona.later_terms))
    if later:
        late = [scored for scored in found.passages if _speaks_of(scored.passage, later)]
        if not late or found.probability < answer_from:
            return Decision(found.passages, found.probability, "after_period", later)
        return Decision(late, found.probability, later=later)
    if not found.passages or found.probability < answer_from:
        return Decision(found.passages, found.probability, _silence(question, found, persona))
    return Decision(found.passages, found.probability)


def _speaks_of(passage: Passage, later: Sequence[str]) -> bool:
    """Whether a passage itself names what is after the period."""
    text = normalized(passage.content).lower()
    return any(term.lower() in text for term in later)


def _silence(question: str, found: Retrieved, persona: Persona) -> Reason:
    """`out_of_scope` if the corpus has hardly a word of the question, else `corpus_miss`.

    The probability alone cannot tell, because it is low for near misses, too. Neither can be claimed of a question in
    another language than the corpus (`language`).
    """
    texts = " ".join(scored.passage.content for scored in found.passages[:3])
    if differs(question, texts or persona.description):
        return "language"
    if not found.passages:
        return "out_of_scope"
    known = {word for hit in found.ranking.hits for word in hit.terms}
    few = found.ranking.features.coverage < _FEW_KNOWN and len(known) < _ON_TOPIC_WORDS
    if found.probability < OUT_OF_SCOPE_BELOW and few:
        return "out_of_scope"
    return "corpus_miss"
