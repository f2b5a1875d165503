"""Recognizes headings inside the text of a passage. PDF does not mark headings; other formats keep them apart.

A heading often repeats the words of a question without answering it, so sentences are quoted instead.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from pentad.rooms.avatars.verification.evidence import Sentence

_FEW_WORDS: Final = 12
_MOST_IN_A_ROW: Final = 2
"""A chapter's and a section's heading; more short lines in a row are a list."""
_STOPS: Final = ".!?\u2026"
_CLOSING: Final = "\"')]\u201d\u2019"
_OTHERWISE: Final = frozenset("|:")
"""Signs of a row of a table and of a definition."""
_NUMBERED: Final = re.compile(r"(?:part|book|chapter|section|appendix) \w+: ", re.IGNORECASE)


def looks_like_heading(sentence: Sentence) -> bool:
    """Whether it has a few words and no full stop. Entries of a list look like this, too."""
    return len(sentence.words) < _FEW_WORDS and sentence.text[-1:].isalnum()


def without_headings(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences without headings; all of them if there is nothing else."""
    headings = {
        heading.place
        for _, passage in groupby(sentences, key=lambda sentence: sentence.passage.id)
        for heading in _headings(list(passage))
    }
    return [sentence for sentence in sentences if sentence.place not in headings] or list(sentences)


def _headings(passage: Sequence[Sentence]) -> Iterator[Sentence]:
    """One or two short lines by themselves, at the start of the passage or after a full stop."""
    end_before = "."
    for short, group in groupby(passage, key=_stands_alone):
        lines = list(group)
        if short and len(lines) <= _MOST_IN_A_ROW and end_before in _STOPS:
            yield from lines
        end_before = lines[-1].text.rstrip(_CLOSING)[-1:]


def _stands_alone(sentence: Sentence) -> bool:
    """Whether it is a paragraph that looks like a heading, in a document that marks none."""
    passage, text = sentence.passage, sentence.text
    bare = _NUMBERED.sub("", text, count=1)
    if passage.section is not None or not looks_like_heading(sentence) or _OTHERWISE & set(bare):
        return False
    before, after = passage.content[: sentence.start], passage.content[sentence.end :]
    alone = (not before.strip() or before.endswith("\n\n")) and (not after.strip() or after.startswith("\n\n"))
    return alone and (text[0].isupper() or text[0].isdigit())
