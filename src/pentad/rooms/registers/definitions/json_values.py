"""Reading foreign JSON by shape: what is not an object, a list or a text counts as an empty one, or as none."""

from collections.abc import Mapping
from typing import Any, cast


def as_mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
