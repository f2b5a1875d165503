"""Decompresses a body while it arrives, so that a small one cannot expand into a huge one.

Both the decompressed size and the ratio to the received size are limited; no step produces more than one block beyond
the limit.
"""

import zlib
from typing import Final, Protocol

from pentad.kernel.default_limits import KIB
from pentad.kernel.errors import LimitExceeded, Unavailable

ACCEPTED: Final = "gzip, deflate"
BLOCK: Final = 64 * KIB
FREE_BYTES: Final = 256 * KIB
"""Below this size the ratio does not matter: even a short text of blanks can shrink a thousandfold."""


class Inflater(Protocol):
    """The part of zlib's decompression object used here."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    @property
    def unconsumed_tail(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class BoundedBody:
    """Collects a body of at most `max_bytes`, decoded."""

    def __init__(self, encoding: str, *, max_bytes: int, max_ratio: int) -> None:
        self._encoding = encoding.strip().lower()
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise Unavailable("The response has an encoding that was not requested.", hint="Only gzip and deflate.")
        self._max_bytes = max_bytes
        self._max_ratio = max_ratio
        self._decoder = None if self._encoding in ("", "identity") else self._new_decoder(b"\x78")
        self._parts: list[bytes] = []
        self._received = 0
        self._size = 0

    @property
    def is_encoded(self) -> bool:
        return self._decoder is not None

    def feed(self, data: bytes) -> None:
        """Take the next bytes from the wire."""
        if self._decoder is None:
            self._keep(data)
            return
        if self._received == 0 and data:
            self._decoder = self._new_decoder(data)
        self._received += len(data)
        try:
            self._unfold(data)
        except zlib.error:
            raise Unavailable("The response's compressed body is damaged.", hint="Try again.") from None

    def finish(self) -> bytes:
        """The whole body, once the wire has ended."""
        if self._decoder is not None and self._received and not self._decoder.eof:
            raise Unavailable("The response's compressed body ends too early.", hint="Try again.")
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def _unfold(self, data: bytes) -> None:
        decoder = self._decoder
        while decoder is not None:
            unfolded = decoder.decompress(data, BLOCK)
            self._keep(unfolded)
            self._check_ratio()
            if decoder.eof:
                data = decoder.unused_data
                if not data or self._encoding == "deflate":
                    return
                decoder = self._decoder = self._new_decoder(data)  # gzip allows several members in a row
                continue
            data = decoder.unconsumed_tail
            if not data and len(unfolded) < BLOCK:  # a full block may leave output behind without input
                return

    def _check_ratio(self) -> None:
        if self._size > FREE_BYTES and self._size > self._received * self._max_ratio:
            raise LimitExceeded(
                f"The response expands to more than {self._max_ratio} times its size.", hint="See fetch.max_ratio."
            )

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._max_bytes:
            raise too_large(self._max_bytes)
        if data:
            self._parts.append(data)

    def _new_decoder(self, first: bytes) -> Inflater:
        if self._encoding == "deflate":
            # Some servers send the zlib wrapper that the standard requires, others bare deflate. See the first nibble.
            return zlib.decompressobj(zlib.MAX_WBITS if first[0] & 0x0F == 8 else -zlib.MAX_WBITS)
        return zlib.decompressobj(zlib.MAX_WBITS | 16)


def too_large(max_bytes: int) -> LimitExceeded:
    return LimitExceeded(
        f"The response is larger than {max_bytes} bytes.", hint="Ask for less, or raise fetch.max_bytes."
    )
