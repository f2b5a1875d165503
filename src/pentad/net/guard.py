"""The watch over all connections of one server: a coarse clock, deadlines, and a count per peer address.

Slow clients are closed by one sweep over the connections instead of a timer per request, so that the guard costs a
request no more than a few attribute writes. Knows no HTTP; `protocol.py` says what a connection is waiting for.
"""

from collections.abc import Iterable
from math import inf
from typing import Final, Protocol

from pentad.kernel.limits import Limits
from pentad.net.peers import counted_as

WRITE_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 2.0
TICKS_PER_SECOND: Final = 10
SWEEPS_WITHIN_SHORTEST_LIMIT: Final = 4


class Guarded(Protocol):
    """A connection as the sweep sees it."""

    deadline: float
    write_deadline: float

    def overdue(self) -> None:
        """What was awaited from the peer did not come."""
        ...

    def unread(self) -> None:
        """The peer has not read enough of its answer."""
        ...


class Guard:
    """Shared by the connections of one server; `now` moves only when the server ticks."""

    def __init__(self, limits: Limits, now: float, *, write_seconds: float = WRITE_SECONDS) -> None:
        self.now = now
        self.header_bytes = limits.header_bytes
        self.header_seconds = limits.header_seconds or inf
        self.linger_seconds = min(LINGER_SECONDS, self.header_seconds)
        self.keep_alive_seconds = limits.keep_alive_seconds or inf
        self.write_seconds = write_seconds or inf
        self.write_floor = limits.body_bytes_per_second
        self.connections_per_address = limits.connections_per_address or inf
        shortest = min(self.header_seconds, self.keep_alive_seconds, self.write_seconds, 4.0)
        self._ticks_per_sweep = max(1, int(shortest * TICKS_PER_SECOND / SWEEPS_WITHIN_SHORTEST_LIMIT))
        self._ticks = 0
        self._by_address: dict[str, int] = {}

    def tick(self, now: float, connections: Iterable[Guarded]) -> None:
        """Move the clock; every so many ticks, look at every connection."""
        self.now = now
        self._ticks += 1
        if self._ticks % self._ticks_per_sweep:
            return
        for connection in tuple(connections):
            if connection.write_deadline <= now:
                connection.unread()
            elif connection.deadline <= now:
                connection.overdue()

    def admit(self, address: str) -> bool:
        """Count one more connection of an address, unless it has as many as it may."""
        key = counted_as(address)
        count = self._by_address.get(key, 0)
        if count >= self.connections_per_address:
            return False
        self._by_address[key] = count + 1
        return True

    def release(self, address: str) -> None:
        """Forget one admitted connection."""
        key = counted_as(address)
        left = self._by_address[key] - 1
        if left:
            self._by_address[key] = left
        else:
            del self._by_address[key]
