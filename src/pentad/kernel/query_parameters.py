"""Reads the query parameters of a request."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from pentad.kernel.errors import InvalidInput


def query_of(scope: Mapping[str, Any]) -> dict[str, list[str]]:
    """All values of each parameter, by its name."""
    return parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def number_in(text: str | None, name: str, default: int, least: int, most: int) -> int:
    """The whole number in a parameter; the default if it is missing or empty."""
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 17) or not least <= int(text) <= most:
        hint = f"It is a whole number from {least} to {most}."
        raise InvalidInput(f"{name} is {text[:40]!r}.", hint=hint, details={"field": name})
    return int(text)


def names_in(text: str | None) -> tuple[str, ...]:
    """The names in a parameter, with commas between them."""
    return tuple(name for one in (text or "").split(",") if (name := one.strip()))
