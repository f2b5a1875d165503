"""Who wants to hear of which changes, in this process. Changes come from every process through the store's signals."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from pentad.kernel.errors import Overloaded
from pentad.kernel.ports import Database
from pentad.mcp.changes import CHANNEL
from pentad.mcp.messages import SubscriptionFilter

_MOST_QUEUED: Final = 1000


@dataclass(frozen=True, slots=True)
class Change:
    """`list` of a room's tools, prompts or resources; or `resource` at an address; for all, or for an audience."""

    kind: str
    subject: str
    room: str = ""
    audience: str = ""

    def notification(self) -> tuple[str, dict[str, Any]]:
        """The method and parameters every era tells it with."""
        if self.kind == "resource":
            return "notifications/resources/updated", {"uri": self.subject}
        return f"notifications/{self.subject}/list_changed", {}


@dataclass(slots=True, eq=False)
class Listener:
    """One stream's queue of changes; a listener that does not keep up loses the oldest."""

    wants: Callable[[Change], bool]
    queue: asyncio.Queue[Change] = field(default_factory=lambda: asyncio.Queue(_MOST_QUEUED))

    def hear(self, change: Change) -> None:
        if not self.wants(change):
            return
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(change)


class SubscriptionHub:
    """Hands every change to the listeners that want it."""

    def __init__(self, database: Database, most_per_principal: int) -> None:
        self._listeners: dict[Listener, str] = {}
        self._most = most_per_principal
        self.stop = database.listen(CHANNEL, self._hear)

    def listen(self, principal: str, wants: Callable[[Change], bool]) -> Listener:
        """Begin to hear; the caller must end it with `leave`."""
        if sum(1 for owner in self._listeners.values() if owner == principal) >= self._most:
            raise Overloaded(f"You have {self._most} open streams already.", hint="Close one of them first.")
        listener = Listener(wants)
        self._listeners[listener] = principal
        return listener

    def leave(self, listener: Listener) -> None:
        self._listeners.pop(listener, None)

    async def changes(
        self, listener: Listener, stopping: asyncio.Event, idle_seconds: float
    ) -> AsyncIterator[Change | None]:
        """Changes as they come until the server stops; None after every idle span, so that streams can show life."""
        stop = asyncio.ensure_future(stopping.wait())
        try:
            while not stopping.is_set():
                coming = asyncio.ensure_future(listener.queue.get())
                try:
                    await asyncio.wait({coming, stop}, timeout=idle_seconds, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not coming.done():
                        coming.cancel()
                if coming.done() and not coming.cancelled():
                    yield coming.result()
                elif not stopping.is_set():
                    yield None
        finally:
            stop.cancel()

    def _hear(self, payload: str) -> None:
        change = _read_change(payload)
        for listener in list(self._listeners):
            listener.hear(change)


def _read_change(payload: str) -> Change:
    change, _, audience = payload.partition("\n")
    kind, _, subject = change.partition(" ")
    if kind != "list":
        return Change(kind, subject, audience=audience)
    name, _, room = subject.partition(" ")
    return Change(kind, name, room, audience)


def filter_wants(wanted: SubscriptionFilter, tasks: Iterable[str] = ()) -> Callable[[Change], bool]:
    """What a modern listener asked for, as a test on changes; with the addresses of the tasks it follows."""
    lists = {
        kind
        for kind, asked in (
            ("tools", wanted.tools_list_changed),
            ("prompts", wanted.prompts_list_changed),
            ("resources", wanted.resources_list_changed),
        )
        if asked
    }
    addresses = frozenset((*wanted.resource_subscriptions, *tasks))
    return lambda change: change.subject in (addresses if change.kind == "resource" else lists)
