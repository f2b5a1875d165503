"""SQL text cut into pieces, just far enough to tell code from strings, comments and quoted names.

Used to translate parameters and to split migration files. It does not parse SQL and never needs to.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from pentad.kernel.ports import Dialect

Kind = Literal["word", "quoted", "comment", "space", "mark"]


class Piece(NamedTuple):
    """A stretch of text: a word or number, something quoted, a comment, white space, or one other character."""

    kind: Kind
    text: str


_COMMON = (
    r"(?P<comment>--[^\n]*)",
    r"(?P<space>\s+)",
    r"(?P<quoted>'[^']*(?:''[^']*)*(?:'|\Z)|\"[^\"]*(?:\"\"[^\"]*)*(?:\"|\Z))",
    r"(?P<word>[^\W\d][\w$]*|\d[\w.]*)",
    r"(?P<mark>.)",
)
_SQLITE = re.compile(
    "|".join((r"(?P<block>/\*.*?(?:\*/|\Z))", r"(?P<name>\[[^\]]*(?:\]|\Z)|`[^`]*(?:``[^`]*)*(?:`|\Z))", *_COMMON)),
    re.DOTALL,
)
_POSTGRES = re.compile(
    "|".join(
        (
            r"(?P<block>/\*)",
            r"(?P<escaped>[eE]'(?:[^'\\]|\\.|'')*(?:'|\\?\Z))",
            r"(?P<dollar>(?P<tag>\$(?:[^\W\d]\w*)?\$).*?(?:(?P=tag)|\Z))",
            *_COMMON,
        )
    ),
    re.DOTALL,
)
_NESTING = re.compile(r"/\*|\*/")
_KINDS: dict[str, Kind] = {
    "comment": "comment",
    "block": "comment",
    "space": "space",
    "quoted": "quoted",
    "name": "quoted",
    "escaped": "quoted",
    "dollar": "quoted",
    "word": "word",
    "mark": "mark",
}


def pieces(sql: str, dialect: Dialect) -> Iterator[Piece]:
    """Every piece in order; joined, they are the text again. What is left open runs to the end."""
    pattern = _POSTGRES if dialect == "postgres" else _SQLITE
    position = 0
    while position < len(sql):
        found = pattern.match(sql, position)
        if found is None or found.lastgroup is None:  # cannot be: the last alternative takes any character
            raise AssertionError(position)
        end = _comment_end(sql, found.end()) if found.lastgroup == "block" and dialect == "postgres" else found.end()
        yield Piece(_KINDS[found.lastgroup], sql[position:end])
        position = end


def _comment_end(sql: str, position: int) -> int:
    """PostgreSQL's comments nest."""
    depth = 1
    for found in _NESTING.finditer(sql, position):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(sql)
