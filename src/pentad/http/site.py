"""The HTTP application of an open Pentad: its endpoints, its routes and the guards in front of both."""

from collections.abc import Mapping

from pentad.access.issuer import is_safe_url
from pentad.app import App, Era
from pentad.http.doors import Doors
from pentad.http.front import Front
from pentad.http.guards.anonymous import AnonymousGuard
from pentad.http.guards.credentials import CredentialsGuard
from pentad.http.guards.host import HostGuard
from pentad.http.guards.origin import OriginGuard
from pentad.http.noting import noted_call
from pentad.http.old_sse import OldSse
from pentad.http.parts import Parts
from pentad.http.resources import Resources
from pentad.http.routes import ordinary_routes
from pentad.mcp.exchange import Endpoint
from pentad.mcp.http import McpEndpoint
from pentad.platform import Door


def http_application(app: App) -> Front:
    """Every room on `/mcp`, each on `/rooms/<room>/mcp` and where else it says, parts, and the ordinary routes."""
    settings, limits = app.settings, app.settings.limits
    resources = Resources(
        [opened.room.name for opened in app.rooms],
        public_url=settings.public_url,
        own_url=settings.url(""),
        issuers=[issuer.issuer for issuer in settings.trusted_issuers() if is_safe_url(issuer.issuer)],
    )
    endpoints = mounted_endpoints(app, resources)
    is_open = settings.auth == "none"
    return Front(
        endpoints,
        ordinary_routes(app, resources),
        hosts=HostGuard(settings.host, public_url=settings.public_url, hosts=settings.allowed_hosts),
        origins=OriginGuard(
            public_url=settings.public_url,
            origins=settings.allowed_origins,
            shared=[prefix for opened in app.rooms for prefix in opened.room.any_origin],
            always_trusted=is_open,
        ),
        credentials=CredentialsGuard(None if is_open else app.authenticator, app.anonymous.logins),
        anonymous=AnonymousGuard(app.anonymous),
        rates=app.rates,
        limits=limits,
        resources=resources,
        parts=Parts(app.rooms, lambda path, part: _endpoint(app, path, app.one_part(part))),
        doors=Doors(mounted_doors(app, endpoints["/mcp"], resources)),
        public_url=settings.public_url,
        stopping=app.stopping,
    )


def mounted_endpoints(app: App, resources: Resources) -> dict[str, Endpoint]:
    """The MCP endpoints by path."""
    endpoints: dict[str, Endpoint] = {"/mcp": _endpoint(app, "/mcp", app.all_rooms)}
    for opened in app.rooms:
        path = f"/rooms/{opened.room.name}/mcp"
        endpoints[path] = _endpoint(app, path, app.one_room(opened))
        if opened.room.endpoints is not None:
            further = opened.room.endpoints(opened.service, app.record)
            endpoints.update(further)
            resources.add(opened.room.name, further)
    return endpoints


def mounted_doors(app: App, endpoint: Endpoint, resources: Resources) -> dict[str, Door]:
    """The rooms' own applications by path, and the server's own. The calls of a room's are noted in the audit trail."""
    found = dict(_old_doors(app, endpoint))
    for opened in app.rooms:
        if opened.room.doors is None:
            continue
        for path, door in opened.room.doors(opened.service).items():
            serve = noted_call(door.serve, opened.room.name, path, app.record)
            found[path] = Door(serve, door.is_public, door.refuse)
            resources.add(opened.room.name, [path])
    return found


def _old_doors(app: App, endpoint: Endpoint) -> Mapping[str, Door]:
    """The doors of the transport before streamable HTTP, where a room's settings ask for it."""
    variants = [opened.room.variants(opened.service) for opened in app.rooms if opened.room.variants is not None]
    return OldSse(endpoint).doors() if any(one.sse for one in variants) else {}


def _endpoint(app: App, path: str, era: Era) -> McpEndpoint:
    return McpEndpoint(
        path, era.legacy, era.modern, app.sessions, app.streams, app.hub, app.settings.limits, app.stopping
    )
