"""Problems: said in words, with the nearest value, and with patches that are proven."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.json_patch import json_patch
from pentad.rooms.registers.definitions.object_validation import Problem, validation_error
from tests.rooms.registers.definitions.making import compiled


def only(definition: dict[str, Any], value: Any) -> Problem:
    (problem,) = compiled({"a": definition}).prepare({"a": value}).problems
    return problem


@pytest.mark.parametrize(
    ("definition", "value", "rule", "words"),
    [
        ({"type": "string", "minLength": 3}, "ab", "minLength", "at least 3 characters"),
        ({"type": "string", "maxLength": 1}, "ab", "maxLength", "at most 1 characters"),
        ({"type": "string", "pattern": "^x"}, "ab", "pattern", "'^x'"),
        ({"type": "string", "enum": ["x", "y"]}, "q", "enum", "one of 'x', 'y'"),
        ({"type": "integer", "minimum": 3}, 1, "minimum", "at least 3"),
        ({"type": "integer", "maximum": 3}, 9, "maximum", "at most 3"),
        ({"type": "number", "multipleOf": 0.5}, 0.7, "multipleOf", "multiple of 0.5"),
        ({"type": "array", "minItems": 1}, [], "minItems", "at least 1 members"),
        ({"type": "array", "maxItems": 1}, [1, 2], "maxItems", "at most 1 members"),
        ({"type": "array", "uniqueItems": True}, [1, 1], "uniqueItems", "equal members"),
        ({"type": "array", "contains": {"const": 1}}, [2], "contains", "that fits `contains`"),
        ({"type": "integer"}, [], "type", "must be an integer"),
        ({"type": ["string", "null"]}, 1, "type", "null or a string"),
        ({"type": "string", "format": "email"}, "x", "format", "valid 'email'"),
        ({"type": "object", "minProperties": 1}, {}, "minProperties", "at least 1 properties"),
        ({"not": {"type": "string"}}, "x", "not", "must not fit"),
        ({"const": {"k": 1}}, 5, "const", "an object of 1"),
    ],
)
def test_a_broken_rule_is_named_in_words(definition: dict[str, Any], value: Any, rule: str, words: str) -> None:
    problem = only(definition, value)
    assert (problem.pointer, problem.code, problem.value) == ("/a", rule, value)
    assert words in problem.message


@pytest.mark.parametrize(
    ("definition", "value", "mended"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "integer", "minimum": 3}, " 5 ", 5),
        ({"type": "number"}, "5.5", 5.5),
        ({"type": "boolean"}, "True", True),
        ({"type": "null"}, "", None),
        ({"type": "string"}, 5, "5"),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "object"}, '{"x": 1}', {"x": 1}),
        ({"enum": ["open", "closed"]}, "Open", "open"),
        ({"enum": ["open", "closed"]}, " closed ", "closed"),
        ({"enum": ["open", "closed"]}, "opne", "open"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["1", "2"]}, 2, "2"),
        ({"const": "v1"}, "v2", "v1"),
        ({"type": "string", "format": "email"}, " a@b.org ", "a@b.org"),
        (
            {"type": "string", "format": "uuid"},
            "{2EB8AA08AA9811EAB4AA73B441D16380}",
            "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        ),
        ({"type": "string", "format": "semver"}, "v1.2.3", "1.2.3"),
        ({"type": "string", "format": "color-hex"}, "fff", "#fff"),
        ({"type": "string", "format": "date"}, "2024/05/06", "2024-05-06"),
        ({"type": "string", "format": "date-time"}, "2024-05-06 07:08:09Z", "2024-05-06T07:08:09Z"),
        ({"type": "string", "pattern": "^[a-z]+$"}, " abc", "abc"),
    ],
)
def test_a_certain_mending_comes_as_a_patch_that_works(definition: dict[str, Any], value: Any, mended: Any) -> None:
    schema = compiled({"a": definition})
    (problem,) = schema.prepare({"a": value}).problems
    repaired = json_patch({"a": value}, problem.patch)
    assert (repaired, type(repaired["a"])) == ({"a": mended}, type(mended))
    assert schema.is_valid(repaired)


@pytest.mark.parametrize(
    ("definition", "value", "near"),
    [
        ({"type": "integer", "minimum": 3}, 1, 3),
        ({"type": "integer", "maximum": 9}, 10, 9),
        ({"type": "integer", "minimum": 3}, "1", 1),
    ],
)
def test_a_likely_value_is_named_without_a_patch(definition: dict[str, Any], value: Any, near: Any) -> None:
    problem = only(definition, value)
    assert (problem.nearest, problem.patch) == (near, ())


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        ({"type": "integer"}, "5.5"),
        ({"type": "integer"}, "five"),
        ({"type": "boolean"}, "yes"),
        ({"type": "boolean"}, 1),
        ({"type": "string"}, True),
        ({"type": "array"}, "x"),
        ({"enum": ["north", "south"]}, "orth-south"),
        ({"enum": ["aab", "aac"]}, "aad"),
        ({"enum": ["A", "a "]}, "a"),
        ({"type": "string", "format": "date-time"}, "2024-05-06"),
    ],
)
def test_a_guess_is_not_handed_out_as_certain(definition: dict[str, Any], value: Any) -> None:
    assert only(definition, value).patch == ()


def test_a_misspelt_name_is_moved_to_the_right_one() -> None:
    schema = compiled({"name": {"type": "string"}}, required=["name"])
    (problem,) = schema.prepare({"nmae": "Ada"}).problems
    assert problem.patch == ({"op": "move", "from": "/nmae", "path": "/name"},)
    closed = compiled({"name": {"type": "string"}}, additionalProperties=False)
    (problem,) = closed.prepare({"nmae": "Ada"}).problems
    assert (problem.nearest, problem.patch[0]["op"]) == ("name", "move")


def test_an_unwanted_property_is_removed() -> None:
    schema = compiled({"a": {"type": "integer"}}, additionalProperties=False)
    problems = schema.prepare({"a": 1, "zzz": 2, "yyy": 3}).problems
    assert [problem.patch for problem in problems] == [
        ({"op": "remove", "path": "/zzz"},),
        ({"op": "remove", "path": "/yyy"},),
    ]


def test_a_missing_property_with_one_possible_value_is_added() -> None:
    inner = {"type": "object", "properties": {"kind": {"enum": ["only"]}}, "required": ["kind"]}
    (problem,) = compiled({"a": inner}).prepare({"a": {}}).problems
    assert problem.patch == ({"op": "add", "path": "/a/kind", "value": "only"},)


def test_all_patches_of_an_object_can_be_applied_together() -> None:
    schema = compiled(
        {"name": {"type": "string"}, "age": {"type": "integer"}, "state": {"enum": ["open", "closed"]}},
        required=["name"],
        additionalProperties=False,
    )
    data = {"nmae": "Ada", "age": "5", "state": "OPEN", "zzz": 1}
    patch = [operation for problem in schema.prepare(data).problems for operation in problem.patch]
    assert json_patch(data, patch) == {"name": "Ada", "age": 5, "state": "open"}


def test_of_alternatives_the_one_that_was_meant_is_explained() -> None:
    def shape(kind: str, value: str) -> dict[str, Any]:
        return {"type": "object", "properties": {"k": {"const": kind}, "v": {"type": value}}, "required": ["k", "v"]}

    schema = compiled({"a": {"oneOf": [shape("x", "string"), shape("y", "integer"), {"type": "null"}]}})
    (problem,) = schema.prepare({"a": {"k": "y", "v": "7"}}).problems
    assert (problem.pointer, problem.code, problem.patch[0]["value"]) == ("/a/v", "type", 7)


def test_when_no_alternative_fits_all_are_named() -> None:
    problem = only({"anyOf": [{"type": "string"}, {"type": "null"}]}, 5)
    assert (problem.code, problem.message) == (
        "anyOf",
        "matches none of the alternatives: must be a string; or must be null",
    )


def test_the_error_tells_every_problem() -> None:
    schema = compiled({"a": {"type": "integer"}, "b": {"type": "string"}}, required=["c"])
    error = validation_error(schema.prepare({"a": "x", "b": 1}).problems)
    assert error.message.startswith("The object has 3 problems: ")
    for words in (
        "/a must be an integer, received 'x'",
        "/b must be a string, received 1 (nearest: '1')",
        "/c is required and missing",
    ):
        assert words in error.message
    assert error.hint == "Apply the patches in details.problems, or correct these places."
    assert sorted(problem["rule"] for problem in error.details["problems"]) == ["required", "type", "type"]


def test_a_huge_received_value_is_not_repeated() -> None:
    assert len(str(only({"type": "integer"}, "x" * 100_000).as_json())) < 500
    assert len(str(only({"type": "integer"}, list(range(10_000))).as_json())) < 500
    assert len(str(only({"type": "string"}, 10**300).as_json())) < 500


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text("open 5.", max_size=6)
    | st.lists(st.integers(), max_size=2)
)


@given(st.dictionaries(st.sampled_from(["name", "nmae", "age", "state", "zzz", "when"]), VALUES))
def test_patches_together_never_leave_more_problems_than_before(data: dict[str, Any]) -> None:
    schema = compiled(
        {
            "name": {"type": "string", "minLength": 1},
            "age": {"type": "integer", "minimum": 0},
            "state": {"enum": ["open", "5"]},
            "when": {"type": "string", "format": "date"},
        },
        required=["name"],
        additionalProperties=False,
    )
    problems = schema.problems(data)
    patch = [operation for problem in problems for operation in problem.patch]
    after = schema.problems(json_patch(data, patch))
    assert len(after) + sum(1 for problem in problems if problem.patch) <= len(problems)
