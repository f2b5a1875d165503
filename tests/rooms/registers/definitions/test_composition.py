"""Schemas built upon stored schemas: inheritance over levels and parents, alternatives, circles."""

from collections.abc import Mapping
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema, compile_schema

STORED: dict[str, dict[str, Any]] = {
    "thing": {
        "id": 1,
        "uuid": "11111111-1111-4111-8111-111111111111",
        "slug": "thing",
        "properties": {"name": {"type": "string", "maxLength": 10}, "note": {"type": "string"}},
        "required": ["name"],
        "configuration": {"objectNameField": "name"},
    },
    "person": {
        "id": 2,
        "slug": "person",
        "allOf": ["thing"],
        "properties": {"email": {"type": "string", "format": "email", "required": True}},
    },
    "dated": {"id": 3, "slug": "dated", "properties": {"on": {"type": "string", "format": "date"}}, "required": ["on"]},
    "circle": {"id": 4, "slug": "circle", "allOf": [{"$ref": "round"}]},
    "round": {"id": 5, "slug": "round", "allOf": [4]},
    "closed": {
        "id": 6,
        "slug": "closed",
        "properties": {"a": {"type": "integer"}},
        "additionalProperties": False,
        "patternProperties": {"^x-": {"type": "string"}},
    },
    "defs": {
        "id": 7,
        "slug": "defs",
        "$defs": {"code": {"type": "string", "minLength": 2}},
        "properties": {"code": {"$ref": "#/$defs/code"}},
    },
}


def stored(ref: int | str) -> Mapping[str, Any] | None:
    return next(
        (body for body in STORED.values() if ref in (body["id"], body.get("uuid"), body["slug"])),
        None,
    )


def made(**body: Any) -> CompiledSchema:
    return compile_schema({"properties": {}, **body}, parents=stored)


@pytest.mark.parametrize(
    "parent",
    [
        *["thing", 1, "1", "11111111-1111-4111-8111-111111111111"],
        *[{"$ref": "thing"}, {"$ref": 1}, {"$ref": "#/components/schemas/thing"}],
    ],
)
def test_a_parent_is_named_by_id_uuid_or_slug(parent: Any) -> None:
    schema = made(allOf=[parent])
    assert list(schema.properties) == ["name", "note"]
    assert schema.required == {"name"}


def test_three_levels_are_merged() -> None:
    schema = made(slug="employee", allOf=["person"], properties={"salary": {"type": "number"}}, required=["salary"])
    assert list(schema.properties) == ["name", "note", "email", "salary"]
    assert schema.required == {"name", "email", "salary"}
    assert schema.name_of({"name": "Ada"}) == "Ada"
    assert {problem.pointer for problem in schema.prepare({}).problems} == {"/name", "/email", "/salary"}


def test_two_parents_are_both_inherited_in_order() -> None:
    schema = made(allOf=["thing", "dated"], properties={"own": {"type": "boolean"}})
    assert list(schema.properties) == ["name", "note", "on", "own"]
    assert schema.required == {"name", "on"}


def test_what_both_say_of_a_property_must_both_hold() -> None:
    schema = made(allOf=["thing"], properties={"name": {"type": "string", "maxLength": 20, "title": "Name"}})
    assert schema.properties["name"].title == "Name"
    assert not schema.is_valid({"name": "x" * 15})
    narrower = made(allOf=["thing"], properties={"name": {"type": "string", "maxLength": 3}})
    assert not narrower.is_valid({"name": "x" * 5})
    assert narrower.is_valid({"name": "x" * 3})


def test_a_closed_parent_closes_over_the_childs_properties_too() -> None:
    schema = made(allOf=["closed"], properties={"b": {"type": "integer"}})
    assert schema.is_valid({"a": 1, "b": 2, "x-y": "z"})
    assert not schema.is_valid({"c": 3})
    assert not schema.is_valid({"x-y": 5})


def test_definitions_of_a_parent_come_along() -> None:
    schema = made(allOf=["defs"])
    assert schema.is_valid({"code": "ab"})
    assert not schema.is_valid({"code": "a"})


def test_equal_names_for_different_definitions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="defined differently"):
        made(allOf=["defs"], **{"$defs": {"code": {"type": "integer"}}})


def test_rules_beside_a_named_parent_hold_as_well() -> None:
    schema = made(allOf=[{"$ref": "thing", "required": ["note"]}, {"properties": {"note": {"minLength": 2}}}])
    assert not schema.is_valid({"name": "x"})
    assert not schema.is_valid({"name": "x", "note": "y"})
    assert schema.is_valid({"name": "x", "note": "yy"})


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_stored_schemas_can_be_alternatives(keyword: str) -> None:
    schema = made(**{keyword: ["person", {"$ref": "dated"}]})
    assert schema.is_valid({"name": "Ada", "email": "a@b.org"})
    assert schema.is_valid({"on": "2024-01-01"})
    assert not schema.is_valid({})
    both = {"name": "Ada", "email": "a@b.org", "on": "2024-01-01"}
    assert schema.is_valid(both) is (keyword == "anyOf")
    assert set(schema.properties) == {"name", "note", "email", "on"}


def test_plain_alternatives_stay_what_they_are() -> None:
    schema = made(anyOf=[{"required": ["a"]}, {"required": ["b"]}])
    assert schema.is_valid({"b": 1})
    assert not schema.is_valid({})


@pytest.mark.parametrize(
    "body",
    [{"allOf": ["circle"]}, {"slug": "self", "allOf": ["self"]}, {"id": 1, "allOf": ["person"]}, {"oneOf": ["round"]}],
)
def test_a_circle_of_parents_is_refused(body: dict[str, Any]) -> None:
    def parents(ref: int | str) -> Any:
        return body if ref == "self" else stored(ref)

    with pytest.raises(InvalidInput, match="built upon this one"):
        compile_schema({"properties": {}, **body}, parents=parents)


def test_an_unknown_parent_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="no schema 'nobody'") as refused:
        made(allOf=["nobody"])
    assert refused.value.details["problems"][0]["path"] == "/allOf"


def test_a_schema_has_a_limited_number_of_ancestors() -> None:
    def doubling(ref: int | str) -> dict[str, Any]:
        level = int(ref)
        return {"properties": {}, "allOf": [level * 2 + 1, level * 2 + 2]}

    with pytest.raises(LimitExceeded):
        compile_schema({"properties": {}, "allOf": [1]}, parents=doubling)


@pytest.mark.parametrize("ref", ["https://example.com/schema", "../other", "file:///etc/hosts"])
def test_a_remote_parent_is_refused(ref: str) -> None:
    with pytest.raises(InvalidInput, match="nothing is fetched"):
        made(allOf=[{"$ref": ref}])
