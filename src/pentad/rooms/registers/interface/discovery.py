"""The discovery API: two documents that tell a model what the room can do in few tokens.

The first document is public and lists ten capabilities; the second describes one of them, with its endpoints and its
current content. Endpoints come from the actual route table, so every listed endpoint exists.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pentad.kernel.errors import PentadError, Unauthenticated
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.mcp.rights import check_right
from pentad.platform import Operation, described
from pentad.rooms.registers.access.rules import ROOM
from pentad.rooms.registers.interface.openregister import PREFIXES
from pentad.rooms.registers.interface.rest.request import caller_of
from pentad.rooms.registers.interface.rest.responses import json_response
from pentad.rooms.registers.interface.rest.route_group import RestRoute
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.service import Registers

_PATH: Final = "/mcp/v1/discover"
_VARIABLE: Final = re.compile(r"\{([a-z_]+)\}")
_MOST_LISTED: Final = 200


class DiscoveryError(BaseModel):
    """An error of the discovery documents."""

    error: str
    available: list[str] | None = Field(None, description="The known capabilities.")


class CapabilityAnswer(BaseModel):
    """A capability in the overview."""

    id: str
    name: str
    description: str
    href: str


class OverviewAnswer(BaseModel):
    """What the server can do."""

    version: str
    name: str
    description: str
    authentication: dict[str, str]
    base_url: str
    capabilities: list[CapabilityAnswer]


class CapabilityDetailsAnswer(BaseModel):
    """One capability with its endpoints and its current content."""

    id: str
    name: str
    description: str
    context: dict[str, Any]
    endpoints: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Capability:
    id: str
    name: str
    description: str


CAPABILITIES: Final = (
    Capability("registers", "Registers", "Containers that group schemas and their objects."),
    Capability("schemas", "Schemas", "Definitions of objects in JSON Schema, checked on every write."),
    Capability("objects", "Objects", "Data records: create, read, change, lock, revert, delete."),
    Capability("search", "Search", "Filter, full text, facets and figures over objects."),
    Capability("files", "Files", "Attachments of objects."),
    Capability("audit", "Audit trails", "Who changed what and why, in a chain that can be verified."),
    Capability("bulk", "Bulk operations", "Many writes at once, and plans to preview before committing."),
    Capability("webhooks", "Webhooks", "URLs that get a signed request for each change."),
    Capability("chat", "Chat", "Questions in plain words, answered with the objects that match and why."),
    Capability("views", "Views", "Saved queries with columns."),
)


def discovery_routes(registers: Registers, table: Sequence[RestRoute]) -> list[BaseRoute]:
    """Both documents under both prefixes."""
    routes: list[BaseRoute] = []
    for prefix in PREFIXES:
        first, second = _endpoints(registers, table, prefix)
        described_here = prefix == PREFIXES[0]
        routes.append(Route(prefix + _PATH, first, include_in_schema=described_here))
        routes.append(Route(prefix + _PATH + "/{capability}", second, include_in_schema=described_here))
    return routes


def overview(prefix: str) -> dict[str, Any]:
    """The first document."""
    return {
        "version": "1.0",
        "name": "OpenRegister",
        "description": "Schema-checked data with history. GET the href of a capability for its endpoints and context.",
        "authentication": {
            "type": "basic",
            "description": "User name and password; a bearer token or API key works too.",
            "header": "Authorization: Basic base64(user:password)",
        },
        "base_url": prefix.removesuffix("/api") or "/",
        "capabilities": [
            {"id": one.id, "name": one.name, "description": one.description, "href": f"{prefix}{_PATH}/{one.id}"}
            for one in CAPABILITIES
        ],
    }


def endpoints(table: Sequence[RestRoute], capability: str, prefix: str) -> list[dict[str, Any]]:
    """The endpoints of a capability."""
    return [_endpoint(row, prefix) for row in table if row.capability == capability]


def _endpoint(row: RestRoute, prefix: str) -> dict[str, Any]:
    endpoint: dict[str, Any] = {"method": row.method, "path": prefix + row.path, "description": row.summary}
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "type": "string", "required": True, "description": _PATH_VARIABLES.get(name, name)}
        for name in _VARIABLE.findall(row.path)
    ]
    parameters += [
        {
            "name": one.name,
            "in": one.place,
            "type": one.type,
            "required": one.required,
            "description": one.description,
        }
        for one in row.parameters
    ]
    if parameters:
        endpoint["parameters"] = parameters
    if row.body is not None:
        fields = ", ".join(field.alias or name for name, field in row.body.model_fields.items())
        endpoint["body"] = (row.body.__doc__ or "").split("\n")[0] + (f" Fields: {fields}." if fields else "")
    return endpoint


_PATH_VARIABLES: Final = {
    "register": "Register by id, uuid or slug.",
    "schema": "Schema by id, uuid or slug.",
    "id": "The id, or the uuid or slug if it has one.",
    "name": "The file's name.",
}


def _endpoints(registers: Registers, table: Sequence[RestRoute], prefix: str) -> tuple[Any, Any]:
    first_document = Operation(
        "What this server can do, in under 3,000 characters.",
        "discovery",
        answer=OverviewAnswer,
        errors={},
        public=True,
    )
    second_document = Operation(
        "One capability: its endpoints and current content.",
        "discovery",
        answer=CapabilityDetailsAnswer,
        errors=dict.fromkeys((401, 403, 404, 500, 503), DiscoveryError),
        scope=f"{ROOM}:read",
    )

    @described(first_document)
    async def first(_request: Request) -> Response:
        return json_response(overview(prefix))

    @described(second_document)
    async def second(request: Request) -> Response:
        try:
            return await _describe(registers, table, prefix, request)
        except PentadError as error:
            return json_response({"error": ensure_logged(error, "discovery").sentence()}, error.http_status)
        except Exception as error:  # noqa: BLE001  the document promises this shape for every failure
            return json_response({"error": internal_error(error, "discovery").message}, 500)

    return first, second


async def _describe(registers: Registers, table: Sequence[RestRoute], prefix: str, request: Request) -> Response:
    caller = caller_of(request)
    if caller.principal.kind == "anonymous":
        raise Unauthenticated("This needs credentials.", hint="Send Authorization: Basic or Bearer.")
    check_right(caller.principal, ROOM, "read")
    name = request.path_params["capability"]
    found = next((one for one in CAPABILITIES if one.id == name), None)
    if found is None:
        known = [one.id for one in CAPABILITIES]
        return json_response({"error": f"Unknown capability: {name[:100]}", "available": known}, 404)
    read_context = _CONTEXTS.get(found.id)
    body: dict[str, Any] = {"id": found.id, "name": found.name, "description": found.description}
    body["context"] = await read_context(registers, caller) if read_context is not None else {}
    body["endpoints"] = endpoints(table, found.id, prefix)
    return json_response(body)


async def _registers(registers: Registers, caller: Caller) -> dict[str, Any]:
    page = await registers.catalogue.registers.list(caller, _MOST_LISTED, 0)
    return {"registers": [{"id": one.id, "title": one.title, "uuid": one.uuid} for one in page.items]}


async def _schemas(registers: Registers, caller: Caller) -> dict[str, Any]:
    page = await registers.catalogue.schemas.list(caller, _MOST_LISTED, 0)
    listed = [
        {
            "id": one.id,
            "title": one.title,
            "uuid": one.uuid,
            "property_count": len(one.body.get("properties") or {}),
        }
        for one in page.items
    ]
    return {"schemas": listed}


async def _objects(registers: Registers, caller: Caller) -> dict[str, Any]:
    page = await registers.catalogue.registers.list(caller, _MOST_LISTED, 0)
    schemas: dict[int, list[dict[str, Any]]] = {one.id: [] for one in page.items}
    for pair in await registers.catalogue.visible_pairs(caller):
        schemas.get(pair.register.id, []).append({"id": pair.schema.id, "title": pair.schema.title})
    return {"registers": [{"id": one.id, "title": one.title, "schemas": schemas[one.id]} for one in page.items]}


_CONTEXTS: Final[Mapping[str, Callable[[Registers, Caller], Awaitable[dict[str, Any]]]]] = {
    "registers": _registers,
    "schemas": _schemas,
    "objects": _objects,
}
