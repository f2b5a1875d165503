"""Likely mistakes in a schema are reported with what was probably meant, and only impossible ones are refused."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.definitions.schema_validation import check_before_saving
from pentad.rooms.registers.definitions.schema_warnings import schema_warnings
from tests.rooms.registers.definitions.making import compiled


@pytest.mark.requirement("registers:warnings:schema")
@pytest.mark.parametrize(
    ("properties", "rest", "path", "nearest"),
    [
        ({"a": {"type": "string", "minLenght": 3}}, {}, "/properties/a/minLenght", "minLength"),
        ({"a": {"type": "string", "format": "emial"}}, {}, "/properties/a/format", "email"),
        ({"a": {"type": "string", "format": "DateTime"}}, {}, "/properties/a/format", "date-time"),
        ({"name": {}}, {"required": ["nmae"]}, "/required", "name"),
        ({"a": {}}, {"required": ["zz"]}, "/required", None),
        (
            {"a": {"type": "object", "properties": {"b": {"maximun": 1}}}},
            {},
            "/properties/a/properties/b/maximun",
            "maximum",
        ),
        (
            {"a": {"type": "object", "properties": {"city": {}}, "required": ["ciyt"]}},
            {},
            "/properties/a/required",
            "city",
        ),
    ],
)
def test_a_likely_mistake_is_reported_with_the_nearest_name(
    properties: Any, rest: Any, path: str, nearest: str | None
) -> None:
    schema = compiled(properties, **rest)
    check_before_saving(schema)
    [warning] = schema_warnings(schema)
    assert (warning["path"], warning.get("nearest")) == (path, nearest)


@pytest.mark.parametrize(
    "definition",
    [{"unit": "kg"}, {"x-note": 1}, {"$comment": "y"}, {"label": "Name"}, {"type": "string", "format": "date"}],
)
def test_keywords_of_ones_own_are_no_mistakes(definition: dict[str, Any]) -> None:
    assert schema_warnings(compiled({"a": definition})) == []


@pytest.mark.requirement("registers:warnings:schema")
def test_a_required_name_that_no_object_may_have_is_refused() -> None:
    schema = compiled({"name": {}}, required=["nmae"], additionalProperties=False)
    with pytest.raises(InvalidInput, match="Did you mean 'name'"):
        check_before_saving(schema)


@pytest.mark.requirement("registers:warnings:undeclared")
def test_undeclared_names_matter_unless_the_schema_welcomes_others() -> None:
    data = {"name": 1, "colour": 2}
    assert compiled({"name": {}}).undeclared(data) == ("colour",)
    for more in ({"additionalProperties": True}, {"patternProperties": {"^c": {}}}):
        assert compiled({"name": {}}, **more).undeclared(data) == ()
    assert compiled({}).undeclared(data) == ()
