"""Events of the directory, delivered to listeners in every process that uses the store.

An event is signalled inside its transaction, so a rollback sends nothing. A listener receives events from the moment it
starts; one that falls behind loses events instead of slowing others. The event feed of all rooms keeps them (`KINDS`).
"""

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Self

import msgspec

from pentad.events import outbox
from pentad.kernel.background import start_task
from pentad.kernel.clock import Clock
from pentad.kernel.errors import PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Database, Transaction
from pentad.rooms.directory import store
from pentad.rooms.directory.records.index_fields import labels_of

CHANNEL: Final = "directory.events"
BUFFER: Final = 100
_LABELLED: Final = 20
"""Events of one change carry their labels up to this many; beyond, a process with listeners looks them up."""

_PART_BYTES: Final = 4_000
_LABELS_BYTES: Final = 2_000
_METADATA_CHARACTERS: Final = 150
_MOST_METADATA: Final = 3
_YIELD_EVERY: Final = 50
"""Yield to the listeners after this many events, so that a bulk push does not overflow one that keeps up."""

_log = logging.getLogger(__name__)


class EventType(IntEnum):
    """The numbers are part of the wire format."""

    RECORD_PUSHED = 1
    RECORD_PULLED = 2
    RECORD_DELETED = 3
    RECORD_PUBLISHED = 4
    RECORD_UNPUBLISHED = 5
    SYNC_CREATED = 6
    SYNC_COMPLETED = 7
    SYNC_FAILED = 8
    RECORD_SIGNED = 9
    PUBLIC_KEY_UPLOADED = 10


KINDS: Final = {
    EventType.RECORD_PUSHED: "record.pushed",
    EventType.RECORD_DELETED: "record.deleted",
    EventType.RECORD_PUBLISHED: "record.published",
    EventType.RECORD_UNPUBLISHED: "record.unpublished",
    EventType.RECORD_SIGNED: "record.signed",
    EventType.SYNC_CREATED: "sync.created",
    EventType.SYNC_COMPLETED: "sync.completed",
    EventType.SYNC_FAILED: "sync.failed",
}
"""Kinds that also go to the event feed of all rooms. Pulls do not: they change nothing."""
_WITH_LABELS: Final = frozenset({EventType.RECORD_PUSHED, EventType.RECORD_PULLED, EventType.RECORD_PUBLISHED})


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `resource_id` is a CID or the id of a sync."""

    id: str
    type: EventType
    timestamp: float
    resource_id: str
    labels: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


class _Signal(msgspec.Struct, array_like=True):
    """The payload of a signal: events of one type and time. Labels are None if they must be looked up."""

    type: int
    id: str
    at: float
    resources: list[tuple[str, list[str] | None]]
    metadata: dict[str, str]


class EventListener:
    """A listener: iterate over it for events, then close it. It receives every event after its creation."""

    def __init__(self, types: frozenset[int], labels: tuple[str, ...], cids: frozenset[str]) -> None:
        self._types = types
        self._labels = labels
        self._cids = cids
        self._waiting: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._closed = False
        self.lost = 0
        self.leave: Callable[[], None] = lambda: None

    def offer(self, event: Event) -> None:
        """Queue the event if it matches and there is room."""
        if not self._wants(event):
            return
        if len(self._waiting) >= BUFFER:
            self.lost += 1
            return
        self._waiting.append(event)
        self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        self.leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._closed:
                return
            self._wake.clear()
            await self._wake.wait()

    def _wants(self, event: Event) -> bool:
        return (
            (not self._types or event.type in self._types)
            and (not self._cids or event.resource_id in self._cids)
            and (not self._labels or any(part in label for part in self._labels for label in event.labels))
        )


class Events:
    """Sends and receives events. It listens to the store only while it has listeners."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._listeners: list[EventListener] = []
        self._received: deque[str] = deque(maxlen=10_000)
        self._delivery: asyncio.Task[None] | None = None
        self._end: Callable[[], None] | None = None

    def emit(
        self,
        tx: Transaction,
        kind: EventType,
        resources: Sequence[str],
        labels: Sequence[Iterable[str]] | None = None,
        metadata: Mapping[str, str] | None = None,
        *,
        new: Collection[str] | None = None,
    ) -> None:
        """Send one event per resource when the transaction commits. Only those in `new` go to the event feed of all
        rooms; listeners here also hear of records that are pushed again, as in the original."""
        entries: list[tuple[str, list[str] | None]] = []
        for position, resource in enumerate(resources):
            known: list[str] | None = []
            if kind in _WITH_LABELS:
                known = None if labels is None or len(resources) > _LABELLED else list(labels[position])
                if known is not None and len(msgspec.json.encode(known)) > _LABELS_BYTES:
                    known = None
            entries.append((resource, known))
        changed = resources if new is None else [one for one in resources if one in new]
        if changed and (name := KINDS.get(kind)) is not None:
            prefix = "directory://records/" if name.startswith("record.") else ""
            outbox.emit(tx, "directory", name, [prefix + one for one in changed], at=self._clock.now(), data=metadata)
        for part in _split(entries):
            payload = _Signal(int(kind), str(uuid7(self._clock)), self._clock.now(), part, _shortened(metadata or {}))
            tx.signal(CHANNEL, msgspec.json.encode(payload).decode())

    def listen(
        self, types: Iterable[int] = (), labels: Iterable[str] = (), cids: Iterable[str] = ()
    ) -> EventListener:  # fmt: skip
        """Receive events from now on: of any of these types, with a label that contains any of these texts, about any
        of these resources. An empty argument does not filter."""
        listener = EventListener(frozenset(types), tuple(labels), frozenset(cids))
        self._listeners.append(listener)
        if self._end is None:
            self._end = self._database.listen(CHANNEL, self._on_signal)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)
            if not self._listeners and self._end is not None:
                self._end()
                self._end = None

        listener.leave = leave
        return listener

    async def stop(self) -> None:
        """End every listener."""
        for listener in list(self._listeners):
            listener.close()
        if self._delivery is not None:
            self._delivery.cancel()
            await asyncio.gather(self._delivery, return_exceptions=True)

    def _on_signal(self, payload: str) -> None:
        self._received.append(payload)
        if self._delivery is None or self._delivery.done():
            self._delivery = start_task(self._deliver(), "directory-events")

    async def _deliver(self) -> None:
        """Pass received signals to the listeners, in order."""
        delivered = 0
        while self._received:
            try:
                events = await self._events(self._received.popleft())
            except (PentadError, msgspec.MsgspecError):
                _log.warning("An event was lost.", exc_info=True)
                continue
            for event in events:
                for listener in self._listeners:
                    listener.offer(event)
                delivered += 1
                if delivered % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)

    async def _events(self, payload: str) -> list[Event]:
        signal = msgspec.json.decode(payload, type=_Signal)
        unknown = [resource for resource, labels in signal.resources if labels is None]
        looked_up = await self._labels(unknown) if unknown else {}
        first = uuid.UUID(signal.id).int
        return [
            Event(
                str(uuid.UUID(int=(first + position) % 2**128)),
                EventType(signal.type),
                signal.at,
                resource,
                looked_up.get(resource, ()) if labels is None else tuple(labels),
                signal.metadata,
            )
            for position, (resource, labels) in enumerate(signal.resources)
        ]

    async def _labels(self, cids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        texts = await self._database.read(lambda rows: store.texts_of(rows, cids))
        return {cid: labels_of(msgspec.json.decode(text)) for cid, text in texts.items()}


def _split(entries: Sequence[tuple[str, list[str] | None]]) -> Iterable[list[tuple[str, list[str] | None]]]:
    """Split into parts that fit into one signal each."""
    part: list[tuple[str, list[str] | None]] = []
    size = 0
    for entry in entries:
        length = len(msgspec.json.encode(entry)) + 1
        if part and size + length > _PART_BYTES:
            yield part
            part, size = [], 0
        part.append(entry)
        size += length
    if part:
        yield part


def _shortened(metadata: Mapping[str, str]) -> dict[str, str]:
    """Metadata cut to fit into a signal."""
    return {key: value[:_METADATA_CHARACTERS] for key, value in list(metadata.items())[:_MOST_METADATA]}
