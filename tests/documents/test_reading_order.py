"""Pieces of text on a page, in the order of reading."""

from collections.abc import Sequence

import pytest

from pentad.documents.reading_order import Piece, lines_of

LEFT = ["The Lower Marsh had many", "sluices in those years, and", "each was opened by hand", "at every low tide."]
RIGHT = [
    "Salt is the true enemy of",
    "the marsh. When a gate",
    "leaks, all of the wells",
    "of the low farms turn foul.",
]


def column(lines: Sequence[str], left: float, top: float = 100) -> list[Piece]:
    return [
        Piece(text, left, top + 40 * place, left + 12 * len(text), top + 40 * place + 25)
        for place, text in enumerate(lines)
    ]


def test_lines_come_from_the_top_whatever_their_order_was():
    assert lines_of([*reversed(column(LEFT, 80))]) == LEFT


def test_pieces_of_a_line_are_joined_from_the_left_though_the_page_is_a_little_askew():
    pieces = [Piece("at low tide.", 300, 104, 420, 129), Piece("opened by hand", 80, 100, 290, 125)]
    assert lines_of(pieces) == ["opened by hand at low tide."]


@pytest.mark.requirement("documents:scan:order")
def test_columns_come_one_after_the_other_below_a_heading_over_both():
    heading = [Piece("Report of the Water Board of the Lower Marsh", 200, 20, 700, 45)]
    mixed = [piece for pair in zip(column(LEFT, 80), column(RIGHT, 600), strict=True) for piece in pair]
    assert lines_of([*mixed, *heading]) == [heading[0].text, *LEFT, *RIGHT]


@pytest.mark.requirement("documents:scan:order")
def test_rows_of_a_table_stay_rows():
    names, numbers = ["Gate", "North", "South", "West", "East"], ["Year", "1926", "1931", "1940", "1951"]
    pieces = [*column(names, 80), *column(numbers, 400)]
    assert lines_of(pieces) == [f"{name} {number}" for name, number in zip(names, numbers, strict=True)]


def test_an_empty_page_has_no_lines():
    assert lines_of([]) == []
