"""Identifiers: sortable ones for rows (UUIDv7), unguessable ones for handles."""

import base64
import uuid

from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness

_CLOCK = SystemClock()
_RANDOMNESS = SystemRandomness()


def uuid7(clock: Clock = _CLOCK, randomness: Randomness = _RANDOMNESS) -> uuid.UUID:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then randomness."""
    return uuid.UUID(int=_version7(clock, randomness))


def uuid7_text(clock: Clock = _CLOCK, randomness: Randomness = _RANDOMNESS) -> str:
    """The same as it is written."""
    digits = f"{_version7(clock, randomness):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _version7(clock: Clock, randomness: Randomness) -> int:
    millis = int(clock.now() * 1000) & ((1 << 48) - 1)
    noise = int.from_bytes(randomness.token_bytes(10), "big")
    high = (noise >> 62) & 0xFFF
    low = noise & ((1 << 62) - 1)
    return (millis << 80) | (0x7 << 76) | (high << 64) | (0b10 << 62) | low


def opaque_id(randomness: Randomness = _RANDOMNESS, size: int = 24) -> str:
    """An unguessable handle of visible ASCII; 24 bytes are 192 bits."""
    return base64.urlsafe_b64encode(randomness.token_bytes(size)).rstrip(b"=").decode("ascii")
