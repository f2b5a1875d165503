"""UUIDs for many new objects at once: version 7 as `kernel.ids` makes them, with one request for randomness in all.

They ascend, so that every index on them is written at its end.
"""

from collections.abc import Iterator
from typing import Final

from pentad.kernel.clock import Randomness, SystemRandomness

_RANDOMNESS: Final = SystemRandomness()
_DIGITS: Final = 20
_VARIANTS: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def fresh_uuids(now: float, count: int, randomness: Randomness = _RANDOMNESS) -> Iterator[str]:
    """`count` texts of UUIDs made at `now`, the smallest first."""
    millis = f"{int(now * 1000) & ((1 << 48) - 1):012x}"
    head = f"{millis[:8]}-{millis[8:]}-7"
    noise = randomness.token_bytes(count * _DIGITS // 2).hex()
    parts = [noise[start : start + _DIGITS] for start in range(0, len(noise), _DIGITS)]
    return iter(sorted([f"{head}{part[:3]}-{_VARIANTS[part[3]]}{part[4:7]}-{part[7:19]}" for part in parts]))
