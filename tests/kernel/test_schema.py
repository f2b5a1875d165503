"""Compiled JSON Schemas: bounded to compile, bounded to run, and precise about what is wrong."""

import subprocess
import sys
import textwrap
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.json_pointer import pointer
from pentad.kernel.schema import SchemaBounds, compile_json_schema, measure


def nested(depth: int, schema: dict[str, Any]) -> dict[str, Any]:
    for _ in range(depth):
        schema = {"allOf": [schema]}
    return schema


def doubled(levels: int, keyword: str = "anyOf") -> dict[str, Any]:
    """Each definition applies the one below it twice."""
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, levels + 1):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {keyword: [below, below]}
    return {"$defs": definitions, "$ref": f"#/$defs/d{levels}"}


def test_a_failure_tells_path_rule_value_and_what_was_expected() -> None:
    schema = compile_json_schema({"properties": {"a/b": {"items": {"maximum": 3}}}})
    (failure,) = schema.failures({"a/b": [1, 7]})
    assert (pointer(failure.path), failure.rule, failure.received, failure.expected) == ("/a~1b/1", "maximum", 7, 3)


def test_all_failures_are_told_up_to_the_limit() -> None:
    schema = compile_json_schema({"items": {"type": "string"}})
    assert [failure.path for failure in schema.failures([1, "a", 2])] == [(0,), (2,)]
    assert len(schema.failures(list(range(100)), limit=7)) == 7


def test_a_valid_value_has_no_failures() -> None:
    schema = compile_json_schema({"type": "array"})
    assert schema.is_valid([1])
    assert schema.failures([1]) == []


def test_alternatives_keep_the_failures_of_each_branch() -> None:
    schema = compile_json_schema({"oneOf": [{"type": "string"}, {"minimum": 5}]})
    (failure,) = schema.failures(3)
    assert failure.rule == "oneOf"
    assert [branch[0].rule for branch in failure.branches] == ["type", "minimum"]


def test_formats_are_asserted_and_own_ones_can_be_added() -> None:
    schema = compile_json_schema({"format": "even"}, formats={"even": lambda text: len(text) % 2 == 0})
    assert schema.is_valid("ab")
    assert [failure.expected for failure in schema.failures("abc")] == ["even"]
    assert not compile_json_schema({"format": "date"}).is_valid("2024-02-30")


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "strin"}, "/type"),
        ({"properties": {"a": {"minLength": -1}}}, "/properties/a/minLength"),
        ({"required": "a"}, "/required"),
        ({"pattern": "(a"}, "/pattern"),
        ({"properties": {"a": {"pattern": "x" * 1001}}}, "/properties/a/pattern"),
        ({"$ref": "https://example.com/schema"}, "/$ref"),
        ({"items": {"$ref": "file:///etc/hosts"}}, "/items/$ref"),
        ({"$dynamicRef": "other.json#x"}, "/$dynamicRef"),
        ({"properties": {"a": {"$id": "https://example.com/"}}}, "/properties/a/$id"),
        ({"patternProperties": {"(?=a)": True}}, "/pattern"),
    ],
)
def test_a_broken_schema_is_refused_with_the_place(schema: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        compile_json_schema(schema)
    assert place in [problem["path"] for problem in refused.value.details["problems"]]


def test_every_problem_of_a_schema_is_told_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        compile_json_schema({"minLength": -1, "type": "text", "$ref": "https://example.com/x"})
    assert len(refused.value.details["problems"]) == 3


def test_a_reference_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        compile_json_schema({"$ref": "#/$defs/missing"})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}},
        {"$defs": {"a": {"$anchor": "here", "not": {"$ref": "#here"}}}, "$ref": "#here"},
    ],
)
def test_a_schema_that_would_check_itself_for_ever_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="refers to itself"):
        compile_json_schema(schema)


def test_recursion_into_the_data_is_allowed() -> None:
    tree = {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "$ref": "#/$defs/node",
    }
    schema = compile_json_schema(tree)
    assert schema.is_valid({"next": {"next": {}}})
    assert [failure.path for failure in schema.failures({"next": {"next": 5}})] == [("next", "next")]


@pytest.mark.parametrize(
    "schema",
    [nested(40, {}), nested(5000, {}), {"enum": ["x" * 300_000]}, doubled(20), doubled(2000)],
    ids=["deep", "very deep", "large", "doubling", "long chain"],
)
def test_a_schema_past_a_limit_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(LimitExceeded):
        compile_json_schema(schema)


@pytest.mark.parametrize("broken", [{"a\ud800": True}, {"const": object()}, {"enum": [{1, 2}, b"x", 1j]}])
def test_what_is_not_json_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        compile_json_schema(broken)


def test_a_schema_that_doubles_with_depth_bounds_the_depth_of_values() -> None:
    either = {"type": "array", "items": {"$ref": "#/$defs/n"}}
    schema = compile_json_schema({"$defs": {"n": {"anyOf": [either, either]}}, "$ref": "#/$defs/n"})
    assert schema.deepest is not None
    value: Any = 5
    for _ in range(40):
        value = [value]
    assert not schema.is_valid(value)
    assert [failure.rule for failure in schema.failures(value)] == ["depth"]
    assert schema.is_valid([[[[]]]])


def test_a_large_value_is_told_its_first_failure_only() -> None:
    schema = compile_json_schema({"items": {"type": "string"}})
    assert [failure.path for failure in schema.failures(["x", *range(200_000)])] == [(1,)]


def test_a_large_value_with_alternatives_is_refused_without_details() -> None:
    schema = compile_json_schema({"anyOf": [{"items": {"type": "string"}}, {"items": {"type": "null"}}]})
    assert [failure.rule for failure in schema.failures(list(range(200_000)))] == ["schema"]


@pytest.mark.parametrize("value", ["\ud800", {"a": "\udfff"}, {1: 2}])
def test_a_value_that_is_not_json_is_a_failure_and_no_crash(value: Any) -> None:
    schema = compile_json_schema({"type": ["string", "object"], "properties": {"a": {"pattern": "a"}}})
    assert [failure.rule for failure in schema.failures(value)] == ["json"]


def test_look_around_works_on_short_texts() -> None:
    schema = compile_json_schema({"pattern": r"^(?=.*\d)(?=.*[a-z]).{8,}$"})
    assert schema.is_valid("passw0rd")
    assert not schema.is_valid("password")
    assert [failure.rule for failure in schema.failures("password")] == ["pattern"]
    assert [failure.rule for failure in schema.failures("passw0rd" * 2_000)] == ["maxLength"]


def test_depth_and_size_are_measured() -> None:
    assert measure(5) == (0, 1)
    assert measure([]) == (1, 1)
    assert measure({"a": [1, 2]}) == (2, 4)


def test_the_bounds_are_the_callers_to_set() -> None:
    with pytest.raises(LimitExceeded):
        compile_json_schema({"enum": ["x" * 200]}, bounds=SchemaBounds(size=100))


WORST_CASES = textwrap.dedent(r"""
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    from pentad.kernel.errors import InvalidInput
    from pentad.kernel.schema import compile_json_schema

    hundred_thousand = "a" * 100_000
    patterns = [
        r"^(a+)+$", r"^(a|aa)+$", r"^(a|a?)+$", r"(.*a){20}", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"((((a*)*)*)*)*$",
        r"(a?){300}(a){300}", r"(x+x+)+y", r"^(\w+\s?)*$", r"([a-zA-Z]+)*\d", r"(.{1,1000}){1,1000}", r"a{500}{500}",
        r"\p{L}{1,900}\p{N}{1,900}", r"(?=(a+)+$)b", r"(a*)*\1b", r"^(?:(?=(a+))a+)+$", "(?=.*x)" * 20,
        r"(?:(?=.*x)a|a)*b",
        r"^(?:a|(?<=a)a)*$b", r"(?!(a+)+b)a*c",
    ]
    checked = 0
    for pattern in patterns:
        try:
            schema = compile_json_schema({"pattern": pattern})
        except InvalidInput:
            checked += 1
            continue
        for text in (hundred_thousand, hundred_thousand + "!", "a" * 999 + "!", "x" * 30_000, "a b" * 3_000):
            schema.is_valid(text)
            schema.failures(text)
        checked += 1
    print(checked, len(patterns))
""")


def test_catastrophic_patterns_cannot_hang() -> None:
    """Twenty worst cases in a process that the kernel ends after twenty seconds of CPU time."""
    done = subprocess.run(
        [sys.executable, "-c", WORST_CASES], capture_output=True, text=True, timeout=100, check=False, encoding="utf-8"
    )
    assert (done.returncode, done.stdout.split()) == (0, ["20", "20"]), done.stderr[-500:]
