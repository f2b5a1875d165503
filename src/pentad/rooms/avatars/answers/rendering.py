"""Renders checked statements: supported ones with citations, unsure ones as quotes of the source."""

import re
from collections.abc import Sequence

from pentad.rooms.avatars.answers.answer import CitationList, Said, runs
from pentad.rooms.avatars.persona import Persona, quoted
from pentad.rooms.avatars.verification.evidence import Sentence
from pentad.rooms.avatars.verification.verify import Checked


def rendered(persona: Persona, checked: Sequence[Checked]) -> tuple[list[Said], CitationList, list[Sentence]]:
    """Statements, citations and the cited sentences. Unsupported statements are dropped."""
    said: list[Said] = []
    citations = CitationList()
    used: list[Sentence] = []
    for each in checked:
        if each.verdict == "unsupported" or not each.sentences:
            continue
        if each.verdict == "unsure":
            run = runs(each.sentences)[0]
            statement = Said(quoted(persona, run, first=not said), (citations.cite(run),), "quoted")
        else:
            numbers = tuple(dict.fromkeys(citations.cite(run) for run in runs(each.sentences)))
            statement = Said(_marked(persona, each, numbers), numbers, each.verdict)
        if statement.text not in [other.text for other in said]:
            said.append(statement)
            used += [sentence for sentence in each.sentences if sentence not in used]
    return said, citations, used


def _marked(persona: Persona, checked: Checked, numbers: Sequence[int]) -> str:
    """The text with citation numbers before the full stop, and a note if somebody else wrote the cited source."""
    text = " ".join(checked.text.split())
    marks = "".join(f"[{number}]" for number in numbers)
    others = not all(persona.is_own(sentence.passage) for sentence in checked.sentences)
    note = f" (from a source about {persona.name})" if others else ""
    body, stop = (match[1], match[2]) if (match := re.fullmatch(r"(.*?)([.!?]*)", text, re.DOTALL)) else (text, "")
    return f"{body}{note} {marks}{stop or '.'}"
