"""What `pentad avatars` prints for people: an ingest's report, an answer with its quotes, a score card."""

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pentad.rooms.avatars.corpus.ingest_report import IngestReport
    from pentad.rooms.avatars.evaluation.score_card import ScoreCard
    from pentad.rooms.avatars.interface.presentation import AnswerView

_WIDTH: Final = 100
_INDENT: Final = "    "


def report_lines(report: "IngestReport") -> Iterator[str]:
    """Each file that is not as it was, what to look at, and the sum."""
    for line in report.lines:
        if line.status == "unchanged":
            continue
        size = _counted(line.passages, "passage")
        pages = _counted(line.pages or 0, "page")
        notes = "; ".join(part for part in (size, pages, line.note) if part)
        yield f"{line.status:9}  {line.path}{f'  ({notes})' if notes else ''}"
    for warning in report.warnings:
        yield f"warning    {warning}"
    counts = ", ".join(
        f"{len(report.of(status))} {status}"
        for status in ("added", "changed", "unchanged", "removed", "failed")
        if report.of(status) or status in ("added", "unchanged")
    )
    tail = "Nothing was written: this was a dry run." if report.dry_run else f"Generation {report.generation}."
    yield f"{report.avatar}: {counts}. {tail}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""


def answer_lines(answer: "AnswerView") -> Iterator[str]:
    """The answer, what it rests on, and how sure it is."""
    yield fill(answer.response, _WIDTH)
    yield ""
    for one in answer.citations:
        yield f"[{one.n}] {place(one.model_dump())}"
        yield fill(f"\u201c{one.quote}\u201d", _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    for near in answer.nearest or ():
        yield f"nearest: {place(near.model_dump())}"
        yield fill(f"\u201c{near.quote}\u201d", _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    if answer.suggestion:
        yield fill(answer.suggestion, _WIDTH)
    if answer.redirect:
        yield f"Ask {answer.redirect} instead."
    if answer.citations or answer.nearest or answer.suggestion or answer.redirect:
        yield ""
    why = f", {answer.reason}" if answer.reason else ""
    yield f"confidence: {answer.confidence} ({answer.confidence_score:.2f}{why}); {answer.retrieval} search"
    yield answer.ai_label


def place(cited: Mapping[str, Any]) -> str:
    """Title, page or section, and year."""
    where = [str(cited["source"])]
    if cited.get("page") is not None:
        where.append(f"p. {cited['page']}")
    elif cited.get("section"):
        where.append(str(cited["section"]))
    year = f" ({cited['year']})" if cited.get("year") else ""
    return ", ".join(where) + year


def card_lines(card: "ScoreCard") -> Iterator[str]:
    """A figure a line, its goal beside it."""
    yield f"{card.avatar} ({card.retrieval} search)"
    group = ""
    for line in card.lines:
        if line.group != group:
            group = line.group
            yield f"\n{group}"
        goal = "" if line.goal is None else f"   goal {line.goal:.2f}  {'ok' if line.passed else 'MISSED'}"
        yield f"  {line.name:28} {line.value:6.3f}  of {line.of:4}{goal}"
    if card.notes:
        yield ""
    yield from card.notes
