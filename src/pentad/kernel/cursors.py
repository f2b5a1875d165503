"""Cursors: positions in a listing, as opaque text. A cursor carries no rights, and its values must still be checked.

Those of `write_cursor` are valid only for the query they came from. Their digest is not a secret; it only detects
cursors that were changed or belong to another query.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

import msgspec

from pentad.kernel import base64url

_DIGEST_BYTES: Final = 9
T = TypeVar("T")


def pack(position: object) -> str:
    """The cursor with this position."""
    return base64url.encode(msgspec.json.encode(position))


def unpack(cursor: str, kind: type[T]) -> T:
    """The position in a cursor; ValueError if it has another type."""
    try:
        return msgspec.json.decode(base64url.decode(cursor), type=kind)
    except msgspec.MsgspecError as error:
        raise ValueError(cursor) from error


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
