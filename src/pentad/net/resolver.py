"""Resolves host names. A separate object, so that tests can simulate a name server that changes its answers."""

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final, Protocol

from pentad.kernel.clock import Clock, SystemClock
from pentad.net.addresses import Address

REMEMBER_SECONDS: Final = 10.0
REMEMBER_NAMES: Final = 1024


class Resolver(Protocol):
    """All addresses of a host, best first. Raises OSError if there are none."""

    async def resolve(self, host: str) -> Sequence[Address]: ...


class SystemResolver:
    """The machine's resolver. Caches answers for a few seconds: a fan-out asks for the same name many times."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: dict[str, tuple[float, tuple[Address, ...]]] = {}

    async def resolve(self, host: str) -> Sequence[Address]:
        now = self._clock.monotonic()
        known = self._known.get(host)
        if known is not None and known[0] > now:
            return known[1]
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        addresses = tuple(dict.fromkeys(ip_address(entry[4][0]) for entry in found))
        if len(self._known) >= REMEMBER_NAMES:
            self._known.clear()
        self._known[host] = (now + REMEMBER_SECONDS, addresses)
        return addresses
