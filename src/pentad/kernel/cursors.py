"""Cursors: where a listing stopped, as an opaque text that only fits the question it came from.

The digest is no secret: it only tells a changed cursor, or that of another question, from the right one. A cursor
carries no rights, and whoever reads one still looks at what it says.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, cast

_DIGEST_BYTES: Final = 9


def write_cursor(asked: tuple[object, ...], position: Sequence[str | float | None]) -> str:
    """The cursor that goes on behind a position; `asked` is all that makes the question this one."""
    payload = json.dumps(position, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_digest(asked, payload) + payload).rstrip(b"=").decode()


def read_cursor(asked: tuple[object, ...], cursor: str, longest: int) -> list[Any]:
    """The values of the position it means; ValueError for anything that is no cursor of this question."""
    if len(cursor) > longest:
        raise ValueError(cursor)
    raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    payload = raw[_DIGEST_BYTES:]
    if raw[:_DIGEST_BYTES] != _digest(asked, payload):
        raise ValueError(cursor)
    values = json.loads(payload)
    if not isinstance(values, list):
        raise ValueError(cursor)  # noqa: TRY004  all that is wrong with a cursor is answered alike
    return cast("list[Any]", values)


def _digest(asked: tuple[object, ...], payload: bytes) -> bytes:
    return hashlib.sha256(repr(asked).encode(errors="backslashreplace") + b"\0" + payload).digest()[:_DIGEST_BYTES]
