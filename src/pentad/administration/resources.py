"""What belongs to no room, as resources: the feed of events, and traces."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from pentad.administration.traces import Traces
from pentad.events.feed import NOW, URI, EventFeed
from pentad.kernel.errors import NotFound
from pentad.kernel.lru import LruCache
from pentad.kernel.principal import Principal
from pentad.mcp.call import Call
from pentad.mcp.declarations import Resource, resource

_JSON: Final = "application/json"
_START: Final = "start"
_SUBSCRIBERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Everywhere:
    """The services behind the resources."""

    feed: EventFeed
    traces: Traces
    told: LruCache[str, str] = field(default_factory=lambda: LruCache[str, str](_SUBSCRIBERS))
    """The cursor up to which each subscriber was told of events."""


@resource(URI, name="events", mime_type=_JSON)
async def events(call: Call[Everywhere]) -> str:
    """The feed of all rooms: the cursor of now. Subscribe, and read pentad://events/{cursor} for what followed."""
    page = await call.service.feed.page(call.principal, cursor=NOW)
    return _text(page.as_json())


@resource(f"{URI}/{{cursor}}", name="events after a cursor", mime_type=_JSON)
async def events_after(cursor: str, call: Call[Everywhere]) -> str:
    """What happened in all rooms after a cursor, oldest first, as CloudEvents; `start` is the beginning."""
    page = await call.service.feed.page(call.principal, cursor="" if cursor == _START else cursor)
    return _text(page.as_json())


@resource("pentad://traces/{id}", name="trace", mime_type=_JSON)
async def trace(id: str, call: Call[Everywhere]) -> str:  # noqa: A002  the name in the URI
    """What a request led to: a trace id, a traceparent or an X-Request-Id."""
    return _text(await call.service.traces.trace(call.principal, id))


async def may_follow(
    everywhere: Everywhere, principal: Principal, variables: Mapping[str, str], is_subscribed: bool
) -> str | None:
    """Everyone may follow the feed, but is told only when something happened that they may see."""
    del variables
    known = everywhere.told.get(principal.id)
    if not is_subscribed or known is None:
        now = await everywhere.feed.page(principal, cursor=NOW)
        everywhere.told.put(principal.id, now.cursor)
        return None
    page = await everywhere.feed.page(principal, cursor=known)
    if not page.events:
        raise NotFound("Nothing happened that this subscriber may see.")
    everywhere.told.put(principal.id, page.cursor)
    return None


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


RESOURCES: Final[tuple[Resource, ...]] = (events, events_after, trace)
GUARDS: Final = {URI: may_follow}
