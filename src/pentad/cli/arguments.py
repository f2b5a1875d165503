"""`key=value` words turned into a tool's arguments, by the schema the tool lists.

Words are text, schemas say what was meant: a number where a number is asked for, JSON where an object is. What cannot
be meant is refused here with the schema's own words; everything finer is the server's to judge.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean

_ANY: Final = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
_DEEPEST_REFERENCE: Final = 20
_NOTHING: Final = object()


def arguments_from_words(words: Iterable[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments some words stand for. A word repeated for a list adds to it."""
    found: dict[str, Any] = {}
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name:
            raise InvalidInput(f"{word!r} is not an argument.", hint="Write arguments as key=value.")
        if name not in properties and schema.get("additionalProperties") is False:
            meant = did_you_mean(name, properties) or f"The arguments are {', '.join(properties) or 'none'}."
            raise InvalidInput(f"There is no argument {name!r}.", hint=meant)
        value = _value(name, text, properties.get(name, {}), schema)
        if isinstance(value, list) and isinstance(found.get(name), list):
            found[name] += value
        elif name in found:
            raise InvalidInput(f"{name!r} is given more than once.", hint="Only a list may be.")
        else:
            found[name] = value
    return found


def _value(name: str, text: str, schema: Any, root: Mapping[str, Any]) -> Any:
    kinds = _kinds(schema, root)
    for kind in ("boolean", "integer", "number", "null", "object", "array"):
        if kind in kinds and (value := _read(kind, text)) is not _NOTHING:
            return value
    if "string" in kinds:
        return text
    if "array" in kinds and not text.lstrip().startswith("["):
        return [_value(name, text, _items(schema, root), root)]
    raise InvalidInput(
        f"{name!r} cannot be {text[:80]!r}.", hint=f"It has to be {' or '.join(sorted(kinds))}; see its schema."
    )


def _read(kind: str, text: str) -> Any:
    """The text as a value of that kind, or nothing. Only a full match counts: a text may look like many things."""
    try:
        value = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return _NOTHING
    fits = {
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value),
        "null": value is None,
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
    }
    return value if fits[kind] else _NOTHING


def _refused(_: str) -> Any:
    raise ValueError


def _kinds(schema: Any, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """The types a schema allows. A text is a text wherever one is allowed and nothing narrower fits."""
    resolved = _resolved(schema, root)
    if resolved is None or depth > _DEEPEST_REFERENCE:
        return _ANY
    if isinstance(kind := resolved.get("type"), str):
        return frozenset({kind})
    if isinstance(kind, list):
        return frozenset(str(one) for one in cast("list[Any]", kind))
    for keyword in ("anyOf", "oneOf"):
        if isinstance(branches := resolved.get(keyword), list):
            return frozenset[str]().union(*(_kinds(one, root, depth + 1) for one in cast("list[Any]", branches)))
    if isinstance(choices := resolved.get("enum", [resolved["const"]] if "const" in resolved else None), list):
        return frozenset(_kind_of(choice) for choice in cast("list[Any]", choices))
    return _ANY


def _items(schema: Any, root: Mapping[str, Any]) -> Any:
    resolved = _resolved(schema, root) or {}
    branches = cast("list[Any]", resolved.get("anyOf") or [])
    for one in [resolved, *(_resolved(branch, root) or {} for branch in branches)]:
        if "items" in one:
            return one["items"]
    return {}


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema itself, behind any references into the same document; None if it says nothing."""
    for _ in range(_DEEPEST_REFERENCE):
        if not isinstance(schema, Mapping):
            return None
        known = cast("Mapping[str, Any]", schema)
        reference = known.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return known
        schema = root
        for part in reference[2:].split("/"):
            schema = cast("Mapping[str, Any]", schema).get(part) if isinstance(schema, Mapping) else None
    return None


def _kind_of(value: Any) -> str:
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "boolean"),
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (dict, "object"),
        (list, "array"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")
