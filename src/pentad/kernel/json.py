"""Bounds on foreign JSON, checked at C speed before anything is built from it.

Parsers differ in what they do with deep or wide input; Pentad refuses it first, by name of the limit. A small body
passes on three byte counts; a larger one has its nesting peeled off layer by layer, and its strings cut out first where
one of them could be taken for structure.
"""

import re
from typing import Final

from pentad.kernel.errors import LimitExceeded

# Possessive, and content with a string that never ends: an attempt that can fail would be made at every quote.
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(b"[]{}"))
_NEITHER_STRUCTURE_NOR_QUOTE: Final = bytes(set(_NOT_STRUCTURE) - set(b'"'))
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")


def check_bounds(body: bytes, *, depth: int, keys: int) -> None:
    """Raise LimitExceeded when the JSON text nests deeper or has more object members than allowed."""
    if body.count(b":") <= keys:
        if body.count(b"{") + body.count(b"[") <= depth:
            return
        if b"\\" not in body:
            # Between two brackets outside of strings stands an even number of quotes: none is left, or some string
            # has a bracket in it.
            brackets = body.translate(_ONE_KIND, _NEITHER_STRUCTURE_NOR_QUOTE).replace(b'""', b"")
            if b'"' not in brackets and not _deeper_than(brackets, depth):
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
