"""Limits for callers without proven credentials, over HTTP; the limits themselves are in `access/anonymous.py`."""

from typing import Final

from pentad.access.anonymous import AnonymousLimits, Lane, LanePlace
from pentad.http.guards.credentials import address_of, client_of
from pentad.mcp.http_exchange import Message, Send
from pentad.platform import Scope

PROBES: Final = frozenset({"/healthz", "/readyz"})
"""Paths of health probes. Slowed down but never refused: a refused orchestrator would kill a healthy server."""
_PROBES_AT_ONCE: Final = 2


class AnonymousGuard:
    """Counts requests without credentials, and limits how many run at a time."""

    def __init__(self, limits: AnonymousLimits) -> None:
        self._limits = limits
        self._probes = Lane(_PROBES_AT_ONCE)

    async def spend(self, scope: Scope) -> None:
        """Count a request without credentials, or refuse it."""
        if scope["path"] in PROBES:
            await self.slow_down(scope)
        else:
            self._limits.spend(address_of(client_of(scope)))

    async def slow_down(self, scope: Scope) -> None:
        """Count a request without refusing it; beyond the rate it waits."""
        await self._limits.slow_down(address_of(client_of(scope)))

    async def place(self, path: str) -> LanePlace:
        """Wait for a place in the lane of anonymous requests."""
        return await (self._probes if path in PROBES else self._limits.lane).enter()


def leaving(place: LanePlace, send: Send) -> Send:
    """Leave the place when the answer begins, so that a slow reader does not hold it."""

    async def answer(message: Message) -> None:
        place.leave()
        await send(message)

    return answer
