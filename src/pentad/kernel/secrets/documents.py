"""Removes secrets from JSON values that are sent, stored or logged, and reports where they were, never their values.

A member is a secret by its name or by its value. Names and pointers in the report are cleaned too, because a key of an
object can itself be a secret.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

from msgspec import Struct

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.json_pointer import pointer
from pentad.kernel.schema import Path
from pentad.kernel.secrets.commands import scrub_command
from pentad.kernel.secrets.findings import Finding
from pentad.kernel.secrets.names import Place, is_secret_member, is_secret_name
from pentad.kernel.secrets.references import is_reference
from pentad.kernel.secrets.text import found_in, scrub_text

Action = Literal["allow", "mask", "deny"]
DEEPEST: Final = 200
"""Values nested deeper are rejected."""
_PLACES: Final[dict[str, Place]] = {"headers": "header", "env": "variable", "environment": "variable"}
"""Members whose own members are headers or variables."""
_COMMANDS: Final = frozenset({"args", "argv", "arguments", "command"})
_OF_SEVERAL_PARTS: Final = ("auth", "authorization")
"""An object under these is read by member: `{"type": "basic", "password": ...}`."""
_NAMES: Final = ("name", "key", "header")
_VALUES: Final = ("value", "default")


class Masked(Struct, frozen=True):
    """One place that was changed, and why: the name of a detector, `key-name`, `sensitivity` or `audience`."""

    path: str
    what: str
    action: Action


def scrub_json(value: Any, action: Action = "mask") -> tuple[Any, list[Masked]]:
    """A JSON value without secrets, and the report; `allow` only reports. LimitExceeded if too deep."""
    if depth_of(value) > DEEPEST:
        raise too_deep()
    cleaner = Cleaner(action)
    return cleaner.value(value, ()), cleaner.report


def too_deep() -> LimitExceeded:
    return LimitExceeded("The context is nested too deeply to be looked through.", hint="Flatten it.")


def depth_of(root: Any) -> int:
    """How deep containers are nested; 0 for a scalar."""
    deepest = 0
    level: list[Any] = [root]
    while True:
        inner: list[Any] = []
        found = False
        for value in level:
            if isinstance(value, dict):
                found = True
                inner.extend(cast("dict[str, Any]", value).values())
            elif isinstance(value, list | tuple):
                found = True
                inner.extend(cast("list[Any]", value))
        if not found:
            return deepest
        deepest += 1
        level = inner


class Cleaner:
    """Redacts values and collects the report."""

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
                return self._list(cast("Sequence[Any]", value), path)
            case bool() | None:
                return value
            case int() | float():
                # A card number may be a JSON number; it has at least 13 digits.
                found = found_in(str(value)) if abs(value) >= 10**12 else []
                return self._mask(path, found[0][0], value) if found else value
            case _:
                return value

    def key(self, key: str, path: Path) -> str:
        """A key without secrets."""
        if not found_in(key):
            return key
        clean = scrub_text(key)
        self.note((*path, clean), "key", self._action)
        return key if self._action == "allow" else clean

    def report_key(self, key: str) -> str:
        """A key for the report; cleaned even if the value keeps its secrets."""
        return scrub_text(key) if self._action == "allow" else key

    def text(self, text: str, path: Path) -> str:
        found = found_in(text)
        if not found:
            return text
        for name, _, _ in found:
            self.note(path, name, self._action)
        return text if self._action == "allow" else scrub_text(text)

    def _object(self, value: dict[str, Any], path: Path) -> dict[str, Any]:
        cleaned: dict[str, Any] = {}
        place = _place(path[-1:])
        named = ("value" in value or "default" in value) and _pair_names_a_secret(value, _place(path[-2:-1]))
        for key, inner in value.items():
            clean = self.key(key, path)
            clean = key if clean == key else free_key(clean, cleaned)
            is_secret = is_secret_member(key, inner, place) or (named and key in _VALUES)
            if is_secret and isinstance(inner, dict) and key.lower().endswith(_OF_SEVERAL_PARTS):
                is_secret = False
            cleaned[clean] = (self._secret if is_secret else self.value)(inner, (*path, self.report_key(clean)))
        return cleaned

    def _list(self, value: Sequence[Any], path: Path) -> list[Any]:
        if path and str(path[-1]).lower() in _COMMANDS and value and all(isinstance(one, str) for one in value):
            return self._command(value, path)
        return [self.value(one, (*path, at)) for at, one in enumerate(value)]

    def _command(self, argv: Sequence[str], path: Path) -> list[str]:
        clean, findings = scrub_command(list(argv), mark=_mark_of, cautious=False)
        for finding in findings:
            self.note((*path, int(finding.where.split(".")[1])), finding.kind, self._action)
        return list(argv) if self._action == "allow" else clean

    def _secret(self, value: Any, path: Path) -> Any:
        """Mask a value with a secret name: all its texts and numbers, but not references to secrets."""
        if isinstance(value, dict):
            cleaned: dict[str, Any] = {}
            for key, one in cast("dict[str, Any]", value).items():
                clean = self.key(key, path)
                clean = key if clean == key else free_key(clean, cleaned)
                cleaned[clean] = self._secret(one, (*path, self.report_key(clean)))
            return cleaned
        if isinstance(value, list | tuple):
            return [self._secret(one, (*path, at)) for at, one in enumerate(cast("Sequence[Any]", value))]
        if value is None or isinstance(value, bool) or (isinstance(value, str) and is_reference(value)):
            return value
        return self._mask(path, "key-name", value)

    def _mask(self, path: Path, what: str, value: Any) -> Any:
        self.note(path, what, self._action)
        return value if self._action == "allow" else f"[redacted:{what}]"


def _place(path: Path) -> Place:
    """The kind of the members in a container with this name."""
    return _PLACES.get(str(path[0]).lower(), "member") if path else "member"


def _pair_names_a_secret(value: dict[str, Any], place: Place) -> bool:
    """Whether an object is a name/value pair and the name is that of a secret."""
    names = (value.get(name) for name in _NAMES)
    return any(isinstance(name, str) and is_secret_name(name, place) for name in names)


def _mark_of(finding: Finding) -> str:
    return f"[redacted:{finding.kind}]"


def free_key(key: str, taken: Mapping[str, Any]) -> str:
    """A mark that is not yet a key: two secret keys of one object need two marks."""
    number = len(taken) + 1
    return key if key not in taken else f"{key} {number}"
