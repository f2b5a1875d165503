"""Splitting an SQL file into its statements.

A semicolon ends a statement unless it is quoted, commented out, or inside the body of a trigger or of a routine
written as BEGIN ... END. Drivers take one statement at a time, and errors can then name the one that failed.
"""

from pentad.kernel.ports import Dialect
from pentad.storage.sql_text import Piece, pieces

_WITH_BODY = frozenset({"TRIGGER", "FUNCTION", "PROCEDURE"})
_HEAD_WORDS = 5  # CREATE OR REPLACE CONSTRAINT TRIGGER is the longest way to say it


def split(sql: str, dialect: Dialect) -> list[str]:
    """The statements in order, without their semicolons; stretches of comments alone are left out."""
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
