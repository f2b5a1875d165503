"""What callers are told of a draft, a citation or a panel that was looked at."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from pentad.rooms.avatars.shown import (
    AnswerShown,
    CitationShown,
    Page,
    Said,
    Shown,
    answer_shown,
    citations_shown,
)

if TYPE_CHECKING:
    from pentad.rooms.avatars.answers import Citation
    from pentad.rooms.avatars.checking import CheckedCitation, CheckedDraft
    from pentad.rooms.avatars.opened import OpenedAvatar
    from pentad.rooms.avatars.panel import Pair, Panel
    from pentad.rooms.avatars.routing import Route


class StatementShown(Shown):
    given: str
    text: Annotated[str, Field(description="What may be said instead; empty when nothing may.")]
    verdict: str
    cited: Annotated[bool, Field(description="Whether the draft named evidence for it.")]
    citations: list[int]
    problems: list[str] | None = Said
    repaired: bool


class CheckedDraftShown(Shown):
    response: Annotated[str, Field(description="What may be said: every statement of it holds.")]
    citations: list[CitationShown]
    valid: Annotated[bool, Field(description="Whether every statement holds as it was given or mended.")]
    statements: list[StatementShown]
    unsupported: int
    unverified_passages: list[int] | None = Said
    avatar: str
    ai_label: str


class CheckedCitationShown(Shown):
    valid: Annotated[bool, Field(description="The words stand where the citation says, and it says nothing wrong.")]
    match: Annotated[str, Field(description="exact, wording (spelling differs), moved, or not_found.")]
    problems: list[str]
    source: str | None = Said
    page: Page
    quote: Annotated[str | None, Field(description="The words as they stand there.")] = Said
    source_id: str | None = Said
    chunk_id: int | None = Said
    section: str | None = Said
    char_start: int | None = Said
    char_end: int | None = Said
    sha256: str | None = Said
    avatar: str


class QuotedShown(Shown):
    avatar: str
    source: str
    page: Page
    quote: str
    n: int


class PairShown(Shown):
    left: QuotedShown
    right: QuotedShown
    likeness: float
    sign: Annotated[str | None, Field(description="What speaks for a difference.")] = Said


class SeatShown(Shown):
    avatar: str
    name: str
    answer: AnswerShown


class PanelShown(Shown):
    question: str
    answers: list[SeatShown]
    agreements: list[PairShown]
    differences: list[PairShown]
    silent: Annotated[list[str], Field(description="Those whose corpus has no answer.")]


class AvatarListed(Shown):
    id: str
    name: str
    description: str
    document_count: int
    passage_count: int
    probability: Annotated[float | None, Field(description="That its corpus covers the question.")] = Said
    knows: bool | None = Said


class AvatarsListed(Shown):
    avatars: list[AvatarListed]


def draft_verdicts(avatar: "OpenedAvatar", checked: "CheckedDraft") -> CheckedDraftShown:
    """The verdict on each statement, and the text that is left."""
    statements = [
        StatementShown(
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
    return CheckedDraftShown(
        response=checked.response,
        citations=citations_shown(checked.citations),
        valid=bool(statements) and all(one.verdict in ("quoted", "supported") for one in statements),
        statements=statements,
        unsupported=sum(one.verdict == "unsupported" for one in statements),
        unverified_passages=list(checked.unverified),
        avatar=avatar.id,
        ai_label=avatar.persona.label,
    )


def citation_verdict(avatar: "OpenedAvatar", checked: "CheckedCitation") -> CheckedCitationShown:
    """Whether a citation holds, and where its words stand."""
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
        }
    return CheckedCitationShown(
        valid=checked.match == "exact" and not checked.problems,
        match=checked.match,
        problems=list(checked.problems),
        quote=checked.quote,
        char_start=checked.char_start,
        char_end=checked.char_end,
        avatar=avatar.id,
        **place,
    )


def panel_shown(panel: "Panel") -> PanelShown:
    """All answers, and where they meet."""
    return PanelShown(
        question=panel.question,
        answers=[
            SeatShown(avatar=seat.avatar, name=seat.name, answer=answer_shown(seat.avatar, seat.answer))
            for seat in panel.seats
        ],
        agreements=[_pair(pair) for pair in panel.agreements],
        differences=[_pair(pair) for pair in panel.differences],
        silent=list(panel.silent),
    )


def routes_shown(avatars: list[AvatarListed], routes: "list[Route]") -> AvatarsListed:
    """The avatars in the order of the routes."""
    by_id = {one.id: one for one in avatars}
    found = [
        by_id[route.avatar].model_copy(update={"probability": route.probability, "knows": route.knows})
        for route in routes
        if route.avatar in by_id
    ]
    return AvatarsListed(avatars=found)


def _pair(pair: "Pair") -> PairShown:
    return PairShown(
        left=_quoted(pair.left, pair.left_citation),
        right=_quoted(pair.right, pair.right_citation),
        likeness=pair.likeness,
        sign=pair.sign,
    )


def _quoted(avatar_id: str, citation: "Citation") -> QuotedShown:
    return QuotedShown(avatar=avatar_id, source=citation.source, page=citation.page, quote=citation.quote, n=citation.n)
