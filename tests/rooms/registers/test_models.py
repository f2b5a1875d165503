"""How registers, schemas and objects look on the wire."""

import pytest

from pentad.rooms.registers.definitions.compiled_schema import compile_schema
from pentad.rooms.registers.models import Register, Schema, StoredObject, projected, prune
from pentad.rooms.registers.query.metadata import METADATA_NAMES

PERSON = compile_schema(
    {"properties": {"name": {"type": "string"}, "id": {"type": "string"}}}, parents=lambda _ref: None
)


def stored(text: str) -> StoredObject:
    return StoredObject(7, "u-1", 1, 2, 3, text, None, "user:ada", "default", 0.0, 1.5)


def test_a_pruned_object_says_nothing_that_is_empty():
    wire = stored('{"name":"Ada"}').wire(PERSON)
    assert wire == {
        "id": "u-1",
        "name": "Ada",
        "@self": {
            "id": "u-1", "name": "Ada", "version": "3", "register": 1, "schema": 2, "owner": "user:ada",
            "organisation": "default", "updated": "1970-01-01T00:00:01.500Z", "created": "1970-01-01T00:00:00.000Z",
        },
    }  # fmt: skip


def test_a_whole_object_has_every_key_of_its_metadata():
    metadata = stored("{}").wire(PERSON, prune=False)["@self"]
    assert len(metadata) == 36
    assert set(metadata) == set(METADATA_NAMES)
    assert metadata["name"] == "u-1"
    assert metadata["size"] == 2


def test_the_headings_a_schema_names_are_shown_and_pruned_where_a_property_tells_them():
    body = {
        "properties": {"about": {"type": "string"}, "n": {"type": "integer"}, "face": {"type": "string"}},
        "configuration": {
            "objectDescriptionField": "about", "objectSummaryField": "{{ about }}, {{ n }}", "objectImageField": "face",
        },
    }  # fmt: skip
    definition = compile_schema(body, parents=lambda _ref: None)
    one = stored('{"about":"A thing","n":2}')
    whole = one.wire(definition, prune=False)["@self"]
    assert (whole["description"], whole["summary"], whole["image"]) == ("A thing", "A thing, 2", None)
    pruned = one.wire(definition)["@self"]
    assert "description" not in pruned
    assert pruned["summary"] == "A thing, 2"
    asked = one.wire(definition, fields=["@self.description", "@self.image"])
    assert asked == {"id": "u-1", "@self": {"description": "A thing"}}


def test_a_business_property_called_id_wins():
    assert stored('{"id":"mine"}').wire(PERSON)["id"] == "mine"


def test_only_the_fields_asked_for_are_there():
    one = stored('{"name":"Ada","place":{"city":"X","zip":1},"a.b":2}')
    assert one.wire(PERSON, fields=["place.city", "a.b", "nothing", "@self.version"]) == {
        "id": "u-1", "place": {"city": "X"}, "a.b": 2, "@self": {"version": "3"},
    }  # fmt: skip
    assert one.wire(PERSON, fields=["name"]) == {"id": "u-1", "name": "Ada"}


def test_projecting_leaves_the_original_alone():
    data = {"place": {"city": "X", "zip": 1}}
    assert projected(data, ["place", "place.city"]) == data
    assert projected(data, ["place.city.x"]) == {}
    assert data == {"place": {"city": "X", "zip": 1}}


def test_a_register_shows_every_field_and_can_be_pruned():
    wire = Register(1, "u", "s", "T", "0.0.1", {"groups": ["a"]}, (3,), 0.0, 0.0).wire()
    assert (wire["schemas"], wire["usage"]["groups"], wire["_mail"]) == ([3], 1, None)
    assert "_mail" not in prune(wire)
    assert prune({"a": {"b": None}, "c": 0, "d": False, "e": []}) == {"c": 0, "d": False}
    properties = {"any": {}, "choice": {"enum": ["a", None]}, "none": {"const": None, "default": "", "examples": []}}
    schema = Schema(1, "u", "s", "T", "0.0.1", {"properties": properties, "configuration": {"x": {}}}, 1, 0.0, 0.0)
    assert prune(schema.wire())["properties"] == properties, "what was written is shown as it was written"
    assert prune(schema.wire())["configuration"] == {"x": {}}


def test_an_altered_copy_keeps_the_rest():
    one = stored('{"name":"Ada"}')
    other = one.altered(version=4, text="{}")
    assert (other.version, other.data, other.uuid) == (4, {}, one.uuid)
    assert (one.version, one.data) == (3, {"name": "Ada"})
    with pytest.raises(TypeError):
        one.altered(nonsense=1)
