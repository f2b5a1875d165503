"""Translates a stored schema into the plain JSON Schema that validates its objects.

Stored schemas contain more than JSON Schema: references, file properties, form flags, nulls from empty form fields.
Only assertion keywords are copied, so annotations never change what is valid.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from pentad.kernel.json_values import as_object
from pentad.rooms.registers.definitions.formats import ANY_TEXT
from pentad.rooms.registers.definitions.references import stored_reference

LINK_TYPES: Final = frozenset(
    {"file", "NcFile", "NcMail", "NcContact", "NcNote", "NcTodo", "NcCalendarEvent", "NcTalk", "NcDeck"}
)
TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")

_PLAIN: Final = (
    *("type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
    *("maxLength", "minLength", "pattern", "format", "maxItems", "minItems", "uniqueItems", "maxContains"),
    *("minContains", "maxProperties", "minProperties", "dependentRequired"),
    *("$ref", "$dynamicRef", "$anchor", "$dynamicAnchor"),
)
_ONE: Final = (
    *("not", "if", "then", "else", "items", "contains", "propertyNames"),
    *("additionalProperties", "unevaluatedProperties", "unevaluatedItems"),
)
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


def to_json_schema(body: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a body whose compositions are already resolved. The root type is always object."""
    schema = _translated(body)
    schema["type"] = "object"
    return schema


def required_names(node: Mapping[str, Any]) -> list[str]:
    """The required names of an object schema, including properties that say `required: true`."""
    listed = node.get("required")
    names = [name for name in cast("list[Any]", listed) if isinstance(name, str)] if isinstance(listed, list) else []
    for name, inner in as_object(node.get("properties")).items():
        if isinstance(inner, Mapping) and cast("Mapping[str, Any]", inner).get("required") is True:
            names.append(name)
    return list(dict.fromkeys(names))


def types_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    """The declared types, always as a tuple."""
    declared = node.get("type")
    if isinstance(declared, str):
        return (declared,)
    return tuple(str(name) for name in cast("list[Any]", declared)) if isinstance(declared, list) else ()


def is_link(node: Mapping[str, Any]) -> bool:
    """Whether a property holds a file or a link to another system; such values are stored unchanged."""
    return not LINK_TYPES.isdisjoint(types_of(node))


def embeds_objects(reference: Mapping[str, Any]) -> bool:
    """Whether a reference may hold the other object itself instead of its uuid."""
    declared = types_of(reference)
    settings = as_object(reference.get("objectConfiguration"))
    return "object" in declared or (not declared and settings.get("handling") in ("nested", "nested-object", "cascade"))


def _translate(node: Any) -> Any:
    if not isinstance(node, Mapping):
        return node
    found = cast("Mapping[str, Any]", node)
    return {} if is_link(found) else _translated(found)


def _translated(node: Mapping[str, Any]) -> dict[str, Any]:
    schema = {keyword: node[keyword] for keyword in _PLAIN if node.get(keyword) is not None}
    if "const" in node:
        schema["const"] = node["const"]
    for keyword in _ONE:
        if node.get(keyword) is not None:
            schema[keyword] = _translate(node[keyword])
    for keyword in (*_LISTS, *_NAMED):
        if node.get(keyword) not in (None, [], {}):
            schema[keyword] = _inner(node[keyword], keyword)
    if required := required_names(node):
        schema["required"] = required
    if schema.get("format") in ("", *ANY_TEXT):
        del schema["format"]
    _exclusive(schema, "minimum", "exclusiveMinimum")
    _exclusive(schema, "maximum", "exclusiveMaximum")
    if stored_reference(node.get("$ref")) is not None:
        _relate(schema, node)
    return schema


def _inner(value: Any, keyword: str) -> Any:
    """Subschemas in a list or by name. JSON Schema itself rejects wrong shapes."""
    if keyword in _LISTS and isinstance(value, list):
        return [_translate(entry) for entry in cast("list[Any]", value)]
    if keyword in _NAMED and isinstance(value, Mapping):
        return {name: _translate(inner) for name, inner in cast("Mapping[str, Any]", value).items()}
    return value


def _exclusive(schema: dict[str, Any], limit: str, exclusive: str) -> None:
    """Converts the older form, `exclusiveMinimum: true` next to a `minimum`."""
    if isinstance(flag := schema.get(exclusive), bool):
        del schema[exclusive]
        if flag and limit in schema:
            schema[exclusive] = schema.pop(limit)


def _relate(schema: dict[str, Any], node: Mapping[str, Any]) -> None:
    """A reference holds the other object's id or, if nested, the whole object."""
    del schema["$ref"]
    declared = types_of(node)
    if not declared or declared == ("object",):
        schema["type"] = ["object", "string"] if embeds_objects(node) else ["string"]
    if node.get("onDelete") == "SET_NULL" and "type" in schema:
        current = schema["type"]
        kinds = cast("list[str]", current) if isinstance(current, list) else [str(current)]
        schema["type"] = [*kinds, "null"] if "null" not in kinds else kinds
