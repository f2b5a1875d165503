"""Organisations over REST, for administrators of the room."""

from typing import Final

from pydantic import BaseModel
from starlette.responses import Response

from pentad.rooms.registers.access.organisations import require_admin
from pentad.rooms.registers.interface.rest.request import RestRequest, body_as
from pentad.rooms.registers.interface.rest.responses import json_response, no_content
from pentad.rooms.registers.interface.rest.route_group import PAGING, RouteGroup

ROUTES: Final = RouteGroup("organisations")


class OrganisationData(BaseModel):
    slug: str
    title: str = ""


class OrganisationAnswer(BaseModel):
    id: str
    slug: str
    title: str
    created: str


class OrganisationsAnswer(BaseModel):
    results: list[OrganisationAnswer]


class MemberData(BaseModel):
    principal: str


class MembersAnswer(BaseModel):
    """The principals in an organisation."""

    results: list[str]


@ROUTES.add("GET", "/organisations", PAGING, answer=OrganisationsAnswer)
async def list_organisations(request: RestRequest) -> Response:
    """List the organisations you may know of."""
    limit, offset = request.window()
    found = await request.registers.organisations.list(request.caller, limit, offset)
    return json_response({"results": [one.wire() for one in found]})


@ROUTES.add("POST", "/organisations", body=OrganisationData, answer=OrganisationAnswer, status=201)
async def create_organisation(request: RestRequest) -> Response:
    """Create an organisation."""
    require_admin(request.caller)
    given = body_as(OrganisationData, await request.object())
    return json_response(
        (await request.registers.organisations.create(request.caller, given.slug, given.title)).wire(), 201
    )


@ROUTES.add("DELETE", "/organisations/{id}", status=204)
async def delete_organisation(request: RestRequest) -> Response:
    """Delete an organisation that owns nothing."""
    await request.registers.organisations.delete(request.caller, request.path("id"))
    return no_content()


@ROUTES.add("GET", "/organisations/{id}/members", answer=MembersAnswer)
async def list_members(request: RestRequest) -> Response:
    """List the members of an organisation."""
    return json_response({"results": await request.registers.organisations.members(request.caller, request.path("id"))})


@ROUTES.add("POST", "/organisations/{id}/members", body=MemberData, status=204)
async def add_member(request: RestRequest) -> Response:
    """Put a principal into an organisation."""
    require_admin(request.caller)
    given = body_as(MemberData, await request.object())
    await request.registers.organisations.add_member(request.caller, request.path("id"), given.principal)
    return no_content()


@ROUTES.add("DELETE", "/organisations/{id}/members/{principal}", status=204)
async def remove_member(request: RestRequest) -> Response:
    """Take a principal out of an organisation."""
    await request.registers.organisations.remove_member(request.caller, request.path("id"), request.path("principal"))
    return no_content()
