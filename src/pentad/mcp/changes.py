"""Changes of lists and resources, announced by rooms and delivered to subscribers in every process.

A room announces a change inside the transaction that makes it. Subscribers are notified after the commit, in every
process and both eras; after a rollback, nobody is notified.

A change can be announced to an audience: one line of text that only the room understands. The room's `in_audience`
then decides who is notified, and the resource itself is not checked: it may be gone.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final, Literal

from msgspec import Struct, field

from pentad.kernel.errors import Overloaded
from pentad.kernel.ports import Database, Transaction
from pentad.mcp.messages import SubscriptionFilter

CHANNEL: Final = "mcp"
_MOST_QUEUED: Final = 1000
_BURST_SECONDS: Final = 0.05

ListKind = Literal["tools", "generated_tools", "prompts", "resources"]
"""`generated_tools` notifies only endpoints whose profile offers generated tools of the room."""


def list_changed(transaction: Transaction, kind: ListKind, room: str, audience: str = "") -> None:
    """Announce that the room's tools, prompts or resources changed. Only callers who may see them are notified."""
    transaction.signal(CHANNEL, _payload(f"list {kind} {room}", audience))


def resource_updated(transaction: Transaction, uri: str, audience: str = "") -> None:
    """Announce that the resource at this URI changed."""
    transaction.signal(CHANNEL, _payload(f"resource {uri}", audience))


def _payload(change: str, audience: str) -> str:
    return f"{change}\n{audience}" if audience else change


class Change(Struct, frozen=True):
    """An announced change. `kind` is `list` (`subject` is tools, prompts or resources) or `resource` (a URI)."""

    kind: str
    subject: str
    room: str = ""
    audience: str = ""

    def notification(self, uri: str) -> tuple[str, dict[str, Any]]:
        """The method and parameters of the notification, the same in every revision.

        `uri` is the one the client subscribed with. It may be another name of the subject; for lists it has no meaning.
        """
        if self.kind == "resource":
            return "notifications/resources/updated", {"uri": uri}
        kind = "tools" if self.subject == "generated_tools" else self.subject
        return f"notifications/{kind}/list_changed", {}


class Listener(Struct, eq=False):
    """The queue of changes for one stream. A slow listener loses the oldest ones."""

    wants: Callable[[Change], bool]
    queue: asyncio.Queue[Change] = field(default_factory=lambda: asyncio.Queue(_MOST_QUEUED))

    def put(self, change: Change) -> None:
        if not self.wants(change):
            return
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(change)


class SubscriptionHub:
    """Passes every change on to the listeners of this process."""

    def __init__(self, database: Database, most_per_principal: int) -> None:
        self._listeners: dict[Listener, str] = {}
        self._most = most_per_principal
        self.after_changes: Callable[[], None] | None = None
        """Called once, a moment after a burst of changes, even if there are no listeners."""
        self._burst: asyncio.TimerHandle | None = None
        self._end = database.listen(CHANNEL, self._deliver)

    def stop(self) -> None:
        self.after_changes = None
        self._end()

    def add(self, principal: str, wants: Callable[[Change], bool]) -> Listener:
        """Add a listener; the caller must `remove` it."""
        if sum(1 for owner in self._listeners.values() if owner == principal) >= self._most:
            raise Overloaded(f"You have {self._most} open streams already.", hint="Close one of them first.")
        listener = Listener(wants)
        self._listeners[listener] = principal
        return listener

    def remove(self, listener: Listener) -> None:
        self._listeners.pop(listener, None)

    async def changes(
        self, listener: Listener, stopping: asyncio.Event, idle_seconds: float
    ) -> AsyncIterator[Change | None]:
        """Yield changes until the server stops. Yields None after `idle_seconds` without one, for a keep-alive."""
        stop = asyncio.ensure_future(stopping.wait())
        try:
            while not stopping.is_set():
                upcoming = asyncio.ensure_future(listener.queue.get())
                try:
                    await asyncio.wait({upcoming, stop}, timeout=idle_seconds, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not upcoming.done():
                        upcoming.cancel()
                if upcoming.done() and not upcoming.cancelled():
                    yield upcoming.result()
                elif not stopping.is_set():
                    yield None
        finally:
            stop.cancel()

    def notify_local(self, change: Change) -> None:
        """Pass a change only to the listeners of this process."""
        for listener in list(self._listeners):
            listener.put(change)

    def _deliver(self, payload: str) -> None:
        if self._listeners:
            self.notify_local(_parse_change(payload))
        if self._burst is None and self.after_changes is not None:
            self._burst = asyncio.get_running_loop().call_later(_BURST_SECONDS, self._end_burst)

    def _end_burst(self) -> None:
        self._burst = None
        if self.after_changes is not None:
            self.after_changes()


def _parse_change(payload: str) -> Change:
    change, _, audience = payload.partition("\n")
    kind, _, subject = change.partition(" ")
    if kind != "list":
        return Change(kind, subject, audience=audience)
    name, _, room = subject.partition(" ")
    return Change(kind, name, room, audience)


def matches_filter(requested: SubscriptionFilter, announced: Iterable[str] = ()) -> Callable[[Change], bool]:
    """A test for the changes a modern listener asked for.

    `announced` are the URIs under which changes of the resources and tasks that it follows are announced.
    """
    lists = {
        kind
        for kind, asked in (
            ("tools", requested.tools_list_changed),
            ("generated_tools", requested.tools_list_changed),
            ("prompts", requested.prompts_list_changed),
            ("resources", requested.resources_list_changed),
        )
        if asked
    }
    uris = frozenset(announced)
    return lambda change: change.subject in (uris if change.kind == "resource" else lists)
