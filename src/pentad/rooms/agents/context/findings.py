"""The issues of a context, and their severity at each level.

One table decides for all rules: `lenient` accepts what AgentVault accepts and reports what it loses, `standard` rejects
what would be lost or misread, `strict` also rejects what is doubtful. A rule names a code; it never decides.
"""

from typing import Any, Final, Literal

from msgspec import Struct

from pentad.kernel.errors import InvalidInput
from pentad.kernel.schema import pointer

Level = Literal["lenient", "standard", "strict"]
Severity = Literal["error", "warning"]
Path = tuple[str | int, ...]

LEVELS: Final[tuple[Level, ...]] = ("lenient", "standard", "strict")
MOST_ISSUES: Final = 200
"""More issues than this are only counted."""
_LONGEST_KEY: Final = 100

_E: Final = "error"
_W: Final = "warning"

WEIGHTS: Final[dict[str, tuple[Severity | None, Severity | None, Severity | None]]] = {
    # what AgentVault's own models look at
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
    # what it does not know
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
    "too-many-items": (None, _E, _E),
    "item-too-large": (None, _E, _E),
    "too-large": (None, _E, _E),
    "too-deep": (None, _E, _E),
}
"""By code, the severity at lenient, standard and strict; None is not reported."""


class Issue(Struct, frozen=True, omit_defaults=True):
    """One problem; `path` is a JSON pointer into the context."""

    code: str
    path: str
    message: str
    severity: Severity
    hint: str = ""

    def line(self) -> str:
        """The issue as text for people."""
        said = f"{self.path or '/'}: {self.message}"
        return f"{said} {self.hint}" if self.hint else said

    def problem(self, prefix: Path = ()) -> dict[str, str]:
        """The issue as a field violation."""
        message = f"{self.message} {self.hint}" if self.hint else self.message
        return {"path": pointer(prefix) + self.path, "rule": self.code, "message": message}


class Issues:
    """Collects the issues of a level, up to a maximum."""

    __slots__ = ("_at", "found", "level", "more")

    def __init__(self, level: Level) -> None:
        self.level: Level = level
        self._at = LEVELS.index(level)
        self.found: list[Issue] = []
        self.more = 0

    def add(self, code: str, path: Path, message: str, hint: str = "") -> None:
        """Add an issue. The table decides its severity."""
        severity = WEIGHTS[code][self._at]
        if severity is None:
            return
        if len(self.found) >= MOST_ISSUES:
            self.more += 1
            if severity == _W or not self._makes_room():
                return
        self.found.append(Issue(code, pointer(tuple(_short(part) for part in path)), message, severity, hint))

    def _makes_room(self) -> bool:
        """Drop a warning to make room for an error: errors are never only counted."""
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
            "issues": [_plain(issue) for issue in self.issues],
            "issues_left_out": self.more,
        }


def refusal(issues: list[Issue], prefix: Path = ()) -> InvalidInput:
    """The error for an unusable context, with every issue and its place."""
    problems = [issue.problem(prefix) for issue in issues]
    first = issues[0]
    count = f" There are {len(issues)} such problems in all." if len(issues) > 1 else ""
    return InvalidInput(
        f"mcp_context is not valid: at {first.path or '/'}, {_lowered(first.message)}{count}",
        hint=first.hint or "Correct it and send it again; `pentad agents context lint` explains each rule.",
        details={"reason": "invalid-context", "problems": problems},
    )


def _plain(issue: Issue) -> dict[str, str]:
    plain = {"code": issue.code, "path": issue.path, "severity": issue.severity, "message": issue.message}
    return {**plain, "hint": issue.hint} if issue.hint else plain


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]


def _short(part: str | int) -> str | int:
    """Shorten a key, and make it printable."""
    if isinstance(part, int):
        return part
    text = part if len(part) <= _LONGEST_KEY else part[:_LONGEST_KEY] + "..."
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
