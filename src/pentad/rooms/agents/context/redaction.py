"""Removes secrets from a context before it is sent, stored or logged, and reports what it removed, never the secret.

A policy says what happens to secrets, and to items not meant for the target: `allow` keeps them, `mask` replaces them,
and `deny` rejects the context. Names and pointers in the report are redacted too, because an object's key can be a
secret.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, Literal, cast

from msgspec import Struct

from pentad.kernel.errors import Forbidden
from pentad.kernel.secrets.documents import DEEPEST, Action, Cleaner, Masked, depth_of, free_key, too_deep
from pentad.kernel.secrets.text import may_hold
from pentad.rooms.agents.context.integrity import exact_json

SecretsMode = Literal["off", "report", "mask"]
"""How to treat secrets in contexts: ignore, report or mask them."""
Sensitivity = Literal["public", "internal", "confidential", "secret"]

SENSITIVITIES: Final[tuple[Sensitivity, ...]] = ("public", "internal", "confidential", "secret")
STORE: Final = "store"
"""A target that is not an agent: Pentad's store."""
_STRICTER: Final[dict[Action, int]] = {"allow": 0, "mask": 1, "deny": 2}
_SMALL: Final = 4 * 1024


class Policy(Struct, frozen=True, kw_only=True):
    """What happens to secrets, and to items that are not meant for a target. By default both are masked or denied."""

    secrets: Action | Literal["ignore"] = "mask"
    """What happens to secrets: `allow` keeps and reports them, `ignore` does not look for them."""
    sensitive: Action = "mask"
    """What happens to an item more sensitive than `upto`."""
    upto: Sensitivity = "internal"
    strangers: Action = "deny"
    """What happens to an item whose audience excludes the target."""


DEFAULT_POLICY: Final = Policy()
MODES: Final[dict[SecretsMode, Action | Literal["ignore"]]] = {"off": "ignore", "report": "allow", "mask": "mask"}


@lru_cache(len(MODES))
def storage_policy(mode: SecretsMode) -> Policy:
    """The policy for stored contexts: secrets as the operator says; the owner decides about the rest."""
    return Policy(secrets=MODES[mode], sensitive="allow", strangers="allow", upto="secret")


def send_policy(mode: SecretsMode) -> Policy:
    """The policy for contexts sent to remote agents."""
    return Policy(secrets=MODES[mode])


STORAGE_POLICY: Final = storage_policy("mask")


class Redacted(Struct, frozen=True):
    """The redacted items, and what was done to them."""

    items: dict[str, Any]
    report: list[Masked]


def redact_items(
    items: Mapping[str, Any], target: str = STORE, policy: Policy = DEFAULT_POLICY, text: bytes | None = None
) -> Redacted:
    """Redact the items for `target`. Forbidden, with the places, if the policy denies something.

    `text` is the items' `exact_json`, if the caller already has it.
    """
    text = _shallow(dict(items), text)
    # A small context is scanned as a whole first, including names. An escape could hide a secret from that scan.
    is_clean = policy.secrets == "ignore" or (len(text) <= _SMALL and b"\\" not in text and not may_hold(text.decode()))
    if is_clean and not any(map(_has_rule, items.values())):
        return Redacted(dict(items), [])
    cleaner = Cleaner("allow" if policy.secrets == "ignore" else policy.secrets)
    clean_items: dict[str, Any] = {}
    for name, item in items.items():
        clean = name if is_clean else cleaner.key(name, ("items",))
        clean = name if clean == name else free_key(clean, clean_items)
        path = ("items", cleaner.report_key(clean))
        what, action = _item_rule(item, target, policy)
        if action == "allow":
            clean_items[clean] = item if is_clean or not _may_hold(item) else cleaner.value(item, path)
        else:
            cleaner.note(path, what, action)
            clean_items[clean] = {
                "mediaType": "text/plain",
                "content": f"[redacted:{what}]",
                "metadata": {"kind": "text"},
            }
    denied = [masked for masked in cleaner.report if masked.action == "deny"]
    if denied:
        problems = [{"path": one.path, "rule": one.what, "message": "The policy denies this."} for one in denied]
        raise Forbidden(
            f"The policy does not let this context go to {target!r}: {denied[0].path} ({denied[0].what}).",
            hint="Leave it out, or change the audience, the sensitivity or the policy.",
            details={"reason": "context-denied", "problems": problems},
        )
    return Redacted(clean_items, cleaner.report)


def secret_places(items: Mapping[str, Any]) -> list[Masked]:
    """The places of secrets, without changing anything."""
    cleaner = Cleaner("mask")
    for name, item in items.items():
        cleaner.value(item, ("items", cleaner.key(name, ("items",))))
    return cleaner.report


def _shallow(items: dict[str, Any], text: bytes | None) -> bytes:
    """The items as JSON; LimitExceeded if they are too deep to scan. A text with few brackets cannot be deep."""
    try:
        text = exact_json(items) if text is None else text
    except RecursionError:
        raise too_deep() from None
    if text.count(b"{") + text.count(b"[") > DEEPEST and depth_of(items) > DEEPEST:
        raise too_deep()
    return text


def _may_hold(item: Any) -> bool:
    return may_hold(exact_json(item).decode())


def _has_rule(item: Any) -> bool:
    """Whether an item states its sensitivity or audience."""
    if not (type(item) is dict or isinstance(item, Mapping)):
        return False
    metadata: Any = cast("Mapping[str, Any]", item).get("metadata")
    if not metadata or not (type(metadata) is dict or isinstance(metadata, Mapping)):
        return False
    return "x-sensitivity" in metadata or "x-audience" in metadata


def _item_rule(item: Any, target: str, policy: Policy) -> tuple[str, Action]:
    """The stricter of what an item's sensitivity and audience demand for this target."""
    if not _has_rule(item):
        return "", "allow"
    extras: Mapping[str, Any] = item["metadata"]
    found: list[tuple[str, Action]] = [("", "allow")]
    if (sensitivity := extras.get("x-sensitivity")) is not None:
        # An unknown level counts as the most sensitive one.
        level = SENSITIVITIES.index(sensitivity) if sensitivity in SENSITIVITIES else len(SENSITIVITIES) - 1
        if level > SENSITIVITIES.index(policy.upto):
            found.append(("sensitivity", policy.sensitive))
    if (audience := extras.get("x-audience")) is not None:
        known = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
        if not any(fnmatchcase(target, str(one)) for one in known):
            found.append(("audience", policy.strangers))
    return max(found, key=lambda one: _STRICTER[one[1]])
