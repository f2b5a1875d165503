"""Reads from a JSON Schema what a form field needs: kind, label, hint and options; and converts values to text and
back.

For `schema_forms`. References are followed only inside the document.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from pentad.kernel.json_pointer import steps_of
from pentad.kernel.json_values import as_texts

Node = Mapping[str, Any]
Path = tuple[str | int, ...]

SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})
_MOST_CHOICES: Final = 24
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,300})")


class Missing:
    """Means "no value", because None is a JSON value."""


MISSING: Final = Missing()


class Schemas:
    """Resolves references inside one document, and determines what kind of field a schema needs."""

    def __init__(self, root: Node) -> None:
        self.root = root

    def resolved(self, node: Any) -> Node:
        """The schema with `$ref` followed, `allOf` merged, and the only alternative to null chosen."""
        found: Node = mapping_in(node)
        for _ in range(16):  # an endless chain of references would not have compiled
            target = found.get("$ref")
            if isinstance(target, str) and target.startswith("#/"):
                inner = value_at(self.root, steps_of(target[1:]))
                beside = {name: value for name, value in found.items() if name != "$ref"}
                found = {**mapping_in(inner), **beside}
            elif isinstance(every := found.get("allOf"), list) and every:
                found = self._merged(found, cast("list[Any]", every))
            elif (only := _only_alternative(found)) is not None:
                found = only
            else:
                break
        return found

    def _merged(self, node: Node, every: Sequence[Any]) -> Node:
        merged: dict[str, Any] = {name: value for name, value in node.items() if name != "allOf"}
        for one in every:
            part = self.resolved(one)
            properties = {**mapping_in(part.get("properties")), **mapping_in(merged.get("properties"))}
            required = [*as_texts(merged.get("required")), *as_texts(part.get("required"))]
            merged = {**part, **merged}
            if properties:
                merged |= {"properties": properties, "required": required}
        return merged

    def kind(self, node: Node) -> str:
        """The field for a resolved schema: object, list, choices, files, enum, file, boolean, integer, number, string,
        scalar or json."""
        types = types_of(node)
        if "enum" in node or "const" in node:
            return "enum"
        if any(name in node for name in ("anyOf", "oneOf")):
            inner = [self.resolved(one) for one in (node.get("anyOf") or node.get("oneOf") or ())]
            if all(types_of(one) and set(types_of(one)) <= SCALARS for one in inner):
                return "scalar"
            return "json"
        if "object" in types and len(types) == 1:
            return "object" if node.get("properties") else "json"
        if "array" in types and set(types) <= {"array", "string"}:
            return self._list_kind(node)
        if len(types) == 1 and types[0] in SCALARS:
            is_file = types[0] == "string" and node.get("contentEncoding") == "base64"
            return "file" if is_file else types[0]
        return "scalar" if types and set(types) <= SCALARS else "json"

    def _list_kind(self, node: Node) -> str:
        items = self.resolved(node.get("items"))
        kind = self.kind(items) if items else "json"
        if kind == "enum" and len(options(items)) <= _MOST_CHOICES:
            return "choices"
        if kind == "file":
            return "files"
        return "json" if kind == "json" and not types_of(items) else "list"


def field_text(value: Any) -> str:
    """A value as the text of a field."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, Missing):
        return ""
    return json_text(value)


def unix_lines(text: str) -> str:
    """The text with `\n` line breaks, whichever ones the form sent."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def json_text(value: Any) -> str:
    """A value as readable JSON; text that cannot be mistaken for JSON stays as it is."""
    if isinstance(value, str) and json_or_text(value) == value:
        return value
    if value is None or isinstance(value, Missing):
        return ""
    encoded = msgspec.json.encode(value)
    return msgspec.json.format(encoded, indent=2).decode() if isinstance(value, dict | list) else encoded.decode()


def options(node: Node) -> list[tuple[str, str]]:
    """The values of an enumeration, as texts with labels."""
    return [(field_text(one), field_text(one) or "null") for one in option_values(node)]


def option_values(node: Node) -> list[Any]:
    values = cast("list[Any]", node["enum"]) if isinstance(node.get("enum"), list) else [node.get("const")]
    return [one for one in values if one is not None]


def label(path: Path, node: Node) -> str:
    title = node.get("title")
    return title if isinstance(title, str) and title else str(path[-1])


def hint(node: Node) -> str:
    """The schema's description of a value, its default and its bounds."""
    about = str(node.get("description") or "").strip()
    low, high = node.get("minimum", node.get("exclusiveMinimum")), node.get("maximum", node.get("exclusiveMaximum"))
    bounds = f"{low} to {high}." if low is not None and high is not None else ""
    ends = about if not about or about.endswith((".", "!", "?", ":", "}")) else f"{about}."
    return " ".join(part for part in (ends, bounds) if part)


def default_text(node: Node) -> str:
    value = node.get("default")
    if value is None or value in ("", [], {}):
        return ""
    text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else field_text(value)
    return f"default: {text if len(text) <= 60 else text[:57] + '...'}"


def _only_alternative(node: Node) -> Node | None:
    """The only alternative of anyOf or oneOf that is not null, merged with its sibling keywords."""
    for keyword in ("anyOf", "oneOf"):
        every = node.get(keyword)
        if isinstance(every, list):
            given = [one for one in cast("list[Any]", every) if one != {"type": "null"}]
            if len(given) == 1 and isinstance(given[0], Mapping):
                return {**cast("Node", given[0]), **{name: value for name, value in node.items() if name != keyword}}
    return None


def types_of(node: Node) -> list[str]:
    given = node.get("type")
    if isinstance(given, str):
        return [given]
    if isinstance(given, list):
        return [one for one in as_texts(given) if one != "null"]
    return ["object"] if "properties" in node else ["array"] if "items" in node else []


def properties_of(node: Node) -> list[tuple[str, Any]]:
    return [(name, one) for name, one in mapping_in(node.get("properties")).items() if not _is_read_only(one)]


def _is_read_only(node: Any) -> bool:
    return isinstance(node, Mapping) and cast("Node", node).get("readOnly") is True


def number_of(text: str) -> Any:
    try:
        return int(text) if _INTEGER.fullmatch(text) else msgspec.json.decode(text, type=float)
    except (msgspec.MsgspecError, ValueError):
        return text


def scalar_of(text: str, types: set[str]) -> Any:
    if "integer" in types or "number" in types:
        number = number_of(text.strip())
        if not isinstance(number, str) and ("number" in types or isinstance(number, int)):
            return number
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    return text


def json_or_text(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return text


def value_at(value: Any, steps: Sequence[str], *, make: bool = False) -> Any:
    """The value at a place; with `make`, a missing one becomes a list."""
    for number, step in enumerate(steps):
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            if make and not members.get(step):
                members[step] = [] if number == len(steps) - 1 else {}
            value = members.get(step)
        elif isinstance(value, list):
            listed = cast("list[Any]", value)
            if not (step.isdecimal() and int(step) < len(listed)):
                return None
            if make and listed[int(step)] == "":
                listed[int(step)] = {}
            value = listed[int(step)]
        else:
            return None
    return value


def mapping_in(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def count_in(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
