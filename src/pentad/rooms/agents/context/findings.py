"""The issues of a context, and their severity at each level.

One table decides for all rules: `lenient` accepts what AgentVault accepts and reports what it loses, `standard` rejects
what would be lost or misread, and `strict` also rejects anything doubtful. Rules only name a code; they never decide.

An issue is a finding (`kernel/problems`): it may suggest names or values and carry a patch.
"""

from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from msgspec import Struct

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_pointer import pointer as pointer_of
from pentad.kernel.json_pointer import steps_of
from pentad.kernel.problems import (
    NO_VALUE,
    Finding,
    Patch,
    Place,
    convert_value,
    finding,
    nearest_names,
    pointer,
    replacement,
    steps,
)

Level = Literal["lenient", "standard", "strict"]
Severity = Literal["error", "warning"]

LEVELS: Final[tuple[Level, ...]] = ("lenient", "standard", "strict")
MAX_ISSUES: Final = 200
"""More issues than this are only counted."""
_NO_OTHER_NAMES: Final[Mapping[str, str]] = MappingProxyType({})

_E: Final = "error"
_W: Final = "warning"

WEIGHTS: Final[dict[str, tuple[Severity | None, Severity | None, Severity | None]]] = {
    # what AgentVault's models check
    "not-parsed": (_E, _E, _E),
    "not-object": (_E, _E, _E),
    "items-not-object": (_E, _E, _E),
    "item-not-object": (_E, _E, _E),
    "key-not-text": (_E, _E, _E),
    "wrong-type": (_E, _E, _E),
    "not-json": (_E, _E, _E),
    # what it loses or changes silently
    "duplicate-key": (_W, _E, _E),
    "unknown-root-member": (_W, _E, _E),
    "unknown-item-member": (_W, _E, _E),
    "converted": (_W, _E, _E),
    "not-finite": (_W, _E, _E),
    "half-surrogate": (_W, _E, _E),
    # what it does not support
    "empty-context": (None, _W, _W),
    "empty-item": (None, _E, _E),
    "content-and-ref": (None, _W, _E),
    "null-member": (None, None, _W),
    "bad-name": (None, _E, _E),
    "unusual-name": (None, _W, _E),
    "duplicate-id": (None, _W, _E),
    "no-media-type": (None, None, _W),
    "bad-media-type": (None, _E, _E),
    "content-mismatch": (None, _E, _E),
    "not-base64": (None, _E, _E),
    "json-as-text": (None, _W, _E),
    "bad-ref": (None, _E, _E),
    "ref-refused": (None, _E, _E),
    "ref-scheme": (None, _W, _E),
    "ref-no-scheme": (None, _W, _E),
    "ref-credentials": (None, _W, _E),
    "unknown-kind": (None, _W, _E),
    "kind-mismatch": (None, _E, _E),
    "bad-block": (None, _E, _E),
    "bad-tool": (None, _E, _E),
    "bad-prompt": (None, _E, _E),
    "bad-schema": (None, _E, _E),
    "bad-extra": (None, _W, _E),
    "hash-mismatch": (None, _E, _E),
    "size-mismatch": (None, _E, _E),
    "expired": (None, _W, _E),
    "big-integer": (None, _W, _W),
    "secret": (None, _W, _E),
    "bad-turn": (_E, _E, _E),
    "too-many-items": (None, _E, _E),
    "item-too-large": (None, _E, _E),
    "too-large": (None, _E, _E),
    "too-deep": (None, _E, _E),
}
"""By code, the severity at lenient, standard and strict; None is not reported."""


class Issue(Struct, frozen=True):
    """A finding with its severity at the level of the check, and a hint for people."""

    finding: Finding
    severity: Severity
    hint: str = ""

    @property
    def code(self) -> str:
        return self.finding.code

    @property
    def path(self) -> str:
        """A JSON pointer into the context."""
        return self.finding.pointer

    @property
    def message(self) -> str:
        return self.finding.message

    def line(self) -> str:
        """The issue as text for people."""
        text = f"{self.path or '/'}: {self.message}"
        return f"{text} {self.hint}" if self.hint else text

    def problem(self, prefix: str = "") -> dict[str, Any]:
        """The issue as one of the `problems` of an error; `prefix` is the pointer to the context."""
        message = f"{self.message} {self.hint}" if self.hint else self.message
        return {"path": prefix + self.path, "rule": self.code, "message": message, **self._proposal(prefix)}

    def as_json(self) -> dict[str, Any]:
        made = {"code": self.code, "path": self.path, "severity": self.severity, "message": self.message}
        return {**made, **({"hint": self.hint} if self.hint else {}), **self._proposal("")}

    def _proposal(self, prefix: str) -> dict[str, Any]:
        """A correction, if known; `certain` if the patch is the only sensible one."""
        found = self.finding
        proposal: dict[str, Any] = {"suggestions": list(found.suggestions)} if found.suggestions else {}
        if found.patch:
            places = [{name: prefix + step[name] for name in ("from", "path") if name in step} for step in found.patch]
            patch = [{**step, **place} for step, place in zip(found.patch, places, strict=True)]
            proposal |= {"patch": patch, "certain": found.certain}
        return proposal


class Issues:
    """Collects the issues of a level, up to a maximum."""

    __slots__ = ("_at", "found", "level", "more")

    def __init__(self, level: Level) -> None:
        self.level: Level = level
        self._at = LEVELS.index(level)
        self.found: list[Issue] = []
        self.more = 0

    def add(self, code: str, place: Place, message: str, hint: str = "", **proposal: Any) -> None:
        """Add an issue. The table decides its severity. `proposal` has `suggestions`, `patch` and `certain`."""
        severity = WEIGHTS[code][self._at]
        if severity is None:
            return
        if len(self.found) >= MAX_ISSUES:
            self.more += 1
            if severity == _W or not self._makes_room():
                return
        keys = steps(place)  # compared as lists: places are nested tuples, and untrusted input may be deep
        writable = [_writable(key) for key in keys]
        if writable != keys:
            proposal = {}  # a patch cannot name this place
        self.found.append(Issue(finding(code, message, below(None, writable), **proposal), severity, hint))

    def add_name(
        self,
        code: str,
        place: tuple[Any, str | int],
        message: str,
        known: Iterable[str],
        taken: Container[Any],
        otherwise: str = "",
        renamed: Mapping[str, str] = _NO_OTHER_NAMES,
    ) -> None:
        """Add an unknown member, and propose the nearest known name. `taken` are the members the object has."""
        container, name = place
        near, certain = self._nearest(str(name), known, renamed)
        patch: Patch = []
        if certain and near[0] not in taken:
            patch = [{"op": "move", "from": pointer(place), "path": pointer((container, near[0]))}]
        self._add_nearest(code, place, message, near, patch, otherwise)

    def add_value(
        self, code: str, place: Place, message: str, value: Any, known: Iterable[str], otherwise: str = ""
    ) -> None:
        """Add an invalid value, and propose the nearest known one."""
        near, certain = self._nearest(value, known) if isinstance(value, str) else ([], False)
        self._add_nearest(code, place, message, near, replacement(place, near[0]) if certain else [], otherwise)

    def add_scalar(self, code: str, place: Place, message: str, value: Any, kind: str) -> None:
        """Add a value of the wrong type, and propose the same value as a `kind`, such as 0.5 for "0.5"."""
        converted = convert_value(value, kind)
        patch = () if converted is NO_VALUE else tuple(replacement(place, converted))
        self.add(code, place, message, patch=patch, certain=bool(patch))

    def _nearest(
        self, name: str, known: Iterable[str], renamed: Mapping[str, str] = _NO_OTHER_NAMES
    ) -> tuple[list[str], bool]:
        # The search is slow, and untrusted input may have a million unknown names.
        return nearest_names(name, known, renamed) if len(self.found) < MAX_ISSUES else ([], False)

    def _add_nearest(
        self, code: str, place: Place, message: str, near: list[str], patch: Patch, otherwise: str
    ) -> None:  # fmt: skip
        hint = f"Did you mean `{near[0]}`?" if near else otherwise
        self.add(code, place, message, hint, suggestions=tuple(near), patch=tuple(patch), certain=bool(patch))

    def _makes_room(self) -> bool:
        """Drop a warning to make room for an error, so that errors are always listed."""
        at = next((at for at in reversed(range(len(self.found))) if self.found[at].severity == _W), None)
        if at is not None:
            del self.found[at]
        return at is not None

    @property
    def errors(self) -> list[Issue]:
        return [issue for issue in self.found if issue.severity == "error"]

    @property
    def valid(self) -> bool:
        return not any(issue.severity == "error" for issue in self.found)


class Report(Struct, frozen=True):
    """The result of a lint. `value` is the context as it would be used; None if it is unusable at this level."""

    level: Level
    valid: bool
    issues: list[Issue]
    more: int
    value: dict[str, Any] | None
    items: int
    bytes: int
    depth: int
    sha256: str | None

    @property
    def errors(self) -> list[Issue]:
        return [issue for issue in self.issues if issue.severity == "error"]

    @property
    def warnings(self) -> list[Issue]:
        return [issue for issue in self.issues if issue.severity == "warning"]

    def as_json(self) -> dict[str, Any]:
        """As JSON, without the context itself."""
        return {
            "level": self.level,
            "valid": self.valid,
            "items": self.items,
            "bytes": self.bytes,
            "depth": self.depth,
            "sha256": self.sha256,
            "issues": [issue.as_json() for issue in self.issues],
            "issues_left_out": self.more,
        }


def refusal(issues: list[Issue], prefix: tuple[str, ...] = ()) -> InvalidInput:
    """The error for an unusable context, with every issue and its place."""
    first = issues[0]
    count = f" There are {len(issues)} such problems in all." if len(issues) > 1 else ""
    return InvalidInput(
        f"mcp_context is not valid: at {first.path or '/'}, {first.message[:1].lower()}{first.message[1:]}{count}",
        hint=first.hint or "Correct it and send it again; `pentad agents context lint` explains each rule.",
        details={"reason": "invalid-context", "problems": [issue.problem(pointer_of(prefix)) for issue in issues]},
    )


def below(place: Place, keys: Iterable[str | int]) -> Place:
    """The place below these keys."""
    for key in keys:
        place = (place, key)
    return place


def place_at(path: str, place: Place = None) -> Place:
    """The place of a JSON pointer, below another place."""
    return below(place, steps_of(path))


def _writable(key: str | int) -> str | int:
    """The key without halves of surrogate pairs, which cannot be written as UTF-8."""
    return key if isinstance(key, int) else key.encode("utf-8", "replace").decode()
