"""Likely mistakes in a schema that JSON Schema allows: misspelt keywords, unknown formats, required names that no
property has. They are reported with the nearest known name when a schema is saved, but never refused.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.json_values import as_object
from pentad.kernel.names import nearest
from pentad.kernel.problems import Finding
from pentad.kernel.schema import Path
from pentad.rooms.registers.definitions.formats import KNOWN_FORMATS
from pentad.rooms.registers.definitions.json_schema import required_names, types_of
from pentad.rooms.registers.definitions.object_validation import problem_json
from pentad.rooms.registers.definitions.schema_validation import finding, property_definitions, unknown_name

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

MOST_WARNINGS: Final = 50
_TYPO_RATIO: Final = 0.8
_KEYWORDS: Final = frozenset({
    "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
    "minLength", "pattern", "format", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
    "maxProperties", "minProperties", "dependentRequired", "dependentSchemas", "not", "if", "then", "else", "items",
    "contains", "propertyNames", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "allOf", "anyOf",
    "oneOf", "prefixItems", "properties", "patternProperties", "required", "title", "description", "default",
    "examples", "example", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType",
    "contentSchema", "summary", "order", "visible", "hideOnCollection", "hideOnForm", "unique", "immutable",
    "translatable", "writeBack", "removeAfterWriteBack", "inversedBy", "onDelete", "facetable", "computed",
    "defaultBehavior", "authorization", "allowedTypes", "maxSize", "allowedTags", "autoTags", "objectConfiguration",
    "validateReference", "definitions", "x-index",
})  # fmt: skip
"""The keywords with a meaning in a property. Others are kept, but one similar to a keyword here is probably a typo."""


def schema_warnings(definition: "CompiledSchema") -> list[dict[str, Any]]:
    """The likely mistakes in a schema, each with its place and the nearest known name."""
    found = [*_check_required((), definition.body, definition.properties.keys())]
    for path, value in property_definitions(definition.body):
        node = as_object(value)
        found += _check_keywords(path, node)
        found += _check_format(path, node)
        if "properties" in node:
            found += _check_required(path, node, as_object(node["properties"]).keys())
    return [problem_json(one) for one in found[:MOST_WARNINGS]]


def undeclared_warnings(names: Mapping[str, int] | Sequence[str], known: Collection[str]) -> list[dict[str, Any]]:
    """Warnings about stored properties that the schema does not declare.

    For a mapping, each warning has the number of `rows` in which the name occurs. `known` are the names to suggest.
    """
    warnings: list[dict[str, Any]] = []
    for name in list(names)[:MOST_WARNINGS]:
        message = "is not a property of the schema; it was stored, but cannot be filtered or sorted by."
        one = problem_json(unknown_name((name,), "undeclared", message, name, known))
        warnings.append({**one, "rows": names[name]} if isinstance(names, Mapping) else one)
    return warnings


def _check_keywords(path: Path, node: Mapping[str, Any]) -> Iterator[Finding]:
    for keyword in node:
        if keyword not in _KEYWORDS and not keyword.startswith(("x-", "$", "@", "_")):
            near = nearest(keyword[:100], _KEYWORDS, cutoff=_TYPO_RATIO)
            if near:
                message = f"{keyword[:100]!r} is not a keyword and has no effect."
                yield finding((*path, keyword), "keyword", f"{message} Did you mean {near[0]!r}?", near)


def _check_format(path: Path, node: Mapping[str, Any]) -> Iterator[Finding]:
    given = node.get("format")
    if isinstance(given, str) and given and "string" in types_of(node) and given not in KNOWN_FORMATS:
        message = f"{given[:100]!r} is not a known format and is not checked."
        yield unknown_name((*path, "format"), "format", message, given, KNOWN_FORMATS)


def _check_required(path: Path, node: Mapping[str, Any], declared: Collection[str]) -> Iterator[Finding]:
    for name in required_names(node):
        if name not in declared:
            message = f"requires {name[:100]!r}, which is not a property."
            yield unknown_name((*path, "required"), "required", message, name, declared)
