"""What is refused when a schema is defined, and that the refusal names the place."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from tests.rooms.registers.definitions.making import compiled

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("definition", "place", "words"),
    [
        ({"type": "strng"}, "/type", "Did you mean 'string'"),
        ({"type": ["string", "nul"]}, "/type", "'nul' is not a type"),
        ({"type": "string", "format": 5}, "/format", "the name of a format"),
        ({"type": "string", "enum": []}, "/enum", "at least one value"),
        ({"type": "string", "enum": "a"}, "/enum", "at least one value"),
        ({"type": "number", "minimum": 5, "maximum": 4}, "/minimum", "above maximum 4"),
        ({"type": "string", "minLength": 5, "maxLength": 4}, "/minLength", "nothing could be valid"),
        ({"type": "array", "minItems": 5, "maxItems": 4}, "/minItems", "nothing could be valid"),
        ({"type": "string", "visible": "yes"}, "/visible", "true or false"),
        ({"type": "string", "hideOnForm": 1}, "/hideOnForm", "true or false"),
        ({"type": "string", "hideOnCollection": "no"}, "/hideOnCollection", "true or false"),
        ({"type": "string", "facetable": "yes"}, "/facetable", "true, false or an object"),
        ({"type": "string", "onDelete": "CASCADE"}, "/onDelete", "beside a $ref"),
        ({"$ref": "person", "onDelete": "EXPLODE"}, "/onDelete", "CASCADE, RESTRICT"),
        ({"$ref": "person", "onDelete": "SET_DEFAULT"}, "/onDelete", "needs a default"),
        ({"$ref": "https://example.com/x"}, "/$ref", "nothing is fetched"),
        ({"type": "file", "allowedTypes": ["png"]}, "/allowedTypes", "media types"),
        ({"type": "file", "allowedTypes": "image/png"}, "/allowedTypes", "media types"),
        ({"type": "file", "maxSize": 100 * MIB + 1}, "/maxSize", "up to"),
        ({"type": "file", "maxSize": 0}, "/maxSize", "up to"),
        ({"type": "file", "allowedTags": ["x" * 51]}, "/allowedTags", "50 characters"),
        ({"type": "file", "autoTags": "x"}, "/autoTags", "50 characters"),
        ({"type": "string", "defaultBehavior": "sometimes"}, "/defaultBehavior", "absent, falsy or always"),
        ({"type": "string", "default": "{{ 1 + }}"}, "/default", "is expected"),
        ({"type": "string", "computed": "1 +"}, "/computed", "is expected"),
        ({"type": "array", "unique": True}, "/unique", "can be unique"),
        ({"type": "string", "unique": "yes"}, "/unique", "true or false"),
        ({"type": "string", "required": "yes"}, "/required", "true or false"),
        ({"type": "string", "pattern": "(a"}, "/pattern", "regular expression"),
        ({"type": "string", "minLength": -1}, "/minLength", "-1"),
        (5, "", "defined by an object"),
    ],
)
def test_a_wrong_definition_is_refused_with_its_place(definition: Any, place: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        compiled({"a/b": definition})
    found = {problem["path"]: problem["message"] for problem in refused.value.details["problems"]}
    assert words in found[f"/properties/a~1b{place}"]
    assert refused.value.hint


@pytest.mark.parametrize(
    "definition",
    [
        {"oneOf": [{"type": "string"}, {"type": "null"}]},
        {"anyOf": [{"type": "string"}]},
        {"allOf": [{"minimum": 1}]},
        {"const": None},
        {"enum": [1, "a"]},
        {"$ref": "person", "onDelete": "SET_DEFAULT", "default": "x"},
        {"type": "array", "items": {"$ref": "person"}, "onDelete": "CASCADE"},
        {"type": "file", "allowedTypes": ["image/png", "text/*"], "maxSize": 100 * MIB, "autoTags": ["x"]},
        {"type": "number", "minimum": 4, "maximum": 4},
        True,
    ],
)
def test_a_right_definition_is_taken(definition: Any) -> None:
    assert "a" in compiled({"a": definition}).properties


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"properties": "x"}, "/properties"),
        ({"properties": {}, "required": "a"}, "/required"),
        ({"properties": {}, "required": [1]}, "/required"),
        ({"properties": {"name": {"type": "string"}}, "configuration": {"unique": "nmae"}}, "/configuration/unique"),
        ({"properties": {"a": {"type": "array"}}, "configuration": {"unique": "a"}}, "/configuration/unique"),
        ({"properties": {}, "patternProperties": 5}, "/patternProperties"),
        ({"properties": {}, "allOf": "x"}, "/allOf"),
        ({"properties": {}, "configuration": {"objectNameField": "{{ 1 + }}"}}, "/configuration"),
        ({"properties": {f"p{number}": {"type": "string"} for number in range(2001)}}, "/properties"),
        (
            {"properties": {"a": {"type": "object", "properties": {"b": {"type": "x"}}}}},
            "/properties/a/properties/b/type",
        ),
        (
            {"properties": {"a": {"type": "array", "items": {"properties": {"b": {"type": "x"}}}}}},
            "/properties/a/items/properties/b/type",
        ),
    ],
)
def test_a_wrong_body_is_refused_with_its_place(body: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        compiled(**body)
    assert place in [problem["path"] for problem in refused.value.details["problems"]]


def test_computed_properties_that_need_one_another_are_refused() -> None:
    with pytest.raises(InvalidInput, match="a, b are computed from one another"):
        compiled({"a": {"type": "number", "computed": "b"}, "b": {"type": "number", "computed": "a"}})


def test_all_wrong_definitions_are_told_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        compiled({"a": {"type": "x"}, "b": {"type": "string", "enum": []}, "c": {"type": "y"}})
    assert len(refused.value.details["problems"]) == 3


@pytest.mark.requirement("registers:schemas:nearest")
@pytest.mark.parametrize(
    ("body", "nearest"),
    [
        ({"properties": {"a": {"type": "strng"}}}, "string"),
        ({"properties": {"name": {"type": "string"}}, "configuration": {"unique": "nmae"}}, "name"),
        ({"configuration": {"search": "hybird"}}, "hybrid"),
    ],
)
def test_a_misspelt_name_comes_with_the_nearest_valid_one(body: dict[str, Any], nearest: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        compiled(**body)
    (problem,) = refused.value.details["problems"]
    assert problem["nearest"] == nearest
    assert f"Did you mean '{nearest}'?" in problem["message"]
