"""Makes correct statements wrong in one respect each, to find out whether the checks notice."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeVar

from pentad.rooms.avatars.calibration.fit import stable_hash
from pentad.rooms.avatars.verification.clauses import clauses, telling
from pentad.rooms.avatars.verification.evidence import Sentence
from pentad.rooms.avatars.verification.facts import names_in
from pentad.rooms.avatars.verification.numbers import is_number
from pentad.rooms.avatars.verification.polarity import negations
from pentad.rooms.avatars.verification.wording import normal_words

T = TypeVar("T")
Kind = Literal["number", "quote", "citation", "name", "swap", "clause", "negation"]

_NAMES: Final = ("Marta Quist", "Harald Finnegan", "Lena Sorensen", "Rosa Valdez", "Isabel Moreau")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_NUMBER: Final = re.compile(r"(?<![\w.,])\d{1,6}(?![\w]|[.,]\d)")
_NOT: Final = re.compile(r"\s(?:not|never)\s")
_NEGATABLE: Final = re.compile(r"\b(is|are|was|were|will|would|can|could|must|should|has|have|had)\b(?!\s+(?:not|n't))")
_FEWEST_WORDS: Final = 5
_CONDITION: Final = re.compile(
    r"(?P<word>If|When|Because|Although|While) (?P<condition>[^,;:]{8,120}), (?P<main>[a-z][^,;:]{8,160})\."
)
_SAME: Final = {
    "large": "big", "begins": "starts", "began": "started", "often": "frequently", "purchase": "buy", "allows": "lets",
    "shows": "displays", "choose": "select", "select": "choose", "obtain": "get", "quickly": "fast", "entire": "whole",
    "approximately": "about", "nearly": "almost", "numerous": "many", "requires": "needs", "assist": "help",
    "easy": "simple", "error": "mistake", "additional": "further", "usually": "normally", "correct": "right",
    "important": "significant", "small": "little", "several": "some", "created": "made", "create": "make",
}  # fmt: skip
_CONTRACTED: Final = {
    " do not ": " don't ", " does not ": " doesn't ", " is not ": " isn't ", " are not ": " aren't ",
    " was not ": " wasn't ", " cannot ": " can't ", " did not ": " didn't ", " will not ": " won't ",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A statement made wrong, and the sentence it cites."""

    kind: Kind
    text: str
    cites: Sentence


def perturbations(sentence: Sentence, others: Sequence[Sentence], words: Sequence[str]) -> Iterator[Perturbation]:
    """The sentence with one thing changed: a number, a quoted word, the citation, a name, a clause, a negation."""
    text = sentence.text
    for match in _NUMBER.finditer(text):
        other = int(match[0]) + 1 + stable_hash(text) % 89
        yield Perturbation("number", f"{text[: match.start()]}{other}{text[match.end() :]}", sentence)
    if (match := _picked(list(_WORD.finditer(text)), text)) is not None and words:
        other = next((word for word in _turned(words, text) if word != match[0].lower()), None)
        if other is not None:
            yield Perturbation("quote", f"\u201c{text[: match.start()]}{other}{text[match.end() :]}\u201d", sentence)
    wrong = [each for each in others if each.passage.id != sentence.passage.id]
    if (elsewhere := _picked(wrong, text)) is not None:
        yield Perturbation("citation", text, elsewhere)
        if (clause := _clause_of(elsewhere)) is not None:
            yield Perturbation("clause", f"{text.rstrip(' .!?')}, and {clause}.", sentence)
    if (turned := _negated(text)) is not None:
        yield Perturbation("negation", turned, sentence)
    yield from _renamed(sentence)


def shortened(sentence: Sentence) -> list[str]:
    """The first clause of a sentence as a statement of its own: still true. Empty if there is only one."""
    first, *rest = clauses(sentence.text) or [""]
    if not rest or len(telling(normal_words(first))) < _FEWEST_WORDS or negations(normal_words(" ".join(rest))):
        return []
    return [f"{first.rstrip(' ,.')}."]


def paraphrases(sentence: Sentence) -> list[str]:
    """The sentence in other words that say the same: its clauses exchanged, a word replaced, a negation contracted."""
    text = sentence.text
    made: list[str] = []
    if (match := _CONDITION.fullmatch(text)) is not None:
        main = match["main"]
        made.append(f"{main[0].upper()}{main[1:]} {match['word'].lower()} {match['condition']}.")
    for word, other in _SAME.items():
        if (at := re.search(rf"\b{word}\b", text)) is not None:
            made.append(f"{text[: at.start()]}{other}{text[at.end() :]}")
            break
    for written, short in _CONTRACTED.items():
        if written in text:
            made.append(text.replace(written, short, 1))
            break
    return made


def _renamed(sentence: Sentence) -> Iterator[Perturbation]:
    text = sentence.text
    names = [name for name in names_in(text) if name.certain and name.written in text]
    names = [name for name in names if not is_number(name.words[0].lower())]
    for name in names:
        other = _NAMES[stable_hash(text + name.written) % len(_NAMES)]
        yield Perturbation("name", text.replace(name.written, other, 1), sentence)
    written = [name.written for name in names]
    for one, other in pairwise(written):
        if (turned := _exchanged(text, one, other)) is not None:
            yield Perturbation("swap", turned, sentence)


def _exchanged(text: str, one: str, other: str) -> str | None:
    """The text with two names in each other's place; None if nothing but a list lies between them."""
    first = text.find(one)
    second = text.find(other, first + len(one))
    if first < 0 or second < 0 or one in other or other in one:
        return None
    between = text[first + len(one) : second]
    if not telling(normal_words(between)):
        return None
    return f"{text[:first]}{other}{between}{one}{text[second + len(other) :]}"


def _clause_of(sentence: Sentence) -> str | None:
    """A clause to append where it does not belong."""
    found = [piece for piece in clauses(sentence.text) if len(telling(normal_words(piece))) >= 3]
    return None if not found else re.sub(r"^(?:and|but|or)\s+", "", found[-1].strip(" .!?"), flags=re.IGNORECASE)


def _negated(text: str) -> str | None:
    if (match := _NOT.search(text)) is not None:
        return f"{text[: match.start()]} {text[match.end() :]}"
    if (match := _NEGATABLE.search(text)) is not None:
        return f"{text[: match.end()]} not{text[match.end() :]}"
    return None


def _picked(items: Sequence[T], text: str) -> T | None:
    return items[stable_hash(text) % len(items)] if items else None


def _turned(words: Sequence[str], text: str) -> Iterator[str]:
    start = stable_hash(f"other{text}") % len(words)
    yield from words[start:]
    yield from words[:start]
