"""Finds who a statement attributes its claim to: `Ada Lovelace writes that ...`, `In "Notes" I argued ...`.

The frame around a claim is set aside before the claim is checked. It may not attribute the words of others to the
person.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_VERBS: Final = (
    "writes?|wrote|has written|argues?|argued|says?|said|notes?|noted|explains?|explained|holds?|held|finds?|found"
    "|describes?|described|points? out|pointed out|states?|stated|observes?|observed|reports?|reported|claims?|claimed"
    "|suggests?|suggested|concludes?|concluded|believes?|believed|shows?|showed|emphasi[sz]e[sd]?|stresse[sd]|stress"
    "|maintains?|maintained|warns?|warned|adds?|added|remarks?|remarked|recalls?|recalled|insists?|insisted|put it"
)
_FIRST_PERSON: Final = re.compile(r"\b(?:I|me|my|mine|myself)\b")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement without its frame, and whether the frame attributes it to the person."""

    text: str
    own: bool


class Frames:
    """Recognizes the frames around the claims of one speaker."""

    def __init__(self, speaker: str) -> None:
        words = speaker.split()
        names = sorted(
            {speaker, words[-1] if words else speaker, words[0] if words else speaker}, key=len, reverse=True
        )
        who = "|".join(re.escape(name) for name in names if len(name) > 2) or re.escape(speaker)
        person = rf"(?:I|{who})"
        self._person = re.compile(rf"\b(?:{who})\b")
        self._opening = re.compile(
            rf"^(?:(?:as|in|according to|for)\s+(?P<lead>[^,:]{{0,120}}?),?\s+)?{person}\s+"
            rf"(?:also\s+|once\s+|later\s+)?(?:{_VERBS})\b(?:\s+that\b|\s*[:,])?\s*",
            re.IGNORECASE,
        )
        self._according = re.compile(
            rf"^(?:according to|as|for|in the words of)\s+{person}(?:\s+(?:{_VERBS}))?\s*[,:]\s*", re.IGNORECASE
        )
        self._closing = re.compile(
            rf",\s*(?:as\s+)?{person}\s+(?:{_VERBS})\s*\.?$|,\s*according to {person}\s*\.?$", re.IGNORECASE
        )

    def claim(self, text: str, titles: Iterable[str]) -> Claim:
        """The claim inside a statement that cites these sources."""
        for title in titles:
            if len(title.split()) > 1:
                text = re.sub(rf"[\"\u201c]?{re.escape(title)}[\"\u201d]?(?:\s*\([^()]{{0,40}}\))?", "it", text)
        core = text
        for frame in (self._according, self._opening, self._closing):
            core = frame.sub("", core, count=1)
        framed = core != text
        core = core.strip()
        own = framed or _FIRST_PERSON.search(core) is not None
        return Claim(core[:1].upper() + core[1:] if core else text, own)

    def names_person(self, text: str) -> bool:
        return self._person.search(text) is not None
