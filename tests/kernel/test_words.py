"""Words are the same however they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.words import folded, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("snake_case and kebab-case", ["snake", "case", "and", "kebab", "case"]),
        ("Café Ångström", ["cafe", "angstrom"]),
        ("\ufb01ne \uff26ull", ["fine", "full"]),
        ("", []),
        ("x" * 150, ["x" * 100]),
    ],
)
def test_words_are_runs_of_letters_and_digits_without_case_and_accents(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_folding_what_is_folded_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)
