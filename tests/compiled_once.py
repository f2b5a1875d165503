"""Schemas of registers that thousands of tests can afford: what was compiled once is used again.

Tests define the same few schemas over and over. Each definition would be compiled when it is checked, indexed and used.
Tests of the compiler call it themselves. Processes that tests start compile everything.
"""

import marshal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pentad.rooms.registers.definitions import compiled_schema

_MOST_KEPT = 500
_COMPOSED = ("allOf", "anyOf", "oneOf")
"""Where a schema names others, so that its content does not tell all."""


@pytest.fixture(scope="session", autouse=True)
def definitions_are_compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_schema, "compile_json_schema", _once(compiled_schema.compile_json_schema))
        patch.setattr(compiled_schema, "compile_schema", _once(compiled_schema.compile_schema, _COMPOSED))
        yield


def _once(build: Callable[..., Any], unless: tuple[str, ...] = ()) -> Callable[..., Any]:
    """The same, but for content it had before. What is refused is refused anew each time."""
    kept: dict[bytes, Any] = {}

    def built(content: Any, **how: Any) -> Any:
        try:
            key = None if any(content.get(name) for name in unless) else marshal.dumps(content, 2)
        except ValueError:  # too deep, or no plain JSON
            key = None
        if key is None:
            return build(content, **how)
        found = kept.get(key)
        if found is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            found = kept[key] = build(content, **how)
        return found

    return built
