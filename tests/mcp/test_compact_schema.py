"""Schemas as listed: without noise, and never narrower than what a tool accepts."""

import json
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.compact_schema import compact_input, compact_output, without_properties
from pentad.mcp.declarations import input_schema_of


class Inner(Arguments):
    """A docstring for engineers."""

    name: str
    title: str | None = None


class Node(Arguments):
    children: "list[Node]" = Field(default_factory=list)


class Everything(Arguments):
    title: Annotated[str, Field(min_length=1, max_length=50)]
    nothing: str | None = None
    one_or_more: str | list[str] | None = None
    mode: Literal["a", "b"] = "a"
    count: Annotated[int, Field(ge=0, le=2**53)] = 0
    few: Annotated[int, Field(ge=1, le=10)] = 5
    flag: bool = False
    on: bool = True
    words: tuple[str, ...] = ()
    table: dict[str, Any] | None = None
    inner: Annotated[Inner | None, Field(description="Once.")] = None
    needed: str | None
    by_name: dict[str, int | None] = Field(default_factory=dict)


@pytest.mark.requirement("tools:list:no-noise")
def test_noise_is_left_out_and_everything_else_stays() -> None:
    assert input_schema_of(Everything) == {
        "type": "object",
        "additionalProperties": False,
        "required": ["title", "needed"],
        "properties": {
            "title": {"type": "string"},
            "nothing": {"type": "string"},
            "one_or_more": {"type": ["string", "array"], "items": {"type": "string"}},
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "count": {"type": "integer", "minimum": 0, "default": 0},
            "few": {"type": "integer", "minimum": 1, "maximum": 10, "default": 5},
            "flag": {"type": "boolean"},
            "on": {"type": "boolean", "default": True},
            "words": {"type": "array", "items": {"type": "string"}},
            "table": {"type": "object"},
            "inner": {
                "type": "object",
                "description": "Once.",
                "additionalProperties": False,
                "properties": {"name": {"type": "string"}, "title": {"type": "string"}},
                "required": ["name"],
            },
            "needed": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "by_name": {"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        },
    }


@pytest.mark.requirement("tools:list:schema-honest")
def test_a_short_schema_still_accepts_what_the_long_one_accepts_without_nulls() -> None:
    short, long = (
        Draft202012Validator(input_schema_of(Everything)),
        Draft202012Validator(Everything.model_json_schema()),
    )
    base: dict[str, Any] = {"title": "t", "needed": None}
    for more in (
        {}, {"one_or_more": ["a"]}, {"one_or_more": "a"}, {"inner": {"name": "n"}}, {"by_name": {"a": None}},
        {"words": ["x"]}, {"table": {"any": [1]}}, {"few": 10}, {"count": 2**40},
    ):  # fmt: skip
        assert short.is_valid(base | more)
        assert long.is_valid(base | more)
        Everything.model_validate_json(json.dumps(base | more), strict=True)
    for wrong in ({"one_or_more": 1}, {"one_or_more": [1]}, {"few": 11}, {"mode": "c"}, {"inner": {}}, {"more": 1}):
        assert not short.is_valid(base | wrong), wrong
    Everything.model_validate_json(json.dumps({**base, "nothing": None, "inner": None}), strict=True)


@pytest.mark.requirement("tools:list:no-noise")
def test_a_definition_that_is_used_twice_or_by_itself_stays_one() -> None:
    class Two(Arguments):
        first: Inner
        second: Inner

    schema = input_schema_of(Two)
    assert schema["$defs"].keys() == {"Inner"}
    assert "description" not in schema["$defs"]["Inner"]
    assert schema["properties"]["first"] == {"$ref": "#/$defs/Inner"}
    recursive = input_schema_of(Node)
    Draft202012Validator(recursive).validate({"children": [{"children": []}]})
    assert without_properties(schema, {"first"})["$defs"].keys() == {"Inner"}
    assert "$defs" not in without_properties(schema, {"first", "second"})


@pytest.mark.requirement("tools:list:no-noise")
def test_results_keep_their_nulls() -> None:
    class Part(BaseModel):
        """One part."""

        kind: Literal["a", "b"] | None
        size: int | None = Field(description="In bytes.")
        parts: list["Part"] | None = None

    schema = compact_output(Part.model_json_schema())
    validator = Draft202012Validator(schema)
    validator.validate({"kind": None, "size": None, "parts": [{"kind": "a", "size": 1}]})
    assert not validator.is_valid({"kind": "c", "size": 1})
    assert not validator.is_valid({"kind": "a", "size": "1"})
    assert '"title"' not in json.dumps(schema)
    assert "In bytes." in json.dumps(schema)


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "default": {"title": "D", "type": "string"}},
    }
    assert compact_input(schema)["properties"] == {"title": {"type": "string"}, "default": {"type": "string"}}
