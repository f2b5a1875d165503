"""The ordinary routes: the server's own, the console's, and the rooms'."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from pentad import __version__
from pentad.access.audit import EVENTS
from pentad.app import App
from pentad.console.account import AccountPages
from pentad.console.admin_page import STYLES, TOOLS
from pentad.console.administration import AdministrationPages
from pentad.console.audit_trail import TrailPages
from pentad.console.lineage import LineagePages
from pentad.console.routes import Console
from pentad.console.search import SearchPages
from pentad.console.style_page import style_form, style_page, style_pages
from pentad.console.tools import ToolPages
from pentad.console.traces import TracePages
from pentad.http.administration import administration_routes, export_route
from pentad.http.administration_forms import AdministrationForms
from pentad.http.audit import audit_routes
from pentad.http.authorize import AuthorizePages
from pentad.http.connect import ConnectPages
from pentad.http.error_responses import error_headers
from pentad.http.events import event_routes
from pentad.http.forms import room_forms, visit_form
from pentad.http.guards.browser import wants_page
from pentad.http.guards.credentials import CredentialsGuard
from pentad.http.guards.request_checks import check_routes
from pentad.http.lineage import lineage_routes
from pentad.http.login import LoginPages
from pentad.http.oauth import OAuthEndpoints
from pentad.http.protected_resources import WELL_KNOWN, ProtectedResources
from pentad.http.search import search_routes
from pentad.http.server_pages import ServerPages, readiness
from pentad.kernel.errors import PROBLEM_TYPE, NotFound, PentadError
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.principal import ANY_ROOM
from pentad.platform import Operation, described

CONSOLE: Final = "console"
"""The room name under which visits to pages without a room are recorded."""


class _Routes(Starlette):
    """Starlette without its own outermost error handler: the front has one, and a crash must be answered only once."""

    def build_middleware_stack(self) -> ASGIApp:
        return ExceptionMiddleware(_indexed_by_prefix(self.router), handlers=self.exception_handlers)


def _indexed_by_prefix(router: Router) -> ASGIApp:
    """The same router, but it tries only routes whose path begins like the request's: there are hundreds."""
    prefixes = [(route, *_prefix_of(route)) for route in router.routes]
    routers: dict[tuple[str, ...], Router] = {}
    for here in {(), *(prefix for _, prefix, _ in prefixes)}:
        fitting = [
            route
            for route, prefix, is_whole in prefixes
            if here == prefix or (not is_whole and here[: len(prefix)] == prefix)
        ]
        routers[here] = Router(fitting, redirect_slashes=False)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        scope["router"] = router
        prefix = tuple(scope["path"].split("/", 3)[1:3])
        found = routers.get(prefix) or routers.get(prefix[:1]) or routers[()]
        await found(scope, receive, send)

    return serve


def _prefix_of(route: BaseRoute) -> tuple[tuple[str, ...], bool]:
    """The leading fixed ones of a path's first two segments, and whether all matching paths begin with just these."""
    if not isinstance(route, Route | Mount):
        return (), False
    segments = route.path.split("/", 3)[1:3]
    fixed = tuple(takewhile(lambda segment: "{" not in segment, segments))
    return fixed, len(fixed) == len(segments) and (isinstance(route, Route) or len(fixed) == 2)


def all_routes(
    app: App,
    mounted: Iterable[tuple[str, Sequence[BaseRoute]]],
    resources: ProtectedResources,
    credentials: CredentialsGuard,
    is_resource: Callable[[str], bool],
) -> Starlette:
    """The server's own routes, the console's, and those the rooms mount, by the room's name."""
    console = Console(app)
    routes: list[BaseRoute] = [
        *_console_routes(app, console),
        *console.file_routes(),
        *_own_routes(app, resources),
        *LoginPages(app, credentials).routes(),
        *_checked(app, administration_routes(app.administration, lambda: health(app)), EVENTS),
        *_checked(app, search_routes(app.room_search), ANY_ROOM),
        *_checked(app, lineage_routes(app.lineage), ANY_ROOM),
        *_checked(app, event_routes(app), EVENTS),
        *ConnectPages(app).routes(),
        *_oauth_routes(app, resources, is_resource),
    ]
    of_rooms = {opened.room.name: console.room_routes(opened) for opened in app.rooms}
    forms = {opened.room.name: room_forms(console, opened) for opened in app.rooms}
    for room, more in mounted:
        of_rooms[room].extend(more)
    for room, served in of_rooms.items():
        check_routes(served)
        served.extend(forms[room])
        audit_routes(served, room, app.record)
        resources.add(room, [route.path for route in served if isinstance(route, Route | Mount)])
        routes.extend(served)
    routes.append(console.last_route())
    return application(routes, console.lost)


def application(routes: Sequence[BaseRoute], lost: Callable[[Request], Awaitable[Response]] | None = None) -> Starlette:
    """The routes as an application whose errors are JSON. `lost` is the page for users at an unknown address."""

    async def no_such_path(request: Request, error: Exception) -> Response:
        is_page = request.method == "GET" and wants_page(dict(request.scope["headers"]))
        if lost is not None and is_page and request.state.principal.kind != "anonymous":
            return await lost(request)
        return await _no_such_path(request, error)

    handlers = {PentadError: _refuse, 404: no_such_path, 405: _no_such_method, HTTPException: _refuse_plainly}
    found = _Routes(routes=routes, exception_handlers=handlers)  # pyright: ignore[reportArgumentType]  narrower handlers
    found.router.redirect_slashes = False
    return found


def _checked(app: App, routes: list[BaseRoute], room: str) -> list[BaseRoute]:
    """The routes, with checks of the bodies they receive and an audit entry for each call."""
    check_routes(routes)
    audit_routes(routes, room, app.record)
    return routes


def _console_routes(app: App, console: Console) -> list[BaseRoute]:
    """The pages that belong to no room, and their forms. Visits are in the audit trail."""
    admin = app.administration
    tools = ToolPages(app)
    pages, account = AdministrationPages(admin, lambda: health(app), console.pages), AccountPages(admin)
    routes: list[BaseRoute] = [
        *console.home_routes(),
        *console.administration_routes(
            [
                *pages.pages(),
                *account.pages(),
                *TrailPages(admin).pages(),
                *TracePages(admin).pages(),
                *LineagePages(app.lineage).pages(),
                *SearchPages(app.room_search).pages(),
                *tools.pages(),
                *style_pages(),
            ]
        ),
        visit_form(console, TOOLS, "tool/{name:path}", tools.tool, tools.call),
        visit_form(console, TOOLS, "prompt/{name:path}", tools.prompt, tools.get_prompt),
        visit_form(console, STYLES, "", style_page, style_form),
        *AdministrationForms(admin, console, pages, account).routes(),
        Route("/console/audit/export", export_route(admin), include_in_schema=False),
    ]
    audit_routes(routes, CONSOLE, app.record)
    return routes


async def health(app: App) -> dict[str, Any]:
    """Readiness with every reason, and the state of the audit trail, the jobs and the profiles' typed tools."""
    _, body = await readiness(app)
    if provider := app.provider_health():
        body["identity_provider"] = provider
    trail = {"waiting": app.audit.waiting(), "dropped": app.audit.dropped}
    missing = await app.missing_tools()
    more: dict[str, Any] = {"profiles": missing} if missing else {}
    if rooms := await app.jobs.missing_rooms():
        more["missing_rooms"] = rooms
    return {**body, "version": __version__, "audit": trail, "jobs": await app.jobs.counts(), **more}


def _own_routes(app: App, resources: ProtectedResources) -> list[BaseRoute]:
    pages = ServerPages(app)

    @described(Operation("", "login", answer=dict[str, Any], public=True))
    async def resource_metadata(request: Request) -> Response:
        """Who issues tokens for this server (RFC 9728)."""
        return JSONResponse(resources.document(request.scope, "/" + request.path_params.get("path", "mcp")))

    return [
        *pages.routes(),
        Route(WELL_KNOWN, resource_metadata),
        Route(WELL_KNOWN + "/{path:path}", resource_metadata),
    ]


def _oauth_routes(app: App, resources: ProtectedResources, is_resource: Callable[[str], bool]) -> list[BaseRoute]:
    if not resources.issues_tokens:
        return []
    endpoints = OAuthEndpoints(app, resources, is_resource)
    return [*endpoints.routes(), *AuthorizePages(app, endpoints).routes()]


class MethodNotAllowed(PentadError, code="method_not_allowed", status=405):
    """The path is there, but not for this method."""


class Refused(PentadError, code="refused"):
    """Starlette refused the request."""


def _problem_response(
    error: PentadError, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    own = {name.decode(): value.decode() for name, value in error_headers(error)}
    return JSONResponse(
        error.as_problem(status), status or error.http_status, {**own, **(headers or {})}, media_type=PROBLEM_TYPE
    )


async def _refuse(request: Request, error: PentadError) -> Response:
    return _problem_response(ensure_logged(error, f"{request.method} {request.url.path[:200]}"))


async def _no_such_path(request: Request, _error: Exception) -> Response:
    return _problem_response(
        NotFound(f"There is nothing at {request.url.path[:200]!r}.", hint="GET /openapi.json lists what there is.")
    )


async def _no_such_method(request: Request, _error: Exception) -> Response:
    """Report the allowed methods: as the response to OPTIONS, or with an error for any other method."""
    methods = allowed_methods(request.app.routes, request.scope)
    headers = {"allow": ", ".join(methods)}
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=headers)
    error = MethodNotAllowed(f"{request.method} is not for this path.", hint=f"It takes {headers['allow']}.")
    return _problem_response(error, headers=headers)


def allowed_methods(routes: Sequence[BaseRoute], scope: Scope) -> list[str]:
    """The methods of a path. The first pattern that matches the path decides, as in the OpenAPI document."""
    path, methods = None, {"OPTIONS"}
    for route in routes:
        if isinstance(route, Route) and path in (None, route.path) and route.matches(scope)[0] is not Match.NONE:
            path = route.path
            methods |= route.methods or set()
    return sorted(methods)


async def _refuse_plainly(_request: Request, error: HTTPException) -> Response:
    return _problem_response(Refused(f"{error.detail}."), error.status_code, error.headers)
