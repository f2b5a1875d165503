"""Validates a whole context at a level: its shape, then the rules for each item, then the limits."""

import re
from typing import Any, Final, cast

from pentad.kernel.errors import PentadError
from pentad.kernel.jcs import EXACT
from pentad.kernel.secrets.documents import depth_of
from pentad.rooms.agents.context import rules
from pentad.rooms.agents.context.findings import Issues, Level
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits
from pentad.rooms.agents.context.shape import EXTRA_MEMBERS, shape
from pentad.rooms.agents.context.traversal import exact_json, path_of, values

_LARGEST: Final = 2**1023
_LONG_NUMBER: Final = re.compile(rb"\d{16}")


def checked(
    value: Any, level: Level, limits: ContextLimits = DEFAULT_LIMITS, *, now: float | None = None
) -> tuple[dict[str, Any] | None, Issues]:
    """The context as used at this level (None if it is unusable), and every issue."""
    issues = Issues(level)
    shaped = shape(value, issues)
    if shaped is None or level == "lenient":
        return shaped, issues
    items = cast("dict[str, dict[str, Any]]", shaped.get("items", {}))
    given = cast("dict[str, Any]", value)
    for name, item in items.items():
        # Members of our own are no part of AgentVault's shape and stay at the levels that know them.
        source = given["items"].get(name)
        if isinstance(source, dict):
            for key in EXTRA_MEMBERS:
                if key in source:
                    item[key] = source[key]
    if not given.get("items"):
        issues.add("empty-context", (), "The context has no items.", "Leave it out.")
    texts = _within(items, limits, issues)
    if texts is None:
        return shaped, issues  # deeper or larger than anything below should have to look at
    partial = _is_patch(given.get("turn"))
    for name, item in items.items():
        _check_item(name, item, limits, now, issues, partial=partial)
    if any(_LONG_NUMBER.search(text) for text in texts):
        _check_numbers(items, issues)
    _check_ids(items, issues)
    root = {key: given[key] for key in ("integrity", "turn") if key in given}
    return {**shaped, **root}, issues


def _is_patch(turn: Any) -> bool:
    """Whether the items are patches. The merged items are validated later."""
    return isinstance(turn, dict) and cast("dict[str, Any]", turn).get("mode") == "patch"


def _check_item(
    name: str, item: dict[str, Any], limits: ContextLimits, now: float | None, issues: Issues, *, partial: bool
) -> None:
    path = ("items", name)
    rules.check_name(name, path, issues)
    if not partial:
        rules.check_members(item, path, issues)
    rules.check_type(item, path, issues)
    if "ref" in item:
        rules.check_ref(item, path, issues, limits)
    try:
        rules.check_extras(item, path, issues, now)
    except PentadError as error:  # what has no canonical form has no hash either
        issues.add("not-json", path, error.message, error.hint or "")


def _within(items: dict[str, dict[str, Any]], limits: ContextLimits, issues: Issues) -> list[bytes] | None:
    """The items as JSON; None if there are too many or they are too deep. Depth counts from the content."""
    whole = _shallow(items, limits.depth) if len(items) <= limits.items else None
    if whole is not None and len(whole) <= min(limits.item_bytes, limits.total_bytes):
        return [whole]
    if len(items) > limits.items:
        message = f"The context has {len(items)} items; the most are {limits.items}."
        issues.add("too-many-items", ("items",), message, "Send fewer, or several in one.")
    texts: list[bytes] = []
    for name, item in items.items():
        if (text := _deep(item, limits.depth)) is None:
            message = f"The item is nested deeper than {limits.depth} levels."
            issues.add("too-deep", ("items", name), message, "Flatten it.")
        else:
            texts.append(text)
    if len(texts) < len(items):
        return None
    total = 2
    for (name, _), text in zip(items.items(), texts, strict=True):
        size = len(text)
        total += size + len(name.encode("utf-8", "replace")) + 4
        if size > limits.item_bytes:
            message = f"The item has {size} bytes; the most are {limits.item_bytes}."
            issues.add("item-too-large", ("items", name), message, "Store it somewhere else and send a `ref`.")
    if total > limits.total_bytes:
        message = f"The items have {total} bytes together; the most are {limits.total_bytes}."
        issues.add("too-large", ("items",), message, "Store the largest somewhere else and send a `ref`.")
    return texts if len(items) <= limits.items else None


def _deep(item: dict[str, Any], depth: int) -> bytes | None:
    """The item as JSON; None if its content or metadata is too deep."""
    text = _shallow(item, depth)
    if text is None and all(depth_of(item.get(member)) <= depth for member in ("content", "metadata")):
        return exact_json(item)
    return text


def _shallow(value: dict[str, Any], depth: int) -> bytes | None:
    """A value as JSON if it has so few brackets that it cannot be deep."""
    try:
        text = exact_json(value)
    except RecursionError:
        return None
    return text if text.count(b"{") + text.count(b"[") <= depth else None


def _check_numbers(items: dict[str, dict[str, Any]], issues: Issues) -> None:
    for value, chain, _ in values(items):
        if type(value) is not int or -EXACT <= value <= EXACT:
            continue
        if not -_LARGEST < value < _LARGEST:
            message = "The number is larger than anything other readers know as one."
            issues.add("not-finite", ("items", *path_of(chain)), message, "Send it as a text.")
        else:
            message = "An integer beyond 2^53 is kept exactly here; others round it, and no hash sees the difference."
            issues.add("big-integer", ("items", *path_of(chain)), message, "Send it as a text.")


def _check_ids(items: dict[str, dict[str, Any]], issues: Issues) -> None:
    seen: dict[str, str] = {}
    for name, item in items.items():
        if isinstance(known := item.get("id"), str):
            if known in seen:
                issues.add("duplicate-id", ("items", name, "id"), "Another item of the context has this id.")
            seen[known] = name
