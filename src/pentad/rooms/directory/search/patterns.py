"""Patterns with `*`, `?` and `[...]`, read once and said in SQL so that both stores find the same values.

A pattern stands for whole values, without regard to case: it is lower-cased, as the values it is compared with are. A
`[` that is never closed is an ordinary character. SQLite's GLOB and PostgreSQL's LIKE give up on a `*` as soon as a
later one has been reached, and PostgreSQL's regular expressions here have neither groups nor references, so none of
them can be made to try every combination.
"""

import re
from dataclasses import dataclass
from typing import Final

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.ports import Dialect
from pentad.kernel.sql import FALSE, Sql

LONGEST: Final = 2_000
"""Characters of a filter's value; no value of a record that could match is longer."""

_GRAM: Final = 3
_SHORTEST_WORD: Final = 3
_LONGEST_WORD: Final = 100
_WORD: Final = re.compile(r"(?<=[\x00-\x2f\x3a-\x60\x7b-\x7f])[a-z0-9]+")
"""A word in lower case with a plain separator before it, as `kernel/words.py` cuts them."""

_UNSAFE_IN_CLASS: Final = "]^-"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One character within some ranges, or outside them."""

    ranges: tuple[tuple[str, str], ...]
    outside: bool

    @property
    def impossible(self) -> bool:
        return not self.ranges and not self.outside


class Many:
    """Any run of characters, also none."""


class One:
    """Exactly one character, whichever."""


MANY: Final = Many()
ONE: Final = One()
Piece = str | OneOf | Many | One


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a value must look like; runs of ordinary characters are one piece."""

    pieces: tuple[Piece, ...]

    @property
    def plain(self) -> str | None:
        """The one value it stands for, if it has no wildcard."""
        if all(isinstance(piece, str) for piece in self.pieces):
            return "".join(piece for piece in self.pieces if isinstance(piece, str))
        return None

    @property
    def everything(self) -> bool:
        return self.pieces == (MANY,)

    @property
    def prefix(self) -> str:
        """The ordinary characters every match begins with."""
        return self.pieces[0] if self.pieces and isinstance(self.pieces[0], str) else ""

    @property
    def grams(self) -> tuple[str, ...]:
        """Three characters in a row that every match has, wherever they stand."""
        found = [
            piece[place : place + _GRAM]
            for piece in self.pieces
            if isinstance(piece, str)
            for place in range(len(piece) - _GRAM + 1)
        ]
        return tuple(dict.fromkeys(found))

    @property
    def words(self) -> tuple[tuple[str, bool], ...]:
        """Words every match has, and whether the whole word is known or only how it begins; likely rare ones first."""
        found: list[tuple[str, bool]] = []
        for place, piece in enumerate(self.pieces):
            if isinstance(piece, str):
                last = place == len(self.pieces) - 1
                for run in _WORD.finditer(piece):
                    whole = _ends(piece, run.end(), last=last)
                    if len(run[0]) >= _SHORTEST_WORD:
                        found.append((run[0][:_LONGEST_WORD], whole and len(run[0]) <= _LONGEST_WORD))
        return tuple(sorted(dict.fromkeys(found), key=lambda word: (word[0].isalpha(), not word[1], -len(word[0]))))

    def around(self) -> "Pattern":
        """The same pattern anywhere in a value."""
        return Pattern(tuple(_without_repeats([MANY, *self.pieces, MANY])))

    def holds(self, dialect: Dialect, column: str) -> Sql:
        """The condition that a lower-cased column matches."""
        if any(isinstance(piece, OneOf) and piece.impossible for piece in self.pieces):
            return FALSE
        if (plain := self.plain) is not None:
            return Sql(f"{column} = ?", (plain,))
        if dialect == "sqlite":
            return Sql(f"{column} GLOB ?", ("".join(map(_in_glob, self.pieces)),))
        if any(isinstance(piece, OneOf) for piece in self.pieces):
            return Sql(f"{column} ~ ?", (f"^{''.join(map(_in_expression, self.pieces))}$",))
        return Sql(f"{column} LIKE ? ESCAPE '!'", ("".join(map(_in_like, self.pieces)),))


def pattern(value: str) -> Pattern:
    """Read a pattern; LimitExceeded when it is longer than any value could be."""
    if len(value) > LONGEST:
        raise LimitExceeded(f"A filter's value is at most {LONGEST} characters long.", hint="Shorten the pattern.")
    text = value.lower()
    pieces: list[Piece] = []
    place = 0
    last_closing = text.rfind("]")
    while place < len(text):
        character = text[place]
        place += 1
        if character == "*":
            pieces.append(MANY)
        elif character == "?":
            pieces.append(ONE)
        elif character == "[" and place < last_closing and (end := _closing(text, place)) > 0:
            pieces.append(_class(text[place:end]))
            place = end + 1
        else:
            pieces.append(character)
    return Pattern(tuple(_without_repeats(pieces)))


def _ends(piece: str, place: int, *, last: bool) -> bool:
    """Whether a word surely ends here: behind it is a plain separator, or nothing at all."""
    return last if place == len(piece) else piece[place].isascii()


def _closing(text: str, start: int) -> int:
    """Where the class that begins here ends; a `]` at its very beginning belongs to it. -1 when it does not end."""
    first = start + 1 if text[start] in "!^" else start
    return text.find("]", first + 1)


def _class(inside: str) -> Piece:
    outside = inside[0] in "!^"
    body = inside[1:] if outside else inside
    ranges: list[tuple[str, str]] = []
    place = 0
    while place < len(body):
        if body[place + 1 : place + 2] == "-" and place + 2 < len(body):
            low, high = body[place], body[place + 2]
            place += 3
        else:
            low = high = body[place]
            place += 1
        if low <= high:
            ranges.append((low, high))
    if not ranges and outside:
        return ONE
    if not outside and len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return ranges[0][0]
    return OneOf(tuple(ranges), outside)


def _without_repeats(pieces: list[Piece]) -> list[Piece]:
    """`**` as `*`, and neighbouring characters as one run."""
    kept: list[Piece] = []
    for piece in pieces:
        last = kept[-1] if kept else None
        if isinstance(piece, str) and isinstance(last, str):
            kept[-1] = last + piece
        elif not (piece is MANY and last is MANY):
            kept.append(piece)
    return kept


def _in_glob(piece: Piece) -> str:
    if isinstance(piece, Many):
        return "*"
    if isinstance(piece, One):
        return "?"
    if isinstance(piece, str):
        return "".join(f"[{character}]" if character in "*?[" else character for character in piece)
    singles, spans = _apart(piece.ranges)
    # GLOB takes `]` for itself only in the first place, `-` in the last, and `^` anywhere but in the first
    listed = "".join(("]" if "]" in singles else "", *spans, *sorted(singles - set(_UNSAFE_IN_CLASS))))
    caret, dash = "^" if "^" in singles else "", "-" if "-" in singles else ""
    if piece.outside:
        return f"[^{listed}{caret}{dash}]"
    return f"[{listed}{caret}{dash}]" if listed or not caret else "[-^]" if dash else "^"


def _apart(ranges: tuple[tuple[str, str], ...]) -> tuple[set[str], list[str]]:
    """Single characters, and spans whose ends GLOB cannot misread."""
    singles: set[str] = set()
    spans: list[str] = []
    for low, high in ranges:
        first, last = ord(low), ord(high)
        while first <= last and chr(first) in _UNSAFE_IN_CLASS:
            singles.add(chr(first))
            first += 1
        while last >= first and chr(last) in _UNSAFE_IN_CLASS:
            singles.add(chr(last))
            last -= 1
        if first == last:
            singles.add(chr(first))
        elif first < last:
            spans.append(f"{chr(first)}-{chr(last)}")
    return singles, spans


def _in_like(piece: Piece) -> str:
    if isinstance(piece, Many):
        return "%"
    if isinstance(piece, One):
        return "_"
    if isinstance(piece, OneOf):
        raise TypeError(piece)
    return "".join(f"!{character}" if character in "%_!" else character for character in piece)


def _in_expression(piece: Piece) -> str:
    if isinstance(piece, Many):
        return ".*"
    if isinstance(piece, One):
        return "."
    if isinstance(piece, str):
        return "".join(map(_entered, piece))
    spans = "".join(_entered(low) if low == high else f"{_entered(low)}-{_entered(high)}" for low, high in piece.ranges)
    return f"[^{spans}]" if piece.outside else f"[{spans}]"


def _entered(character: str) -> str:
    """A character as a regular expression of PostgreSQL cannot mistake it."""
    return character if character.isascii() and character.isalnum() else f"\\U{ord(character):08x}"
