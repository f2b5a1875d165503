"""Schemas made in one line, for the tests of this folder."""

from collections.abc import Mapping
from typing import Any

from pentad.rooms.registers.definitions.compiled import CompiledSchema, compile_schema


def nobody(_: int | str) -> None:
    """No schema is stored."""
    return


def compiled(properties: Mapping[str, Any] | None = None, **body: Any) -> CompiledSchema:
    return compile_schema({"properties": dict(properties or {}), **body}, parents=nobody)
