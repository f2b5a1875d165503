"""Answers that fit, and say what is not in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.engine.shaping import Shape, shaped, tokens
from pentad.rooms.metrics.model import Info, Metric

INFO = Info(id="x", title="", description="", catalogue=tuple(Metric(key=k, description="") for k in ("a", "b.c")))


def groups(number):
    return [
        {"businessGroup": f"g{n}", "a": n, "b": {"c": 2}, "details": [{"environmentName": "e", "a": n}] * 3}
        for n in range(number)
    ]


@pytest.mark.requirement("metrics:engine:fits")
def test_up_to_three_groups_have_their_details_and_more_a_summary_that_says_so():
    assert shaped(groups(3), INFO, Shape()).content == groups(3)
    short = shaped(groups(4), INFO, Shape())
    assert short.is_summary
    assert "details" not in short.content[0]
    assert "4 groups" in short.notes[0]
    assert shaped(groups(4), INFO, Shape(details=True)).content == groups(4)


@pytest.mark.requirement("metrics:engine:fits")
def test_what_is_asked_by_key_is_a_summary_too_unless_the_key_names_the_details():
    short = shaped(groups(4), INFO, Shape(keys=("a",)))
    assert short.content[1] == {"businessGroup": "g1", "a": 1}
    assert "4 groups" in short.notes[0]
    assert "details" in shaped(groups(3), INFO, Shape(keys=("a",))).content[1]
    assert "details" in shaped(groups(4), INFO, Shape(keys=("a",), details=True)).content[1]
    alone = shaped(groups(4), INFO, Shape(keys=("details.a",)))
    assert alone.content[1]["details"][0] == {"environmentName": "e", "a": 1}
    assert not alone.notes


def test_fields_leave_everything_else_out():
    assert shaped(groups(1), INFO, Shape(fields=("b.c",))).content == [{"businessGroup": "g0", "b": {"c": 2}}]


def test_a_field_that_is_not_there_is_refused_with_the_nearest():
    with pytest.raises(InvalidInput) as refused:
        shaped([{"apples": 1, "pears": 2}], INFO, Shape(fields=("apples", "peers")))
    assert "pears" in refused.value.sentence()


def test_a_limit_says_how_to_go_on():
    found = shaped(groups(5), INFO, Shape(limit=2, offset=2))
    assert [group["businessGroup"] for group in found.content] == ["g2", "g3"]
    assert found.left_out == 3
    assert "offset 4" in " ".join(found.notes)


def test_flat_rows_have_path_value_and_labels():
    found = shaped(groups(1), INFO, Shape(form="flat", keys=("b.c",)))
    assert found.content == [{"path": "b.c", "value": 2, "labels": {"businessGroup": "g0"}}]


def test_one_value_is_given_bare_and_several_are_refused():
    assert shaped(groups(1), INFO, Shape(form="value", keys=("b.c",))).content == 2
    with pytest.raises(InvalidInput, match="2 values"):
        shaped(groups(2), INFO, Shape(form="value", keys=("b.c",)))


def test_too_few_tokens_are_refused():
    with pytest.raises(InvalidInput):
        shaped(groups(1), INFO, Shape(max_tokens=10))


@given(st.integers(0, 60), st.integers(200, 3_000))
@pytest.mark.requirement("metrics:engine:fits")
def test_an_answer_stays_within_its_tokens_and_admits_what_is_missing(number, most):
    found = shaped(groups(number), INFO, Shape(details=True, max_tokens=most))
    assert tokens(found.content) <= most
    assert len(found.content) + found.left_out == number
    assert bool(found.notes) == (found.content != groups(number))
