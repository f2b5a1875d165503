"""Limits on untrusted JSON, checked at C speed before it is parsed.

Parsers differ on deep or wide input, so Pentad rejects it first. A small body needs only three byte counts. For a
larger one the nesting is removed layer by layer, after the strings if one of them could look like structure.
"""

import re
from typing import Final

from pentad.kernel.errors import LimitExceeded

# Possessive, and matches unclosed strings too: otherwise a failed attempt would be repeated at every quote.
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(b"[]{}"))
_NEITHER_STRUCTURE_NOR_QUOTE: Final = bytes(set(_NOT_STRUCTURE) - set(b'"'))
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")


def check_bounds(body: bytes, *, depth: int, keys: int) -> None:
    """LimitExceeded if the JSON text nests deeper or has more object members than allowed."""
    if body.count(b":") <= keys:
        if body.count(b"{") + body.count(b"[") <= depth:
            return
        if b"\\" not in body:
            # Outside strings, there is an even number of quotes between two brackets. If a quote is left, a string
            # contains a bracket.
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
    """Each round removes the innermost pairs, so anything left after `depth` rounds is deeper."""
    for _ in range(depth):
        peeled = brackets.replace(b"[]", b"")
        if len(peeled) == len(brackets):
            return brackets.count(b"[") > depth
        brackets = peeled
    return bool(brackets)
