"""Changing one entry of a JSON text, with or without comments, and not a character elsewhere.

An edit is checked before it is handed out: the new text, read again, must hold exactly the old content and the change.
"""

import copy
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pentad.cli.clients.json_text import Node, parse
from pentad.kernel.errors import Misconfigured

_INDENT: Final = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_REST_OF_LINE: Final = re.compile(r"[ \t]*(?:/\*(?:[^*\n]|\*(?!/))*\*/[ \t]*)*(?://[^\r\n]*)?")


class JsonForm:
    """JSON as a client reads it; `comments` where the client allows them (and a comma after the last entry)."""

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
        """The text with `value` in the list at `path`, unless one of the same `id` is there."""
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
        """What the text says."""
        found: Any = parse(text, comments=self._comments).value if text.strip("\ufeff \t\r\n") else {}
        return _merged(found, {}, ())

    def snippet(self, content: Mapping[str, Any]) -> str:
        """The content alone, to be pasted by hand."""
        return json.dumps(content, indent=2, ensure_ascii=False)

    def _set(self, text: str, path: tuple[str, ...], value: Any) -> str:
        """Replace the value at `path`, or add it with whatever objects it still lacks around it."""
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
                "The file is laid out in a way this edit does not master.", hint="Use --print and paste the snippet."
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
    """The old members, those of the new ones that have a value, and none of those that must not be there."""
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
    # The comma goes right behind the last value, the new entry behind whatever is remarked on that line.
    after = last.end if node.trailing_comma is None else node.trailing_comma + 1
    comma = "," if node.trailing_comma is None else ""
    rest = _REST_OF_LINE.match(text, after)
    line_end = min(rest.end() if rest else after, closing)
    inner = _line_indent(text, children[0].start)
    inner = inner if len(inner) > len(outer) else outer + _unit(text)
    remark = text[after:line_end].rstrip(" \t")
    entry = f"{newline}{inner}{head}{_written(value, text, inner)}"
    tail = (
        text[line_end:] if text[line_end : line_end + 1] in "\r\n" else newline + outer + text[line_end:].lstrip(" \t")
    )
    return text[:after] + comma + remark + entry + tail


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
