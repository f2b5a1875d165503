"""Resources that belong to no room: the feed of events, and traces."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.events.feed import NOW, URI, EventFeed
from pentad.kernel.principal import Principal
from pentad.mcp.call import Call
from pentad.mcp.declarations import Resource, resource

if TYPE_CHECKING:
    from pentad.administration.traces import Traces

_JSON: Final = "application/json"
_START: Final = "start"


class ResourceServices(msgspec.Struct, frozen=True):
    """The services behind the resources."""

    feed: EventFeed
    traces: "Callable[[], Traces]"
    """Loads them when first used."""


@resource(URI, name="events", mime_type=_JSON)
async def events(call: Call[ResourceServices]) -> str:
    """The feed of all rooms: the cursor of now. Subscribe, and read pentad://events/{cursor} for what followed."""
    page = await call.service.feed.page(call.principal, cursor=NOW)
    return _text(page.as_json())


@resource(f"{URI}/{{cursor}}", name="events after a cursor", mime_type=_JSON)
async def events_after(cursor: str, call: Call[ResourceServices]) -> str:
    """What happened in all rooms after a cursor, oldest first, as CloudEvents; `start` is the beginning."""
    page = await call.service.feed.page(call.principal, cursor="" if cursor == _START else cursor)
    return _text(page.as_json())


@resource("pentad://traces/{id}", name="trace", mime_type=_JSON)
async def trace(id: str, call: Call[ResourceServices]) -> str:  # noqa: A002  the name in the URI
    """What a request led to: a trace id, a traceparent or an X-Request-Id."""
    return _text(await call.service.traces().trace(call.principal, id))


async def has_news(services: ResourceServices, principal: Principal, before: str) -> bool:
    """Whether anything happened after a cursor that the follower may see."""
    page = await services.feed.page(principal, cursor=before, limit=1)
    return bool(page.events) or page.has_more


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


RESOURCES: Final[tuple[Resource, ...]] = (events, events_after, trace)
AUDIENCES: Final = {URI: has_news}
