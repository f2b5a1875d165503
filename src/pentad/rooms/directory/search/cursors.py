"""Cursors: where a listing stopped, as an opaque text that only fits the question it came from.

The digest is no secret: it only tells a changed cursor, or that of another question, from the right one.
"""

import base64
import hashlib
import json
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.search.query import Query

_DIGEST_BYTES: Final = 9
_LONGEST: Final = 2_000
_LARGEST: Final = 2**62


def write_cursor(query: Query, position: tuple[int, ...]) -> str:
    """The cursor that goes on behind a position."""
    payload = json.dumps(position, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_digest(query, payload) + payload).rstrip(b"=").decode()


def read_cursor(query: Query, shortest: int, longest: int) -> tuple[int, ...] | None:
    """The position a query's cursor means, of so many numbers; None without a cursor."""
    if query.cursor is None:
        return None
    try:
        if len(query.cursor) > _LONGEST:
            raise ValueError(query.cursor)
        raw = base64.b64decode(query.cursor + "=" * (-len(query.cursor) % 4), altchars=b"-_", validate=True)
        payload = raw[_DIGEST_BYTES:]
        if raw[:_DIGEST_BYTES] != _digest(query, payload):
            raise ValueError(query.cursor)
        return _position(json.loads(payload), shortest, longest)
    except (ValueError, TypeError):
        raise InvalidInput(
            "The cursor does not belong to this search.",
            hint="Send it back unchanged, with the same filters, words and sort; or leave it out to start again.",
        ) from None


def _position(values: Any, shortest: int, longest: int) -> tuple[int, ...]:
    """The digest can be computed by anyone, so what it covers is still looked at."""
    if not isinstance(values, list):
        raise TypeError(values)
    listed = cast("list[Any]", values)
    if not shortest <= len(listed) <= longest or not all(type(v) is int and 0 <= v < _LARGEST for v in listed):
        raise ValueError(listed)
    return tuple(listed)


def _digest(query: Query, payload: bytes) -> bytes:
    asked = (query.filters, query.words, query.match, query.order, query.id_version)
    return hashlib.sha256(repr(asked).encode(errors="backslashreplace") + b"\0" + payload).digest()[:_DIGEST_BYTES]
