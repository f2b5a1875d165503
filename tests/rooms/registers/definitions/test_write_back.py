"""`writeBack` is taken where it can be done; where a value would be lost without a word, the schema is refused."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.definitions.compiled_schema import compile_schema
from pentad.rooms.registers.definitions.references import Reference


def schema(children: dict[str, Any] | None = None, **relation: Any) -> dict[str, Any]:
    listed = {"type": "array", "items": {"$ref": "person"}, "inversedBy": "parent", **relation}
    return {"title": "Person", "slug": "person", "properties": {"children": children or listed}}


def relation_of(body: dict[str, Any]) -> Reference:
    [found] = compile_schema(body, parents=lambda _ref: None).references
    return found


@pytest.mark.parametrize("relation", [{}, {"writeBack": False}, {"writeBack": None, "removeAfterWriteBack": False}])
def test_without_it_an_inverse_property_is_filled_on_reading(relation: dict[str, Any]) -> None:
    found = relation_of(schema(**relation))
    assert (found.inversed_by, found.write_back, found.filled) == ("parent", False, True)


def test_a_property_that_is_written_back_is_kept_unless_it_is_removed_afterwards() -> None:
    kept = relation_of(schema(writeBack=True))
    assert (kept.write_back, kept.filled) == (True, False)
    carried = relation_of(schema(writeBack=True, removeAfterWriteBack=True))
    assert (carried.write_back, carried.filled) == (True, True)


def test_it_may_stand_beside_the_reference_inside_a_list() -> None:
    items = {"$ref": "person", "inversedBy": "parent", "writeBack": True}
    assert relation_of(schema({"type": "array", "items": items})).write_back


REFERENCE = {"type": "string", "$ref": "person", "inversedBy": "parent", "writeBack": True}


@pytest.mark.parametrize(
    ("children", "rule", "words"),
    [
        ({"type": "string", "writeBack": True}, "writeBack", "beside a $ref"),
        ({"type": "string", "$ref": "person", "writeBack": True}, "writeBack", "needs inversedBy"),
        ({**REFERENCE, "onDelete": "SET_DEFAULT", "default": "x"}, "writeBack", "SET_DEFAULT"),
        ({"type": "object", "properties": {"one": REFERENCE}}, "writeBack", "objects inside it"),
        (
            {"type": "array", "items": {"type": "object", "properties": {"one": REFERENCE}}},
            "writeBack",
            "objects inside it",
        ),
        (
            {"oneOf": [{"$ref": "person"}, {"$ref": "city"}], "inversedBy": "parent", "writeBack": True},
            "writeBack",
            "several",
        ),
        ({"type": "string", "removeAfterWriteBack": True}, "removeAfterWriteBack", "beside writeBack"),
        ({**REFERENCE, "removeAfterWriteBack": True, "required": True}, "removeAfterWriteBack", "required"),
        ({**REFERENCE, "removeAfterWriteBack": True, "default": "x"}, "removeAfterWriteBack", "default"),
        ({**REFERENCE, "writeBack": "yes"}, "writeBack", "true or false"),
    ],
)
def test_what_could_not_be_kept_on_either_side_is_refused(children: dict[str, Any], rule: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        compile_schema(schema(children), parents=lambda _ref: None)
    [problem] = refused.value.details["problems"]
    assert problem["rule"] == rule
    assert problem["path"].endswith(rule)
    assert words in problem["message"]
