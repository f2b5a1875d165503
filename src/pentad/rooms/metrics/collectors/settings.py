"""Checks the tables in the settings of collectors."""

from collections.abc import Mapping
from typing import Any, cast

from pentad.kernel.errors import Misconfigured


def table(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A table; empty if it is not set."""
    given: Any = settings.get(name)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Misconfigured(
            f"rooms.metrics.{name} is not a table.", hint=f"Write [rooms.metrics.{name}] in the file, or a JSON object."
        )
    return cast("dict[str, Any]", given)


def number(settings: Mapping[str, Any], name: str, default: float, *, least: float = 0.0) -> float:
    """A number of at least `least`."""
    given = settings.get(name, default)
    try:
        read = float(given)
    except (TypeError, ValueError):
        raise Misconfigured(f"rooms.metrics.{name} is not a number.", hint=f"The default is {default:g}.") from None
    if not least <= read < float("inf"):
        raise Misconfigured(f"rooms.metrics.{name} is {read:g}.", hint=f"Use {least:g} or more.")
    return read
