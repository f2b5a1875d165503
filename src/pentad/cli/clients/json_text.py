"""Reading JSON with comments into a tree that remembers where everything stands in the text.

Only what an edit needs: spans of values and members. Nothing is normalised, because the text belongs to the user; the
edits themselves are in `json_form.py`.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from pentad.kernel.errors import Misconfigured

DEEPEST: Final = 200
_SPACE: Final = re.compile(r"[ \t\r\n\ufeff]*")
_FILLER: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")


@dataclass(slots=True)
class Node:
    """A value and the place it takes: `text[start:end]`."""

    start: int
    end: int = 0
    value: Any = None
    members: "dict[str, Node] | None" = None
    items: "list[Node] | None" = None
    trailing_comma: int | None = field(default=None)
    """Where a comma stands after the last member, if one does."""

    def children(self) -> "list[Node]":
        return list(self.members.values()) if self.members is not None else self.items or []


def parse(text: str, *, comments: bool) -> Node:
    """The tree of a whole text; a text that is not JSON is refused with the place where it stops being so."""
    reader = _Reader(text, comments)
    node = reader.value(reader.skip(0), 0)
    end = reader.skip(node.end)
    if end != len(text):
        raise reader.wrong(end, "something after the end")
    return node


class _Reader:
    """A recursive descent over one text."""

    def __init__(self, text: str, comments: bool) -> None:
        self._text = text
        self._comments = comments
        self._filler = _FILLER if comments else _SPACE

    def skip(self, at: int) -> int:
        match = self._filler.match(self._text, at)
        return match.end() if match else at

    def wrong(self, at: int, what: str) -> Misconfigured:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return Misconfigured(f"It is not valid JSON: {what} at line {line}, column {column}.")

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.wrong(at, f"more than {DEEPEST} levels")
        if at >= len(self._text):
            raise self.wrong(at, "the end comes too early")
        if self._text[at] == "{":
            return self._object(at, depth)
        if self._text[at] == "[":
            return self._array(at, depth)
        match = (_STRING if self._text[at] == '"' else _SCALAR).match(self._text, at)
        if match is None:
            raise self.wrong(at, f"an unexpected {self._text[at]!r}")
        return Node(at, match.end(), self._decoded(match[0], at))

    def _decoded(self, token: str, at: int) -> Any:
        try:
            return json.loads(token)
        except ValueError:
            raise self.wrong(at, "a text that is not one") from None

    def _object(self, start: int, depth: int) -> Node:
        node = Node(start, value={}, members={})
        members = node.members = {}
        at = self.skip(start + 1)
        while self._peek(at) != "}":
            key = self.value(at, depth + 1)
            colon = self.skip(key.end)
            if not isinstance(key.value, str) or self._peek(colon) != ":":
                raise self.wrong(at, "a member without a name")
            inner = self.value(self.skip(colon + 1), depth + 1)
            members[key.value] = inner
            node.value[key.value] = inner.value
            at = self._after(node, inner.end, "}")
        node.end = at + 1
        return node

    def _array(self, start: int, depth: int) -> Node:
        node = Node(start, value=[], items=[])
        items = node.items = []
        at = self.skip(start + 1)
        while self._peek(at) != "]":
            inner = self.value(at, depth + 1)
            items.append(inner)
            node.value.append(inner.value)
            at = self._after(node, inner.end, "]")
        node.end = at + 1
        return node

    def _after(self, node: Node, end: int, closing: str) -> int:
        """Past the comma that has to follow, or at the closing bracket."""
        at = self.skip(end)
        if self._peek(at) == closing:
            return at
        if self._peek(at) != ",":
            raise self.wrong(at, f"neither a comma nor {closing!r}")
        following = self.skip(at + 1)
        if self._peek(following) == closing:
            if not self._comments:
                raise self.wrong(at, "a comma after the last one")
            node.trailing_comma = at
        return following

    def _peek(self, at: int) -> str:
        if at >= len(self._text):
            raise self.wrong(at, "the end comes too early")
        return self._text[at]
