"""The results of the tools: the original's members first, under its names, then Pentad's.

`page` is always present, null for a source without pages. Other members without a value are left out.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pentad.rooms.avatars.models import page_image_uri, passage_uri, quote_link

if TYPE_CHECKING:
    from pentad.rooms.avatars.answers.answer import Answer, Citation
    from pentad.rooms.avatars.answers.panel import Pair, Panel
    from pentad.rooms.avatars.answers.verify_citation import CheckedCitation
    from pentad.rooms.avatars.answers.verify_response import CheckedDraft
    from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
    from pentad.rooms.avatars.models import Passage
    from pentad.rooms.avatars.search.retrieval import Retrieved, Scored
    from pentad.rooms.avatars.search.routing import Route


def _says_nothing(value: Any) -> bool:
    return value is None or value == [] or value == ()


Optional = Field(default=None, exclude_if=_says_nothing)
"""A member that is left out if it has no value."""

Page = Annotated[int | str | None, Field(description="The printed page, else the file's, or null.")]


class View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class ReasonView(View):
    field: Annotated[str, Field(description="section, content, or meaning for the vector.")]
    words: list[str]
    contribution: Annotated[float, Field(description="Its part of `raw_score`.")]


class PassageView(View):
    content: str
    source: str
    page: Page
    score: Annotated[float, Field(description="The probability that it is relevant.")]
    relevance_score: Annotated[float, Field(description="The same as `score`.")]
    raw_score: Annotated[float, Field(description="The score of the ranking.")]
    cosine: float | None = Optional
    why: Annotated[list[ReasonView], Field(description="The words found in each field, and what they gave.")]
    id: int
    uri: str
    source_id: str
    physical_page: int | None = Optional
    page_end: int | str | None = Optional
    section: str | None = Optional
    year: int | None = Optional
    role: str
    char_start: int
    char_end: int
    sha256: Annotated[str, Field(description="SHA-256 of the source's file.")]
    warning: str | None = Optional
    recognition: float | None = Optional
    page_image: str | None = Optional


class FoundPassages(View):
    passages: list[PassageView]
    avatar: str
    retrieval: Annotated[str, Field(description="hybrid, or lexical without vectors.")]
    note: str | None = Optional
    probability: Annotated[float, Field(description="The probability that the corpus covers the query.")]
    no_good_match: Annotated[bool | None, Field(description="True if the corpus probably does not cover it.")] = (
        Optional
    )
    threshold: Annotated[float, Field(description="The threshold that was applied.")]
    below_threshold: Annotated[int, Field(description="Passages left out because of their score.")]
    best_below: Annotated[float | None, Field(description="The best score among them.")] = Optional


class CitationView(View):
    source: str
    page: Page
    quote: str
    n: int
    source_id: str
    chunk_id: int
    page_end: int | str | None = Optional
    physical_page: int | None = Optional
    section: str | None = Optional
    char_start: int
    char_end: int
    year: int | None = Optional
    role: str
    sha256: str
    match: str
    warning: str | None = Optional
    as_of: str | None = Optional
    recognition: float | None = Optional
    page_image: str | None = Optional
    uri: str
    link: Annotated[str, Field(description="Shows the quote marked in its source.")]


class SaidView(View):
    text: str
    citations: list[int]
    verdict: str


class NearestView(View):
    source: str
    page: Page
    section: str | None = Optional
    quote: str
    score: float
    warning: str | None = Optional


class GroundingView(View):
    """What the checks did to the draft."""

    drafted: int
    quoted: int
    supported: int
    requoted: int
    corrected: int
    dropped: int
    left_out: list[str] | None = Optional
    problems: list[str] | None = Optional
    fell_back: str | None = Optional
    unverified_passages: Annotated[list[int] | None, Field(description="Those of `passages` not in the corpus.")] = (
        Optional
    )


class EvidenceView(View):
    name: str
    text: str
    where: Annotated[str, Field(alias="from")]


class PromptView(View):
    """For the caller's own model. Send its draft to `verify_response`, with these passages."""

    system: str
    question: str
    answer_schema: dict[str, Any]
    evidence: list[EvidenceView]
    passages: list[int]


class AnswerView(View):
    response: str
    citations: list[CitationView]
    confidence: Literal["high", "medium", "low", "none"]
    confidence_score: float
    abstained: bool
    reason: str | None = Optional
    suggestion: str | None = Optional
    redirect: Annotated[str | None, Field(description="Another avatar that can answer.")] = Optional
    nearest: list[NearestView] | None = Optional
    statements: list[SaidView]
    avatar: str
    mode: str
    retrieval: str
    query: Annotated[str, Field(description="With words from the conversation.")]
    translated: Annotated[str | None, Field(description="The question that was searched.")] = Optional
    should_speak: float | None = Optional
    grounding: GroundingView
    prompt: PromptView | None = Optional
    uri: Annotated[str | None, Field(description="Its resource; `lineage` says what made it.")] = Optional
    generation: Annotated[int | None, Field(description="Of the corpus.")] = Optional
    ai_label: str


class InfoView(View):
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
    born: int | None = Optional
    died: int | None = Optional
    period: list[int | None] | None = Optional
    voice: str
    embedding_model: str | None = Optional
    ai_label: str


class StatementView(View):
    given: str
    text: Annotated[str, Field(description="What may be said instead; empty if nothing.")]
    verdict: str
    cited: Annotated[bool, Field(description="Whether the draft cited evidence for it.")]
    citations: list[int]
    problems: list[str] | None = Optional
    repaired: bool


class CheckedDraftView(View):
    response: Annotated[str, Field(description="What may be said: only statements that passed.")]
    citations: list[CitationView]
    valid: Annotated[bool, Field(description="Whether every statement passed, as given or repaired.")]
    statements: list[StatementView]
    unsupported: int
    unverified_passages: list[int] | None = Optional
    avatar: str
    ai_label: str


class CheckedCitationView(View):
    valid: Annotated[bool, Field(description="Whether the words are where the citation says, with correct details.")]
    match: Annotated[str, Field(description="exact, wording (spelling differs), moved, or not_found.")]
    problems: list[str]
    source: str | None = Optional
    page: Page
    quote: Annotated[str | None, Field(description="The words as in the source.")] = Optional
    source_id: str | None = Optional
    chunk_id: int | None = Optional
    section: str | None = Optional
    char_start: int | None = Optional
    char_end: int | None = Optional
    sha256: str | None = Optional
    uri: str | None = Optional
    avatar: str


class QuotedView(View):
    avatar: str
    source: str
    page: Page
    quote: str
    n: int


class PairView(View):
    left: QuotedView
    right: QuotedView
    likeness: float
    sign: Annotated[str | None, Field(description="The evidence for a difference.")] = Optional


class PanelAnswerView(View):
    avatar: str
    name: str
    answer: AnswerView


class PanelView(View):
    question: str
    answers: list[PanelAnswerView]
    agreements: list[PairView]
    differences: list[PairView]
    silent: Annotated[list[str], Field(description="Avatars without an answer.")]


class RatingView(View):
    answer: Annotated[str, Field(description="The URI of the answer.")]
    helpful: bool
    correction: str | None = Optional
    state: Annotated[str, Field(description="new, until the author accepts or rejects it.")]


class AvatarListed(View):
    id: str
    name: str
    description: str
    document_count: int
    passage_count: int
    probability: Annotated[float | None, Field(description="The probability that its corpus covers the question.")] = (
        Optional
    )
    knows: bool | None = Optional


class AvatarsListed(View):
    avatars: list[AvatarListed]


def passages_view(avatar: "AvatarSnapshot", found: "Retrieved", limit: int, threshold: float) -> FoundPassages:
    """The passages a search found, without those below the threshold."""
    every = found.passages[:limit]
    kept = [scored for scored in every if scored.score >= threshold]
    left = [scored.score for scored in every if scored.score < threshold]
    return FoundPassages(
        passages=[_passage(avatar.id, scored, found) for scored in kept],
        avatar=avatar.id,
        retrieval=found.retrieval,
        note=found.ranking.lexical_because,
        probability=round(found.probability, 4),
        no_good_match=found.no_good_match or None,
        threshold=threshold,
        below_threshold=len(left),
        best_below=max(left, default=None),
    )


def _passage(avatar_id: str, scored: "Scored", found: "Retrieved") -> PassageView:
    cosine = None if scored.cosine is None else round(scored.cosine, 4)
    return PassageView(
        score=scored.score,
        relevance_score=scored.score,
        raw_score=round(scored.raw_score, 4),
        cosine=cosine,
        why=[ReasonView.model_validate(reason) for reason in found.reasons(scored)],
        **passage_fields(avatar_id, scored.passage),
    )


def passage_fields(avatar_id: str, passage: "Passage") -> dict[str, Any]:
    """A passage and its source, without scores."""
    from pentad.documents.instructions import WARNING, instructs

    return {
        "content": passage.content,
        "source": passage.source,
        "page": passage.cited_page,
        "id": passage.id,
        "uri": passage_uri(avatar_id, passage.n),
        "source_id": passage.source_id,
        "physical_page": passage.page,
        "page_end": passage.cited_page_end,
        "section": passage.section,
        "year": passage.year,
        "role": passage.role,
        "char_start": passage.char_start,
        "char_end": passage.char_end,
        "sha256": passage.sha256,
        "warning": WARNING if instructs(passage.content) else None,
        **_scan(avatar_id, passage.source_id, passage.page, passage.recognition),
    }


def _scan(avatar_id: str, source_id: str, page: int | None, recognition: float | None) -> dict[str, Any]:
    """How sure the text of a scan is, and where the picture of its page is."""
    if recognition is None or page is None:
        return {}
    return {"recognition": round(recognition, 2), "page_image": page_image_uri(avatar_id, source_id, page)}


def answer_view(
    avatar_id: str,
    answer: "Answer",
    mode: str | None = None,
    prompt: PromptView | None = None,
    site: str | None = None,
) -> AnswerView:
    """An answer. Its citations lead to pages of the `site`, if the server has an address."""
    fields = {name: getattr(answer, name) for name in AnswerView.model_fields if hasattr(answer, name)}
    fields["citations"] = citations_view(avatar_id, answer.citations, site)
    fields.update(avatar=avatar_id, mode=mode or answer.mode, prompt=prompt)
    return AnswerView.model_validate(fields)


def info_view(avatar: "AvatarSnapshot", model: str | None) -> InfoView:
    """Metadata of an avatar."""
    one, persona = avatar.avatar, avatar.persona
    config = one.config
    period = [persona.begins, persona.ends]
    return InfoView(
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


def citations_view(avatar_id: str, citations: "Sequence[Citation]", site: str | None) -> list[CitationView]:
    return [
        CitationView.model_validate(
            {
                **asdict(one),
                **_scan(avatar_id, one.source_id, one.physical_page, one.recognition),
                "uri": passage_uri(avatar_id, one.chunk_id),
                "link": quote_link(avatar_id, one.chunk_id, one.char_start, one.char_end, site),
            }
        )
        for one in citations
    ]


def checked_draft_view(avatar: "AvatarSnapshot", checked: "CheckedDraft", site: str | None = None) -> CheckedDraftView:
    """The verdict on each statement, and the remaining text."""
    statements = [
        StatementView(
            given=given.text,
            text="" if each.verdict == "unsupported" else each.text,
            verdict=each.verdict,
            cited=bool(given.support),
            citations=list(numbers),
            problems=list(each.problems),
            repaired=each.repaired,
        )
        for given, each, numbers in checked.statements
    ]
    return CheckedDraftView(
        response=checked.response,
        citations=citations_view(avatar.id, checked.citations, site),
        valid=bool(statements) and all(one.verdict in ("quoted", "supported") for one in statements),
        statements=statements,
        unsupported=sum(one.verdict == "unsupported" for one in statements),
        unverified_passages=list(checked.unverified),
        avatar=avatar.id,
        ai_label=avatar.persona.label,
    )


def checked_citation_view(avatar: "AvatarSnapshot", checked: "CheckedCitation") -> CheckedCitationView:
    """Whether a citation is right, and where its words are."""
    passage, pages = checked.passage, checked.pages
    place: dict[str, Any] = {"page": None}
    if passage is not None:
        place = {
            "source": passage.source,
            "page": None if pages is None else pages.first,
            "source_id": passage.source_id,
            "chunk_id": passage.id,
            "section": passage.section,
            "sha256": passage.sha256,
            "uri": passage_uri(avatar.id, passage.n),
        }
    return CheckedCitationView(
        valid=checked.match == "exact" and not checked.problems,
        match=checked.match,
        problems=list(checked.problems),
        quote=checked.quote,
        char_start=checked.char_start,
        char_end=checked.char_end,
        avatar=avatar.id,
        **place,
    )


def panel_view(panel: "Panel", site: str | None = None) -> PanelView:
    """All answers, and the pairs of quotes."""
    return PanelView(
        question=panel.question,
        answers=[
            PanelAnswerView(avatar=one.avatar, name=one.name, answer=answer_view(one.avatar, one.answer, site=site))
            for one in panel.answers
        ],
        agreements=[_pair(pair) for pair in panel.agreements],
        differences=[_pair(pair) for pair in panel.differences],
        silent=list(panel.silent),
    )


def routes_view(avatars: list[AvatarListed], routes: "list[Route]") -> AvatarsListed:
    """The avatars in the order of the routes."""
    by_id = {one.id: one for one in avatars}
    found = [
        by_id[route.avatar].model_copy(update={"probability": route.probability, "knows": route.knows})
        for route in routes
        if route.avatar in by_id
    ]
    return AvatarsListed(avatars=found)


def _pair(pair: "Pair") -> PairView:
    return PairView(
        left=_quoted(pair.left, pair.left_citation),
        right=_quoted(pair.right, pair.right_citation),
        likeness=pair.similarity,
        sign=pair.sign,
    )


def _quoted(avatar_id: str, citation: "Citation") -> QuotedView:
    return QuotedView(avatar=avatar_id, source=citation.source, page=citation.page, quote=citation.quote, n=citation.n)
