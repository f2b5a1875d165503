"""Answers fit their limits, and say what was left out."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.engine.response_budget import ResponseShape, shape_response
from pentad.rooms.metrics.models import Info, Metric

INFO = Info(id="x", title="", description="", catalogue=tuple(Metric(key=k, description="") for k in ("a", "b.c")))


def groups(number: int) -> list[dict[str, Any]]:
    return [
        {"businessGroup": f"g{n}", "a": n, "b": {"c": 2}, "details": [{"environmentName": "e", "a": n}] * 3}
        for n in range(number)
    ]


@pytest.mark.requirement("metrics:engine:fits")
def test_up_to_three_groups_have_their_details_and_more_a_summary_that_says_so():
    assert shape_response(groups(3), INFO, ResponseShape()).content == groups(3)
    short = shape_response(groups(4), INFO, ResponseShape())
    assert short.is_summary
    assert "details" not in short.content[0]
    assert "4 groups" in short.notes[0]
    assert shape_response(groups(4), INFO, ResponseShape(details=True)).content == groups(4)


@pytest.mark.requirement("metrics:engine:fits")
def test_what_is_asked_by_key_is_a_summary_too_unless_the_key_names_the_details():
    short = shape_response(groups(4), INFO, ResponseShape(keys=("a",)))
    assert short.content[1] == {"businessGroup": "g1", "a": 1}
    assert "4 groups" in short.notes[0]
    assert "details" in shape_response(groups(3), INFO, ResponseShape(keys=("a",))).content[1]
    assert "details" in shape_response(groups(4), INFO, ResponseShape(keys=("a",), details=True)).content[1]
    alone = shape_response(groups(4), INFO, ResponseShape(keys=("details.a",)))
    assert alone.content[1]["details"][0] == {"environmentName": "e", "a": 1}
    assert not alone.notes


def test_fields_leave_everything_else_out():
    assert shape_response(groups(1), INFO, ResponseShape(fields=("b.c",))).content == [
        {"businessGroup": "g0", "b": {"c": 2}}
    ]


def test_a_field_that_is_not_there_is_refused_with_the_nearest():
    with pytest.raises(InvalidInput) as refused:
        shape_response([{"apples": 1, "pears": 2}], INFO, ResponseShape(fields=("apples", "peers")))
    assert "pears" in refused.value.sentence()


def test_a_limit_says_how_to_go_on():
    found = shape_response(groups(5), INFO, ResponseShape(limit=2, offset=2))
    assert [group["businessGroup"] for group in found.content] == ["g2", "g3"]
    assert found.left_out == 3
    assert "offset 4" in " ".join(found.notes)


def test_flat_rows_have_path_value_and_labels():
    found = shape_response(groups(1), INFO, ResponseShape(form="flat", keys=("b.c",)))
    assert found.content == [{"path": "b.c", "value": 2, "labels": {"businessGroup": "g0"}}]


def test_one_value_is_given_bare_and_several_are_refused():
    assert shape_response(groups(1), INFO, ResponseShape(form="value", keys=("b.c",))).content == 2
    with pytest.raises(InvalidInput, match="2 values"):
        shape_response(groups(2), INFO, ResponseShape(form="value", keys=("b.c",)))


def test_too_few_tokens_are_refused():
    with pytest.raises(InvalidInput):
        shape_response(groups(1), INFO, ResponseShape(max_tokens=10))


@given(st.integers(0, 60), st.integers(200, 3_000))
@pytest.mark.requirement("metrics:engine:fits")
def test_an_answer_stays_within_its_tokens_and_admits_what_is_missing(number: int, most: int):
    found = shape_response(groups(number), INFO, ResponseShape(details=True, max_tokens=most))
    assert len(msgspec.json.encode(found.content)) <= 4 * most
    assert len(found.content) + found.left_out == number
    assert bool(found.notes) == (found.content != groups(number))
