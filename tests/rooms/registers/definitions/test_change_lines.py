"""A change of a schema, in the words of a person."""

from typing import Any

import pytest

from pentad.rooms.registers.definitions.change_lines import change_lines
from pentad.rooms.registers.definitions.schema_patch import apply_operations, renames_of

OLD: dict[str, Any] = {
    "title": "Permit",
    "properties": {
        "number": {"type": "string"},
        "fee": {"type": "number", "maximum": 900},
        "kind": {"enum": ["sign", "felling"]},
        "total": {"type": "number", "computed": "fee * 2"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "integer"}}}},
    },
    "required": ["number"],
    "configuration": {"unique": ["number"]},
}


@pytest.mark.requirement("registers:schema-change:report")
@pytest.mark.parametrize(
    ("operation", "lines"),
    [
        (
            {"op": "rename", "property": "fee", "to": "amount"},
            ["fee: renamed to amount", "total: computed 'fee * 2' became 'amount * 2'"],
        ),
        (
            {"op": "rename", "property": "number", "to": "reference"},
            ["configuration.unique: ('number') became ('reference')", "number: renamed to reference"],
        ),
        ({"op": "rename", "property": "/address/city", "to": "town"}, ["address.city: renamed to town"]),
        ({"op": "change", "property": "fee", "required": True}, ["fee: becomes required"]),
        ({"op": "change", "property": "number", "required": False}, ["number: is no longer required"]),
        ({"op": "change", "property": "fee", "definition": {"maximum": 1000}}, ["fee: maximum 900 became 1000"]),
        ({"op": "change", "property": "fee", "definition": {"maximum": None}}, ["fee: maximum 900 removed"]),
        ({"op": "change", "property": "fee", "definition": {"minimum": 1}}, ["fee: minimum 1 added"]),
        ({"op": "change", "property": "fee", "definition": {"type": "string"}}, ["fee: number became string"]),
        (
            {"op": "change", "property": "kind", "definition": {"enum": ["sign", "tree"]}},
            ["kind: now allows 'tree', no longer allows 'felling'"],
        ),
        ({"op": "change", "property": "number", "definition": {"enum": ["a"]}}, ["number: allows only 'a'"]),
        ({"op": "change", "property": "kind", "definition": {"enum": None}}, ["kind: allows every value"]),
        (
            {"op": "change", "property": "lines", "definition": {"items": {"properties": {"price": {"minimum": 0}}}}},
            ["lines[].price: minimum 0 added"],
        ),
        (
            {"op": "change", "property": "address", "definition": {"additionalProperties": False}},
            ["address: undeclared properties are refused"],
        ),
        (
            {"op": "add", "property": "email", "definition": {"type": "string"}, "required": True},
            ["email: added (string), required"],
        ),
        ({"op": "drop", "property": "number"}, ["number: removed (string)"]),
    ],
)
def test_an_operation_reads_as_one_would_say_it(operation: dict[str, Any], lines: list[str]) -> None:
    patch = apply_operations(OLD, [operation])
    assert change_lines(OLD, patch.body, renames_of(patch.steps)) == lines


@pytest.mark.requirement("registers:schema-change:report")
def test_what_a_schema_says_of_itself_is_told_apart_from_its_properties() -> None:
    old: dict[str, Any] = {"title": "Book", "properties": {"title": {"type": "string"}}}
    new: dict[str, Any] = {
        "title": "Books",
        "description": "All of them",
        "authorization": {"read": ["public"], "create": ["clerk"]},
        "additionalProperties": False,
        "properties": {"title": {"type": "string"}},
    }
    assert change_lines(old, new, {}) == [
        "schema title: 'Book' became 'Books'",
        "description: added 'All of them'",
        "authorization: added (read, create)",
        "undeclared properties are refused",
    ]
