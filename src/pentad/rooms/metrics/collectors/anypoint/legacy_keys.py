"""Answers by key as the original gives them: roots of their own, no dates, no names of environments.

Whatever has no value counts as not there. Nothing at all under a root is null, and two collectors have no root.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.rooms.metrics.collectors.anypoint.cells import at
from pentad.rooms.metrics.engine.keys import Reading, Steps, readings
from pentad.rooms.metrics.model import Info

ROOTS: Final[Mapping[str, Steps]] = {
    "ch": ("runtimeManagerMetrics", "cloudhub"), "apc": ("apiManagerMetrics", "clients"), "rtf": ("rtf",),
    "ap": (), "apma": (),
}  # fmt: skip
"""Where the original looks, if not below the first step of the collector's root; it names the last of these steps."""


def by_key(tree: Sequence[Mapping[str, Any]], info: Info, keys: Sequence[str]) -> list[dict[str, Any]]:
    """What the original answers, from what it answers for the whole collector."""
    root = ROOTS.get(info.id, info.root[:1])
    tests = readings(info, keys)
    found: list[dict[str, Any]] = []
    for entry in tree:
        shown = {name: entry[name] for name in ("businessGroup", "businessGroupId")}
        if root:
            shown[root[-1]] = _searched(at(entry, *root), root, tests)
        found.append(shown)
    return found


def _searched(node: Any, path: Steps, tests: Sequence[Reading]) -> Any:
    if isinstance(node, list):
        entries = [_searched(entry, path, tests) for entry in cast("list[Any]", node)]
        return [entry for entry in entries if entry] or None
    if not isinstance(node, dict):
        return None
    kept: dict[str, Any] = {}
    for name, value in cast("dict[str, Any]", node).items():
        if value is None:
            continue
        here = (*path, name)
        inner = value if any(test(here) for test in tests) else _searched(value, here, tests)
        if inner is not None:
            kept[name] = inner
    return kept or None
