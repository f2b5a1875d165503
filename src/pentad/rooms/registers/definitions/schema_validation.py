"""Schema checks beyond JSON Schema. Every finding has a JSON pointer and, if possible, the nearest valid name.

`check_body`, `check_names` and `check_write_back` run whenever a schema is compiled. `check_before_saving` runs only
when one is saved, so a stored schema with such a mistake stays usable. Any property name is allowed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_pointer import pointer
from pentad.kernel.json_values import as_list, as_object
from pentad.kernel.problems import NO_VALUE, Finding, nearest_names
from pentad.kernel.schema import Path
from pentad.rooms.registers.access.authorization import read_block
from pentad.rooms.registers.definitions.defaults import BEHAVIOURS, read_computed, read_default
from pentad.rooms.registers.definitions.expressions import ExpressionError, is_template
from pentad.rooms.registers.definitions.json_schema import LINK_TYPES, TYPES, is_link, types_of
from pentad.rooms.registers.definitions.object_validation import problem_json
from pentad.rooms.registers.definitions.properties import Property, references_of, walk_properties
from pentad.rooms.registers.definitions.references import EACH, ON_DELETE, stored_reference

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

MOST_PROPERTIES: Final = 2_000
LARGEST_FILE: Final = 100 * 1024 * 1024
LONGEST_TAG: Final = 50
SEARCH_MODES: Final = ("words", "hybrid")
"""How the objects of a schema are searched: by words only, or by vectors too."""
_METADATA: Final = "@self"
_FLAGS: Final = (
    *("visible", "hideOnCollection", "hideOnForm", "unique", "immutable", "translatable"),
    *("writeBack", "removeAfterWriteBack"),
)
_BOUND_PAIRS: Final = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
)
_MIME: Final = re.compile(r"[\w.+-]{1,100}/(?:[\w.+-]{1,100}|\*)")


def check_body(body: Mapping[str, Any]) -> list[Finding]:
    """All problems in a schema's own definitions."""
    found: list[Finding] = []
    properties = body.get("properties")
    if properties not in (None, []) and not isinstance(properties, Mapping):
        found.append(finding(("properties",), "type", "must be an object of properties"))
    required = body.get("required")
    if required is not None and not _is_names(required):
        found.append(finding(("required",), "type", "must be a list of property names"))
    found.extend(
        finding((keyword,), "type", "must be a list of schemas")
        for keyword in ("allOf", "anyOf", "oneOf")
        if not isinstance(body.get(keyword), list | None)
    )
    if isinstance(properties, Mapping) and _METADATA in properties:
        found.append(
            finding(("properties", _METADATA), "name", "is where an object's metadata is; choose another name")
        )
    found.extend(_check_search(body))
    count = 0
    for path, node in property_definitions(body):
        count += 1
        found.extend(_check_property(node, path))
    if count > MOST_PROPERTIES:
        found.append(finding(("properties",), "limit", f"{count} properties; the limit is {MOST_PROPERTIES}"))
    return found


def check_names(body: Mapping[str, Any], properties: Mapping[str, Property]) -> Iterator[Finding]:
    """A unique key must name properties whose values can be compared."""
    for found in walk_properties(properties):
        if found.unique and found.kind is None:
            path = tuple(step for name in found.path for step in ("properties", name))
            yield finding((*path, "unique"), "unique", "only a text, number, boolean or date can be unique")
    for name in (name for names in unique_sets(body) for name in names):
        if name not in properties:
            message = f"{name[:200]!r} is not a property."
            yield unknown_name(("configuration", "unique"), "unique", message, name, properties)
        elif properties[name].kind is None:
            message = f"{name[:200]!r} is a list or an object, which cannot be unique"
            yield finding(("configuration", "unique"), "unique", message)


def unique_sets(body: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Reads `configuration.unique`: a name, a list of names that are unique together, or a list of such lists."""
    declared = as_object(body.get("configuration")).get("unique")
    if isinstance(declared, str) and declared:
        return [(declared,)]
    if not isinstance(declared, list) or not declared:
        return []
    entries = cast("list[Any]", declared)
    if all(isinstance(entry, str) for entry in entries):
        return [tuple(entries)]
    return [
        tuple(map(str, cast("list[Any]", entry))) if isinstance(entry, list) else (str(entry),) for entry in entries
    ]


def _check_search(body: Mapping[str, Any]) -> Iterator[Finding]:
    mode = as_object(body.get("configuration")).get("search")
    if mode is not None and mode not in SEARCH_MODES:
        path, message = ("configuration", "search"), f"must be one of {', '.join(SEARCH_MODES)}"
        found = unknown_name(path, "search", f"{message}.", str(mode), SEARCH_MODES)
        yield found if found.suggestions else finding(path, "search", message)


def finding(path: Path, rule: str, message: str, suggestions: Sequence[str] = ()) -> Finding:
    return Finding(rule, message, pointer=pointer(path), value=NO_VALUE, suggestions=tuple(suggestions))


def unknown_name(path: Path, rule: str, message: str, name: str, known: Iterable[str], otherwise: str = "") -> Finding:
    """A finding about an unknown name, with the closest known names."""
    near, _ = nearest_names(name[:200], known)
    guess = f"Did you mean {near[0]!r}?" if near else otherwise
    return finding(path, rule, f"{message} {guess}".strip(), near)


def property_definitions(body: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Every property at every level, with its place."""
    waiting: list[tuple[Path, Any]] = [((), body)]
    while waiting:
        here, node = waiting.pop()
        if not isinstance(node, Mapping):
            continue
        inner = cast("Mapping[str, Any]", node)
        properties = inner.get("properties")
        if isinstance(properties, Mapping):
            for name, value in cast("Mapping[str, Any]", properties).items():
                place = (*here, "properties", name)
                yield place, value
                waiting.append((place, value))
        if isinstance(inner.get("items"), Mapping):
            waiting.append(((*here, "items"), inner["items"]))


def _check_property(node: Any, path: Path) -> Iterator[Finding]:
    if isinstance(node, bool):
        return
    if not isinstance(node, Mapping):
        yield finding(path, "type", "a property is defined by an object")
        return
    definition = cast("Mapping[str, Any]", node)
    yield from _check_type(definition, path)
    yield from _check_values(definition, path)
    yield from _check_flags(definition, path)
    yield from _check_reference(definition, path)
    if is_link(definition):
        yield from _check_file(definition, path)
    for keyword, read in (("default", read_default), ("computed", read_computed)):
        try:
            read(definition)
        except ExpressionError as error:
            yield finding((*path, keyword), keyword, error.message)


def _check_type(node: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    types = types_of(node)
    for name in types:
        if name not in TYPES and name not in LINK_TYPES:
            listed = f"Types: {', '.join(TYPES)}, file."
            yield unknown_name((*path, "type"), "type", f"{name!r} is not a type.", name, (*TYPES, *LINK_TYPES), listed)
    if node.get("format") and "string" in types and not isinstance(node["format"], str):
        yield finding((*path, "format"), "format", "must be the name of a format, such as date or email")


def _check_values(node: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    if "enum" in node and node["enum"] is not None and (not isinstance(node["enum"], list) or not node["enum"]):
        yield finding((*path, "enum"), "enum", "must be a list of at least one value")
    for low, high in _BOUND_PAIRS:
        least, most = node.get(low), node.get(high)
        if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
            yield finding((*path, low), low, f"{low} {least} is above {high} {most}: nothing could be valid")
    behaviour = node.get("defaultBehavior")
    if behaviour is not None and (not isinstance(behaviour, str | bool) or behaviour not in BEHAVIOURS):
        yield finding((*path, "defaultBehavior"), "defaultBehavior", "must be absent, falsy or always")
    if not isinstance(node.get("required"), bool | list | None):
        yield finding((*path, "required"), "required", "must be true or false, or a list of names in an object")


def _check_flags(node: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    for flag in _FLAGS:
        if node.get(flag) is not None and not isinstance(node[flag], bool):
            yield finding((*path, flag), flag, "must be true or false")
    if node.get("facetable") is not None and not isinstance(node["facetable"], bool | Mapping):
        yield finding((*path, "facetable"), "facetable", "must be true, false or an object")


def _check_reference(node: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    reference = node.get("$ref")
    if isinstance(reference, str) and stored_reference(reference) is None and not reference.startswith("#"):
        yield finding((*path, "$ref"), "$ref", f"{reference[:200]!r} points outside; nothing is fetched")
    rule = node.get("onDelete")
    if rule is None:
        return
    items = node.get("items")
    inner = cast("Mapping[str, Any]", items).get("$ref") if isinstance(items, Mapping) else None
    if stored_reference(reference) is None and stored_reference(inner) is None:
        yield finding((*path, "onDelete"), "onDelete", "only means something beside a $ref to another schema")
    if rule not in ON_DELETE:
        yield finding((*path, "onDelete"), "onDelete", f"must be one of {', '.join(ON_DELETE)}")
    if rule == "SET_DEFAULT" and node.get("default") is None:
        yield finding((*path, "onDelete"), "onDelete", "SET_DEFAULT needs a default")


def _check_file(node: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    types = node.get("allowedTypes")
    if types is not None and not (_is_names(types) and all(_MIME.fullmatch(name) for name in types)):
        yield finding((*path, "allowedTypes"), "allowedTypes", "must be a list of media types such as image/png")
    size = node.get("maxSize")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or not 0 < size <= LARGEST_FILE):
        yield finding((*path, "maxSize"), "maxSize", f"must be a number of bytes up to {LARGEST_FILE}")
    for keyword in ("allowedTags", "autoTags"):
        tags = node.get(keyword)
        if tags is not None and not (_is_names(tags) and all(len(tag) <= LONGEST_TAG for tag in tags)):
            yield finding((*path, keyword), keyword, f"must be a list of tags of at most {LONGEST_TAG} characters")


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast("list[Any]", value))


WRITE_BACK: Final = "writeBack"
REMOVE: Final = "removeAfterWriteBack"


def check_write_back(properties: Mapping[str, Property]) -> Iterator[Finding]:
    """Check properties with `writeBack`: a value that neither side can store would be lost silently."""
    for found in walk_properties(properties):
        path = tuple(step for name in found.path for step in ("properties", name))
        if _declares(found, WRITE_BACK):
            yield from _check_write_back_reference(found, path)
            if _declares(found, REMOVE):
                yield from _check_removal(found, path)
        elif _declares(found, REMOVE):
            yield finding((*path, REMOVE), REMOVE, "only means something beside writeBack")
    for reference in references_of(properties):
        name, *rest = reference.path
        if reference.write_back and rest not in ([], [EACH]):
            message = f"is for properties of the object itself, not for those of objects inside it ({rest[-1]!r})"
            yield finding(("properties", name, WRITE_BACK), WRITE_BACK, message)


def _check_write_back_reference(found: Property, path: Path) -> Iterator[Finding]:
    where = (*path, WRITE_BACK)
    reference = found.ref
    if reference is None or reference.path not in (found.path, (*found.path, EACH)):
        yield finding(
            where, WRITE_BACK, "only means something beside a $ref to another schema, or to a list of its objects"
        )
        return
    if len(list(references_of({found.name: found}))) > 1:
        yield finding(where, WRITE_BACK, "needs one $ref; there are several, and only one of them could be meant")
    if reference.inversed_by is None:
        yield finding(where, WRITE_BACK, "needs inversedBy: the property of the other objects to write into")
    if reference.on_delete == "SET_DEFAULT":
        yield finding(where, WRITE_BACK, "cannot be combined with onDelete SET_DEFAULT; use SET_NULL")


def _check_removal(found: Property, path: Path) -> Iterator[Finding]:
    """A value that is not stored can neither be required nor have a default."""
    if found.required:
        yield finding((*path, REMOVE), REMOVE, "is not kept here, so it cannot be required")
    if found.default is not None or found.computed is not None:
        yield finding((*path, REMOVE), REMOVE, "is not kept here, so it cannot have a default or be computed")


def _declares(found: Property, keyword: str) -> bool:
    items: Mapping[str, Any] = as_object(found.definition.get("items"))
    return found.definition.get(keyword) is True or items.get(keyword) is True


def check_before_saving(definition: "CompiledSchema") -> None:
    """Raise InvalidInput for invalid defaults, computed values over unknown properties, and bad authorization."""
    found: list[Finding] = [*_check_authorization((), definition.body, definition), *_check_required(definition)]
    for path, node in property_definitions(definition.body):
        found.extend(_check_default(path, as_object(node)))
        found.extend(_check_authorization(path, as_object(node), definition))
        if len(path) == 2:
            found.extend(_check_computed(path, as_object(node), definition))
    if found:
        raise schema_error(found)


def _check_required(definition: "CompiledSchema") -> Iterator[Finding]:
    """Report required names that no object may have, which would make every object invalid."""
    if definition.body.get("additionalProperties") is not False or definition.body.get("patternProperties"):
        return
    for name in sorted(definition.required.difference(definition.properties)):
        message = f"{name[:200]!r} is required, but it is not a property and additionalProperties is false."
        yield unknown_name(("required",), "required", message, name, definition.properties)


def _check_default(path: tuple[str | int, ...], node: Mapping[str, Any]) -> Iterator[Finding]:
    value = node.get("default")
    if value is None or is_template(value) or is_link(node) or stored_reference(node.get("$ref")) is not None:
        return
    types = types_of(node)
    if types and not any(_is_of_type(value, name) for name in types):
        yield finding((*path, "default"), "default", f"is not of the property's type, {' or '.join(types)}")
    elif (allowed := as_list(node.get("enum"))) and value not in allowed:
        yield finding((*path, "default"), "default", "is not one of the property's enum")


def _is_of_type(value: Any, name: str) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, Mapping)
        case _:
            return value is None


def _check_authorization(
    path: tuple[str | int, ...], node: Mapping[str, Any], definition: "CompiledSchema"
) -> Iterator[Finding]:
    block = node.get("authorization")
    if not block:
        return
    here = (*path, "authorization")
    if len(path) > 2:
        yield finding(here, "authorization", f"is only kept one level up: write it into {pointer(path[:2])}")
        return
    try:
        read_block(block, pointer(path) or "the schema", definition, strict=True, of_property=bool(path))
    except InvalidInput as error:
        yield finding(here, "authorization", error.sentence())


def _check_computed(
    path: tuple[str | int, ...], node: Mapping[str, Any], definition: "CompiledSchema"
) -> Iterator[Finding]:
    rule = read_computed(node)
    for name in sorted(rule.rule.properties() if rule is not None else ()):
        if name not in definition.properties:
            message = f"reads {name[:200]!r}, which is no property."
            yield unknown_name((*path, "computed"), "computed", message, name, definition.properties)


def schema_error(findings: list[Finding]) -> InvalidInput:
    """The error for an invalid schema, with all its findings."""
    listed = "; ".join(f"{found.pointer}: {found.message.rstrip('.')}" for found in findings[:8])
    more = f"; and {len(findings) - 8} more" if len(findings) > 8 else ""
    return InvalidInput(
        f"The schema is not valid: {listed}{more}{'' if (listed + more).endswith('?') else '.'}",
        hint="Correct these places of the schema and send it again.",
        details={"problems": [problem_json(found) for found in findings[:50]]},
    )
