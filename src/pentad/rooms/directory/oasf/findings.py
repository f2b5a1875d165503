"""What a validation found: each finding with its code, its place, and what would put it right.

Findings are made only when something is wrong, so a place is kept as a chain of keys and turned into text here.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

MOST_FINDINGS: Final = 1000
"""More errors (or warnings) than this are only counted."""

MOST_OF_A_KEY: Final = 200

MOST_LOOKUPS: Final = 24
"""How often one validation searches for names that are near: the search is slow and a record may be hostile."""

Place = tuple[Any, str | int] | None
"""The place of a value: the place of what holds it, and its key or index there. None is the record itself."""

Patch = list[dict[str, Any]]
"""Operations of a JSON Patch (RFC 6902)."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, or not as it should be."""

    code: str
    message: str
    path: str = ""
    """As people write it: `skills[0].name`."""
    pointer: str = ""
    """As JSON Pointer: `/skills/0/name`."""
    value: Any = None
    expected: str | None = None
    suggestions: tuple[str, ...] = ()
    patch: tuple[dict[str, Any], ...] = ()
    certain: bool = False
    """The patch is the only sensible reading, so it may be applied unasked."""
    constraint: Any = None

    def line(self) -> str:
        """The finding as one sentence with its place."""
        if not self.path:
            return f"Validation Error: {self.message}"
        told = f"{self.message} Attribute path: {self.path}."
        if self.constraint is None:
            return told
        return f"{told} Constraint: {msgspec.json.encode(self.constraint).decode()}"


class Report:
    """The outcome of a validation. Warnings do not make a record invalid."""

    __slots__ = ("_lookups", "errors", "more_errors", "more_warnings", "version", "warnings")

    def __init__(self, version: str) -> None:
        self.version = version
        """The version the record names."""
        self.errors: list[Finding] = []
        self.warnings: list[Finding] = []
        self.more_errors = 0
        self.more_warnings = 0
        self._lookups = 0

    @property
    def valid(self) -> bool:
        return not self.errors

    def lines(self) -> list[str]:
        """Errors first, then warnings, each with its prefix."""
        lines = [f"ERROR: {finding.line()}" for finding in self.errors]
        if self.more_errors:
            lines.append(f"ERROR: Validation Error: {self.more_errors} further errors are not listed.")
        lines += [f"WARNING: {finding.line()}" for finding in self.warnings]
        if self.more_warnings:
            lines.append(f"WARNING: Validation Error: {self.more_warnings} further warnings are not listed.")
        return lines

    def error(self, finding: Finding) -> None:
        if len(self.errors) < MOST_FINDINGS:
            self.errors.append(finding)
        else:
            self.more_errors += 1

    def warning(self, finding: Finding) -> None:
        if len(self.warnings) < MOST_FINDINGS:
            self.warnings.append(finding)
        else:
            self.more_warnings += 1

    def is_full(self) -> bool:
        """Whether a further error would only be counted; counts it then, so that nobody need put it into words."""
        if len(self.errors) < MOST_FINDINGS:
            return False
        self.more_errors += 1
        return True

    def may_search(self) -> bool:
        """Whether one more search for near names is within bounds; counts it."""
        self._lookups += 1
        return self._lookups <= MOST_LOOKUPS


def steps(place: Place) -> list[str | int]:
    """The keys from the record down to the place."""
    keys: list[str | int] = []
    while place is not None:
        place, key = place
        keys.append(key)
    keys.reverse()
    return keys


def path(place: Place) -> str:
    return _path_of([step if isinstance(step, int) else _short(step) for step in steps(place)])


def _path_of(keys: Sequence[str | int]) -> str:
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += f".{key}" if text else key
    return text


def _short(key: str) -> str:
    """A key may be as long as a record; what is said about it is not."""
    return key if len(key) <= MOST_OF_A_KEY else key[:MOST_OF_A_KEY] + "..."


def pointer(place: Place) -> str:
    return pointer_of(steps(place))


def pointer_of(keys: Sequence[str | int]) -> str:
    text = ""
    for key in keys:
        text += f"/{key}" if isinstance(key, int) else "/" + key.replace("~", "~0").replace("/", "~1")
    return text


def finding(code: str, message: str, place: Place, **facts: Any) -> Finding:
    """A finding at a place. A key too long to be repeated is not repaired either."""
    keys = steps(place)
    shortened = [key if isinstance(key, int) else _short(key) for key in keys]
    if shortened != keys:
        facts |= {"patch": (), "certain": False}
    return Finding(code, message, _path_of(shortened), pointer_of(shortened), **facts)
