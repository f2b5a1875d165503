"""HTTP requests of callers who have not proved who they are, within the bounds of `access/anonymous.py`."""

from typing import Final

from pentad.access.anonymous import AnonymousLimits, Lane, LanePlace
from pentad.mcp.sse import Message, Send
from pentad.net.peers import counted_as
from pentad.platform import Scope

PROBES: Final = frozenset({"/healthz", "/readyz"})
"""What an orchestrator asks: slowed down but never refused, for that would end a server that is well."""
_PROBES_AT_ONCE: Final = 2


def client_of(scope: Scope) -> str | None:
    """The address a request came from; none over a Unix socket."""
    client = scope.get("client")
    return client[0] if client else None


def address_of(client: str | None) -> str:
    """What a caller is counted as: its address, or a word for those that have none (a Unix socket)."""
    return counted_as(client) if client else "local socket"


class AnonymousGuard:
    """Counts requests without credentials, and gives them places to work in."""

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
        """Count a request without proven credentials that is not refused for that; beyond the rate it has to wait."""
        await self._limits.slow_down(address_of(client_of(scope)))

    async def place(self, path: str) -> LanePlace:
        """A place to work in for an anonymous request."""
        return await (self._probes if path in PROBES else self._limits.lane).enter()


def left_by(place: LanePlace, send: Send) -> Send:
    """Sends an answer, and leaves the place as it begins: a slow reader keeps it no longer."""

    async def answer(message: Message) -> None:
        place.leave()
        await send(message)

    return answer
