"""Agents that one room offers and another hosts, such as avatars: their tasks are answered by a tool.

The rooms do not know each other. `AgentOffers` collects the offers (`Room.offered_agents`) at the start and after every
change, and passes them to the room that hosts agents (`Room.host_offered`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from pentad.kernel.background import Background
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import internal_error, log_failure
from pentad.kernel.ports import Database
from pentad.listings.listing import CHANNEL, Listing

_RETRY_SECONDS = 1.0


class OfferedAgent(Struct, frozen=True):
    """An agent whose tasks are answered by a tool, with the rights of their caller."""

    name: str
    """The agent's name in URLs."""
    title: str
    description: str
    version: str
    listing: Listing
    """Its own entry in the directory, to which the card of the agent is added."""
    tool: str
    """The tool. It must be read-only, so that a task can continue after a crash."""
    question: str
    """The argument that takes the text of a message."""
    answer: str
    """The member of the result that is the text of the answer."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments, the same for every call."""
    conversation: str | None = None
    """The argument that takes the conversation so far, as a list of `role` and `content`."""
    skills: Sequence[Mapping[str, Any]] = ()
    """Skills, as on A2A cards."""
    tags: Sequence[str] = ()


Offers = Callable[[], Awaitable[Sequence[OfferedAgent]]]
HostOffered = Callable[[Sequence[OfferedAgent]], None]


class AgentOffers:
    """Passes on the offers of all open rooms."""

    def __init__(self, database: Database, sources: Sequence[Offers], hosts: Sequence[HostOffered]) -> None:
        self._database = database
        self._sources = sources
        self._hosts = hosts
        self._wake = asyncio.Event()
        self._background = Background()
        self._end: Callable[[], None] | None = None

    async def start(self) -> None:
        """Pass on the offers now, and again after every change until `stop`."""
        if self._sources and self._hosts:
            self._end = self._database.listen(CHANNEL, lambda _: self._wake.set())
            await self._refresh()
            self._background.start(self._follow(), "offered-agents")

    async def stop(self) -> None:
        if self._end is not None:
            self._end()
        await self._background.stop()

    async def _follow(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._refresh()
            except PentadError as error:
                log_failure(error, "Looking for agents that rooms offer")
            except Exception as error:  # noqa: BLE001  a room may raise anything
                internal_error(error, "Looking for agents that rooms offer")
            else:
                continue
            self._wake.set()
            await asyncio.sleep(_RETRY_SECONDS)

    async def _refresh(self) -> None:
        offered = [one for source in self._sources for one in await source()]
        for host in self._hosts:
            host(offered)
