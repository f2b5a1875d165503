"""Takes secrets out of a context before it leaves, is kept or is logged, and tells what it took, never the secret.

A policy says for each target what happens to a secret and to an item that is not meant for it: `allow` lets it pass,
`mask` puts a mark in its place, `deny` refuses the whole. Names and pointers in the report are cleaned like everything
else: a key of an object can be a secret too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, cast

from msgspec import Struct

from pentad.kernel.errors import Forbidden, LimitExceeded
from pentad.kernel.schema import pointer
from pentad.rooms.agents.context.findings import Path
from pentad.rooms.agents.context.secrets import found_in, is_telling, may_hold
from pentad.rooms.agents.context.walking import depth_of, exact_json

Action = Literal["allow", "mask", "deny"]
Sensitivity = Literal["public", "internal", "confidential", "secret"]

SENSITIVITIES: Final[tuple[Sensitivity, ...]] = ("public", "internal", "confidential", "secret")
STORE: Final = "store"
LOG: Final = "log"
"""Targets that are no agent: what Pentad keeps, and what it writes into its logs."""
_STRICTER: Final[dict[Action, int]] = {"allow": 0, "mask": 1, "deny": 2}
_DEEPEST: Final = 200


class Rule(Struct, frozen=True, kw_only=True):
    """What holds for the targets a pattern names (`*` is everybody); the first rule that fits is taken."""

    target: str = "*"
    secrets: Action = "mask"
    """What happens to what a detector or a telling name finds."""
    sensitive: Action = "mask"
    """What happens to an item more sensitive than `upto`."""
    upto: Sensitivity = "internal"
    strangers: Action = "deny"
    """What happens to an item whose audience the target is not part of."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order; without one that fits secrets are masked, and so is what is confidential."""

    rules: tuple[Rule, ...] = ()

    def of(self, target: str) -> Rule:
        return next((rule for rule in self.rules if fnmatchcase(target, rule.target)), _DEFAULT)


_DEFAULT: Final = Rule()
KEEPING: Final = Policy((Rule(target="*", sensitive="allow", strangers="allow", upto="secret"),))
"""For what the owner keeps: secrets are masked, everything else is the owner's own business."""


class Masked(Struct, frozen=True):
    """One place that was changed, and why: the name of a detector, `key-name`, `sensitivity` or `audience`."""

    path: str
    what: str
    action: Action


class Redacted(Struct, frozen=True):
    """The items as they may be seen, and what was done to them."""

    items: dict[str, Any]
    report: list[Masked]


def redacted(items: Mapping[str, Any], target: str = STORE, policy: Policy | None = None) -> Redacted:
    """The items as `target` may see them. Forbidden, with the places, where the policy denies."""
    if depth_of(items) > _DEEPEST:
        raise LimitExceeded("The context is nested too deeply to be looked through.", hint="Flatten it.")
    rule = (policy or Policy()).of(target)
    cleaner = _Cleaner(rule.secrets)
    shown: dict[str, Any] = {}
    for name, item in items.items():
        clean = cleaner.key(name, ("items",))
        clean = name if clean == name else _free(clean, shown)
        path = ("items", clean)
        what, action = _item_rule(item, target, rule)
        if action == "allow":
            shown[clean] = cleaner.value(item, path) if _may_hold(item) else item
        else:
            cleaner.note(path, what, action)
            shown[clean] = {"mediaType": "text/plain", "content": f"[redacted:{what}]", "metadata": {"kind": "text"}}
    denied = [masked for masked in cleaner.report if masked.action == "deny"]
    if denied:
        problems = [{"path": one.path, "rule": one.what, "message": "The policy denies this."} for one in denied]
        raise Forbidden(
            f"The policy does not let this context go to {target!r}: {denied[0].path} ({denied[0].what}).",
            hint="Leave it out, or change the audience, the sensitivity or the policy.",
            details={"reason": "context-denied", "problems": problems},
        )
    return Redacted(shown, cleaner.report)


def clean_value(value: Any) -> tuple[Any, list[Masked]]:
    """Any JSON value without secrets, and what was masked in it."""
    if depth_of(value) > _DEEPEST:
        raise LimitExceeded("The context is nested too deeply to be looked through.", hint="Flatten it.")
    cleaner = _Cleaner("mask")
    return cleaner.value(value, ()), cleaner.report


def clean_text(text: str) -> str:
    """A text for logs and messages: the same without secrets."""
    return _Cleaner("mask").text(text, ())


def secret_places(items: Mapping[str, Any]) -> list[Masked]:
    """Where secrets are, for whoever only wants to be told."""
    cleaner = _Cleaner("mask")
    for name, item in items.items():
        cleaner.value(item, ("items", cleaner.key(name, ("items",))))
    return cleaner.report


def _may_hold(item: Any) -> bool:
    return may_hold(exact_json(item).decode())


def _item_rule(item: Any, target: str, rule: Rule) -> tuple[str, Action]:
    """What the item's own words about itself mean for this target; the stricter of the two."""
    is_object = type(item) is dict or isinstance(item, Mapping)
    metadata = cast("Mapping[str, Any]", item).get("metadata") if is_object else None
    if not (type(metadata) is dict or isinstance(metadata, Mapping)):
        return "", "allow"
    said = cast("Mapping[str, Any]", metadata)
    found: list[tuple[str, Action]] = [("", "allow")]
    if (sensitivity := said.get("x-sensitivity")) is not None:
        # A word nobody knows is taken for the most sensitive there is.
        level = SENSITIVITIES.index(sensitivity) if sensitivity in SENSITIVITIES else len(SENSITIVITIES) - 1
        if level > SENSITIVITIES.index(rule.upto):
            found.append(("sensitivity", rule.sensitive))
    if (audience := said.get("x-audience")) is not None:
        known = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
        if not any(fnmatchcase(target, str(one)) for one in known):
            found.append(("audience", rule.strangers))
    return max(found, key=lambda one: _STRICTER[one[1]])


class _Cleaner:
    """Cleans values one after the other and keeps the report."""

    def __init__(self, action: Action) -> None:
        self._action: Action = action
        self.report: list[Masked] = []

    def note(self, path: Path, what: str, action: Action) -> None:
        self.report.append(Masked(pointer(path), what, action))

    def value(self, value: Any, path: Path) -> Any:
        match value:
            case str():
                return self.text(value, path)
            case dict():
                return self._object(cast("dict[str, Any]", value), path)
            case list() | tuple():
                return [self.value(one, (*path, at)) for at, one in enumerate(cast("list[Any]", value))]
            case bool() | None:
                return value
            case int() | float():
                # A card number may come as a number; it has 13 digits at least.
                found = found_in(str(value)) if abs(value) >= 10**12 else []
                return self._mask(path, found[0][0], value) if found else value
            case _:
                return value

    def key(self, key: str, path: Path) -> str:
        """A key as it may be seen."""
        if not found_in(key):
            return key
        clean = _marked(key)
        self.note((*path, clean), "key", self._action)
        return key if self._action == "allow" else clean

    def text(self, text: str, path: Path) -> str:
        found = found_in(text)
        if not found:
            return text
        for name, _, _ in found:
            self.note(path, name, self._action)
        return text if self._action == "allow" else _marked(text)

    def _object(self, value: dict[str, Any], path: Path) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for key, inner in value.items():
            clean = self.key(key, path)
            clean = key if clean == key else _free(clean, shown)
            turned = self._telling if is_telling(key) else self.value
            shown[clean] = turned(inner, (*path, clean))
        return shown

    def _telling(self, value: Any, path: Path) -> Any:
        """What stands under a telling name: all its texts and numbers."""
        if isinstance(value, dict):
            shown: dict[str, Any] = {}
            for key, one in cast("dict[str, Any]", value).items():
                clean = self.key(key, path)
                clean = key if clean == key else _free(clean, shown)
                shown[clean] = self._telling(one, (*path, clean))
            return shown
        if isinstance(value, list):
            return [self._telling(one, (*path, at)) for at, one in enumerate(cast("list[Any]", value))]
        if value is None or isinstance(value, bool) or value == "" or _is_mark(value):
            return value
        return self._mask(path, "key-name", value)

    def _mask(self, path: Path, what: str, value: Any) -> Any:
        self.note(path, what, self._action)
        return value if self._action == "allow" else f"[redacted:{what}]"


def _is_mark(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("[redacted:") and value.endswith("]")


def _marked(text: str) -> str:
    """The text with a mark for each secret; looked through again, as a mark may bring two halves together."""
    for _ in range(3):
        found = found_in(text)
        if not found:
            break
        for name, start, end in reversed(found):
            text = f"{text[:start]}[redacted:{name}]{text[end:]}"
    return text


def _free(key: str, taken: Mapping[str, Any]) -> str:
    """Two secrets as keys of one object are two marks."""
    number = len(taken) + 1
    return key if key not in taken else f"{key} {number}"
