"""Describes a register: its schemas as JSON Schema, its routes as OpenAPI 3.1."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast
from urllib.parse import quote

from starlette.routing import BaseRoute

from pentad import openapi
from pentad.kernel.json_values import as_object, text_or_none
from pentad.rooms.registers.definitions.json_schema import to_json_schema
from pentad.rooms.registers.definitions.references import EACH
from pentad.rooms.registers.interface.openregister import PREFIXES
from pentad.rooms.registers.models import Pair, Register, Schema

_ROOM_KEYWORDS: Final = frozenset(
    {
        "authorization", "facetable", "inversedBy", "onDelete", "writeBack", "removeAfterWriteBack", "immutable",
        "objectConfiguration", "validateReference", "translatable", "computed", "defaultBehavior", "visible",
        "hideOnCollection", "hideOnForm", "unique", "x-index", "order", "allowedTypes", "maxSize", "allowedTags",
        "autoTags",
    }
)  # fmt: skip
"""The room's keywords, unknown to JSON Schema."""
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
        if (value := body.get(name)) not in (None, "", [], {}):
            document[name] = value
    return document


def register_document(
    register: Register,
    pairs: Sequence[Pair],
    routes: Iterable[BaseRoute],
    server: str,
    schemes: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """The routes of a register's objects as OpenAPI, separately for each schema, with its properties."""
    of_objects = [one for one in openapi.operations_of(routes) if one[0].startswith(_PAIR)]
    operations = [
        (_path(pair, pattern), method, replace(operation, topic=pair.schema.slug))
        for pair in pairs
        for pattern, method, operation in of_objects
    ]
    document = openapi.document(
        operations,
        title=register.title,
        version=register.version,
        server=server,
        schemes=schemes,
        description=text_or_none(register.body.get("description")) or "",
    )
    for pair in pairs:
        name = _component(pair.schema)
        document["components"]["schemas"].update(_components(pair, name))
        start = _path(pair, _PAIR)
        for path, methods in document["paths"].items():
            if path == start or path.startswith(f"{start}/"):
                for method, operation in methods.items():
                    _use_components(operation, name, is_patch=method == "patch" or (method == "post" and path != start))
    return document


_PAIR: Final = f"{PREFIXES[0]}/objects/{{register}}/{{schema}}"
_REFERENCE: Final = "#/components/schemas/"
_ANNOTATIONS: Final = ("title", "description")
_READ: Final = ("type", "enum", "format", *_ANNOTATIONS)


def _path(pair: Pair, pattern: str) -> str:
    register, schema = quote(pair.register.slug, safe=""), quote(pair.schema.slug, safe="")
    return pattern.replace("{register}", register).replace("{schema}", schema)


def _component(schema: Schema) -> str:
    return f"{''.join(letter if letter.isascii() and letter.isalnum() else '_' for letter in schema.slug)}_{schema.id}"


def _components(pair: Pair, name: str) -> dict[str, Any]:
    """The components of a schema: its objects as written, its objects as read, and a page of them."""
    as_read = {"allOf": [{"$ref": f"{_REFERENCE}ObjectAnswer"}, _as_read(pair)]}
    rows = {"results": {"type": "array", "items": {"$ref": f"{_REFERENCE}{name}_answer"}}}
    return {
        f"{name}_data": _as_written(pair, f"{name}_data"),
        f"{name}_answer": as_read,
        f"{name}_page": {"allOf": [{"$ref": f"{_REFERENCE}ObjectsAnswer"}, {"type": "object", "properties": rows}]},
    }


def _use_components(node: Any, name: str, *, is_patch: bool) -> None:
    """Replace the generic object components with those of a schema. A patch may name any part of an object."""
    specific = {"ObjectAnswer": f"{name}_answer", "ObjectsAnswer": f"{name}_page"}
    if not is_patch:
        specific["ObjectData"] = f"{name}_data"
    if isinstance(node, list):
        for one in cast("list[Any]", node):
            _use_components(one, name, is_patch=is_patch)
    elif isinstance(node, dict):
        members = cast("dict[str, Any]", node)
        if (found := specific.get(str(members.get("$ref", "")).removeprefix(_REFERENCE))) is not None:
            members["$ref"] = f"{_REFERENCE}{found}"
        for one in members.values():
            _use_components(one, name, is_patch=is_patch)


def _as_written(pair: Pair, component: str) -> dict[str, Any]:
    """The schema for writes. Properties with a default are optional; a soft schema requires nothing."""
    definition = pair.definition
    if definition.soft:
        return {"type": "object"}
    document = cast("dict[str, Any]", _moved(to_json_schema(definition.body), f"{_REFERENCE}{component}"))
    declared = as_object(definition.body.get("properties"))
    for name, facts in document.get("properties", {}).items():
        if isinstance(facts, dict):
            cast("dict[str, Any]", facts).update(_texts(as_object(declared.get(name))))
    filled = {name for name, facts in declared.items() if {"default", "computed"} & as_object(facts).keys()}
    document["required"] = [name for name in document.get("required", ()) if name not in filled]
    return {name: value for name, value in document.items() if value != []} | _texts({"title": pair.schema.title})


def _as_read(pair: Pair) -> dict[str, Any]:
    """The schema of answers. Any property may be missing: left out by `_fields` or `_unset`, or hidden by rules."""
    definition = pair.definition
    if definition.soft:
        return {"type": "object"}
    declared = as_object(definition.body.get("properties"))
    properties = {
        name: {**_types(facts), **_texts(as_object(declared.get(name)))}
        for name, facts in as_object(to_json_schema(definition.body).get("properties")).items()
    }
    document: dict[str, Any] = {"type": "object", "properties": properties}
    for reference in definition.references:
        _loosen(document, reference.path)
    return document


def _types(facts: Any) -> dict[str, Any]:
    known = as_object(facts)
    kept = {name: known[name] for name in _READ if name in known}
    if "items" in known and "prefixItems" not in known:
        kept["items"] = _types(known["items"])
    if inner := as_object(known.get("properties")):
        kept["properties"] = {name: _types(one) for name, one in inner.items()}
    return kept


def _loosen(document: dict[str, Any], path: Sequence[str]) -> None:
    """Also allow the other object in place of a reference, for `_extend`."""
    node = document
    for step in path:
        node = node.get("items", {}) if step == EACH else node.get("properties", {}).get(step, {})
    for name in ("type", "format", "enum", "items", "properties"):
        node.pop(name, None)


def _texts(facts: Mapping[str, Any]) -> dict[str, str]:
    return {name: text for name in _ANNOTATIONS if isinstance(text := facts.get(name), str) and text}


def _moved(node: Any, start: str) -> Any:
    """A schema with its local references adjusted to its new place in a document."""
    if isinstance(node, list):
        return [_moved(one, start) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    moved = {name: _moved(one, start) for name, one in cast("dict[str, Any]", node).items()}
    if isinstance(ref := moved.get("$ref"), str) and ref.startswith("#"):
        moved["$ref"] = start + ref[1:]
    return moved


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
