"""Answers that fit a budget of tokens, and say what they leave out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.budget import CHARACTERS_PER_TOKEN, FEWEST_TOKENS, fit, shorten, size_of

rows_strategy = st.lists(
    st.dictionaries(st.sampled_from(["id", "name", "text", "number"]), st.text(max_size=200), min_size=1), max_size=30
)


def test_without_a_budget_everything_is_there() -> None:
    rows: list[dict[str, Any]] = [{"id": str(number)} for number in range(500)]
    fitted = fit(rows, None)
    assert fitted.rows == rows
    assert fitted.note(1) is None


@given(rows=rows_strategy, tokens=st.integers(FEWEST_TOKENS, 2000))
@pytest.mark.requirement("registers:budget:rows")
def test_rows_are_a_beginning_of_all_rows_and_fit(rows: list[dict[str, Any]], tokens: int) -> None:
    fitted = fit(rows, tokens)
    assert len(fitted.rows) + fitted.rows_cut == len(rows)
    if not fitted.fields_cut:
        assert fitted.rows == rows[: len(fitted.rows)]
        assert size_of(fitted.rows) <= max(2, tokens * CHARACTERS_PER_TOKEN)
    assert bool(rows) == bool(fitted.rows), "there is always something to go on from"


def test_a_cut_says_how_many_rows_are_missing() -> None:
    rows: list[dict[str, Any]] = [{"text": "x" * 100} for _ in range(20)]
    fitted = fit(rows, 200)
    assert 0 < len(fitted.rows) < 20
    assert fitted.note(200) == {"max_tokens": 200, "rows_left_out": 20 - len(fitted.rows)}


@pytest.mark.requirement("registers:budget:properties")
def test_a_first_row_too_large_loses_its_largest_properties_by_name() -> None:
    row = {"id": "1", "small": 1, "huge": "x" * 10_000, "large": "y" * 5_000}
    fitted = fit([row, {"id": "2"}], 100)
    assert fitted.rows == [{"id": "1", "small": 1}]
    note = fitted.note(100)
    assert note is not None
    assert note["properties_left_out"] == ["huge", "large"]
    assert note["rows_left_out"] == 1


@pytest.mark.requirement("registers:budget:identity")
def test_identity_is_never_cut() -> None:
    row = {"id": "i" * 2000, "title": "t" * 2000, "rest": 1}
    kept, cut = shorten(row, FEWEST_TOKENS)
    assert kept == {"id": row["id"], "title": row["title"]}
    assert cut == ["rest"]


def test_a_budget_nobody_could_keep_is_refused() -> None:
    with pytest.raises(InvalidInput, match="max_tokens is 3"):
        fit([], 3)
