"""Slips that are refused when a schema is saved, and left alone where one is stored already."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.definitions.schema_validation import check_before_saving
from tests.rooms.registers.definitions.making import compiled


@pytest.mark.parametrize(
    ("definition", "place", "words"),
    [
        ({"type": "integer", "default": "five"}, "/default", "integer"),
        ({"type": "integer", "default": 1.5}, "/default", "integer"),
        ({"type": "integer", "default": True}, "/default", "integer"),
        ({"type": ["string", "null"], "default": 5}, "/default", "string or null"),
        ({"type": "array", "default": {}}, "/default", "array"),
        ({"type": "string", "enum": ["a", "b"], "default": "c"}, "/default", "enum"),
        (
            {"type": "object", "properties": {"x": {"type": "number", "default": "1"}}},
            "/properties/x/default",
            "number",
        ),
        ({"type": "number", "computed": "pice * 2"}, "/computed", "Did you mean 'price'"),
        ({"type": "string", "computed": "{{ price }} {{ unit }}"}, "/computed", "'unit', which is no property"),
        ({"type": "string", "authorization": {"reed": ["admin"]}}, "/authorization", "Did you mean 'read'"),
        ({"type": "string", "authorization": {"read": [{"match": {"a": {}}}]}}, "/authorization", "has no condition"),
        (
            {"type": "string", "format": "date-time", "authorization": {"read": [{"match": {"a": {"$gt": "soon"}}}]}},
            "/authorization",
            "'soon' is not a time",
        ),
        (
            {"type": "object", "properties": {"x": {"type": "string", "authorization": {"read": ["admin"]}}}},
            "/properties/x/authorization",
            "write it into /properties/a",
        ),
    ],
)
@pytest.mark.requirement("registers:schemas:sound")
def test_an_unsound_schema_is_refused_with_the_place(definition: Any, place: str, words: str) -> None:
    schema = compiled({"price": {"type": "number"}, "a": definition})
    with pytest.raises(InvalidInput) as refused:
        check_before_saving(schema)
    found = {problem["path"]: problem["message"] for problem in refused.value.details["problems"]}
    assert words in found[f"/properties/a{place}"]


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "integer", "default": 5.0},
        {"type": "number", "default": 5},
        {"type": ["string", "null"], "default": "x"},
        {"type": "integer", "default": "{{ price }}"},
        {"type": "file", "default": "x"},
        {"$ref": "person", "default": "x"},
        {"default": [1]},
        {"type": "string", "computed": "price + 1"},
        {"type": "string", "authorization": {"read": ["admin", {"group": "writer", "match": {"price": {"$lt": 5}}}]}},
    ],
)
def test_a_sound_schema_is_taken(definition: Any) -> None:
    check_before_saving(compiled({"price": {"type": "number"}, "a": definition}))
