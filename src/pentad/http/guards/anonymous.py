"""Limits for callers without proven credentials, over HTTP; the limits themselves are in `access/anonymous.py`."""

from typing import Final

from pentad.access.anonymous import AnonymousLimits, Slot, SlotQueue
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
        self._probes = SlotQueue(_PROBES_AT_ONCE)

    async def spend(self, scope: Scope) -> None:
        """Count a request without credentials, or refuse it."""
        if scope["path"] in PROBES:
            await self.slow_down(scope)
        else:
            self._limits.spend(address_of(client_of(scope)))

    async def slow_down(self, scope: Scope) -> None:
        """Count a request without refusing it; beyond the rate it waits."""
        await self._limits.slow_down(address_of(client_of(scope)))

    async def slot(self, path: str) -> Slot:
        """Wait for one of the slots for anonymous requests."""
        return await (self._probes if path in PROBES else self._limits.slots).take()


def releasing(slot: Slot, send: Send) -> Send:
    """Release the slot when the response begins, so that a slow reader does not hold it."""

    async def answer(message: Message) -> None:
        slot.release()
        await send(message)

    return answer
