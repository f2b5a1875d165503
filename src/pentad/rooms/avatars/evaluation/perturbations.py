"""Perturbs correct statements for the evaluation: the checks must catch the errors.

Choices go by hashes, so two runs over one corpus change the same words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from pentad.rooms.avatars.calibration.fit import stable_hash
from pentad.rooms.avatars.verification.evidence import Sentence
from pentad.rooms.avatars.verification.facts import names_in
from pentad.rooms.avatars.verification.numbers import is_number

T = TypeVar("T")
Kind = Literal["number", "quote", "citation", "name"]

_NAMES: Final = ("Marta Quist", "Harald Finnegan", "Lena Sorensen", "Rosa Valdez", "Isabel Moreau")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_NUMBER: Final = re.compile(r"(?<![\w.,])\d{1,6}(?![\w]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A statement made wrong, and the sentence it cites."""

    kind: Kind
    text: str
    cites: Sentence


def perturbations(sentence: Sentence, others: Sequence[Sentence], words: Sequence[str]) -> Iterator[Perturbation]:
    """The sentence with one thing changed: a number, a quoted word, the citation, or a name."""
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
    for name in names_in(text):
        if name.certain and name.written in text and not is_number(name.words[0].lower()):
            other = _NAMES[stable_hash(text + name.written) % len(_NAMES)]
            yield Perturbation("name", text.replace(name.written, other, 1), sentence)


def _picked(items: Sequence[T], text: str) -> T | None:
    return items[stable_hash(text) % len(items)] if items else None


def _turned(words: Sequence[str], text: str) -> Iterator[str]:
    start = stable_hash(f"other{text}") % len(words)
    yield from words[start:]
    yield from words[:start]
