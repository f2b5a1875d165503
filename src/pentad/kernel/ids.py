"""Identifiers: sortable ones for rows (UUIDv7), unguessable ones for handles and tokens."""

import hashlib
import uuid

from pentad.kernel import base64url
from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness

_CLOCK = SystemClock()
_RANDOMNESS = SystemRandomness()
_TICKS = (1 << 60) - 1
_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}


def uuid7(clock: Clock = _CLOCK, randomness: Randomness = _RANDOMNESS) -> uuid.UUID:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, 12 bits of their fraction, then randomness.

    With the fraction, ids of the same millisecond also sort by time.
    """
    return uuid.UUID(uuid7_text(clock, randomness))


def uuid7_text(clock: Clock = _CLOCK, randomness: Randomness = _RANDOMNESS) -> str:
    """`uuid7` as text."""
    time = f"{int(clock.now() * 4_096_000) & _TICKS:015x}"
    noise = randomness.token_bytes(8).hex()
    return f"{time[:8]}-{time[8:12]}-7{time[12:]}-{_VARIANT[noise[0]]}{noise[1:4]}-{noise[4:]}"


def opaque_id(randomness: Randomness = _RANDOMNESS, size: int = 24) -> str:
    """An unguessable handle of letters, digits, `-` and `_`; 24 bytes give 191 bits.

    It begins with a letter, so that no command line mistakes it for an option: clearing the first bit leaves A to f.
    """
    noise = randomness.token_bytes(size)
    return base64url.encode(bytes((noise[0] & 0x7F,)) + noise[1:])


def token_digest(token: str) -> bytes:
    """The hash of a token, which a store keeps in its place. A token cannot be guessed, so a fast hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
