"""Bounds on foreign JSON, checked at C speed before anything is built from it.

Parsers differ in what they do with deep or wide input; Pentad refuses it first, by name of the limit. A small body
passes on three byte counts; only a suspicious one has its strings cut out and its nesting peeled off layer by layer.
"""

import re
from typing import Final

from pentad.kernel.errors import LimitExceeded

# Possessive, and content with a string that never ends: an attempt that can fail would be made at every quote.
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(b"[]{}"))
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")


def check_bounds(body: bytes, *, depth: int, keys: int) -> None:
    """Raise LimitExceeded when the JSON text nests deeper or has more object members than allowed."""
    if body.count(b"{") + body.count(b"[") <= depth and body.count(b":") <= keys:
        return
    bare = _STRINGS.sub(b"", body)
    if (members := bare.count(b":")) > keys:
        raise LimitExceeded(
            f"The JSON has {members} object members; the limit is {keys}.", hint="Split it over several requests."
        )
    if _deeper_than(bare.translate(_ONE_KIND, _NOT_STRUCTURE), depth):
        raise LimitExceeded(f"The JSON is nested deeper than {depth} levels.", hint="Flatten it.")


def _deeper_than(brackets: bytes, depth: int) -> bool:
    """Each round takes the innermost pairs away, so what is left after `depth` rounds is deeper."""
    for _ in range(depth):
        peeled = brackets.replace(b"[]", b"")
        if len(peeled) == len(brackets):
            return brackets.count(b"[") > depth
        brackets = peeled
    return bool(brackets)
