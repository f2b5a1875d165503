"""The difference between two JSON documents, as a JSON Patch and as readable lines.

The patch is exact: applied to the first document, it gives the second. It stays small if list members were inserted or
removed in one place; it does not detect moved members.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.counts import counted
from pentad.kernel.json_patch import same_json
from pentad.kernel.json_pointer import pointer
from pentad.kernel.schema import Path

_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `old` is None for an addition, `new` for a removal."""

    kind: Literal["added", "removed", "changed"]
    path: Path
    old: Any = None
    new: Any = None

    def operation(self) -> dict[str, Any]:
        """The JSON Patch step that makes this change."""
        where = pointer(self.path)
        if self.kind == "removed":
            return {"op": "remove", "path": where}
        return {"op": "add" if self.kind == "added" else "replace", "path": where, "value": self.new}

    def sentence(self) -> str:
        """The difference in words."""
        where = ".".join(str(part) for part in self.path) or "the whole"
        if self.kind == "added":
            return f"{where}: added {quoted(self.new)}"
        if self.kind == "removed":
            return f"{where}: removed {quoted(self.old)}"
        return f"{where}: {quoted(self.old)} became {quoted(self.new)}"


def differences(old: Any, new: Any) -> list[Difference]:
    """All differences, in an order in which their operations can be applied."""
    return list(_walk(old, new, ()))


_MOST_SHOWN: Final = 20
_LONGEST_SHOWN: Final = 200
_CUT_AT: Final = 80
LEFT_OUT: Final = "..."
"""Stands for the changes that `old_and_new` leaves out."""


def old_and_new(found: Sequence[Difference]) -> dict[str, Any]:
    """Old and new values by dotted path. Long values, and a long list of changes, are shortened to text."""
    shown: dict[str, Any] = {
        ".".join(str(part) for part in one.path): {"old": _short(one.old), "new": _short(one.new)}
        for one in found[:_MOST_SHOWN]
    }
    return (
        {**shown, LEFT_OUT: f"{counted(len(found) - _MOST_SHOWN, 'more change')}; see diff"}
        if found[_MOST_SHOWN:]
        else shown
    )


def _short(value: Any) -> Any:
    if len(msgspec.json.encode(value)) <= _LONGEST_SHOWN:
        return value
    return f"{value[:_CUT_AT].rstrip()}…" if isinstance(value, str) else quoted(value)


def as_preview(old: Any, new: Any) -> list[dict[str, Any]]:
    """The JSON Patch with old values in `was`, which patching ignores. Long ones are shortened to text."""
    return [
        one.operation() if one.kind == "added" else {**one.operation(), "was": _short(one.old)}
        for one in _walk(old, new, ())
    ]


def as_patch(old: Any, new: Any) -> list[dict[str, Any]]:
    """The JSON Patch from `old` to `new`."""
    return [difference.operation() for difference in _walk(old, new, ())]


def quoted(value: Any) -> str:
    """A value short enough for a sentence."""
    if isinstance(value, dict):
        return f"an object of {len(cast('dict[str, Any]', value))}"
    if isinstance(value, list):
        return f"a list of {len(cast('list[Any]', value))}"
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:77] + "...")
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else "null" if value is None else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _walk(old: Any, new: Any, path: Path) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _objects(cast("dict[str, Any]", old), cast("dict[str, Any]", new), path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(cast("list[Any]", old), cast("list[Any]", new), path)
    elif not same_json(old, new):
        yield Difference("changed", path, old, new)


def _objects(old: dict[str, Any], new: dict[str, Any], path: Path) -> Iterator[Difference]:
    for name, value in old.items():
        after = new.get(name, _ABSENT)
        if after is _ABSENT:
            yield Difference("removed", (*path, name), value)
        else:
            yield from _walk(value, after, (*path, name))
    for name, value in new.items():
        if name not in old:
            yield Difference("added", (*path, name), None, value)


def _lists(old: list[Any], new: list[Any], path: Path) -> Iterator[Difference]:
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and same_json(old[head], new[head]):
        head += 1
    tail = 0
    while tail < shorter - head and same_json(old[-1 - tail], new[-1 - tail]):
        tail += 1
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    both = min(len(gone), len(come))
    for offset in range(both):
        yield from _walk(gone[offset], come[offset], (*path, head + offset))
    for offset in range(len(gone) - 1, both - 1, -1):
        yield Difference("removed", (*path, head + offset), gone[offset])
    for offset in range(both, len(come)):
        yield Difference("added", (*path, head + offset), None, come[offset])
