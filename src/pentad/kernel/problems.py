"""Problems in a JSON document and how to fix them: findings, the nearest valid name or value, and patches.

A finding names a place and says what was expected. It may suggest names or values and carry a JSON Patch (RFC 6902). A
patch is certain only when the document says the same thing in another spelling: case, hyphens, a number in quotes, a
time with a space. Patches never invent content.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import msgspec

from pentad.kernel import json_pointer
from pentad.kernel.names import nearest, similarity

LONGEST_KEY: Final = 200
"""Longer keys are cut in messages and never patched."""

NO_VALUE: Final = object()
"""Means "no suggestion", because None is a JSON value."""

Place = tuple[Any, str | int] | None
"""The position of a value: the place of its container, and its key or index there; None is the document itself.

A chain costs nothing while a document is valid; it becomes text only when something is wrong.
"""

Patch = list[dict[str, Any]]
"""The operations of a JSON Patch."""

_CERTAIN_RATIO: Final = 0.88
_CLOSE_RATIO: Final = 0.7
_CLEAR_LEAD: Final = 0.08
_MOST_COMPARED: Final = 500
_SPACING: Final = re.compile(r"[\s_\-]+")
_JSON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
_LONGEST_JSON: Final = 10_000
_TIME: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d+)? ?([Zz]|UTC|GMT|[+-]\d{2}:?\d{2})?", re.ASCII
)
_NO_RENAMES: Final[Mapping[str, str]] = MappingProxyType({})


class Finding(msgspec.Struct, frozen=True):
    """One error or warning about a document."""

    code: str
    message: str
    path: str = ""
    """Human-readable: `skills[0].name`."""
    pointer: str = ""
    """The JSON Pointer: `/skills/0/name`."""
    value: Any = None
    expected: str | None = None
    suggestions: tuple[Any, ...] = ()
    """Valid names or values close to the wrong one, best first."""
    patch: tuple[dict[str, Any], ...] = ()
    certain: bool = False
    """The patch is the only sensible interpretation, so it can be applied without asking."""
    constraint: Any = None

    def line(self) -> str:
        """The finding as one sentence with its place."""
        if not self.path:
            return f"Validation Error: {self.message}"
        text = f"{self.message} Attribute path: {self.path}."
        if self.constraint is None:
            return text
        return f"{text} Constraint: {msgspec.json.encode(self.constraint).decode()}"

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON, without nulls, empty texts and false."""
        fields = msgspec.to_builtins(self)
        return {key: value for key, value in fields.items() if value not in (None, "", False)}


def finding(code: str, message: str, place: Place, **fields: Any) -> Finding:
    """Make a finding at a place. If a key is too long to repeat, the finding has no patch."""
    keys = steps(place)
    shortened = [_short(key) for key in keys]
    if shortened != keys:
        fields |= {"patch": (), "certain": False}
    return Finding(code, message, _path_text(shortened), json_pointer.pointer(shortened), **fields)


def steps(place: Place) -> list[str | int]:
    """The keys from the document down to the place."""
    keys: list[str | int] = []
    while place is not None:
        place, key = place
        keys.append(key)
    keys.reverse()
    return keys


def path(place: Place) -> str:
    """The place in human-readable form: `skills[0].name`."""
    return _path_text([_short(key) for key in steps(place)])


def pointer(place: Place) -> str:
    """The place as a JSON Pointer."""
    return json_pointer.pointer(steps(place))


def replacement(place: Place, value: Any) -> Patch:
    """The patch that replaces the value at a place."""
    return [{"op": "replace", "path": pointer(place), "value": value}]


def fold(text: str) -> str:
    """The text normalised for comparing spellings: without case, hyphens, underscores and spaces."""
    return _SPACING.sub("", text).casefold()


@lru_cache(maxsize=8192)
def fold_known(name: str) -> str:
    """`fold`, cached, for known names that are compared again and again."""
    return fold(name)


def same_spelling(value: str, known: Iterable[str], renamed: Mapping[str, str] = _NO_RENAMES) -> str | None:
    """The known value that differs only in spelling, or that `renamed` maps the value to."""
    allowed = list(known)
    folded = fold(value)
    same = [candidate for candidate in allowed if fold_known(candidate) == folded]
    if len(same) == 1:
        return same[0]
    new_name = renamed.get(value.replace("-", "_").lower())
    return new_name if new_name in allowed else None


def nearest_names(
    name: str, known: Iterable[str], renamed: Mapping[str, str] = _NO_RENAMES
) -> tuple[list[str], bool]:  # fmt: skip
    """Up to three known names close to a name, best first, and whether the first one is certain."""
    candidates = list(known)
    if (same := same_spelling(name, candidates, renamed)) is not None:
        return [same], True
    near = nearest(name, candidates, limit=3)
    close = bool(near) and similarity(name.casefold(), near[0].casefold()) >= _CERTAIN_RATIO
    return near, close and len(name) >= 4


def closest_value(value: Any, options: Sequence[Any]) -> Any:
    """The intended option, or NO_VALUE: another spelling, another type, or by far the most similar text."""
    if not isinstance(value, str):
        return next((option for option in options if isinstance(option, str) and option == str(value)), NO_VALUE)
    folded = value.strip().casefold()
    same = [option for option in options if str(option).strip().casefold() == folded]
    if same:
        return same[0] if len(same) == 1 else NO_VALUE
    texts = [option for option in options[:_MOST_COMPARED] if isinstance(option, str)]
    scored = sorted(((similarity(folded[:200], option.casefold()), option) for option in texts), reverse=True)
    if scored and scored[0][0] >= _CLOSE_RATIO and (len(scored) == 1 or scored[0][0] - scored[1][0] >= _CLEAR_LEAD):
        return scored[0][1]
    return NO_VALUE


def convert_value(value: Any, kind: str) -> Any:
    """The value converted to another JSON type (`integer`, `array`, ...) if nothing is lost, else NO_VALUE."""
    if isinstance(value, str):
        return _convert_text(value.strip(), kind)
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return str(value)
    if kind == "integer" and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return NO_VALUE


def _convert_text(text: str, kind: str) -> Any:
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind == "null" and text in ("", "null"):
        return None
    types = _JSON_TYPES.get(kind)
    if types is None or len(text) > _LONGEST_JSON:
        return NO_VALUE
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return NO_VALUE
    if isinstance(value, int) and abs(value) >= 2**63:
        return NO_VALUE
    return value if isinstance(value, types) and not isinstance(value, bool) else NO_VALUE


def as_rfc3339(text: str) -> str | None:
    """The time in RFC 3339 form, if only its punctuation is wrong."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    day, minutes, seconds, fraction, zone = match.groups()
    if zone and zone[0] in "+-" and ":" not in zone:
        zone = f"{zone[:3]}:{zone[3:]}"
    elif zone and zone[0] not in "+-":
        zone = "Z"
    return f"{day}T{minutes}{seconds or ':00'}{fraction or ''}{zone or ''}"


def _path_text(keys: Sequence[str | int]) -> str:
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += f".{key}" if text else key
    return text


def _short(key: str | int) -> str | int:
    return key if isinstance(key, int) or len(key) <= LONGEST_KEY else key[:LONGEST_KEY] + "..."
