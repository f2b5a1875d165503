"""What is refused when a schema is saved, though one that is stored like that stays usable: slips that would only show
with an object, or never.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.kernel.schema import pointer
from pentad.rooms.registers.access.authorization import read_block
from pentad.rooms.registers.definitions.checks import Finding, definitions, finding
from pentad.rooms.registers.definitions.compiled import CompiledSchema, refusal
from pentad.rooms.registers.definitions.computed import read_computed
from pentad.rooms.registers.definitions.expressions import is_template
from pentad.rooms.registers.definitions.references import stored_reference
from pentad.rooms.registers.definitions.shapes import mapping, members
from pentad.rooms.registers.definitions.translation import is_link, types_of


def refuse_unsound(definition: CompiledSchema) -> None:
    """InvalidInput with every default its own property would refuse, computation over nothing, rule nobody keeps."""
    found: list[Finding] = [*_rights((), definition.body, definition)]
    for path, node in definitions(definition.body):
        found.extend(_default(path, mapping(node)))
        found.extend(_rights(path, mapping(node), definition))
        if len(path) == 2:
            found.extend(_computed(path, mapping(node), definition))
    if found:
        raise refusal(found)


def _default(path: tuple[str | int, ...], node: Mapping[str, Any]) -> Iterator[Finding]:
    value = node.get("default")
    if value is None or is_template(value) or is_link(node) or stored_reference(node.get("$ref")) is not None:
        return
    types = types_of(node)
    if types and not any(_is(value, name) for name in types):
        yield finding((*path, "default"), "default", f"is not of the property's type, {' or '.join(types)}")
    elif (allowed := members(node.get("enum"))) and value not in allowed:
        yield finding((*path, "default"), "default", "is not one of the property's enum")


def _is(value: Any, name: str) -> bool:
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


def _rights(path: tuple[str | int, ...], node: Mapping[str, Any], definition: CompiledSchema) -> Iterator[Finding]:
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


def _computed(path: tuple[str | int, ...], node: Mapping[str, Any], definition: CompiledSchema) -> Iterator[Finding]:
    rule = read_computed(node)
    for name in sorted(rule.rule.properties() if rule is not None else ()):
        if name not in definition.properties:
            guess = did_you_mean(name, definition.properties) or ""
            yield finding(
                (*path, "computed"), "computed", f"reads {name[:200]!r}, which is no property. {guess}".strip()
            )
