"""Content ids: the hash of a record's canonical JSON, byte for byte as AGNTCY's directory computes it.

The canonical form is that of Go's `encoding/json`, not RFC 8785: keys by code point, every number a float64 in Go's
shortest spelling, `<`, `>`, `&` and the two line separators escaped. An ordinary record is encoded by msgspec and
needs a few byte replacements; only records with fractions, huge integers, nulls or lone surrogates are walked.
"""

import base64
import hashlib
import math
import re
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.jcs import decimal_text

_PREFIX: Final = b"\x01\x01\x12\x20"  # CIDv1, the reference's codec, sha2-256, 32 bytes
_CID: Final = re.compile(r"baearei[a-h][a-z2-7]{50}[aeimquy4]")
_EXACT: Final = 2**53
_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")
# Numbers that Go may write differently. A string that looks like one costs time but never changes the result.
_PERHAPS_OTHER: Final = re.compile(rb"[:,\[]-?(?:\d{16}|\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)[,}\]])")
_ESCAPES: Final = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)
_encoder: Final = msgspec.json.Encoder(order="sorted")


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of plain JSON; InvalidInput for NaN, infinities and other types."""
    try:
        text = _spelled(value)
        for raw, escaped in _ESCAPES:
            if raw in text:
                text = text.replace(raw, escaped)
    except RecursionError:
        raise LimitExceeded("The JSON is nested too deeply.", hint="Flatten it.") from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise InvalidInput(f"This cannot be written as JSON: {error}.") from None
    return text


def cid_of(text: bytes) -> str:
    """The content id of canonical bytes."""
    digest = hashlib.sha256(text).digest()
    return "b" + base64.b32encode(_PREFIX + digest).decode("ascii").rstrip("=").lower()


def is_cid(text: str) -> bool:
    """Whether a text has the form of a content id."""
    return _CID.fullmatch(text) is not None


def _spelled(value: Any) -> bytes:
    try:
        text = _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _encoder.encode(_walked(value))
    # msgspec writes NaN and the infinities as null
    if not isinstance(value, dict) or b"null" in text or _PERHAPS_OTHER.search(text):
        return _encoder.encode(_walked(value))
    return text


def _walked(value: Any) -> Any:
    """The same JSON with every number as Go writes it and lone surrogates as Go reads them."""
    match value:
        case None | bool():
            return value
        case str():
            return _whole(value)
        case int():
            return value if -_EXACT <= value <= _EXACT else _number(float(value))
        case float():
            return _number(value)
        case dict():
            return {_whole(key): _walked(item) for key, item in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_walked(item) for item in cast("list[Any]", value)]
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON type")


def _whole(text: str) -> str:
    """The text with surrogate pairs joined and unpaired surrogates replaced."""
    if text.isascii() or not _HALF_PAIR.search(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _HALF_PAIR.sub("\ufffd", joined)


def _number(value: float) -> msgspec.Raw:
    if not math.isfinite(value):
        raise ValueError("a number is not finite")
    return msgspec.Raw(decimal_text(value).encode())
