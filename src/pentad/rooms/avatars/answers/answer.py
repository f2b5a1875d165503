"""The answer of an avatar: its statements, citations and confidence, and how the draft was grounded."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pentad.documents.instructions import WARNING
from pentad.rooms.avatars.answers.confidence import Level
from pentad.rooms.avatars.persona import Persona, day_of, quoted
from pentad.rooms.avatars.search.abstention import Reason
from pentad.rooms.avatars.search.retrieval import Scored
from pentad.rooms.avatars.verification.evidence import Sentence, consecutive_runs
from pentad.rooms.avatars.verification.verifier import Checked, Verdict

Mode = Literal["extractive", "endpoint", "client"]
Match = Literal["exact"]


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote and its source. Character offsets are into the document's text; `sha256` is the hash of its file."""

    n: int
    source: str
    page: int | str | None
    quote: str
    source_id: str
    chunk_id: int
    page_end: int | str | None
    physical_page: int | None
    section: str | None
    char_start: int
    char_end: int
    year: int | None
    role: str
    sha256: str
    match: Match = "exact"
    warning: str | None = None
    """Set if the quote reads like an instruction to a language model."""
    as_of: str | None = None
    """The day this version of the source was read, for a source that may change."""
    recognition: float | None = None
    """How sure the recognition of the text is, if it was recognized on a scan."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an answer, with the numbers of its citations."""

    text: str
    citations: tuple[int, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Nearest:
    """Where to look if there is no answer: the nearest sentence, verbatim."""

    source: str
    page: int | str | None
    section: str | None
    quote: str
    score: float
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Grounding:
    """What the checks did to a draft: statements by verdict, repairs, and what was dropped and why."""

    drafted: int = 0
    quoted: int = 0
    supported: int = 0
    requoted: int = 0
    """Unsure statements replaced by the source's own words."""
    corrected: int = 0
    dropped: int = 0
    left_out: tuple[str, ...] = ()
    """Statements of the draft that are not said, because the corpus does not support them even after a repair."""
    problems: tuple[str, ...] = ()
    fell_back: str | None = None
    unverified_passages: tuple[int, ...] = ()
    """Indexes into the caller's passages that are not in the corpus."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of asking an avatar."""

    response: str
    citations: Sequence[Citation]
    confidence: Level
    confidence_score: float
    abstained: bool
    mode: Mode
    ai_label: str
    retrieval: str
    statements: Sequence[Statement] = ()
    reason: Reason | None = None
    suggestion: str | None = None
    redirect: str | None = None
    nearest: Sequence[Nearest] = ()
    grounding: Grounding = field(default_factory=Grounding)
    query: str = ""
    should_speak: float | None = None
    uri: str | None = None
    """The URI of its entry in the log, if it was logged."""
    generation: int | None = None
    """Of the corpus."""
    translated: str | None = None
    """The question in the language of the corpus, if a model had to translate it."""
    evidence: float = 0.0
    """The confidence before feedback adjusted it."""


class CitationList:
    """Numbers citations from 1 in the order they are first used."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int, int], Citation] = {}

    def cite(self, sentences: Sequence[Sentence]) -> int:
        """Cite consecutive sentences of one passage and return the number. The quote is cut from the passage."""
        first, last = sentences[0], sentences[-1]
        passage = first.passage
        key = (passage.document, passage.char_start + first.start, passage.char_start + last.end)
        if key not in self._numbers:
            pages = passage.pages(first.start, last.end)
            quote = passage.content[first.start : last.end]
            self._numbers[key] = Citation(
                n=len(self._numbers) + 1,
                source=passage.source,
                page=pages.first,
                quote=quote,
                source_id=passage.source_id,
                chunk_id=passage.id,
                page_end=pages.last,
                physical_page=pages.physical,
                section=passage.section,
                char_start=key[1],
                char_end=key[2],
                year=passage.year,
                role=passage.role,
                sha256=passage.sha256,
                warning=WARNING if any(sentence.instructs for sentence in sentences) else None,
                as_of=day_of(passage),
                recognition=passage.recognition,
            )
        return self._numbers[key].n

    def all(self) -> list[Citation]:
        return list(self._numbers.values())


def nearest_sentences(passages: Sequence[Scored], sentences: Sequence[Sentence], most: int = 3) -> list[Nearest]:
    """The nearest sentence of each of the best passages; instructions to a model only if a passage has nothing else."""
    found: list[Nearest] = []
    for scored in passages:
        inside = [sentence for sentence in sentences if sentence.passage.id == scored.passage.id]
        if inside and len(found) < most:
            best = next((sentence for sentence in inside if not sentence.instructs), inside[0])
            passage, pages = scored.passage, scored.passage.pages(best.start, best.end)
            warning = WARNING if best.instructs else None
            found.append(Nearest(passage.source, pages.first, passage.section, best.text, scored.score, warning))
    return found


def render_statements(
    persona: Persona, checked: Sequence[Checked]
) -> tuple[list[Statement], CitationList, list[Sentence]]:
    """Statements, citations and the cited sentences. Unsupported statements are dropped."""
    said: list[Statement] = []
    citations = CitationList()
    used: list[Sentence] = []
    for each in checked:
        if each.verdict == "unsupported" or not each.sentences:
            continue
        if each.verdict == "unsure":
            run = consecutive_runs(each.sentences)[0]
            number = citations.cite(run)
            statement = Statement(quoted(persona, run, number, first=not said), (number,), "quoted")
        else:
            numbers = tuple(dict.fromkeys(citations.cite(run) for run in consecutive_runs(each.sentences)))
            statement = Statement(_marked(persona, each, numbers), numbers, each.verdict)
        if statement.text not in [other.text for other in said]:
            said.append(statement)
            used += [sentence for sentence in each.sentences if sentence not in used]
    return said, citations, used


def _marked(persona: Persona, checked: Checked, numbers: Sequence[int]) -> str:
    """The text with citation numbers before the full stop, and a note if the cited source is by someone else."""
    text = " ".join(checked.text.split())
    marks = "".join(f"[{number}]" for number in numbers)
    others = not all(persona.is_own(sentence.passage) for sentence in checked.sentences)
    note = f" (from a source about {persona.name})" if others else ""
    body, stop = (match[1], match[2]) if (match := re.fullmatch(r"(.*?)([.!?]*)", text, re.DOTALL)) else (text, "")
    return f"{body}{note} {marks}{stop or '.'}"
