"""Reads JSON from outside: a value of an unexpected type counts as empty."""

from typing import Any, cast


def as_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [cast("dict[str, Any]", item) for item in as_list(value) if isinstance(item, dict)]


def as_texts(value: Any) -> list[str]:
    """The texts of a list."""
    return [item for item in as_list(value) if isinstance(item, str)]


def text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def text_or_none(value: Any) -> str | None:
    """The text, or None if it is empty."""
    return value if isinstance(value, str) and value else None
