"""What callers are given: the original's members first and as they are named there, then what Pentad adds.

`page` is there in any case, null for a source without pages; other members that say nothing are left out.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from pentad.rooms.avatars.answers import Answer
    from pentad.rooms.avatars.gate import Retrieved, Scored
    from pentad.rooms.avatars.models import Passage
    from pentad.rooms.avatars.opened import OpenedAvatar


def _says_nothing(value: Any) -> bool:
    return value is None or value == [] or value == ()


Said = Field(default=None, exclude_if=_says_nothing)
"""A member that is left out when it is null."""

Page = Annotated[int | str | None, Field(description="As printed, else counted in the file; null without pages.")]


class Shown(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class PassageShown(Shown):
    content: str
    source: str
    page: Page
    score: Annotated[float, Field(description="The probability that the passage bears on the query.")]
    relevance_score: Annotated[float, Field(description="The same, under its other name.")]
    raw_score: Annotated[float, Field(description="What the ranking went by.")]
    cosine: float | None = Said
    id: int
    uri: str
    source_id: str
    physical_page: int | None = Said
    page_end: int | str | None = Said
    section: str | None = Said
    year: int | None = Said
    role: str
    char_start: int
    char_end: int
    sha256: Annotated[str, Field(description="Of the source's file.")]


class FoundPassages(Shown):
    passages: list[PassageShown]
    avatar: str
    retrieval: Annotated[str, Field(description="hybrid, or lexical where there are no vectors.")]
    note: str | None = Said
    probability: Annotated[float, Field(description="That the corpus covers the query at all.")]
    threshold: Annotated[float, Field(description="The one that was applied.")]
    below_threshold: Annotated[int, Field(description="Passages that were found and left out for their score.")]
    best_below: Annotated[float | None, Field(description="The best score among them.")] = Said


class CitationShown(Shown):
    source: str
    page: Page
    quote: str
    n: int
    source_id: str
    chunk_id: int
    page_end: int | str | None = Said
    physical_page: int | None = Said
    section: str | None = Said
    char_start: int
    char_end: int
    year: int | None = Said
    role: str
    sha256: str
    match: str


class SaidShown(Shown):
    text: str
    citations: list[int]
    verdict: str


class NearestShown(Shown):
    source: str
    page: Page
    section: str | None = Said
    quote: str
    score: float


class GroundingShown(Shown):
    """What happened to the draft."""

    drafted: int
    quoted: int
    supported: int
    requoted: int
    corrected: int
    dropped: int
    problems: list[str] | None = Said
    fell_back: str | None = Said
    unverified_passages: Annotated[list[int] | None, Field(description="Places in `passages` not in the corpus.")] = (
        Said
    )


class EvidenceShown(Shown):
    name: str
    text: str
    where: Annotated[str, Field(alias="from")]


class PromptShown(Shown):
    """Material for the caller's own model. What it drafts goes to `verify_response`, with these passages."""

    system: str
    question: str
    answer_schema: dict[str, Any]
    evidence: list[EvidenceShown]
    passages: list[int]


class AnswerShown(Shown):
    response: str
    citations: list[CitationShown]
    confidence: Literal["high", "medium", "low", "none"]
    confidence_score: float
    abstained: bool
    reason: str | None = Said
    suggestion: str | None = Said
    redirect: Annotated[str | None, Field(description="The avatar who can answer instead.")] = Said
    nearest: list[NearestShown] | None = Said
    statements: list[SaidShown]
    avatar: str
    mode: str
    retrieval: str
    query: Annotated[str, Field(description="What was searched for, the conversation considered.")]
    should_speak: float | None = Said
    grounding: GroundingShown
    prompt: PromptShown | None = Said
    ai_label: str


class InfoShown(Shown):
    id: str
    name: str
    description: str
    expertise: list[str]
    corpus_size: Annotated[int, Field(description="Characters of text.")]
    document_count: int
    corpus_summary: str
    passage_count: int
    corpus_tokens: int
    generation: int
    born: int | None = Said
    died: int | None = Said
    period: list[int | None] | None = Said
    voice: str
    embedding_model: str | None = Said
    ai_label: str


def passages_shown(avatar: "OpenedAvatar", found: "Retrieved", limit: int, threshold: float) -> FoundPassages:
    """The passages a search found, without those under the threshold."""
    every = found.passages[:limit]
    kept = [scored for scored in every if scored.score >= threshold]
    left = [scored.score for scored in every if scored.score < threshold]
    return FoundPassages(
        passages=[passage_shown(avatar.id, scored) for scored in kept],
        avatar=avatar.id,
        retrieval=found.retrieval,
        note=found.ranking.lexical_because,
        probability=round(found.probability, 4),
        threshold=threshold,
        below_threshold=len(left),
        best_below=max(left, default=None),
    )


def passage_shown(avatar_id: str, scored: "Scored") -> PassageShown:
    """A passage with its scores."""
    cosine = None if scored.cosine is None else round(scored.cosine, 4)
    return PassageShown(
        score=scored.score,
        relevance_score=scored.score,
        raw_score=round(scored.raw_score, 4),
        cosine=cosine,
        **placed(avatar_id, scored.passage),
    )


def placed(avatar_id: str, passage: "Passage") -> dict[str, Any]:
    """A passage and where it stands."""
    return {
        "content": passage.content,
        "source": passage.source,
        "page": passage.cited_page,
        "id": passage.id,
        "uri": f"avatar://{avatar_id}/passages/{passage.n}",
        "source_id": passage.source_id,
        "physical_page": passage.page,
        "page_end": passage.cited_page_end,
        "section": passage.section,
        "year": passage.year,
        "role": passage.role,
        "char_start": passage.char_start,
        "char_end": passage.char_end,
        "sha256": passage.sha256,
    }


def answer_shown(
    avatar_id: str, answer: "Answer", mode: str | None = None, prompt: PromptShown | None = None
) -> AnswerShown:
    """An answer."""
    fields = {name: getattr(answer, name) for name in AnswerShown.model_fields if hasattr(answer, name)}
    fields.update(avatar=avatar_id, mode=mode or answer.mode, prompt=prompt)
    return AnswerShown.model_validate(fields)


def info_shown(avatar: "OpenedAvatar", model: str | None) -> InfoShown:
    """What an avatar is."""
    one, persona = avatar.avatar, avatar.persona
    config = one.config
    period = [persona.begins, persona.ends]
    return InfoShown(
        id=one.id,
        name=config.name,
        description=config.description,
        expertise=list(config.expertise),
        corpus_size=one.characters,
        document_count=one.documents,
        corpus_summary=config.corpus.description,
        passage_count=one.passages,
        corpus_tokens=one.tokens,
        generation=one.generation,
        born=config.birth_year,
        died=config.death_year,
        period=None if period == [None, None] else period,
        voice=persona.voice,
        embedding_model=model,
        ai_label=persona.label,
    )


def citations_shown(citations: Sequence[Any]) -> list[CitationShown]:
    return [CitationShown.model_validate(citation) for citation in citations]
