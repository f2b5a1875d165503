"""Reads the room's settings: tables from the file, or as JSON text from environment variables."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from pentad.kernel.errors import Misconfigured


def table(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A table; empty if it is not set."""
    given: Any = settings.get(name)
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except msgspec.DecodeError:
            raise _wrong(name) from None
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise _wrong(name)
    return cast("dict[str, Any]", given)


def text(settings: Mapping[str, Any], name: str) -> str | None:
    """A text; None if it is not set or empty."""
    given = settings.get(name)
    if given is not None and not isinstance(given, str):
        raise Misconfigured(f"rooms.metrics.{name} is not a text.", hint="Put it between quotes.")
    return given or None


def switch(settings: Mapping[str, Any], name: str) -> bool:
    """A boolean; false by default."""
    given = settings.get(name, False)
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
    if (read := known.get(str(given).strip().casefold())) is None:
        raise Misconfigured(f"rooms.metrics.{name} is neither true nor false.", hint="It is false by default.")
    return read


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


def _wrong(name: str) -> Misconfigured:
    return Misconfigured(
        f"rooms.metrics.{name} is not a table.", hint=f"Write [rooms.metrics.{name}] in the file, or a JSON object."
    )
