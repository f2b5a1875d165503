"""The persona of an avatar: its name, its voice, and the period it speaks for.

All words outside quotation marks come from these templates, which only say who wrote what and where. A source by
somebody else, or from after the period, is always labelled as such and never spoken in the first person.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pentad.documents.instructions import WARNING
from pentad.kernel.clock import iso
from pentad.kernel.json_values import as_texts
from pentad.rooms.avatars.config import AvatarConfig
from pentad.rooms.avatars.models import Passage, section_below
from pentad.rooms.avatars.verification.evidence import Sentence
from pentad.rooms.avatars.verification.normalization import normalized

Voice = Literal["student", "first_person"]

_OPENING_MARKS = '"\u201c\u201e\u00ab'
"""In German and with straight marks the mark that opens also closes."""
_MARKS = f"{_OPENING_MARKS}\u201d\u00bb"


@dataclass(frozen=True, slots=True)
class Persona:
    """The parts of an avatar's configuration that shape its answers."""

    id: str
    name: str
    description: str = ""
    expertise: tuple[str, ...] = ()
    voice: Voice = "student"
    identity: str = ""
    tone: str = ""
    constraints: tuple[str, ...] = ()
    citation_style: str = ""
    begins: int | None = None
    ends: int | None = None
    """The last year of the period: of the corpus, or of the person's life if the corpus has no end."""
    later_terms: tuple[str, ...] = ()
    """Terms the avatar's author declared to be from a later time."""
    retold: bool = False
    """The corpus retells the person's writings in other words; quotes are labelled as summaries."""

    @property
    def label(self) -> str:
        """The label of every answer: it says that this is a machine."""
        if self.voice == "first_person":
            return f"AI avatar in the voice of {self.name}: a program quoting a corpus, not the person."
        return f"AI avatar, a student of {self.name}: a program quoting a corpus, not the person."

    def is_late(self, passage: Passage) -> bool:
        """Whether a passage is from after the period."""
        return self.ends is not None and passage.year is not None and passage.year > self.ends

    def is_own(self, passage: Passage) -> bool:
        """Whether a passage may be quoted as the person's own words."""
        return passage.role == "by" and not self.is_late(passage)


def persona_of(config: AvatarConfig) -> Persona:
    """The persona of a configuration. `persona.voice` sets the voice; without it the citation style does."""
    prompt = config.system_prompt
    says_first = re.search(r"first[\s-]+person", prompt.citation_style, re.IGNORECASE) is not None
    more = config.persona.model_extra or {}
    return Persona(
        id=config.id,
        name=config.name,
        description=config.description,
        expertise=tuple(config.expertise),
        voice=config.persona.voice or ("first_person" if says_first else "student"),
        identity=prompt.identity,
        tone=prompt.tone,
        constraints=tuple(prompt.constraints),
        citation_style=prompt.citation_style,
        begins=config.corpus.date_range.start_year or config.birth_year,
        ends=config.last_year,
        later_terms=tuple(as_texts(more.get("laterTerms"))),
        retold=more.get("retold") is True,
    )


def day_of(passage: Passage) -> str | None:
    """The day when this version of a changing source was read."""
    return None if passage.as_of is None else iso(passage.as_of)[:10]


def place(passage: Passage, start: int = 0, end: int | None = None) -> str:
    """The reference of a passage or a part of it: title and page, or title and section."""
    pages = passage.pages(start, len(passage.content) if end is None else end)
    if pages.first is not None:
        over = pages.last is not None and str(pages.last) != str(pages.first)
        where = f"pp. {pages.first}\u2013{pages.last}" if over else f"p. {pages.first}"
        return f"{passage.source}, {where}"
    section = section_below(passage.section, passage.source)
    return f"{passage.source}, {section}" if section else passage.source


def quoted(persona: Persona, sentences: Sequence[Sentence], number: int, *, first: bool = True) -> str:
    """Consecutive sentences of one passage, quoted in the persona's voice with the number of their citation."""
    passage = sentences[0].passage
    words = _inside_marks(" ".join(sentence.text for sentence in sentences))
    warning = f" ({WARNING})" if any(sentence.instructs for sentence in sentences) else ""
    spoken = all(is_speech(passage.content, sentence.start, sentence.end) for sentence in sentences)
    return f"{_speaker(persona, passage, first=first, spoken=spoken)}{warning}: \u201c{words}\u201d [{number}]"


def is_speech(text: str, start: int, end: int) -> bool:
    """Whether most of a range is inside quotation marks: a character speaks, or somebody else is quoted."""
    paragraph = text.rfind("\n\n", 0, start) + 1
    inside, spoken = False, 0
    for place, character in enumerate(text[paragraph:end], paragraph):
        if character in _MARKS:
            inside = character in _OPENING_MARKS and not inside
        elif inside and place >= start:
            spoken += 1
    return spoken * 2 > end - start


def _speaker(persona: Persona, passage: Passage, *, first: bool, spoken: bool) -> str:
    """Who says it: the person if the voice is the first person and the words are their own, else the document."""
    also = "" if first else "also "
    if not persona.is_own(passage):
        about = "written after the period of this avatar" if persona.is_late(passage) else f"about {persona.name}"
        year = f" ({passage.year})" if passage.year is not None else ""
        return f"A source {about}{year} says"
    if persona.retold:
        author = "I" if persona.voice == "first_person" else persona.name
        return f"A summary of what {author} wrote {also}says"
    if persona.voice == "first_person" and spoken:
        return f"In {passage.source} somebody {also}says"
    if persona.voice == "first_person":
        return f"I {also}wrote"
    return f"{passage.source}{f', as of {day},' if (day := day_of(passage)) else ''} {also}says"


def closest(persona: Persona) -> str:
    """The introduction of quotes that may not answer the question."""
    mine = "my writings" if persona.voice == "first_person" else "the corpus"
    return f"I cannot say whether this answers the question; the closest passage in {mine} is this."


def searched_for(question: str) -> str:
    """The introduction of an answer to a question that was translated."""
    return f"I looked for \u201c{_inside_marks(question)}\u201d."


def silent(persona: Persona, reason: str) -> str:
    """The reply of an avatar without an answer."""
    mine = "my writings" if persona.voice == "first_person" else f"the corpus of {persona.name}"
    if reason == "after_period":
        return f"This lies after the period that {mine} cover{'' if mine.startswith('my') else 's'}{_until(persona)}."
    if reason == "out_of_scope":
        return f"This is outside of what {mine} deal{'' if mine.startswith('my') else 's'} with."
    if reason == "language":
        return f"I could not search in this language. Ask in the language of {mine}."
    if reason == "unverified":
        return f"I found nothing in {mine} that supports an answer."
    return f"I find nothing on this in {mine}."


def small_talk(persona: Persona, kind: str) -> str:
    """The reply to a greeting, to thanks, and to questions about the avatar itself."""
    topics = f" Ask me about {', '.join(persona.expertise[:4])}." if persona.expertise else " Ask me about it."
    if kind == "thanks":
        return "You are welcome."
    hello = "Hello. " if kind == "greeting" else ""
    about = f" {persona.description.rstrip('.')}." if persona.description else ""
    return f"{hello}I am an {persona.label}{about} I answer from the corpus, with citations.{topics}"


def _until(persona: Persona) -> str:
    return "" if persona.ends is None else f", which ends in {persona.ends}"


def _inside_marks(text: str) -> str:
    """On one line, with the source's quotation marks as single ones."""
    return re.sub(r"[\"\u201c\u201d\u201e\u00ab\u00bb]", "'", normalized(text)).rstrip()
