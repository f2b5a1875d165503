"""JSON Patch (RFC 6902), JSON pointers (RFC 6901) and JSON Merge Patch (RFC 7386).

Both kinds of patch return a new document and leave the original alone, so a patch that fails halfway changes nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded
from pentad.kernel.json_pointer import pointer, split_pointer
from pentad.kernel.schema import Path

MOST_OPERATIONS: Final = 1_000
MOST_COPIED: Final = 100_000
"""How many values one patch may create with `copy`: copying a value into itself doubles it each time."""
DEEPEST: Final = 64
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "add": ("value",),
    "replace": ("value",),
    "test": ("value",),
    "remove": (),
    "move": ("from",),
    "copy": ("from",),
}


class PatchTestFailed(Conflict):
    """A `test` operation found a different value: the document is not what the caller expected."""


def copied(value: Any) -> Any:
    """A deep copy of plain JSON, several times faster than `copy.deepcopy`."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [copied(item) for item in cast("list[Any]", value)]
    return value


def merge_patch(document: Any, patch: Any) -> Any:
    """Merge objects; null removes a member, anything else replaces (RFC 7386)."""
    if not isinstance(patch, dict):
        return copied(patch)
    merged: dict[str, Any] = dict(cast("dict[str, Any]", document)) if isinstance(document, dict) else {}
    for name, value in cast("dict[str, Any]", patch).items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def json_patch(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Apply every operation in order (RFC 6902). InvalidInput names the first one that fails."""
    if len(operations) > MOST_OPERATIONS:
        raise LimitExceeded(f"The patch has {len(operations)} operations; the limit is {MOST_OPERATIONS}.")
    holder: list[Any] = [copied(document)]
    made = 0
    for number, operation in enumerate(operations):
        made += _run(holder, operation, number, MOST_COPIED - made)
    return holder[0]


def same_json(left: Any, right: Any) -> bool:
    """Equality in the sense of JSON: true is not 1, but 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        ours, theirs = cast("dict[str, Any]", left), cast("dict[str, Any]", right)
        return ours.keys() == theirs.keys() and all(same_json(value, theirs[name]) for name, value in ours.items())
    if isinstance(left, list) and isinstance(right, list):
        one, other = cast("list[Any]", left), cast("list[Any]", right)
        return len(one) == len(other) and all(same_json(a, b) for a, b in zip(one, other, strict=True))
    return left == right


def value_at(document: Any, path: Path) -> Any:
    """The value at a path; KeyError if there is none."""
    for part in path:
        try:
            document = document[part]
        except (IndexError, TypeError) as error:
            raise KeyError(pointer(path)) from error
    return document


def _run(holder: list[Any], operation: Any, number: int, room: int) -> int:
    """Apply one operation; returns how many values it copied, at most `room`."""
    if not isinstance(operation, Mapping):
        raise _wrong(number, "is not an object")
    step = cast("Mapping[str, Any]", operation)
    kind, where = step.get("op"), step.get("path")
    if not isinstance(kind, str) or kind not in _NEEDS:
        known = f"; use {', '.join(_NEEDS)}"
        raise _wrong(number, f"has the unknown op {kind!r}{known}" if isinstance(kind, str) else f"needs an op{known}")
    if not isinstance(where, str):
        raise _wrong(number, "needs a path, a JSON pointer")
    if missing := [name for name in _NEEDS[kind] if name not in step]:
        raise _wrong(number, f"({kind}) needs {missing[0]!r}")
    path = ("", *split_pointer(where))
    if kind in ("move", "copy"):
        return _transfer(holder, kind, step["from"], path, number, room)
    if kind == "test":
        if not same_json(_read(holder, path, number), step["value"]):
            raise PatchTestFailed(
                f"Operation {number} (test {where or '/'}): the value is different.",
                hint="Read the object again and make a new patch.",
            )
    elif kind == "remove":
        _remove(holder, path, number)
    else:
        _put(holder, path, copied(step["value"]), number, replace=kind == "replace")
    return 0


def _transfer(holder: list[Any], kind: str, source: Any, path: tuple[str, ...], number: int, room: int) -> int:
    if not isinstance(source, str):
        raise _wrong(number, f"({kind}) needs 'from', a JSON pointer")
    origin = ("", *split_pointer(source))
    if kind == "move" and len(origin) < len(path) and path[: len(origin)] == origin:
        raise _wrong(number, f"moves {source or '/'} into itself")
    value = _read(holder, origin, number)
    size, _ = _measured(value, room)
    if kind == "copy" and size > room:
        raise LimitExceeded(
            f"Up to operation {number} the JSON Patch copies more than {MOST_COPIED} values.",
            hint="Nothing was changed. Copy less, or send the object whole.",
        )
    value = copied(value)
    if kind == "move":
        _remove(holder, origin, number)
    _put(holder, path, value, number, replace=False)
    return size if kind == "copy" else 0


def _measured(value: Any, most: int) -> tuple[int, int]:
    """The number of values in a value (including itself) and its depth. Counting stops past `most`."""
    size, depth, level = 0, 0, [value]
    while level and size <= most:
        size, depth = size + len(level), depth + 1
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (cast("dict[str, Any]", one).values() if isinstance(one, dict) else cast("list[Any]", one))
        ]
    return size, depth


def _read(holder: list[Any], path: tuple[str, ...], number: int) -> Any:
    """The value at a path. Its first step is the document itself, held in a list so that it can be replaced whole."""
    node: Any = holder[0]
    for depth, part in enumerate(path[1:], 2):
        if isinstance(node, dict) and part in node:
            node = cast("dict[str, Any]", node)[part]
        elif isinstance(node, list) and _INDEX.fullmatch(part) and int(part) < len(cast("list[Any]", node)):
            node = cast("list[Any]", node)[int(part)]
        else:
            raise _wrong(number, f"points at {pointer(path[1:depth])}, which does not exist")
    return node


def _put(holder: list[Any], path: tuple[str, ...], value: Any, number: int, *, replace: bool) -> None:
    if len(path) + _measured(value, MOST_COPIED)[1] > DEEPEST:
        raise LimitExceeded(
            f"Operation {number} of the JSON Patch would nest the object deeper than {DEEPEST} levels.",
            hint="Nothing was changed. Flatten what it puts there.",
        )
    if len(path) == 1:
        holder[0] = value
        return
    parent, last = _read(holder, path[:-1], number), path[-1]
    if replace:
        _read(holder, path, number)
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        items = cast("list[Any]", parent)
        if replace:
            items[int(last)] = value
        elif last == "-" or (_INDEX.fullmatch(last) and int(last) <= len(items)):
            items.insert(len(items) if last == "-" else int(last), value)
        else:
            raise _wrong(number, f"inserts at {pointer(path[1:])}, past the end of a list of {len(items)}")
    else:
        raise _wrong(number, f"adds to {pointer(path[1:-1]) or '/'}, which is neither object nor list")


def _remove(holder: list[Any], path: tuple[str, ...], number: int) -> None:
    _read(holder, path, number)
    if len(path) == 1:
        holder[0] = None
        return
    parent = _read(holder, path[:-1], number)
    if isinstance(parent, list):
        cast("list[Any]", parent).pop(int(path[-1]))
    else:
        del parent[path[-1]]


def _wrong(number: int, what: str) -> InvalidInput:
    return InvalidInput(
        f"Operation {number} of the JSON Patch {what}.",
        hint="Nothing was changed.",
        details={"problems": [{"path": f"/{number}", "rule": "json-patch", "message": what}]},
    )
