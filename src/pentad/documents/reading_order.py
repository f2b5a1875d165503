"""Puts the pieces of text on a page into reading order: line by line, column by column."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

_FEWEST_LINES: Final = 4
_SHORTEST_LINE: Final = 15
"""A column of prose has at least this many lines, of at least this median length. The rest are tables or lists."""
_GUTTER: Final = 0.6
"""The least width between two columns, in line heights."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a line and its rectangle; `top` is above `bottom` and has the smaller number."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def lines_of(pieces: Sequence[Piece]) -> list[str]:
    """The lines of a page, in reading order."""
    return [" ".join(piece.text for piece in line) for line in _ordered(list(pieces))]


def _ordered(pieces: list[Piece]) -> list[list[Piece]]:
    """Columns if there are any, else the parts above and below the widest gap, else lines as they are."""
    lines = _lines(pieces)
    if len(lines) < _FEWEST_LINES:
        return lines
    if (columns := _columns(pieces)) is not None:
        return [line for column in columns for line in _ordered(column)]
    gaps = [_top(after) - _bottom(before) for before, after in pairwise(lines)]
    widest = max(range(len(gaps)), key=gaps.__getitem__)
    if gaps[widest] <= 0 or not _has_gutter(pieces):
        return lines
    above = [piece for line in lines[: widest + 1] for piece in line]
    below = [piece for line in lines[widest + 1 :] for piece in line]
    return _ordered(above) + _ordered(below)


def _lines(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces at the same height, from left to right; the lines from top to bottom."""
    lines: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda one: one.middle):
        last = lines[-1] if lines else []
        if last and abs(piece.middle - last[-1].middle) < min(piece.height, last[-1].height) / 2:
            last.append(piece)
        else:
            lines.append([piece])
    return [sorted(line, key=lambda one: one.left) for line in lines]


def _columns(pieces: list[Piece]) -> tuple[list[Piece], list[Piece]] | None:
    """The pieces left and right of a gutter that nothing crosses, if there is prose on both sides."""
    least = _GUTTER * median(piece.height for piece in pieces)
    by_left = sorted(pieces, key=lambda one: one.left)
    reached = by_left[0].right
    for place, piece in enumerate(by_left[1:], 1):
        if piece.left - reached >= least and _is_prose(by_left[:place]) and _is_prose(by_left[place:]):
            return by_left[:place], by_left[place:]
        reached = max(reached, piece.right)
    return None


def _is_prose(pieces: Sequence[Piece]) -> bool:
    return len(_lines(pieces)) >= _FEWEST_LINES and median(len(piece.text) for piece in pieces) >= _SHORTEST_LINE


def _has_gutter(pieces: Sequence[Piece]) -> bool:
    """Whether several lines have more than one piece, as in columns."""
    return sum(len(line) > 1 for line in _lines(pieces)) >= _FEWEST_LINES


def _top(line: Sequence[Piece]) -> float:
    return min(piece.top for piece in line)


def _bottom(line: Sequence[Piece]) -> float:
    return max(piece.bottom for piece in line)
