"""Limits over all connections of one server: a coarse clock, deadlines, and a count per client address.

A periodic sweep closes slow connections, so no request needs a timer: the guard costs a request only a few attribute
writes. It knows nothing about HTTP; `http_protocol.py` says what a connection is waiting for.
"""

from collections.abc import Iterable
from math import inf
from typing import Final, Protocol

from pentad.kernel.client_addresses import address_key
from pentad.kernel.default_limits import Limits

WRITE_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 2.0
TICKS_PER_SECOND: Final = 10
LONGEST_TICK: Final = 2 / TICKS_PER_SECOND
"""At most this much time counts between two ticks: while the server itself is blocked, clients are not to blame."""
SWEEPS_WITHIN_SHORTEST_LIMIT: Final = 4


class Guarded(Protocol):
    """A connection as the sweep sees it."""

    deadline: float
    write_deadline: float

    def request_overdue(self) -> None:
        """The client did not send in time."""
        ...

    def response_unread(self) -> None:
        """The client has not read enough of its response."""
        ...


class ConnectionGuard:
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
        self._ticked_at = now
        self._by_address: dict[str, int] = {}

    def tick(self, now: float, connections: Iterable[Guarded]) -> None:
        """Move the clock. Every few ticks, sweep over all connections."""
        self.now += min(now - self._ticked_at, LONGEST_TICK)
        self._ticked_at = now
        self._ticks += 1
        if self._ticks % self._ticks_per_sweep:
            return
        for connection in tuple(connections):
            if connection.write_deadline <= self.now:
                connection.response_unread()
            elif connection.deadline <= self.now:
                connection.request_overdue()

    def admit(self, address: str) -> bool:
        """Count one more connection of an address; False if it already has the maximum."""
        key = address_key(address)
        count = self._by_address.get(key, 0)
        if count >= self.connections_per_address:
            return False
        self._by_address[key] = count + 1
        return True

    def release(self, address: str) -> None:
        """Uncount one admitted connection."""
        key = address_key(address)
        left = self._by_address[key] - 1
        if left:
            self._by_address[key] = left
        else:
            del self._by_address[key]
