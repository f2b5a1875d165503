"""An event, and how a room shows its own log as events."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from pentad.kernel.clock import iso
from pentad.kernel.principal import Principal

S = TypeVar("S")
SPEC_VERSION = "1.0"


class Event(Struct, frozen=True):
    """Something that happened. On the wire it is a CloudEvent."""

    room: str
    kind: str
    """What happened to what, such as `object.created`."""
    subject: str
    """The URI of the thing the event is about."""
    at: float
    position: str
    """The position right after the event in its source; the event's id is made from it."""
    principal: str = ""
    trace: str = ""
    """The `traceparent` of the request that caused it."""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cause: str = ""
    """The URI of the task that caused it, if the room knows one. For rules; readers do not get it."""

    @property
    def id(self) -> str:
        """Unique in this store, and the same whenever the event is read."""
        return f"{self.room}:{self.position}"

    @property
    def type(self) -> str:
        """The kind with its room, such as `registers.object.created`."""
        return f"{self.room}.{self.kind}"

    def as_json(self) -> dict[str, Any]:
        """The event as a CloudEvent; `principal` and `traceparent` are extensions."""
        found: dict[str, Any] = {
            "specversion": SPEC_VERSION,
            "id": self.id,
            "source": f"/rooms/{self.room}",
            "type": self.type,
            "subject": self.subject,
            "time": iso(self.at),
            "principal": self.principal,
            "traceparent": self.trace,
            "datacontenttype": "application/json" if self.data else "",
            "data": dict(self.data),
        }
        return {name: value for name, value in found.items() if value}


class EventSource(Struct, Generic[S], frozen=True):
    """A room's own log, read as events. The room's query decides which events a caller may see."""

    after: "Callable[[S, Principal, str, int], Awaitable[tuple[list[Event], str]]]"
    """Reads up to this many events after a position (empty: from the beginning), oldest first. Returns them and the
    position after the last one examined. Fewer events than requested means that there are no more."""
    newest: "Callable[[S, int], Awaitable[str]]"
    """The position after the newest event, or before the last N events."""
