"""Content-Encoding of requests: decompresses gzip and deflate, within the limits of a plain body."""

import asyncio
from typing import Final

from pentad.kernel.default_limits import KIB
from pentad.kernel.errors import InvalidInput, LimitExceeded, Unavailable
from pentad.net.content_encoding import BoundedBody
from pentad.net.request_body import BodyTooLarge

ACCEPTED: Final = b"gzip, deflate"
MAX_RATIO: Final = 100
_PLAIN: Final = frozenset({"", "identity"})
_KNOWN: Final = frozenset({"gzip", "x-gzip", "deflate"})
_QUICK_BYTES: Final = 16 * KIB
"""Smaller bodies are decompressed faster than a thread could start."""


class UnsupportedEncoding(InvalidInput):
    """A body in an unknown encoding."""

    code = "unsupported_content_encoding"
    http_status = 415


class DamagedBody(InvalidInput):
    """A compressed body that cannot be decompressed."""

    code = "damaged_body"
    http_status = 400


def encoding_of(header: bytes) -> str | None:
    """The encoding to decompress, None if there is none. Raises for an unknown one before the body is read."""
    name = header.strip(b" \t").decode("latin-1").lower()
    if name in _PLAIN:
        return None
    if name not in _KNOWN:
        raise UnsupportedEncoding(
            f"The body's Content-Encoding {name[:40]!r} is not supported.",
            hint="Send it plain, or as gzip or deflate.",
        )
    return name


async def inflated(body: bytes, encoding: str, limit: int) -> bytes:
    """The decompressed body, at most `limit` bytes."""
    if len(body) <= _QUICK_BYTES:
        return _inflate(body, encoding, limit)
    return await asyncio.to_thread(_inflate, body, encoding, limit)


def _inflate(body: bytes, encoding: str, limit: int) -> bytes:
    unfolding = BoundedBody(encoding, max_bytes=limit, max_ratio=MAX_RATIO)
    try:
        unfolding.feed(body)
        return unfolding.finish()
    except LimitExceeded:
        raise BodyTooLarge(
            f"The request's body expands to more than {limit} bytes, or to more than {MAX_RATIO} times its size.",
            hint="Send less at once, or send it plain.",
        ) from None
    except Unavailable:
        raise DamagedBody(
            "The request's compressed body is damaged.", hint="Compress it again, or send it plain."
        ) from None
