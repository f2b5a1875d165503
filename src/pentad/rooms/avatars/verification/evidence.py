"""The evidence of an answer: numbered sentences of the corpus, each with its source.

Drafts refer to these numbers only, and all quotes are cut from these sentences.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pentad.documents.instructions import instructs_at
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.verification.normalization import normal_words

_STOPS: Final = tuple(".!?\u2026:;,")
_CLOSING: Final = "\"')]\u201d\u2019"


@dataclass(frozen=True, eq=False)
class Sentence:
    """One sentence of a passage. `number` names it (`S1`, `S2`, ...) within one answer."""

    number: int
    passage: Passage
    start: int
    end: int

    @cached_property
    def text(self) -> str:
        return self.passage.content[self.start : self.end]

    @cached_property
    def words(self) -> list[str]:
        """The words, normalized for comparing quotes."""
        return normal_words(self.text)

    @cached_property
    def instructs(self) -> bool:
        """Whether it reads like an instruction to a language model."""
        return instructs_at(self.passage.content, self.start, self.end)

    @property
    def stops(self) -> bool:
        """Whether it ends with a full stop or another mark that ends a sentence, or announces the next one."""
        return self.text.rstrip(_CLOSING)[-1:] in _STOPS

    @property
    def name(self) -> str:
        return f"S{self.number}"

    @property
    def place(self) -> tuple[int, int, int]:
        """Its range in the document, the same for every passage that contains it."""
        offset = self.passage.char_start
        return self.passage.document, offset + self.start, offset + self.end


def number_sentences(passages: Iterable[Passage]) -> list[Sentence]:
    """The sentences of the passages in order; a sentence shared by two passages is listed once."""
    found: list[Sentence] = []
    known: set[tuple[int, int, int]] = set()
    for passage in passages:
        for start, end in passage.sentences:
            sentence = Sentence(len(found) + 1, passage, start, end)
            if sentence.place not in known and sentence.words:
                known.add(sentence.place)
                found.append(sentence)
    return found


def consecutive_runs(sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    """Group sentences that follow each other in one passage."""
    found: list[list[Sentence]] = []
    for sentence in sentences:
        before = found[-1][-1] if found else None
        if before is not None and follows(sentence, before):
            found[-1].append(sentence)
        else:
            found.append([sentence])
    return found


def follows(sentence: Sentence, before: Sentence) -> bool:
    """Whether only white space is between two sentences, and no new page after a line without a full stop.

    A caption at the end of a page does not belong to the next page.
    """
    passage = sentence.passage
    if before.passage.id != passage.id or sentence.start < before.end:
        return False
    gap = passage.content[before.end : sentence.start]
    if gap.strip() or "\n\n" not in gap or before.stops:
        return not gap.strip()
    return passage.pages(before.start, before.end).physical_end == passage.pages(sentence.start, sentence.end).physical
