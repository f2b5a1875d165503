"""The description of a register: its schemas as JSON Schema, its routes as OpenAPI 3.1."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.rooms.registers.interface.openregister import PREFIXES
from pentad.rooms.registers.models import Register, Schema

_ROOM_KEYWORDS: Final = frozenset(
    {
        "authorization", "facetable", "inversedBy", "onDelete", "writeBack", "removeAfterWriteBack", "immutable",
        "objectConfiguration", "validateReference", "translatable", "computed", "defaultBehavior", "visible",
        "hideOnCollection", "hideOnForm", "unique", "x-index", "order", "allowedTypes", "maxSize", "allowedTags",
        "autoTags",
    }
)  # fmt: skip
"""Keywords of the room that JSON Schema does not know."""
_MAPS_OF_SCHEMAS: Final = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
"""Keywords whose members are named by users, not by JSON Schema."""


def json_schema(schema: Schema) -> dict[str, Any]:
    """A schema as a JSON Schema document."""
    body = schema.body
    properties: dict[str, Any] = body.get("properties") or {}
    document: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:uuid:{schema.uuid}",
        "title": schema.title,
        "type": "object",
        "properties": {name: _plain(one) for name, one in properties.items()},
    }
    for name in ("description", "required", "$defs", "additionalProperties"):
        if body.get(name):
            document[name] = body[name]
    return document


def register_document(register: Register, schemas: Sequence[Schema]) -> dict[str, Any]:
    """The routes of a register's objects, with each schema as a component."""
    paths: dict[str, Any] = {}
    components: dict[str, Any] = {}
    for schema in schemas:
        document = {name: value for name, value in json_schema(schema).items() if not name.startswith("$schema")}
        components[_component(schema)] = {name: value for name, value in document.items() if name != "$id"}
        base = f"{PREFIXES[0]}/objects/{register.slug}/{schema.slug}"
        paths[base] = _collection(schema)
        paths[base + "/{id}"] = {"parameters": [_ID], **_item(schema)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": register.title,
            "version": register.version,
            "description": register.body.get("description") or "",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{"basic": []}, {"bearer": []}],
    }


_ID: Final = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The object's uuid or slug, or the value of a unique property.",
    "schema": {"type": "string"},
}


def _component(schema: Schema) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in schema.slug)


def _reference(schema: Schema) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{_component(schema)}"}


def _content(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": value}}


def _answers(schema: Schema, status: str, text: str) -> dict[str, Any]:
    return {status: {"description": text, "content": _content(_reference(schema))}}


def _operation(
    schema: Schema, verb: str, text: str, responses: Mapping[str, Any], body: bool = False
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{verb}_{_component(schema)}",
        "summary": f"{text} {schema.title}.",
        "tags": [schema.slug],
        "responses": responses,
    }
    if body:
        operation["requestBody"] = {"required": True, "content": _content(_reference(schema))}
    return operation


def _collection(schema: Schema) -> dict[str, Any]:
    page = {
        "type": "object",
        "properties": {
            "results": {"type": "array", "items": _reference(schema)},
            "total": {"type": "integer"},
            "page": {"type": "integer"},
            "pages": {"type": "integer"},
            "limit": {"type": "integer"},
            "offset": {"type": "integer"},
        },
    }
    return {
        "get": _operation(schema, "list", "List", {"200": {"description": "A page.", "content": _content(page)}}),
        "post": _operation(schema, "create", "Create", _answers(schema, "201", "Created."), body=True),
    }


def _item(schema: Schema) -> dict[str, Any]:
    return {
        "get": _operation(schema, "get", "Get one", _answers(schema, "200", "The object.")),
        "put": _operation(schema, "replace", "Replace one", _answers(schema, "200", "The object."), body=True),
        "patch": _operation(schema, "change", "Change one", _answers(schema, "200", "The object."), body=True),
        "delete": _operation(schema, "delete", "Delete one", {"204": {"description": "Deleted."}}),
    }


def _plain(property_: Any) -> Any:
    """A property without the room's keywords; a reference to another schema is a uuid."""
    if isinstance(property_, list):
        return [_plain(one) for one in cast("list[Any]", property_)]
    if not isinstance(property_, dict):
        return property_
    facts = cast("dict[str, Any]", property_)
    if isinstance(target := facts.get("$ref"), str | int) and not str(target).startswith("#"):
        return {"type": facts.get("type", "string"), "description": f"The uuid of an object of schema {target}."}
    kept = {
        name: {key: _plain(one) for key, one in cast("dict[str, Any]", value).items()}
        if name in _MAPS_OF_SCHEMAS and isinstance(value, dict)
        else _plain(value)
        for name, value in facts.items()
        if name not in _ROOM_KEYWORDS
    }
    if kept.get("required") in (True, False):
        del kept["required"]
    return kept
