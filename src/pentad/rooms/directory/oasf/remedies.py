"""What a wrong value most likely should have been.

Pure guesses about single values, and how sure each is. A guess is certain only when the value says the same thing in
another spelling: case, hyphens, a number in quotes, a time with a space. Nothing here invents content.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, Final

from pentad.kernel.names import nearest

NOTHING: Final = object()
"""There is no guess."""

_RENAMED: Final = {
    "docker_image": "container_image",
    "container_image": "docker_image",
    "python_package": "package",
    "local": "stdio",
    "http": "streamable-http",
}
"""Values one version calls so and another otherwise."""

_SURE: Final = 0.88
_SPACING: Final = re.compile(r"[\s_\-]+")
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?")
_TIME: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d+)? ?([Zz]|UTC|GMT|[+-]\d{2}:?\d{2})?", re.ASCII
)


def folded(text: str) -> str:
    """The text without what spellings differ in: case, hyphens, underscores and spaces."""
    return _SPACING.sub("", text).casefold()


@lru_cache(maxsize=8192)
def folded_name(name: str) -> str:
    """The same for a name of the tables: those are compared again and again."""
    return folded(name)


def converted(value: Any, kind: str) -> Any:
    """The same value in another scalar type, where nothing is lost; NOTHING otherwise."""
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return NOTHING
    text = value.strip()
    if kind == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "number" and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return NOTHING


def spelled(value: str, known: Iterable[str]) -> str | None:
    """The known value that is the same but for its spelling, or was renamed to."""
    allowed = list(known)
    whole = folded(value)
    same = [candidate for candidate in allowed if folded_name(candidate) == whole]
    if len(same) == 1:
        return same[0]
    renamed = _RENAMED.get(value.replace("-", "_").lower())
    return renamed if renamed in allowed else None


def misspelled(name: str, known: Iterable[str]) -> tuple[list[str], bool]:
    """Known names near a name, best first, and whether the first is surely meant."""
    candidates = list(known)
    if (same := spelled(name, candidates)) is not None:
        return [same], True
    near = nearest(name, candidates, limit=3)
    sure = bool(near) and SequenceMatcher(None, name.casefold(), near[0].casefold()).ratio() >= _SURE
    return near, sure and len(name) >= 4


def timed(text: str) -> str | None:
    """A time in RFC 3339, if it is one but for its punctuation."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    day, minutes, seconds, fraction, zone = match.groups()
    if zone and zone[0] in "+-" and ":" not in zone:
        zone = f"{zone[:3]}:{zone[3:]}"
    elif zone and zone[0] not in "+-":
        zone = "Z"
    return f"{day}T{minutes}{seconds or ':00'}{fraction or ''}{zone or ''}"
