"""Sort keys for versions and times: v9 before v10, 1.0.0-rc.1 before 1.0.0.

Both stores compare keys by bytes. The order is that of Semantic Versioning for anything that resembles it: a leading
`v`, fewer or more than three numbers (missing ones are 0) and dates with dashes are understood, and anything after a
`+` is ignored. All other texts sort before every version, alphabetically.
"""

import re
from typing import Final

from pentad.kernel.clock import parse_iso

_VERSION: Final = re.compile(
    r"v?(\d+(?:\.\d+)*)(?:-([0-9a-z.-]+)|\.?([a-z][0-9a-z.-]*))?(?:\+.*)?", re.ASCII | re.DOTALL
)
_DATE: Final = re.compile(r"v?(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_MOMENT: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})?)?", re.ASCII
)
_LONGEST_NUMBER: Final = 99

# Marks, in the order in which they must sort: end of an identifier, pre-release, end of a release, the next number.
_END, _EARLY, _FINAL = "!", "#", "/"
_OTHER, _KNOWN = "0", "1"
_NUMERIC, _ALPHANUMERIC = "0", "1"


def version_key(version: str) -> str:
    """A text that sorts like the version; equal for versions of equal precedence."""
    text = version.strip().lower()
    if dated := _DATE.fullmatch(text):
        numbers, early = list(dated.groups()), ""
    elif found := _VERSION.fullmatch(text):
        numbers, early = found[1].split("."), found[2] or found[3] or ""
    else:
        return _OTHER + text
    numbers = [number.lstrip("0") for number in numbers]
    identifiers = early.split(".") if early else []
    if any(len(number) > _LONGEST_NUMBER for number in (*numbers, *identifiers)):
        return _OTHER + text
    while numbers and not numbers[-1]:
        numbers.pop()
    release = _KNOWN + "".join(map(_number, numbers))
    return release + (_EARLY + "".join(map(_identifier, identifiers)) if identifiers else _FINAL)


def is_version(key: str) -> bool:
    """Whether a key is that of a version with numbers, rather than of other text."""
    return key.startswith(_KNOWN)


def created_key(text: str) -> float | None:
    """Seconds since the epoch of an RFC 3339 time or a plain date, in UTC unless it says otherwise; None for others."""
    if _MOMENT.fullmatch(text) is None:
        return None
    try:
        return parse_iso(text.upper()).timestamp()
    except (ValueError, OverflowError):
        return None


def _number(digits: str) -> str:
    return f"{len(digits):02d}{digits}"


def _identifier(text: str) -> str:
    if text.isdecimal():
        return _NUMERIC + _number(text.lstrip("0")) + _END
    return _ALPHANUMERIC + text + _END
