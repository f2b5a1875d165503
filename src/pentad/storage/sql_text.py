"""Distinguishes SQL code from strings, comments and quoted names, to translate parameters and to split migration files.

This is a tokenizer, not a parser: it does only what those two need.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from pentad.kernel.ports import Dialect

Kind = Literal["word", "quoted", "comment", "space", "mark"]


class Piece(NamedTuple):
    """A word or number, something quoted, a comment, white space, or one other character."""

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
_WITH_BODY = frozenset({"TRIGGER", "FUNCTION", "PROCEDURE"})
_HEAD_WORDS = 5  # CREATE OR REPLACE CONSTRAINT TRIGGER is the longest head
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
    """Every piece in order; joined, they yield the original text. An unclosed quote or comment runs to the end."""
    pattern = _POSTGRES if dialect == "postgres" else _SQLITE
    position = 0
    while position < len(sql):
        found = pattern.match(sql, position)
        if found is None or found.lastgroup is None:  # impossible: the last alternative matches any character
            raise AssertionError(position)
        end = _comment_end(sql, found.end()) if found.lastgroup == "block" and dialect == "postgres" else found.end()
        yield Piece(_KINDS[found.lastgroup], sql[position:end])
        position = end


@lru_cache(maxsize=4096)
def psycopg_statement(sql: str) -> bytes:
    """The statement with `?` parameters as psycopg expects it. Cached: statements are few and run often.

    A question mark in a string, comment or quoted name stays. Every per cent sign is doubled, because psycopg looks for
    its own marks in the whole text. PostgreSQL's operators that contain a question mark look like parameters here;
    write their function forms instead, such as `jsonb_exists(a, b)`.
    """
    return "".join(
        "%s" if piece.kind == "mark" and piece.text == "?" else piece.text.replace("%", "%%")
        for piece in pieces(sql, "postgres")
    ).encode()


def split_statements(sql: str, dialect: Dialect) -> list[str]:
    """The statements of a file in order, without their semicolons; pieces that contain only comments are left out.

    A semicolon ends a statement unless it is quoted, commented out, or inside the body of a trigger or of a routine
    written as BEGIN ... END. Drivers take one statement at a time, and errors can then name the one that failed.
    """
    found: list[str] = []
    statement = _Statement()
    for piece in pieces(sql, dialect):
        if piece.text == ";" and statement.may_end():
            found.extend(statement.text())
            statement = _Statement()
        else:
            statement.add(piece)
    found.extend(statement.text())
    return found


def _comment_end(sql: str, position: int) -> int:
    """PostgreSQL's comments nest."""
    depth = 1
    for found in _NESTING.finditer(sql, position):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(sql)


class _Statement:
    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._head: list[str] = []
        self._depth = 0
        self._empty = True

    def add(self, piece: Piece) -> None:
        self._pieces.append(piece.text)
        if piece.kind in ("space", "comment"):
            return
        self._empty = False
        if piece.kind == "word":
            self._count(piece.text.upper())

    def may_end(self) -> bool:
        return self._depth == 0

    def text(self) -> list[str]:
        return [] if self._empty else ["".join(self._pieces).strip()]

    def _count(self, word: str) -> None:
        if len(self._head) < _HEAD_WORDS:
            self._head.append(word)
        if self._head[0] != "CREATE" or _WITH_BODY.isdisjoint(self._head):
            return
        if word == "BEGIN" or (word == "CASE" and self._depth):
            self._depth += 1
        elif word == "END" and self._depth:
            self._depth -= 1
