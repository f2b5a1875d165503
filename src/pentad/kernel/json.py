"""Bounds on foreign JSON, checked at C speed before anything is built from it.

Parsers differ in what they do with deep or wide input; Pentad refuses it first, by name of the limit. A small body
passes on three byte counts; only a suspicious one has its strings cut out and its nesting peeled off layer by layer.
"""

import re
from typing import Final

from pentad.kernel.errors import LimitExceeded

_STRINGS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(b"[]{}"))


def check_bounds(body: bytes, *, depth: int, keys: int) -> None:
    """Raise LimitExceeded when the JSON text nests deeper or has more object members than allowed."""
    if body.count(b"{") + body.count(b"[") <= depth and body.count(b":") <= keys:
        return
    bare = _STRINGS.sub(b"", body)
    if (members := bare.count(b":")) > keys:
        raise LimitExceeded(
            f"The JSON has {members} object members; the limit is {keys}.", hint="Split it over several requests."
        )
    if _deeper_than(bare.translate(None, _NOT_STRUCTURE), depth):
        raise LimitExceeded(f"The JSON is nested deeper than {depth} levels.", hint="Flatten it.")


def _deeper_than(brackets: bytes, depth: int) -> bool:
    for _ in range(depth):
        peeled = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not peeled:
            return False
        if len(peeled) == len(brackets):
            return len(brackets) > 2 * depth
        brackets = peeled
    return True
