"""Walks JSON values without recursion, because a stranger's context may be deep."""

from collections.abc import Iterator
from typing import Any, Final, cast

import msgspec

from pentad.rooms.agents.context.findings import Path

_encode: Final = msgspec.json.Encoder().encode
Chain = tuple[Any, str | int] | None
"""A place as a linked list: cheap to create for every value, turned into a path only for a message."""


def path_of(chain: Chain) -> Path:
    """The keys from the root to a place."""
    keys: list[str | int] = []
    while chain is not None:
        chain, key = chain
        keys.append(key)
    keys.reverse()
    return tuple(keys)


def values(root: Any) -> Iterator[tuple[Any, Chain, int]]:
    """Every value with its place and depth, the root first; containers before their contents."""
    stack: list[tuple[Any, Chain, int]] = [(root, None, 0)]
    while stack:
        value, chain, depth = stack.pop()
        yield value, chain, depth
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value).items()
            stack.extend((inner, (chain, key), depth + 1) for key, inner in reversed(members))
        elif isinstance(value, list | tuple):
            elements = cast("list[Any]", value)
            stack.extend((elements[at], (chain, at), depth + 1) for at in range(len(elements) - 1, -1, -1))


def exact_json(value: Any) -> bytes:
    """Compact JSON with exact numbers; for sizes and storage, not for comparison."""
    try:
        return _encode(value)
    except UnicodeEncodeError:  # halves of surrogate pairs, which only lenient lets pass
        import json

        return json.dumps(value, separators=(",", ":")).encode()
