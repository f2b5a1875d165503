"""JSON objects of translations: required ones, without empty fields, without duplicates."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pentad.kernel.cid import canonical_json
from pentad.kernel.errors import InvalidInput


def required_object(value: Any, name: str) -> dict[str, Any]:
    """The object; InvalidInput, with the text clients of the original know, if it is something else."""
    if not isinstance(value, dict):
        raise InvalidInput(f"'{name}' is not a struct", hint=f"Give {name} as a JSON object.")
    return cast("dict[str, Any]", value)


def without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without None, empty texts, lists and objects."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {})}


def without_duplicates(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects without duplicates, in order. In linear time, because sources may have many."""
    return list({canonical_json(item): item for item in reversed(list(items))}.values())[::-1]
