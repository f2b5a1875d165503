"""Edits one entry of a JSON text, with or without comments, without changing any other character.

The text is parsed into a tree of values with their spans. Every edit is verified: the new text, parsed again, must
contain exactly the old content plus the change.
"""

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.errors import Misconfigured

DEEPEST: Final = 200
_INDENT: Final = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_REST_OF_LINE: Final = re.compile(r"[ \t]*(?:/\*(?:[^*\n]|\*(?!/))*\*/[ \t]*)*(?://[^\r\n]*)?")
_SPACE: Final = re.compile(r"[ \t\r\n\ufeff]*")
_FILLER: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")


@dataclass(slots=True)
class Node:
    """A value and its span: `text[start:end]`."""

    start: int
    end: int = 0
    value: Any = None
    members: "dict[str, Node] | None" = None
    items: "list[Node] | None" = None
    trailing_comma: int | None = None
    """The position of a comma after the last member, if there is one."""

    def children(self) -> "list[Node]":
        return list(self.members.values()) if self.members is not None else self.items or []


def parse(text: str, *, comments: bool) -> Node:
    """The tree of a text; Misconfigured, with the position, if it is not JSON."""
    parser = _Parser(text, comments)
    node = parser.value(parser.skip(0), 0)
    end = parser.skip(node.end)
    if end != len(text):
        raise parser.error(end, "text after the end")
    return node


class _Parser:
    """A recursive-descent parser for one text."""

    def __init__(self, text: str, comments: bool) -> None:
        self._text = text
        self._comments = comments
        self._filler = _FILLER if comments else _SPACE

    def skip(self, at: int) -> int:
        match = self._filler.match(self._text, at)
        return match.end() if match else at

    def error(self, at: int, what: str) -> Misconfigured:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return Misconfigured(f"It is not valid JSON: {what} at line {line}, column {column}.")

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.error(at, f"more than {DEEPEST} levels")
        if at >= len(self._text):
            raise self.error(at, "an unexpected end")
        if self._text[at] == "{":
            return self._object(at, depth)
        if self._text[at] == "[":
            return self._array(at, depth)
        match = (_STRING if self._text[at] == '"' else _SCALAR).match(self._text, at)
        if match is None:
            raise self.error(at, f"an unexpected {self._text[at]!r}")
        return Node(at, match.end(), self._decoded(match[0], at))

    def _decoded(self, token: str, at: int) -> Any:
        try:
            return json.loads(token)
        except ValueError:
            raise self.error(at, "an invalid string") from None

    def _object(self, start: int, depth: int) -> Node:
        node = Node(start, value={}, members={})
        members = node.members = {}
        at = self.skip(start + 1)
        while self._peek(at) != "}":
            key = self.value(at, depth + 1)
            colon = self.skip(key.end)
            if not isinstance(key.value, str) or self._peek(colon) != ":":
                raise self.error(at, "a member without a name")
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
        """The position after the comma that must follow, or of the closing bracket."""
        at = self.skip(end)
        if self._peek(at) == closing:
            return at
        if self._peek(at) != ",":
            raise self.error(at, f"neither a comma nor {closing!r}")
        following = self.skip(at + 1)
        if self._peek(following) == closing:
            if not self._comments:
                raise self.error(at, "a comma after the last entry")
            node.trailing_comma = at
        return following

    def _peek(self, at: int) -> str:
        if at >= len(self._text):
            raise self.error(at, "an unexpected end")
        return self._text[at]


class JsonEditor:
    """Edits JSON; `comments` also allows comments and a comma after the last entry."""

    def __init__(self, *, comments: bool) -> None:
        self._comments = comments

    def with_member(self, text: str, path: tuple[str, ...], value: Mapping[str, Any]) -> str:
        """The text with `value` merged into the object at `path`; members of `value` that are None are removed."""
        text = text if text.strip("\ufeff \t\r\n") else "{}\n"
        root = parse(text, comments=self._comments)
        old = _found(root, path)
        merged = _merged(old.value if old else {}, value, path)
        if old is not None and old.value == merged:
            return text
        expected = copy.deepcopy(root.value)
        _place(expected, path, merged)
        if old is not None and old.members is not None and not _removes(old.value, merged):
            edited = text
            for key, inner in merged.items():
                edited = self._set(edited, (*path, key), inner)
        else:
            edited = self._set(text, path, merged)
        return self._checked(edited, expected)

    def with_element(self, text: str, path: tuple[str, ...], value: Mapping[str, Any]) -> str:
        """The text with `value` added to the list at `path`, unless it has an element with the same `id`."""
        text = text if text.strip("\ufeff \t\r\n") else "{}\n"
        root = parse(text, comments=self._comments)
        old = _found(root, path)
        if old is None:
            return self._set(text, path, [dict(value)])
        if old.items is None:
            raise _wrong_type(path, "a list")
        if value["id"] in [item.members["id"].value for item in old.items if item.members and "id" in item.members]:
            return text
        expected = copy.deepcopy(root.value)
        _place(expected, path, [*old.value, dict(value)])
        return self._checked(_inserted(text, old, "", dict(value)), expected)

    def content(self, text: str) -> dict[str, Any]:
        """The content of the text."""
        found: Any = parse(text, comments=self._comments).value if text.strip("\ufeff \t\r\n") else {}
        return _merged(found, {}, ())

    def snippet(self, content: Mapping[str, Any]) -> str:
        """The content as text, to paste by hand."""
        return json.dumps(content, indent=2, ensure_ascii=False)

    def _set(self, text: str, path: tuple[str, ...], value: Any) -> str:
        """Replace the value at `path`, or add it together with the objects missing around it."""
        node = parse(text, comments=self._comments)
        for depth, key in enumerate(path):
            if node.members is None:
                raise _wrong_type(path[:depth], "an object")
            if key not in node.members:
                for missing in reversed(path[depth + 1 :]):
                    value = {missing: value}
                return _inserted(text, node, json.dumps(key, ensure_ascii=False) + ": ", value)
            node = node.members[key]
        if node.value == value:
            return text
        return text[: node.start] + _written(value, text, _line_indent(text, node.start)) + text[node.end :]

    def _checked(self, edited: str, expected: Any) -> str:
        if parse(edited, comments=self._comments).value != expected:
            raise Misconfigured(
                "This edit cannot handle the layout of the file.", hint="Use --print and paste the snippet."
            )
        return edited


def _found(root: Node, path: tuple[str, ...]) -> Node | None:
    node = root
    for depth, key in enumerate(path):
        if node.members is None:
            raise _wrong_type(path[:depth], "an object")
        if key not in node.members:
            return None
        node = node.members[key]
    return node


def _merged(old: Any, new: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The old members with the new ones; a new member that is None is removed."""
    if not isinstance(old, dict):
        raise _wrong_type(path, "an object")
    both: dict[str, Any] = {**old, **new}
    return {key: value for key, value in both.items() if key not in new or new[key] is not None}


def _removes(old: dict[str, Any], merged: dict[str, Any]) -> bool:
    return any(key not in merged for key in old)


def _place(content: Any, path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        content = content.setdefault(key, {})
    content[path[-1]] = value


def _inserted(text: str, node: Node, head: str, value: Any) -> str:
    """The text with one more entry at the end of an object or list."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _line_indent(text, node.start)
    children = node.children()
    closing = node.end - 1
    if not children:
        kept = len(text[:closing].rstrip(" \t\r\n"))
        inner = outer + _unit(text)
        entry = f"{newline}{inner}{head}{_written(value, text, inner)}{newline}{outer}"
        return text[:kept] + entry + text[closing:]
    last = children[-1]
    if "\n" not in text[node.start : closing]:
        after = last.end if node.trailing_comma is None else node.trailing_comma + 1
        entry = ("," if node.trailing_comma is None else "") + " " + head + json.dumps(value, ensure_ascii=False)
        return text[:after] + entry + text[after:]
    # The comma goes right after the last value, the new entry after any comment on that line.
    after = last.end if node.trailing_comma is None else node.trailing_comma + 1
    comma = "," if node.trailing_comma is None else ""
    rest = _REST_OF_LINE.match(text, after)
    line_end = min(rest.end() if rest else after, closing)
    inner = _line_indent(text, children[0].start)
    inner = inner if len(inner) > len(outer) else outer + _unit(text)
    comment = text[after:line_end].rstrip(" \t")
    entry = f"{newline}{inner}{head}{_written(value, text, inner)}"
    tail = (
        text[line_end:] if text[line_end : line_end + 1] in "\r\n" else newline + outer + text[line_end:].lstrip(" \t")
    )
    return text[:after] + comma + comment + entry + tail


def _written(value: Any, text: str, indent: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", newline + indent)


def _unit(text: str) -> str:
    match = _INDENT.search(text)
    return match[1] if match else "  "


def _line_indent(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _wrong_type(path: tuple[str, ...], what: str) -> Misconfigured:
    where = f"{'.'.join(path)!r}" if path else "its content"
    return Misconfigured(f"In it, {where} is not {what}.")
