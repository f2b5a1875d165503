"""Reads JSON of unknown shape: a value of the wrong type counts as empty or None."""

from collections.abc import Mapping
from typing import Any, cast


def as_mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
