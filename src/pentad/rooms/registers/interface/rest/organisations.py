"""Organisations over REST, for administrators of the room."""

from typing import Final

from starlette.responses import Response

from pentad.rooms.registers.access.organisations import require_admin
from pentad.rooms.registers.interface.rest.answers import answer, nothing
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.interface.rest.bodies import body_as
from pentad.rooms.registers.interface.rest.models import MemberData, OrganisationData
from pentad.rooms.registers.interface.rest.table import PAGING, RestRoute


async def list_organisations(ask: Ask) -> Response:
    """List the organisations you may know of."""
    limit, offset = ask.window()
    found = await ask.registers.organisations.list(ask.caller, limit, offset)
    return answer({"results": [one.wire() for one in found]})


async def create_organisation(ask: Ask) -> Response:
    """Create an organisation."""
    require_admin(ask.caller)
    given = body_as(OrganisationData, await ask.object())
    return answer((await ask.registers.organisations.create(ask.caller, given.slug, given.title)).wire(), 201)


async def delete_organisation(ask: Ask) -> Response:
    """Remove an organisation that owns no objects."""
    await ask.registers.organisations.delete(ask.caller, ask.path("id"))
    return nothing()


async def list_members(ask: Ask) -> Response:
    """List the members of an organisation."""
    return answer({"results": await ask.registers.organisations.members(ask.caller, ask.path("id"))})


async def add_member(ask: Ask) -> Response:
    """Put a principal into an organisation."""
    require_admin(ask.caller)
    given = body_as(MemberData, await ask.object())
    await ask.registers.organisations.add_member(ask.caller, ask.path("id"), given.principal)
    return nothing()


async def remove_member(ask: Ask) -> Response:
    """Take a principal out of an organisation."""
    await ask.registers.organisations.remove_member(ask.caller, ask.path("id"), ask.path("principal"))
    return nothing()


_TOPIC: Final = "organisations"
ROUTES: Final = (
    RestRoute("GET", "/organisations", _TOPIC, list_organisations, PAGING),
    RestRoute("POST", "/organisations", _TOPIC, create_organisation, body=OrganisationData, status=201),
    RestRoute("DELETE", "/organisations/{id}", _TOPIC, delete_organisation, status=204),
    RestRoute("GET", "/organisations/{id}/members", _TOPIC, list_members),
    RestRoute("POST", "/organisations/{id}/members", _TOPIC, add_member, body=MemberData, status=204),
    RestRoute("DELETE", "/organisations/{id}/members/{principal}", _TOPIC, remove_member, status=204),
)
