"""The embedded OASF versions, and which of them serves the version that a record names.

Patch releases do not change the schema, so the tables of 0.7.0 serve 0.7.5. The newest 1.x serves any later 1.x, and
the report says so.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

Family = Literal["skill", "domain", "module"]

EMBEDDED: Final = ("0.3.1", "0.7.0", "0.8.0", "1.0.0", "1.1.0")
NEWEST: Final = EMBEDDED[-1]

_SHARED: Final[dict[tuple[str, str], str]] = {
    ("skills", "1.0.0"): "0.8.0",
    ("domains", "1.0.0"): "0.8.0",
    ("modules", "1.1.0"): "1.0.0",
    ("objects", "1.1.0"): "1.0.0",
    ("types", "1.1.0"): "1.0.0",
}
"""Tables that are the same as those of an earlier version."""

_SEMVER: Final = re.compile(
    r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"
)

Standing = Literal[
    "same", "version_earlier", "version_later", "version_incompatible_later", "version_incompatible_prerelease"
]


@dataclass(frozen=True, slots=True)
class EmbeddedVersion:
    """The embedded version that serves a version, and how the two relate."""

    version: str
    standing: Standing


def table_version(table: str, version: str) -> str:
    """The version whose file holds a table of an embedded version."""
    return _SHARED.get((table, version), version)


@lru_cache(maxsize=512)
def numbers(version: str) -> tuple[int, int, int, str] | None:
    """Major, minor, patch and pre-release tag, or None if it is not a semantic version."""
    match = _SEMVER.fullmatch(version)
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3]), match[4] or ""


@lru_cache(maxsize=512)
def embedded_version(version: str) -> EmbeddedVersion | None:
    """The embedded version that serves the version a record names; None if there is none."""
    if version in EMBEDDED:
        return EmbeddedVersion(version, "same")
    requested = numbers(version)
    if requested is None:
        return None
    line = next((known for known in EMBEDDED if _line(known) == requested[:2]), None)
    if line is None and requested[0] == 1:
        return EmbeddedVersion(
            NEWEST, "version_incompatible_prerelease" if requested[3] else "version_incompatible_later"
        )
    if line is None:
        return None
    if requested[3]:
        return EmbeddedVersion(line, "version_incompatible_prerelease")
    known = numbers(line)
    return EmbeddedVersion(line, "version_earlier" if known and requested[:3] < known[:3] else "version_later")


def _line(version: str) -> tuple[int, int] | None:
    known = numbers(version)
    return None if known is None else known[:2]
