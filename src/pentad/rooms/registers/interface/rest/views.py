"""Views over REST: queries worth keeping. Each is also the MCP resource `openregister://queries/{id}`."""

from typing import Final

from starlette.responses import Response

from pentad.rooms.registers.interface.rest.answers import answer, nothing
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.interface.rest.bodies import body_as
from pentad.rooms.registers.interface.rest.models import PageAnswer, ViewData
from pentad.rooms.registers.interface.rest.pages import envelope
from pentad.rooms.registers.interface.rest.table import RestRoute


async def list_views(ask: Ask) -> Response:
    """List your saved queries."""
    found = await ask.registers.saved.list(ask.caller)
    return answer(envelope([one.wire() for one in found], len(found), max(1, len(found)), 0))


async def create_view(ask: Ask) -> Response:
    """Save a query: filter, search, sort, fields, limit, facets."""
    given = body_as(ViewData, await ask.object())
    pair = await ask.registers.catalogue.pair(ask.caller, given.register_, given.schema_)
    return answer((await ask.registers.saved.create(ask.caller, pair, given.title, given.query)).wire(), 201)


async def get_view(ask: Ask) -> Response:
    """Get a saved query."""
    return answer((await ask.registers.saved.get(ask.caller, ask.path("id"))).wire())


async def read_view(ask: Ask) -> Response:
    """Ask a saved query now."""
    return answer(await ask.registers.saved.result(ask.caller, ask.path("id")))


async def delete_view(ask: Ask) -> Response:
    """Forget a saved query."""
    await ask.registers.saved.delete(ask.caller, ask.path("id"))
    return nothing()


ROUTES: Final = (
    RestRoute("GET", "/views", "views", list_views, answer=PageAnswer),
    RestRoute("POST", "/views", "views", create_view, body=ViewData, status=201),
    RestRoute("GET", "/views/{id}", "views", get_view),
    RestRoute("GET", "/views/{id}/results", "views", read_view),
    RestRoute("DELETE", "/views/{id}", "views", delete_view, status=204),
)
