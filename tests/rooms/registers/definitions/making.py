"""Schemas made in one line, for the tests of this folder."""

from typing import Any

from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema, compile_schema


def nobody(_: int | str) -> None:
    """No schema is stored."""
    return


def compiled(properties: Any = None, **body: Any) -> CompiledSchema:
    return compile_schema({"properties": {} if properties is None else properties, **body}, parents=nobody)
