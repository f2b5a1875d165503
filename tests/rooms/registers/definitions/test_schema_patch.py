"""Operations on the properties of a schema, and the steps by which stored objects follow."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.definitions.dropped_rules import dropped_rules, removed_properties
from pentad.rooms.registers.definitions.migration import migrate
from pentad.rooms.registers.definitions.schema_patch import apply_operations, renames

BODY: dict[str, Any] = {
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "fee": {"type": "string", "pattern": "^[0-9]+$"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    "required": ["name", "fee"],
    "configuration": {"objectNameField": "name", "unique": [["name", "fee"]]},
}


@pytest.mark.requirement("registers:schema-change:patch")
def test_a_rename_takes_required_and_the_configuration_along() -> None:
    patch = apply_operations(BODY, [{"op": "rename", "property": "name", "to": "title"}])
    assert list(patch.body["properties"]) == ["title", "fee", "address"]
    assert patch.body["required"] == ["title", "fee"]
    assert patch.body["configuration"] == {"objectNameField": "title", "unique": [["title", "fee"]]}
    assert migrate({"name": "Ada", "fee": "1"}, patch.steps) == {"fee": "1", "title": "Ada"}
    assert BODY["required"] == ["name", "fee"], "the stored body is left alone"


@pytest.mark.requirement("registers:schema-change:patch")
def test_operations_follow_one_another() -> None:
    patch = apply_operations(
        BODY,
        [
            {"op": "add", "property": "due", "definition": {"type": "string"}, "required": True, "value": "soon"},
            {"op": "change", "property": "fee", "definition": {"type": "integer", "pattern": None}, "required": False},
            {"op": "rename", "property": "fee", "to": "amount"},
            {"op": "drop", "property": "name"},
            {"op": "rename", "property": "/address/city", "to": "town"},
            {"op": "reorder", "properties": ["due", "amount"]},
        ],
    )
    assert list(patch.body["properties"]) == ["due", "amount", "address"]
    assert patch.body["properties"]["amount"] == {"type": "integer"}
    assert patch.body["properties"]["address"]["required"] == ["town"]
    assert patch.body["required"] == ["due"]
    before = {"name": "Ada", "fee": "12", "address": {"city": "Rome"}}
    assert migrate(before, patch.steps) == {"amount": 12, "address": {"town": "Rome"}, "due": "soon"}


def test_a_new_property_goes_where_it_is_told() -> None:
    patch = apply_operations(BODY, [{"op": "add", "property": "due", "definition": {}, "after": "name"}])
    assert list(patch.body["properties"]) == ["name", "due", "fee", "address"]
    assert patch.steps == []


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({"op": "ad", "property": "x"}, "Did you mean 'add'"),
        ({"property": "x"}, "has no known op"),
        ({"op": "add", "property": "x"}, "needs 'definition'"),
        ({"op": "add", "property": "fee", "definition": {}}, "exists already"),
        ({"op": "drop", "property": "fees"}, "Did you mean 'fee'"),
        ({"op": "rename", "property": "fee", "to": "name"}, "exists already"),
        ({"op": "rename", "property": "fee", "to": 5}, "needs a name"),
        ({"op": "change", "property": "fee", "defintion": {}}, "Did you mean 'definition'"),
        ({"op": "change", "property": "fee", "required": "yes"}, "neither true nor false"),
        ({"op": "drop", "property": "/nowhere/city"}, "leads through 'nowhere'"),
        ({"op": "reorder", "properties": ["fee", "fee"]}, "different names"),
        ({"op": "add", "property": "x", "definition": {}, "after": "zz"}, "goes after 'zz'"),
        ("drop", "has no known op"),
    ],
)
def test_an_operation_that_cannot_be_is_refused_with_what_was_meant(operation: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        apply_operations(BODY, [operation])
    assert refused.value.details["problems"][0]["path"] == "/operations/0"


def test_no_operations_are_refused() -> None:
    with pytest.raises(InvalidInput, match="1 to 500 operations"):
        apply_operations(BODY, [])


def test_renames_are_followed_through() -> None:
    steps = apply_operations(
        BODY, [{"op": "rename", "property": "fee", "to": "a"}, {"op": "rename", "property": "a", "to": "b"}]
    ).steps
    assert renames(steps) == {"fee": "b"}


@pytest.mark.parametrize(
    ("old", "new", "dropped"),
    [
        ({"a": {"maximum": 10}}, {"a": {"maximum": 20}}, []),
        ({"a": {"enum": ["x"]}}, {"a": {"enum": ["x", "y"]}}, []),
        ({"a": {"maximum": 10, "title": "A"}}, {"a": {}}, ["/properties/a/maximum"]),
        ({"a": {"unique": True}}, {"a": {"unique": False}}, ["/properties/a/unique"]),
        ({"a": {"authorization": {"read": ["admin"]}}}, {"a": {}}, ["/properties/a/authorization/read"]),
        ({"a": {"items": {"pattern": "x"}}}, {"a": {"items": {}}}, ["/properties/a/items/pattern"]),
        ({"a": {"properties": {"b": {}}}}, {"a": {}}, ["/properties/a/properties/b"]),
    ],
)
@pytest.mark.requirement("registers:schema-change:confirm")
def test_a_rule_that_is_gone_is_told_from_one_that_changed(old: Any, new: Any, dropped: list[str]) -> None:
    assert dropped_rules({"properties": old}, {"properties": new}, {}) == dropped


def test_what_the_whole_schema_demanded_counts_too() -> None:
    old = {**BODY, "additionalProperties": False}
    new = {**BODY, "required": ["fee"], "hardValidation": False, "configuration": {}}
    assert dropped_rules(old, new, {}) == [
        "/additionalProperties",
        "/required/name",
        "/hardValidation",
        "/configuration/unique/name+fee",
    ]
    assert removed_properties(old, {"properties": {"title": {}, "fee": {}}}, {"name": "title"}) == ["address"]
