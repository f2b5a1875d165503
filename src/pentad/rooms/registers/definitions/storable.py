"""The JSON text of an object, and what no store could keep: found before anything is written.

Text is as msgspec writes it, key order kept. A NUL character and a number beyond a double's range are valid JSON that
PostgreSQL cannot index, so both are refused on every store alike. A number such as 1e400 is read as infinite and would
be written as null, so every null is looked at twice.
"""

import math
from collections.abc import Iterator
from typing import Any, Final, cast

import msgspec

from pentad.kernel.schema import Path
from pentad.rooms.registers.definitions.problems import Problem

_encode: Final = msgspec.json.Encoder().encode
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_TOO_MANY_DIGITS: Final = b"0" * 309
_EVERY: Final = 100
_SAMPLE: Final = b"000"
"""Three digits in a row of every hundredth character: a number that is too long has them, hardly anything else does."""
_LARGEST: Final = 10**308


def text_of(data: Any) -> tuple[str, Problem | None]:
    """The text, and the problem that keeps it from being stored."""
    try:
        raw = _encode(data)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return "", Problem((), "json", "is not plain JSON")
    suspicious = (
        (b"\\" in raw and b"\\u0000" in raw)
        or ((nulls := raw.count(b"null")) and nulls != _nulls(data))
        or (_SAMPLE in raw[::_EVERY].translate(_DIGITS) and _TOO_MANY_DIGITS in raw.translate(_DIGITS))
    )
    return raw.decode(), (next(_unstorable(data, ()), None) if suspicious else None)


def _nulls(data: Any) -> int:
    """The nulls of the first level, where nearly all of them are: what is more is looked for."""
    return list(cast("dict[str, Any]", data).values()).count(None) if isinstance(data, dict) else 0


def _unstorable(value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, str) and "\0" in value:
        yield Problem(path, "text", "contains a NUL character, which cannot be stored")
    elif (isinstance(value, int) and abs(value) > _LARGEST) or (isinstance(value, float) and not math.isfinite(value)):
        yield Problem(path, "number", "is a number too large to be compared or stored")
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            yield from _unstorable(name, (*path, name))
            yield from _unstorable(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from _unstorable(inner, (*path, index))
