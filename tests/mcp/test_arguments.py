"""Reading arguments: valid ones are never touched, repaired ones are valid afterwards and reported."""

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_patch import json_patch
from pentad.kernel.json_pointer import pointer
from pentad.mcp.arguments import Arguments, Repair, read_with_repairs


class Inner(BaseModel):
    depth: int = 0


class Sample(Arguments):
    count: int = 0
    ratio: float = 0.0
    on: bool = False
    words: list[str] = Field(default_factory=list[str])
    counts: list[int] = Field(default_factory=list[int])
    inner: Inner | None = None
    other_name: str = Field(default="", alias="otherName")


def leniently(given: Any) -> tuple[Sample, list[Repair]]:
    raw = json.dumps(given).encode()
    try:
        return Sample.model_validate_json(raw, strict=True), []
    except ValidationError as error:
        return read_with_repairs(Sample, raw, error)


VALID = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(-(2**60), 2**60),
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "on": st.booleans(),
        "words": st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4),
        "counts": st.lists(st.integers(-9, 9), max_size=4),
        "inner": st.fixed_dictionaries({"depth": st.integers(0, 9)}),
        "otherName": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    },
)


@given(VALID)
@pytest.mark.requirement("mcp:arguments:strict")
def test_what_fits_is_never_repaired(given: dict[str, Any]) -> None:
    value, repairs = leniently(given)
    assert repairs == []
    shown = value.model_dump(by_alias=True, exclude_unset=True)
    assert shown == given


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*Sample.model_fields, "otherName", "x"]), JSON_VALUES, max_size=4))
@pytest.mark.requirement("mcp:arguments:repaired", "mcp:arguments:wrong-type")
def test_anything_is_either_valid_after_its_repairs_or_refused_in_words(given: dict[str, Any]) -> None:
    refused: InvalidInput | None = None
    repairs: list[Repair] = []
    try:
        _, repairs = leniently(given)
    except InvalidInput as error:
        refused = error
    if refused is not None:
        assert refused.message
        assert refused.details["problems"]
        json.dumps(refused.as_json())
    for repair in repairs:
        json.dumps(repair.as_json())
        assert repair.path.startswith("/")


@given(st.integers(-(10**15), 10**15))
@pytest.mark.requirement("mcp:arguments:repaired")
def test_a_quoted_integer_is_that_integer(number: int) -> None:
    value, repairs = leniently({"count": str(number)})
    assert value.count == number
    assert repairs == [Repair("/count", str(number), number)]


@pytest.mark.requirement("mcp:arguments:repaired")
def test_a_whole_number_is_the_text_it_is_written_as() -> None:
    value, repairs = leniently({"words": ["a", 10201]})
    assert value.words == ["a", "10201"]
    assert repairs == [Repair("/words/1", 10201, "10201")]
    for odd in (True, 1.5, None, [1]):
        with pytest.raises(InvalidInput):
            leniently({"words": [odd]})


@given(st.text(max_size=30).filter(lambda text: not text.lstrip().startswith("[")))
@pytest.mark.requirement("mcp:arguments:repaired")
def test_a_lone_string_becomes_a_list_of_it(text: str) -> None:
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    value, repairs = leniently({"words": encodable})
    assert value.words == [encodable]
    assert len(repairs) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"count": "1e3"}, {"count": "0x10"}, {"count": "\uff11\uff12"}, {"count": ""}, {"count": "--1"}, {"count": " "},
        {"count": 1.5}, {"count": 2.0**60}, {"count": "9" * 30}, {"count": True}, {"count": []}, {"on": "yes"},
        {"on": 1}, {"ratio": "NaN"}, {"ratio": "Infinity"}, {"ratio": "one"}, {"words": None}, {"words": {"a": 1}},
        {"words": 7}, {"counts": ["x"]}, {"inner": "not json"}, {"inner": "[1]"}, {"inner": '{"depth": "x"}'},
        {"inner": {"depth": []}},
    ],
)  # fmt: skip
@pytest.mark.requirement("mcp:arguments:wrong-type")
def test_what_is_no_slip_is_never_guessed_at(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        leniently(given)


@pytest.mark.requirement("mcp:arguments:repair-reported")
def test_several_slips_are_mended_together_and_each_reported() -> None:
    value, repairs = leniently({"count": "3", "on": "TRUE", "counts": "[1, 2]", "inner": '{"depth": 4}'})
    assert (value.count, value.on, value.counts) == (3, True, [1, 2])
    assert value.inner == Inner(depth=4)
    assert {repair.path for repair in repairs} == {"/count", "/on", "/counts", "/inner"}


@pytest.mark.requirement("mcp:arguments:unknown")
def test_a_wire_name_is_offered_not_the_name_in_the_code() -> None:
    with pytest.raises(InvalidInput) as refused:
        leniently({"othername": "x"})
    assert "Did you mean 'otherName'?" in refused.value.message
    assert "otherName" in (refused.value.hint or "")
    assert "other_name" not in refused.value.sentence()


def problems_with(model: type[Arguments], given: dict[str, Any]) -> list[dict[str, Any]]:
    raw = json.dumps(given).encode()
    with pytest.raises(ValidationError) as strict:
        model.model_validate_json(raw, strict=True)
    with pytest.raises(InvalidInput) as refused:
        read_with_repairs(model, raw, strict.value)
    return refused.value.details["problems"]


@pytest.mark.requirement("mcp:arguments:patch")
def test_a_misspelled_value_gets_the_nearest_one_and_a_patch() -> None:
    class Sorting(Arguments):
        order: Literal["ascending", "descending"] = "ascending"
        keys: list[Literal["name", "size"]] = Field(default_factory=list[Literal["name", "size"]])

    given = {"order": "ascendin", "keys": ["name", "SIZE"]}
    problems = problems_with(Sorting, given)
    assert [(one["path"], one["suggestions"][0], one["certain"]) for one in problems] == [
        ("/order", "ascending", True),
        ("/keys/1", "size", True),
    ]
    corrected = json_patch(given, [operation for one in problems for operation in one["patch"]])
    assert Sorting.model_validate_json(json.dumps(corrected), strict=True).keys == ["name", "size"]
    (other,) = problems_with(Sorting, {"order": "sideways"})
    assert "patch" not in other


@pytest.mark.requirement("mcp:arguments:patch")
def test_a_patch_never_overwrites_an_argument_that_was_given() -> None:
    (problem,) = problems_with(Sample, {"count": 1, "coumt": 2})
    assert problem["suggestions"][0] == "count"
    assert "patch" not in problem
    assert "certain" not in problem
    first, second = problems_with(Sample, {"coumt": 1, "cuont": 2})
    assert ("patch" in first, "patch" in second) == (True, False)


@pytest.mark.requirement("mcp:arguments:unknown")
def test_a_refusal_of_very_many_problems_stays_short() -> None:
    with pytest.raises(InvalidInput) as refused:
        leniently({f"unknown{number}": "x" * 1000 for number in range(500)})
    assert len(json.dumps(refused.value.as_json())) < 40_000
    assert len(refused.value.message) < 2_000


@pytest.mark.requirement("mcp:arguments:wrong-type")
def test_a_long_value_is_quoted_in_part() -> None:
    with pytest.raises(InvalidInput) as refused:
        leniently({"count": "x" * 10_000})
    assert len(refused.value.message) < 300


@pytest.mark.parametrize(("location", "text"), [(("a", 0, "b"), "/a/0/b"), (("a/b", "~"), "/a~1b/~0"), ((), "")])
@pytest.mark.requirement("mcp:arguments:wrong-type")
def test_places_are_json_pointers(location: tuple[Any, ...], text: str) -> None:
    assert pointer(location) == text


def test_a_value_of_several_kinds_is_named_by_its_place_alone() -> None:
    class Either(Arguments):
        sort: list[str] | dict[str, int] | None = None

    raw = b'{"sort": {"name": "x"}}'
    with pytest.raises(ValidationError) as strict:
        Either.model_validate_json(raw, strict=True)
    with pytest.raises(InvalidInput) as refused:
        read_with_repairs(Either, raw, strict.value)
    assert {problem["path"] for problem in refused.value.details["problems"]} == {"/sort", "/sort/name"}
    assert "[" not in refused.value.message


def test_a_number_of_thousands_of_digits_is_called_what_it_is() -> None:
    raw = b'{"count": ' + b"9" * 5_000 + b"}"
    with pytest.raises(ValidationError) as strict:
        Sample.model_validate_json(raw, strict=True)
    with pytest.raises(InvalidInput) as refused:
        read_with_repairs(Sample, raw, strict.value)
    assert "a number that is too long" in refused.value.message
