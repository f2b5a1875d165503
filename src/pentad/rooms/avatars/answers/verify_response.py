"""Checks a draft that a caller wrote in an avatar's name, statement by statement.

The caller is not trusted: passages are looked up in the corpus, and quotes are cut from the source.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pentad.rooms.avatars.answers.answer import Citation, CitationList, render_statements
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.search.retrieval import verify_passages
from pentad.rooms.avatars.verification.drafts import Draft, Statement, from_json, from_text
from pentad.rooms.avatars.verification.evidence import Sentence, consecutive_runs, number_sentences
from pentad.rooms.avatars.verification.topic_overlap import coverage, rarity
from pentad.rooms.avatars.verification.verifier import Checked, Verifier
from pentad.search.text import terms

if TYPE_CHECKING:
    from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity

_OF_EACH: Final = 4


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """A checked draft: the text that may be said, its citations, and a verdict on each statement."""

    response: str
    citations: Sequence[Citation]
    statements: Sequence[tuple[Statement, Checked, tuple[int, ...]]]
    """Each statement as given, as checked, and the numbers of its citations."""
    unverified: tuple[int, ...]


async def check_draft(
    avatar: AvatarSnapshot,
    draft: str | dict[str, Any],
    passages: Sequence[Any] | None,
    similarity: "SentenceSimilarity",
) -> CheckedDraft:
    """Check each statement against the given passages, or else against the corpus."""
    read = from_text(draft) if isinstance(draft, str) else from_json(draft)
    unverified: tuple[int, ...] = ()
    if passages:
        given = await verify_passages(avatar, passages)
        held, unverified = list(given.passages), given.unverified
    else:
        held = await _search_evidence(avatar, read)
    evidence = number_sentences(held)
    verifier = Verifier(evidence, avatar.persona.name, similarity, avatar.calibration.thresholds)
    checked = await verifier.check(_with_evidence(read, evidence))
    said, citations, _ = render_statements(avatar.persona, checked)
    listed = [
        (statement, each, _cited(each, citations)) for statement, each in zip(read.statements, checked, strict=True)
    ]
    return CheckedDraft(" ".join(one.text for one in said), citations.all(), listed, unverified)


async def _search_evidence(avatar: AvatarSnapshot, draft: Draft) -> list[Passage]:
    """The passages nearest to each statement, without duplicates."""
    ids: dict[int, None] = {}
    for statement in draft.statements:
        ranking = await avatar.search(statement.text, _OF_EACH)
        ids.update(dict.fromkeys(hit.id for hit in ranking.hits))
    return list(await avatar.passages(list(ids)))


def _with_evidence(draft: Draft, evidence: Sequence[Sentence]) -> Draft:
    """The draft, where each statement without a citation gets the nearest sentence to be checked against."""
    weights = rarity(terms(sentence.text) for sentence in evidence)

    def supported(statement: Statement) -> Statement:
        if statement.support or not evidence:
            return statement
        nearest = max(evidence, key=lambda one: (coverage(statement.text, (one.text,), weights), -one.number))
        return replace(statement, support=(nearest.name,))

    return replace(draft, statements=tuple(supported(statement) for statement in draft.statements))


def _cited(checked: Checked, citations: CitationList) -> tuple[int, ...]:
    """The citation numbers of a checked statement."""
    if checked.verdict == "unsupported" or not checked.sentences:
        return ()
    found = consecutive_runs(checked.sentences)
    return tuple(dict.fromkeys(citations.cite(run) for run in (found[:1] if checked.verdict == "unsure" else found)))
