"""Takes secrets out of JSON values and tells what it took, never the secret: for what leaves, is kept or is logged.

Names and pointers in the report are cleaned like everything else: a key of an object can be a secret too.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

from msgspec import Struct

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.schema import Path, pointer
from pentad.kernel.secrets import found_in, is_telling

Action = Literal["allow", "mask", "deny"]
DEEPEST: Final = 200
"""What is nested deeper is not looked through."""


class Masked(Struct, frozen=True):
    """One place that was changed, and why: the name of a detector, `key-name`, `sensitivity` or `audience`."""

    path: str
    what: str
    action: Action


def clean_value(value: Any) -> tuple[Any, list[Masked]]:
    """Any JSON value without secrets, and what was masked in it."""
    if depth_of(value) > DEEPEST:
        raise too_deep()
    cleaner = Cleaner("mask")
    return cleaner.value(value, ()), cleaner.report


def clean_text(text: str) -> str:
    """A text for logs and messages: the same without secrets."""
    return Cleaner("mask").text(text, ())


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
            clean = key if clean == key else free_key(clean, shown)
            turned = self._telling if is_telling(key) else self.value
            shown[clean] = turned(inner, (*path, clean))
        return shown

    def _telling(self, value: Any, path: Path) -> Any:
        """What stands under a telling name: all its texts and numbers."""
        if isinstance(value, dict):
            shown: dict[str, Any] = {}
            for key, one in cast("dict[str, Any]", value).items():
                clean = self.key(key, path)
                clean = key if clean == key else free_key(clean, shown)
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


def free_key(key: str, taken: Mapping[str, Any]) -> str:
    """Two secrets as keys of one object are two marks."""
    number = len(taken) + 1
    return key if key not in taken else f"{key} {number}"
