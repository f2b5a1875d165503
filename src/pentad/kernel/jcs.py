"""Canonical JSON (RFC 8785), which has the same bytes in every language, for hashes and signatures.

Keys are sorted by UTF-16 code units. Numbers are doubles as ECMAScript writes them: 42 and 42.0 are the same, and an
integer beyond 2^53 becomes the nearest double, so send exact ones as text. The standard library encodes most values;
only those with fractions, huge integers or characters beyond the first plane need a walk.
"""

import json
import math
import re
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded

EXACT: Final = 2**53
"""Integers up to this one are exact as doubles."""

# Numbers that may be written differently. A string that looks like one costs time but never changes the result.
_PERHAPS_OTHER: Final = re.compile(r"[:,\[]-?(?:\d{16}|\d+[.eE])")
_BEYOND_FIRST_PLANE: Final = re.compile("[\U00010000-\U0010ffff]")
_encoder: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> bytes:
    """The canonical bytes of plain JSON; InvalidInput for values that are not JSON, LimitExceeded if too deep."""
    try:
        return _spelled(value).encode()
    except RecursionError:
        raise LimitExceeded("The JSON is nested too deeply.", hint="Flatten it.") from None
    except UnicodeEncodeError:
        raise InvalidInput("A text has half of a surrogate pair.", hint="Write the character as UTF-8.") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"This cannot be written as JSON: {error}.") from None


def decimal_text(value: float) -> str:
    """The shortest digits that read back as the same number; an exponent below 1e-6 and from 1e21 on."""
    text = repr(value)
    mantissa, has_exponent, exponent = text.partition("e")
    if not has_exponent:
        return text.removesuffix(".0")
    power = int(exponent)
    if not -6 <= power < 21:
        return f"{mantissa}e{power:+d}"
    sign = "-" if value < 0 else ""
    digits = mantissa.lstrip("-").replace(".", "")
    return f"{sign}{digits.ljust(power + 1, '0')}" if power > 0 else f"{sign}0.{'0' * (-power - 1)}{digits}"


def _spelled(value: Any) -> str:
    if not isinstance(value, dict | list):
        return _walked(value)
    text = _encoder.encode(value)
    if _PERHAPS_OTHER.search(text) or (not text.isascii() and _BEYOND_FIRST_PLANE.search(text)):
        return _walked(cast("Any", value))
    return text


def _walked(value: Any) -> str:
    match value:
        case None | bool() | str():
            return _encoder.encode(value)
        case int():
            return str(value) if -EXACT <= value <= EXACT else _number(float(value))
        case float():
            return _number(value)
        case list() | tuple():
            return f"[{','.join(_walked(one) for one in cast('list[Any]', value))}]"
        case dict():
            members = sorted(cast("dict[str, Any]", value).items(), key=_by_code_units)
            return "{" + ",".join(f"{_encoder.encode(key)}:{_walked(one)}" for key, one in members) + "}"
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON type")


def _by_code_units(member: tuple[str, Any]) -> bytes:
    key = member[0]
    if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]  callers pass any value
        raise TypeError("a key is not a text")
    return key.encode("utf-16-be")


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("a number is not finite")
    return decimal_text(value) if value else "0"
