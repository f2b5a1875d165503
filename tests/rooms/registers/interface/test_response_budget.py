"""Answers that fit a budget of tokens, and say what they leave out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.interface.response_budget import (
    CHARACTERS_PER_TOKEN,
    FEWEST_TOKENS,
    Fitted,
    build_response,
    check_budget,
    fit,
    fit_lists,
    json_size,
    more_to_read,
    shorten,
)

pytestmark = pytest.mark.anyio

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
        assert json_size(fitted.rows) <= max(2, tokens * CHARACTERS_PER_TOKEN)
    assert bool(rows) == bool(fitted.rows), "there is always something to go on from"


def test_a_cut_says_how_many_rows_are_missing() -> None:
    rows: list[dict[str, Any]] = [{"text": "x" * 100} for _ in range(20)]
    fitted = fit(rows, 200)
    assert 0 < len(fitted.rows) < 20
    assert fitted.note(200) == {"max_tokens": 200, "rows_left_out": 20 - len(fitted.rows)}


def test_a_list_that_goes_on_counts_one_row_in_the_singular() -> None:
    assert more_to_read(1, None, "offset=1", "change")["note"].startswith("The first change. ")
    assert more_to_read(1, 2, "offset=1")["note"].startswith("1 of 2 rows. ")


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
def test_identity_is_never_cut_and_what_an_object_is_called_last() -> None:
    kept, cut = shorten({"id": "i" * 36, "title": "t" * 20, "rest": "r" * 60}, FEWEST_TOKENS)
    assert kept == {"id": "i" * 36, "title": "t" * 20}
    assert cut == ["rest"]
    kept, cut = shorten({"id": "i" * 2000, "title": "t" * 2000, "rest": 1}, FEWEST_TOKENS)
    assert kept == {"id": "i" * 2000}
    assert cut == ["rest", "title"]


def test_a_budget_nobody_could_keep_is_refused_with_the_least_there_is() -> None:
    with pytest.raises(InvalidInput, match=f"max_tokens is 3; the least is {FEWEST_TOKENS}"):
        check_budget(3)


@given(
    rows=rows_strategy,
    tokens=st.integers(FEWEST_TOKENS, 600),
    around=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60),
)
@pytest.mark.requirement("registers:budget:whole")
async def test_a_whole_answer_is_within_the_budget_whatever_stands_around_the_rows(
    rows: list[dict[str, Any]], tokens: int, around: str
) -> None:
    named = [{**row, "id": f"{number:036d}"} for number, row in enumerate(rows)]

    def build(fitted: Fitted) -> dict[str, Any]:
        return {"results": fitted.rows, "total": len(rows), "cursor": around}

    answer = build_response(named, tokens, build)
    assert json_size(answer) <= tokens * CHARACTERS_PER_TOKEN
    shown = len(answer["results"])
    assert shown or not rows
    assert shown + answer.get("cut", {}).get("rows_left_out", 0) == len(rows)


@pytest.mark.requirement("registers:budget:whole")
async def test_no_more_is_cut_than_does_not_fit() -> None:
    rows = [{"id": f"{number:036d}", "title": "x" * 87} for number in range(40)]
    for length in range(0, 400, 3):

        def build(fitted: Fitted, length: int = length) -> dict[str, Any]:
            return {"results": fitted.rows, "total": 40, "cursor": "c" * length}

        answer = build_response(rows, 300, build)
        assert "properties_left_out" not in answer["cut"], length
        assert json_size(answer) <= 1200 < json_size(answer) + 2 * json_size(rows[0]), length


@given(lists=st.lists(st.lists(st.text(max_size=60), max_size=12), max_size=3), tokens=st.integers(FEWEST_TOKENS, 300))
@pytest.mark.requirement("registers:budget:whole")
def test_an_answer_of_lists_loses_their_ends_and_counts_them(lists: list[list[str]], tokens: int) -> None:
    body: dict[str, Any] = {"id": "x", **{f"l{number}": one for number, one in enumerate(lists)}}
    answer = fit_lists(body, tuple(body)[1:], tokens)
    assert json_size(answer) <= tokens * CHARACTERS_PER_TOKEN
    for name in tuple(body)[1:]:
        assert answer[name] == body[name][: len(answer[name])]
        assert len(answer[name]) + answer.get("cut", {}).get(f"{name}_left_out", 0) == len(body[name])


@pytest.mark.requirement("registers:budget:whole")
def test_an_answer_with_an_object_of_many_members_loses_the_last() -> None:
    samples = {f"kind {number}": ["x" * 50] for number in range(9)}
    body: dict[str, Any] = {"total": 9, "samples": samples, "migration": [{"step": "x"}]}
    answer = fit_lists(body, ("samples", "migration"), FEWEST_TOKENS)
    assert json_size(answer) <= FEWEST_TOKENS * CHARACTERS_PER_TOKEN
    assert list(answer["samples"]) == list(body["samples"])[: len(answer["samples"])]
    assert answer["cut"]["samples_left_out"] == 9 - len(answer["samples"]) > 0
    assert answer["migration"] == [{"step": "x"}], "what is longest goes first"
