"""Shortens the JSON Schemas that pydantic makes, because every client pays for them in every conversation.

Only the listing gets shorter; the model validates as before. Omits generated titles, empty defaults, `null` for
optional arguments, limits that models cannot count (lengths), and `$defs` that are used only once.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

Schema = dict[str, Any]

_REF: Final = "#/$defs/"
_UNCOUNTABLE: Final = ("maxLength", "maxItems")
_LARGE: Final = 2**31
_NULL: Final = {"type": "null"}
_ONE_TYPE: Final = frozenset({"type", "items", "properties", "required", "additionalProperties", "description"})
_SCHEMAS_BY_NAME: Final = ("properties", "patternProperties", "$defs")
_SCHEMA_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONE_OR_MORE: Final = ({"type": "string"}, {"type": "array", "items": {"type": "string"}})


def compact_input(schema: Schema) -> Schema:
    """The schema of a tool's arguments."""
    return _without_single_defs(_compact_input(schema), "description")


def without_properties(schema: Mapping[str, Any], names: Collection[str]) -> Schema:
    """The schema of a tool's arguments without some properties, and without definitions that only they use."""
    kept = {name: one for name, one in schema["properties"].items() if name not in names}
    found = {**schema, "properties": kept}
    if "$defs" in found and _REF not in json.dumps(kept):
        del found["$defs"]
    return found


def compact_output(schema: Schema) -> Schema:
    """The schema of a tool's result. Its nulls stay: a result may contain them."""
    return _without_single_defs(_compact_output(schema))


def _compact_output(schema: Schema) -> Schema:
    compact = _mapped(schema, _compact_output, drop=("title", "default"))
    options = cast("list[Schema]", compact.get("anyOf") or [])
    if len(options) != 2 or options[1] != _NULL or not _ONE_TYPE.issuperset(options[0]):
        return compact
    del compact["anyOf"]
    return {**options[0], **compact, "type": [options[0]["type"], "null"]}


def _compact_input(schema: Schema) -> Schema:
    drop = ["title", *_UNCOUNTABLE]
    drop += [name for name, value in (("minLength", 1), ("additionalProperties", True)) if schema.get(name) is value]
    if schema.get("maximum", 0) >= _LARGE:
        drop.append("maximum")
    may_be_absent = "default" in schema
    if may_be_absent and (schema["default"] in (None, "", [], {}) or schema["default"] is False):
        drop.append("default")
    compact = _mapped(schema, _compact_input, drop=drop)
    if may_be_absent and isinstance(options := compact.get("anyOf"), list):
        kinds = [one for one in cast("list[Schema]", options) if one != _NULL]
        compact["anyOf"] = kinds
        if len(kinds) == 1:
            compact = {**kinds[0], **{name: value for name, value in compact.items() if name != "anyOf"}}
    if tuple(compact.get("anyOf", ())) == _ONE_OR_MORE:
        del compact["anyOf"]
        compact = {"type": ["string", "array"], "items": {"type": "string"}, **compact}
    return compact


def _mapped(schema: Schema, change: Any, *, drop: Sequence[str]) -> Schema:
    """The schema without some keywords, with a change applied to every nested schema."""
    found: Schema = {}
    for keyword, value in schema.items():
        if keyword in drop:
            continue
        if keyword in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            found[keyword] = {name: change(one) for name, one in cast("Mapping[str, Schema]", value).items()}
        elif keyword in _SCHEMA_LISTS and isinstance(value, list):
            found[keyword] = [change(one) for one in cast("list[Schema]", value)]
        elif keyword in ("items", "additionalProperties") and isinstance(value, dict):
            found[keyword] = change(value)
        else:
            found[keyword] = value
    return found


def _without_single_defs(schema: Schema, *drop: str) -> Schema:
    """The schema with definitions that are used once inlined for their `$ref`, without the keywords in `drop`."""
    defs: dict[str, Schema] = {
        name: {key: value for key, value in one.items() if key not in drop}
        for name, one in schema.get("$defs", {}).items()
    }
    text = json.dumps({**schema, "$defs": defs})
    single = {name for name in defs if text.count(json.dumps(_REF + name)) == 1}

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(one) for one in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        fields = cast("Schema", node)
        name = str(fields.get("$ref", "")).removeprefix(_REF)
        if name in single:
            return inline({**defs[name], **{key: value for key, value in fields.items() if key != "$ref"}})
        return {key: inline(value) for key, value in fields.items()}

    found = inline({key: value for key, value in schema.items() if key != "$defs"})
    if kept := {name: inline(one) for name, one in defs.items() if name not in single}:
        found["$defs"] = kept
    return found
