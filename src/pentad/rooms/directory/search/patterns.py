"""Patterns with `*`, `?` and `[...]`, parsed once and written as SQL that matches the same values on both stores.

A pattern matches whole values and ignores case: both sides are lower case. A `[` that is never closed is an ordinary
character. No pattern is slow: SQLite's GLOB and PostgreSQL's LIKE do not return to a `*` once a later one has matched,
and the regular expressions for PostgreSQL have neither groups nor back references.
"""

import re
from dataclasses import dataclass
from typing import Final

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.ports import Dialect
from pentad.kernel.sql import FALSE, Sql, like_literal

LONGEST: Final = 2_000
"""The maximum length of a filter's value. No stored value that it could match is longer."""

_GRAM: Final = 3
_SHORTEST_WORD: Final = 3
_LONGEST_WORD: Final = 100
_WORD: Final = re.compile(r"(?<=[\x00-\x2f\x3a-\x60\x7b-\x7f])[a-z0-9]+")
"""A lower-case word after an ASCII separator, as `search/text.py` splits them."""

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
    """Any number of characters."""


class One:
    """Exactly one character."""


MANY: Final = Many()
ONE: Final = One()
Piece = str | OneOf | Many | One


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern. Consecutive ordinary characters are one piece."""

    pieces: tuple[Piece, ...]

    @property
    def plain(self) -> str | None:
        """The only value it matches, if it has no wildcard."""
        if all(isinstance(piece, str) for piece in self.pieces):
            return "".join(piece for piece in self.pieces if isinstance(piece, str))
        return None

    @property
    def everything(self) -> bool:
        return self.pieces == (MANY,)

    @property
    def prefix(self) -> str:
        """The ordinary characters that every match begins with."""
        return self.pieces[0] if self.pieces and isinstance(self.pieces[0], str) else ""

    @property
    def grams(self) -> tuple[str, ...]:
        """All three-character sequences that every match contains."""
        found = [
            piece[place : place + _GRAM]
            for piece in self.pieces
            if isinstance(piece, str)
            for place in range(len(piece) - _GRAM + 1)
        ]
        return tuple(dict.fromkeys(found))

    @property
    def words(self) -> tuple[tuple[str, bool], ...]:
        """Words that every match contains, likely rare ones first, each with whether it is whole or only a prefix."""
        found: list[tuple[str, bool]] = []
        for place, piece in enumerate(self.pieces):
            if isinstance(piece, str):
                last = place == len(self.pieces) - 1
                for run in _WORD.finditer(piece):
                    whole = _ends(piece, run.end(), last=last)
                    if len(run[0]) >= _SHORTEST_WORD:
                        found.append((run[0][:_LONGEST_WORD], whole and len(run[0]) <= _LONGEST_WORD))
        return tuple(sorted(dict.fromkeys(found), key=lambda word: (word[0].isalpha(), not word[1], -len(word[0]))))

    def anywhere(self) -> "Pattern":
        """The same pattern anywhere in a value."""
        return Pattern(tuple(_without_repeats([MANY, *self.pieces, MANY])))

    def condition(self, dialect: Dialect, column: str) -> Sql:
        """The condition that a lower-cased column matches."""
        if any(isinstance(piece, OneOf) and piece.impossible for piece in self.pieces):
            return FALSE
        if (plain := self.plain) is not None:
            return Sql(f"{column} = ?", (plain,))
        if dialect == "sqlite":
            return Sql(f"{column} GLOB ?", ("".join(map(_as_glob, self.pieces)),))
        if any(isinstance(piece, OneOf) for piece in self.pieces):
            return Sql(f"{column} ~ ?", (f"^{''.join(map(_as_regex, self.pieces))}$",))
        return Sql(f"{column} LIKE ? ESCAPE '!'", ("".join(map(_as_like, self.pieces)),))


def pattern(value: str) -> Pattern:
    """Parse a pattern; LimitExceeded if it is longer than any value could be."""
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
    """Whether a word certainly ends here: at an ASCII separator, or at the end of the pattern."""
    return last if place == len(piece) else piece[place].isascii()


def _closing(text: str, start: int) -> int:
    """Where the class that begins here ends, or -1. A `]` at its very beginning belongs to it."""
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
    """Reduce `**` to `*`, and join neighbouring characters."""
    kept: list[Piece] = []
    for piece in pieces:
        last = kept[-1] if kept else None
        if isinstance(piece, str) and isinstance(last, str):
            kept[-1] = last + piece
        elif not (piece is MANY and last is MANY):
            kept.append(piece)
    return kept


def _as_glob(piece: Piece) -> str:
    if isinstance(piece, Many):
        return "*"
    if isinstance(piece, One):
        return "?"
    if isinstance(piece, str):
        return "".join(f"[{character}]" if character in "*?[" else character for character in piece)
    singles, spans = _singles_and_spans(piece.ranges)
    # In a class, GLOB reads `]` literally only in first place, `-` in last place, and `^` in any but the first.
    listed = "".join(("]" if "]" in singles else "", *spans, *sorted(singles - set(_UNSAFE_IN_CLASS))))
    caret, dash = "^" if "^" in singles else "", "-" if "-" in singles else ""
    if piece.outside:
        return f"[^{listed}{caret}{dash}]"
    return f"[{listed}{caret}{dash}]" if listed or not caret else "[-^]" if dash else "^"


def _singles_and_spans(ranges: tuple[tuple[str, str], ...]) -> tuple[set[str], list[str]]:
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


def _as_like(piece: Piece) -> str:
    if isinstance(piece, Many):
        return "%"
    if isinstance(piece, One):
        return "_"
    if isinstance(piece, OneOf):
        raise TypeError(piece)
    return like_literal(piece)


def _as_regex(piece: Piece) -> str:
    if isinstance(piece, Many):
        return ".*"
    if isinstance(piece, One):
        return "."
    if isinstance(piece, str):
        return "".join(map(_regex_literal, piece))
    spans = "".join(
        _regex_literal(low) if low == high else f"{_regex_literal(low)}-{_regex_literal(high)}"
        for low, high in piece.ranges
    )
    return f"[^{spans}]" if piece.outside else f"[{spans}]"


def _regex_literal(character: str) -> str:
    """A character escaped for a regular expression of PostgreSQL."""
    return character if character.isascii() and character.isalnum() else f"\\U{ord(character):08x}"
