"""Cursors: where a listing stopped, as an opaque text that only fits the question it came from.

A cursor carries no rights: the scope is applied again wherever it is used. Its digest covers the question, so that a
cursor of another question, or a changed one, is refused instead of giving an odd page.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any, cast

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.query.ordering import Position
from pentad.rooms.registers.query.tree import Kind, Query, Scope

_DIGEST_BYTES = 9
_LONGEST = 20_000


def write_cursor(scope: Scope, query: Query, position: Position) -> str:
    """The cursor that goes on behind a position."""
    payload = json.dumps(position, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_digest(scope, query, payload) + payload).rstrip(b"=").decode()


def read_cursor(scope: Scope, query: Query, kinds: Sequence[Kind]) -> Position | None:
    """The position a query's cursor means: one value of each kind; None without a cursor."""
    if query.cursor is None:
        return None
    try:
        if len(query.cursor) > _LONGEST:
            raise ValueError(query.cursor)
        raw = base64.b64decode(query.cursor + "=" * (-len(query.cursor) % 4), altchars=b"-_", validate=True)
        payload = raw[_DIGEST_BYTES:]
        if raw[:_DIGEST_BYTES] != _digest(scope, query, payload):
            raise ValueError(query.cursor)
        return _position(json.loads(payload), kinds)
    except ValueError:
        raise InvalidInput(
            "The cursor does not belong to this question.",
            hint="Send it back unchanged, with the same filter, search and sort; or leave it out to start again.",
        ) from None


def _position(values: Any, kinds: Sequence[Kind]) -> Position:
    """The digest is no secret, so what it covers is still looked at."""
    for value, kind in zip(values, kinds, strict=True):
        if value is not None and not isinstance(value, str if kind in ("text", "moment") else (int, float)):
            raise ValueError(value)
    if not isinstance(values[-1], int):
        raise ValueError(values)  # noqa: TRY004  all that is wrong with a cursor is answered alike
    return tuple(cast("list[str | int | float | None]", values))


def _digest(scope: Scope, query: Query, payload: bytes) -> bytes:
    asked = (scope.register, scope.schemas, query.filter, query.search, query.sort, query.as_of, query.include_deleted)
    return hashlib.sha256(repr(asked).encode(errors="backslashreplace") + b"\0" + payload).digest()[:_DIGEST_BYTES]
