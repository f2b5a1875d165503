"""The ordinary routes: those every server has, the console, and those of the rooms."""

from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from pentad.app import App
from pentad.console.console import Console
from pentad.http.guards.media import check_routes
from pentad.http.noting import note_calls
from pentad.http.replies import error_headers
from pentad.http.resources import WELL_KNOWN, Resources
from pentad.http.server_pages import ServerPages
from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.incidents import noted


class _Site(Starlette):
    """Starlette without its own outermost net: the front has one, and a crash must be answered once."""

    def build_middleware_stack(self) -> ASGIApp:
        return ExceptionMiddleware(self.router, handlers=self.exception_handlers)


def ordinary_routes(app: App, resources: Resources) -> Starlette:
    """A Starlette application with the server's own routes and those of its rooms."""
    console = Console(app)
    routes: list[BaseRoute] = [*console.own_routes(), *_own_routes(app, resources)]
    for opened in app.rooms:
        served = console.room_routes(opened)
        if opened.room.routes is not None:
            served.extend(opened.room.routes(opened.service))
        check_routes(served)
        note_calls(served, opened.room.name, app.record)
        resources.add(opened.room.name, [route.path for route in served if isinstance(route, Route | Mount)])
        routes.extend(served)
    routes.append(console.last_route())
    handlers = {PentadError: _refuse, 404: _no_such_path, 405: _no_such_method, HTTPException: _refuse_plainly}
    site = _Site(routes=routes, exception_handlers=handlers)  # pyright: ignore[reportArgumentType]  narrower handlers
    site.router.redirect_slashes = False
    return site


def _own_routes(app: App, resources: Resources) -> list[BaseRoute]:
    pages = ServerPages(app)

    async def resource_metadata(request: Request) -> Response:
        """Who issues tokens for this server (RFC 9728)."""
        return JSONResponse(resources.document(request.scope, "/" + request.path_params.get("path", "mcp")))

    return [
        *pages.routes(),
        Route(WELL_KNOWN, resource_metadata),
        Route(WELL_KNOWN + "/{path:path}", resource_metadata),
    ]


async def _refuse(request: Request, error: PentadError) -> Response:
    noted(error, f"{request.method} {request.url.path[:200]}")
    headers = {name.decode(): value.decode() for name, value in error_headers(error)}
    return JSONResponse({"error": error.as_json()}, status_code=error.http_status, headers=headers)


async def _no_such_path(request: Request, _error: Exception) -> Response:
    error = NotFound(f"There is nothing at {request.url.path[:200]!r}.", hint="GET /openapi.json lists what there is.")
    return JSONResponse({"error": error.as_json()}, status_code=404)


async def _no_such_method(request: Request, error: Any) -> Response:
    body = {"code": "method_not_allowed", "message": f"{request.method} is not for this path."}
    return JSONResponse({"error": body}, status_code=405, headers=error.headers)


async def _refuse_plainly(_request: Request, error: HTTPException) -> Response:
    body = {"code": "refused", "message": f"{error.detail}."}
    return JSONResponse({"error": body}, status_code=error.status_code, headers=error.headers)
