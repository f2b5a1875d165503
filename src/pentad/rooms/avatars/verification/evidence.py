"""Sentences of the corpus as evidence: numbered for one answer, each with the place it was cut from.

Whatever drafts an answer sees these numbers and no others; quotes are cut from here and nowhere else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.verification.wording import normal_words


@dataclass(frozen=True, eq=False)
class Sentence:
    """One sentence of a passage; `number` is its name (`S1`, `S2`, ...) while one answer is made."""

    number: int
    passage: Passage
    start: int
    end: int

    @cached_property
    def text(self) -> str:
        return self.passage.content[self.start : self.end]

    @cached_property
    def words(self) -> list[str]:
        """The words in the form quotes are compared in."""
        return normal_words(self.text)

    @property
    def name(self) -> str:
        return f"S{self.number}"

    @property
    def place(self) -> tuple[int, int, int]:
        """Where it stands in its document, whichever passage it was found in."""
        offset = self.passage.char_start
        return self.passage.document, offset + self.start, offset + self.end


def numbered(passages: Iterable[Passage]) -> list[Sentence]:
    """The sentences of the passages in their order; one that two overlapping passages share is there once."""
    found: list[Sentence] = []
    known: set[tuple[int, int, int]] = set()
    for passage in passages:
        for start, end in passage.sentences:
            sentence = Sentence(len(found) + 1, passage, start, end)
            if sentence.place not in known and sentence.words:
                known.add(sentence.place)
                found.append(sentence)
    return found
