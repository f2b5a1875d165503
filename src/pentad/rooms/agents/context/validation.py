"""Validates a whole context at a level: its shape, then the rules for each item, then the limits.

`read_context` takes the context of an incoming message, or rejects it with reasons. Nothing is dropped silently, and
secrets are masked before anything else sees them, including the store.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from pentad.kernel.errors import PentadError
from pentad.kernel.jcs import EXACT
from pentad.kernel.problems import Place
from pentad.kernel.secrets.documents import Masked, depth_of
from pentad.rooms.agents.context import rules
from pentad.rooms.agents.context.extension import sent_context
from pentad.rooms.agents.context.findings import Issue, Issues, Level, refusal
from pentad.rooms.agents.context.integrity import check_seal
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits
from pentad.rooms.agents.context.redaction import STORAGE_POLICY, STORE, Policy, redact_items
from pentad.rooms.agents.context.shape import EXTRA_MEMBERS, shape

if TYPE_CHECKING:
    from pentad.rooms.agents.context.integrity import Key
from pentad.rooms.agents.context.integrity import exact_json

_ITEMS: Final[Place] = (None, "items")
_LARGEST: Final = 2**1023
_LONG_NUMBER: Final = re.compile(rb"\d{16}")


class IncomingContext(Struct, frozen=True):
    """A validated context: its items, warnings, and what was masked."""

    items: dict[str, dict[str, Any]]
    turn: Mapping[str, Any] | None
    """How this context changes that of earlier turns: `mode`, `remove`, `base`."""
    warnings: tuple[Issue, ...]
    masked: tuple[Masked, ...]


def read_context(
    metadata: Any,
    level: Level = "standard",
    limits: ContextLimits = DEFAULT_LIMITS,
    policy: Policy = STORAGE_POLICY,
    *,
    now: float | None = None,
    keys: "Sequence[Key]" = (),
) -> IncomingContext | None:
    """The context in a message's metadata; None if there is none.

    InvalidInput with `details["problems"]`, each with path, rule and message; Conflict if the seal does not match;
    Forbidden if the policy denies it.
    """
    sent = sent_context(metadata)
    if sent is None:
        return None
    key, value = sent
    shaped, issues, text = _validate(value, level, limits, now)
    if shaped is None or not issues.valid:
        raise refusal(issues.errors, ("metadata", key))
    items = cast("dict[str, dict[str, Any]]", shaped.get("items", {}))
    given = cast("Mapping[str, Any]", value)
    if "integrity" in given or keys:
        # The lenient level leaves out members its sender has sealed.
        check_seal(given.get("items", {}) if level == "lenient" else items, given.get("integrity", {}), keys)
    clean = redact_items(items, STORE, policy, text)
    warnings = tuple([issue for issue in issues.found if issue.severity == "warning"]) if issues.found else ()
    turn = given.get("turn")
    turn = cast("Mapping[str, Any]", turn) if isinstance(turn, Mapping) else None
    return IncomingContext(clean.items, turn, warnings, tuple(clean.report))


def validate(
    value: Any, level: Level, limits: ContextLimits = DEFAULT_LIMITS, *, now: float | None = None
) -> tuple[dict[str, Any] | None, Issues]:
    """The context as used at this level (None if it is unusable), and every issue."""
    shaped, issues, _ = _validate(value, level, limits, now)
    return shaped, issues


def _validate(
    value: Any, level: Level, limits: ContextLimits, now: float | None
) -> tuple[dict[str, Any] | None, Issues, bytes | None]:
    """Like `validate`, also returning the items as JSON if they were encoded as a whole."""
    issues = Issues(level)
    shaped = shape(value, issues)
    if shaped is None or level == "lenient":
        return shaped, issues, None
    items = cast("dict[str, dict[str, Any]]", shaped.get("items", {}))
    given = cast("dict[str, Any]", value)
    for name, item in items.items():
        # Our own members are not part of AgentVault's shape, but stay at the levels that know them.
        source = given["items"].get(name)
        if isinstance(source, dict) and len(cast("dict[str, Any]", source)) > len(item):
            for key in EXTRA_MEMBERS:
                if key in source:
                    item[key] = source[key]
    if not given.get("items"):
        issues.add("empty-context", None, "The context has no items.", "Leave it out.")
    written = _check_limits(items, limits, issues)
    if written is None:
        return shaped, issues, None  # too deep or too large for the checks below
    partial = _is_patch(given.get("turn"))
    for name, item in items.items():
        _check_item(name, item, limits, now, issues, partial=partial)
    whole, texts = (written, (written,)) if isinstance(written, bytes) else (None, written)
    _check_numbers(items, texts, issues)
    _check_ids(items, issues)
    for key in ("integrity", "turn"):
        if key in given:
            shaped[key] = given[key]
    return shaped, issues, whole


def _is_patch(turn: Any) -> bool:
    """Whether the items are patches. The merged items are validated later."""
    return isinstance(turn, dict) and cast("dict[str, Any]", turn).get("mode") == "patch"


def _check_item(
    name: str, item: dict[str, Any], limits: ContextLimits, now: float | None, issues: Issues, *, partial: bool
) -> None:
    place = (_ITEMS, name)
    rules.check_name(name, place, issues)
    if not partial:
        rules.check_members(item, place, issues)
    rules.check_type(item, place, issues)
    if "ref" in item:
        rules.check_ref(item, place, issues, limits)
    try:
        rules.check_extras(item, place, issues, now)
    except PentadError as error:  # without a canonical form there is no hash
        issues.add("not-json", place, error.message, error.hint or "")


def _check_limits(
    items: dict[str, dict[str, Any]], limits: ContextLimits, issues: Issues
) -> bytes | list[bytes] | None:
    """The items as JSON, as a whole if they are small; None if there are too many or they are too deep. Depth counts
    from the content.
    """
    whole = _shallow(items, limits.depth) if len(items) <= limits.items else None
    if whole is not None and len(whole) <= min(limits.item_bytes, limits.total_bytes):
        return whole
    if len(items) > limits.items:
        message = f"The context has {len(items)} items; the maximum is {limits.items}."
        issues.add("too-many-items", _ITEMS, message, "Send fewer, or several in one.")
    texts: list[bytes] = []
    for name, item in items.items():
        if (text := _deep(item, limits.depth)) is None:
            message = f"The item is nested deeper than {limits.depth} levels."
            issues.add("too-deep", (_ITEMS, name), message, "Flatten it.")
        else:
            texts.append(text)
    if len(texts) < len(items):
        return None
    total = 2
    for (name, _), text in zip(items.items(), texts, strict=True):
        size = len(text)
        total += size + len(name.encode("utf-8", "replace")) + 4
        if size > limits.item_bytes:
            message = f"The item has {size} bytes; the maximum is {limits.item_bytes}."
            issues.add("item-too-large", (_ITEMS, name), message, "Store it somewhere else and send a `ref`.")
    if total > limits.total_bytes:
        message = f"The items have {total} bytes together; the maximum is {limits.total_bytes}."
        issues.add("too-large", _ITEMS, message, "Store the largest somewhere else and send a `ref`.")
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


def _check_numbers(items: dict[str, dict[str, Any]], texts: Sequence[bytes], issues: Issues) -> None:
    for text in texts:
        if _LONG_NUMBER.search(text):
            break
    else:
        return
    for value, place in _values(items, _ITEMS):
        if type(value) is not int or -EXACT <= value <= EXACT:
            continue
        if not -_LARGEST < value < _LARGEST:
            message = "The number is larger than anything other readers know as one."
            issues.add("not-finite", place, message, "Send it as a text.")
        else:
            message = "An integer beyond 2^53 is kept exactly here; others round it, and no hash sees the difference."
            issues.add("big-integer", place, message, "Send it as a text.")


def _values(root: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    """All values with their places, in order; without recursion, because untrusted contexts may be deep."""
    stack: list[tuple[Any, Place]] = [(root, place)]
    while stack:
        value, place = stack.pop()
        yield value, place
        if isinstance(value, dict):
            stack.extend((inner, (place, key)) for key, inner in reversed(cast("dict[str, Any]", value).items()))
        elif isinstance(value, list):
            elements = cast("list[Any]", value)
            stack.extend((elements[at], (place, at)) for at in range(len(elements) - 1, -1, -1))


def _check_ids(items: dict[str, dict[str, Any]], issues: Issues) -> None:
    seen: dict[str, str] = {}
    for name, item in items.items():
        if isinstance(known := item.get("id"), str):
            if known in seen:
                issues.add("duplicate-id", ((_ITEMS, name), "id"), "Another item of the context has this id.")
            seen[known] = name
