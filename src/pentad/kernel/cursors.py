"""Cursors: positions in a listing, as opaque text that is valid only for the query it came from.

The digest is not a secret; it only detects cursors that were changed or belong to another query. A cursor carries no
rights, and its values must still be checked.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, cast

from pentad.kernel import base64url

_DIGEST_BYTES: Final = 9


def write_cursor(query: tuple[object, ...], position: Sequence[str | float | None]) -> str:
    """The cursor that continues after a position; `query` holds everything that identifies the query."""
    payload = json.dumps(position, ensure_ascii=False, separators=(",", ":")).encode()
    return base64url.encode(_digest(query, payload) + payload)


def read_cursor(query: tuple[object, ...], cursor: str, longest: int) -> list[Any]:
    """The values of the position; ValueError if it is not a cursor of this query."""
    if len(cursor) > longest:
        raise ValueError(cursor)
    raw = base64url.decode(cursor)
    payload = raw[_DIGEST_BYTES:]
    if raw[:_DIGEST_BYTES] != _digest(query, payload):
        raise ValueError(cursor)
    values = json.loads(payload)
    if not isinstance(values, list):
        raise ValueError(cursor)  # noqa: TRY004  every bad cursor is the same error
    return cast("list[Any]", values)


def _digest(query: tuple[object, ...], payload: bytes) -> bytes:
    return hashlib.sha256(repr(query).encode(errors="backslashreplace") + b"\0" + payload).digest()[:_DIGEST_BYTES]
