"""An avatar's answer as blocks, for console pages and MCP App views: the text, the cited passages beside it with the
quoted words marked, and an explanation of its confidence."""

from collections.abc import Sequence
from typing import Final

from pentad.documents.document import CLEAR_SCAN
from pentad.kernel.pages import (
    Beside,
    Block,
    Cell,
    Facts,
    Links,
    Marked,
    Note,
    Place,
    Prose,
    Quote,
    Section,
    Sheet,
    ToolCall,
)
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.presentation import AnswerView, CitationView, NearestView
from pentad.rooms.avatars.models import Passage, section_below

ASK: Final = "generate_response"
_SURE: Final = {"high": "very sure", "medium": "fairly sure", "low": "not sure", "none": "silent"}
_LEVELS: Final = {
    "high": "The answer is quoted from the corpus.",
    "medium": "The corpus supports the answer, but it may be incomplete.",
    "low": "The corpus mentions the topic, but perhaps not what was asked.",
    "none": "The corpus does not cover the question.",
}


async def answer_sheet(avatar: AvatarSnapshot, question: str, answer: AnswerView) -> Sheet:
    """An answer for a view."""
    return Sheet(question, await answer_blocks(avatar, answer, question), lead=f"{avatar.persona.name} answers.")


async def answer_blocks(avatar: AvatarSnapshot, answer: AnswerView, question: str = "") -> list[Block]:
    """An answer with its sources, or why there is none and where to look instead."""
    if answer.abstained:
        return [Section("No answer", _silence(answer, question))]
    said: list[Block] = [Prose(answer.response), _origin(answer), Section("Confidence", _confidence(answer))]
    sources = await _sources(avatar, answer.citations)
    return [Beside(said, [Section("Sources", sources)])] if sources else said


def _silence(answer: AnswerView, question: str) -> list[Block]:
    blocks: list[Block] = [Prose(answer.response)]
    if answer.suggestion:
        blocks.append(Note(answer.suggestion))
    if answer.redirect:
        call = ToolCall(ASK, {"avatar": answer.redirect, "question": question})
        place = Place((answer.redirect,), {"q": question})
        blocks.append(Links([Cell(f"Ask {answer.redirect}", place, call)]))
    if answer.nearest:
        blocks.append(Section("Closest passages", [Quote(one.quote, reference(one)) for one in answer.nearest]))
    return blocks


async def _sources(avatar: AvatarSnapshot, citations: Sequence[CitationView]) -> list[Block]:
    """Each cited passage with the cited words marked. Citations of the same passage share it."""
    together: dict[int, list[CitationView]] = {}
    for one in citations:
        together.setdefault(one.chunk_id, []).append(one)
    passages = {one.id: one for one in await avatar.passages(list(together))}
    blocks: list[Block] = []
    for number, cited in together.items():
        passage = passages.get(number)
        if passage is None:  # replaced by an ingest since
            blocks += [Quote(one.quote, f"[{one.n}] {reference(one)}") for one in cited]
            continue
        spans = sorted((one.char_start - passage.char_start, one.char_end - passage.char_start) for one in cited)
        blocks += [
            Links([Cell(f"[{one.n}] {reference(one)}", _place(avatar.id, one)) for one in cited], names=True),
            Marked(passage.content, spans),
            *(Note(one.warning, "bad") for one in cited if one.warning),
            *_scan(passage),
        ]
    return blocks


def _place(avatar_id: str, cited: CitationView) -> Place:
    """The page of the passage with the cited words marked."""
    span = {"from": str(cited.char_start), "to": str(cited.char_end)}
    return Place((avatar_id, "passages", cited.chunk_id), span)


def _scan(passage: Passage) -> list[Note]:
    if passage.recognition is None:
        return []
    sure = f"Recognized from a scan with confidence {passage.recognition:.2f}."
    return [Note(f"{sure} Open the passage to see the page.", "plain" if passage.recognition >= CLEAR_SCAN else "bad")]


def _confidence(answer: AnswerView) -> list[Block]:
    """What the confidence of an answer is based on."""
    grounding = answer.grounding
    counts = (
        ("quoted word for word", grounding.quoted), ("supported by a passage", grounding.supported),
        ("replaced by the source's words", grounding.requoted), ("corrected", grounding.corrected),
        ("dropped", grounding.dropped),
    )  # fmt: skip
    checked = ", ".join(f"{number} {what}" for what, number in counts if number)
    searched = "by words and meaning" if answer.retrieval == "hybrid" else "by words"
    facts = Facts(
        [
            ("Level", f"{_SURE[answer.confidence]} ({answer.confidence_score:.2f}). {_LEVELS[answer.confidence]}"),
            ("Statements", checked),
            ("Searched", searched),
            (
                "Made by",
                {"extractive": "quoting the corpus"}.get(answer.mode, "a language model, then checked"),
            ),
            ("Problems", "; ".join(grounding.problems or ())),
        ]
    )
    return [facts, Note(answer.ai_label)]


def _origin(answer: AnswerView) -> Links:
    if answer.uri is None:
        return Links([])
    return Links([Cell("How this answer was made", Place(query={"uri": answer.uri}, room="lineage"))])


def reference(one: CitationView | NearestView) -> str:
    """The place of a quote: source, section and page."""
    page = page_text(one.page, one.page_end if isinstance(one, CitationView) else None)
    return ", ".join(filter(None, (one.source, section_below(one.section, one.source), page and f"page {page}")))


def page_text(first: int | str | None, last: int | str | None) -> str:
    if first is None:
        return ""
    return str(first) if last in (None, first) else f"{first} to {last}"
