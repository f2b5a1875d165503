"""What a schema change drops: rules that were removed or switched off, and removed properties.

A rule with a new value is a change, not a loss, such as `maximum` going from 10 to 20 or an `enum` with one more value.
The schema's own `authorization` is not a rule in this sense, because it changes only if a caller names it; that of a
property is. Only the definitions are compared, so the answer reveals nothing about stored objects.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pentad.kernel.json_pointer import pointer
from pentad.kernel.json_values import as_object
from pentad.kernel.schema import Path
from pentad.rooms.registers.definitions.json_schema import required_names
from pentad.rooms.registers.definitions.schema_validation import unique_sets

_RULES: Final = frozenset({
    "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
    "minLength", "pattern", "format", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
    "maxProperties", "minProperties", "dependentRequired", "dependentSchemas", "not", "if", "then", "else", "contains",
    "propertyNames", "allOf", "anyOf", "oneOf", "prefixItems", "patternProperties", "$ref", "onDelete", "inversedBy",
    "writeBack", "allowedTypes", "maxSize", "allowedTags", "unique", "immutable", "additionalProperties",
    "unevaluatedProperties", "unevaluatedItems",
})  # fmt: skip
_NO_RULE: Final[tuple[Any, ...]] = (None, [], {}, "")


def dropped_rules(old: Mapping[str, Any], new: Mapping[str, Any], renamed: Mapping[str, str]) -> list[str]:
    """JSON pointers to the rules of the old schema that are gone; `renamed` maps old to new property names.

    The rules of a removed property are not listed: `removed_properties` names the property.
    """
    found = list(_of_object(old, new, (), renamed))
    if old.get("hardValidation") is not False and new.get("hardValidation") is False:
        found.append(("hardValidation",))
    kept = {frozenset(names) for names in unique_sets(new)}
    found += [
        ("configuration", "unique", "+".join(names))
        for names in unique_sets(old)
        if frozenset(renamed.get(name, name) for name in names) not in kept
    ]
    return [pointer(path) for path in found]


def removed_properties(old: Mapping[str, Any], new: Mapping[str, Any], renamed: Mapping[str, str]) -> list[str]:
    """The top-level properties that are gone and were not renamed."""
    after = as_object(new.get("properties"))
    return [name for name in as_object(old.get("properties")) if renamed.get(name, name) not in after]


def _of_object(
    old: Mapping[str, Any], new: Mapping[str, Any], path: Path, renamed: Mapping[str, str]
) -> Iterator[Path]:
    yield from _of_node(old, new, path)
    before, after = as_object(old.get("properties")), as_object(new.get("properties"))
    required = frozenset(required_names(new))
    for name in required_names(old):
        gone = name in before and renamed.get(name, name) not in after
        if renamed.get(name, name) not in required and not (gone and not path):
            yield (*path, "required", name)
    for name, definition in before.items():
        here = (*path, "properties", name)
        if (now := renamed.get(name, name)) in after:
            yield from _of_object(as_object(definition), as_object(after[now]), here, {})
        elif path:
            yield here


def _of_node(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for keyword, value in old.items():
        if keyword in _RULES and _is_rule(keyword, value) and not _is_rule(keyword, new.get(keyword)):
            yield (*path, keyword)
    rights = as_object(new.get("authorization"))
    for right in as_object(old.get("authorization")) if path else ():
        if right not in rights:
            yield (*path, "authorization", right)
    if items := as_object(old.get("items")):
        yield from _of_object(items, as_object(new.get("items")), (*path, "items"), {})


def _is_rule(keyword: str, value: Any) -> bool:
    """Whether a keyword restricts anything: `unique: false` and `additionalProperties: true` do not."""
    if keyword in ("additionalProperties", "unevaluatedProperties", "unevaluatedItems"):
        return value is not None and value is not True and value != {}
    return value not in _NO_RULE and value is not False
