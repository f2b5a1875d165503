"""Reads plain text: empty lines separate paragraphs; a line in capitals, or "Chapter 3" by itself, is a heading.

The lines of plain text other than prose, such as tables and logs, stay as they are.
"""

import re
from collections.abc import Iterator
from typing import Final

from pentad.documents.document import Block, Extracted, of_blocks
from pentad.documents.normalization import decoded, normal

_EMPTY_LINES: Final = re.compile(r"\n[ \t]*\n\s*")
_NUMBERED: Final = re.compile(
    r"(part|book|chapter|section|lecture|letter|appendix)\s+([ivxlc]+|\d+|[a-z]|one|two|three|four|five|six|seven|eight"
    r"|nine|ten|eleven|twelve)\b[.:]?(?!\s+[a-z])",
    re.IGNORECASE,
)
_LONGEST_HEADING: Final = 90
_ABOVE: Final = ("part", "book")


def read(data: bytes) -> Extracted:
    return of_blocks(_blocks(normal(decoded(data))))


def read_lines(data: bytes) -> Extracted:
    return Extracted(normal(decoded(data)))


def _blocks(text: str) -> Iterator[Block]:
    for paragraph in _EMPTY_LINES.split(text):
        yield Block(" ".join(paragraph.split()), _level(paragraph.strip()))


def _level(paragraph: str) -> int:
    """The level of a heading, with parts and books above chapters; 0 for a paragraph."""
    if not paragraph or "\n" in paragraph or len(paragraph) > _LONGEST_HEADING or paragraph[-1] in ",;":
        return 0
    if (numbered := _NUMBERED.match(paragraph)) is not None and not paragraph.endswith((".", "!", "?")):
        return 1 if numbered[1].lower() in _ABOVE else 2
    letters = [character for character in paragraph if character.isalpha()]
    capitals = len(letters) > 3 and paragraph.isupper() and len(letters) * 2 > len(paragraph)
    return 2 if capitals and paragraph[-1] not in ".!?" else 0
