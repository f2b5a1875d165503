"""The ordinary routes every server has: health, readiness, metrics, and what describes the server to programs."""

from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from pentad import __version__
from pentad.app import App
from pentad.gateway import openapi, telemetry
from pentad.gateway.noting import note_calls
from pentad.gateway.replies import error_headers
from pentad.gateway.resources import WELL_KNOWN, Resources
from pentad.kernel.errors import NotFound, PentadError
from pentad.platform import OpenRoom
from pentad.storage.probe import probe_store
from pentad.web.console import Console
from pentad.web.home import llms_text


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
        note_calls(served, opened.room.name, app.record)
        resources.add(opened.room.name, [route.path for route in served if isinstance(route, Route | Mount)])
        routes.extend(served)
    routes.append(console.last_route())
    handlers = {PentadError: _refuse, 404: _no_such_path, 405: _no_such_method, HTTPException: _refuse_plainly}
    site = _Site(routes=routes, exception_handlers=handlers)  # pyright: ignore[reportArgumentType]  narrower handlers
    site.router.redirect_slashes = False
    return site


def _own_routes(app: App, resources: Resources) -> list[BaseRoute]:
    async def healthz(_request: Request) -> Response:
        """Whether the process is alive."""
        return JSONResponse({"status": "ok", "version": __version__})

    async def readyz(_request: Request) -> Response:
        """Whether the store answers and every room is well; without an issuer of tokens a server is still ready."""
        store = await probe_store(app.database)
        rooms = {opened.room.name: await _health(opened) for opened in app.rooms}
        ready = store.trouble is None and all(state.get("status") == "ok" for state in rooms.values())
        shown: dict[str, Any] = {"dialect": store.dialect, "schema": store.schema, "queued": store.queued}
        if store.trouble is not None:
            shown["trouble"] = store.trouble.as_json()
        issuers = {name: "ok" if trouble is None else "unreachable" for name, trouble in app.issuer_troubles().items()}
        well = ready and "unreachable" not in issuers.values()
        body = {"status": "ok" if well else "degraded", "store": shown, "rooms": rooms}
        if issuers:
            body["issuers"] = issuers
        return JSONResponse(body, status_code=200 if ready else 503)

    async def metrics(_request: Request) -> Response:
        """Counters and latencies of all calls, for Prometheus."""
        text = telemetry.exposition(await app.audit.totals(), app.audit)
        return PlainTextResponse(text, media_type=telemetry.CONTENT_TYPE)

    async def describe(request: Request) -> Response:
        """This description."""
        return JSONResponse(openapi.document(request.app.routes, app.settings.url("")))

    async def resource_metadata(request: Request) -> Response:
        """Who issues tokens for this server (RFC 9728)."""
        return JSONResponse(resources.document(request.scope, "/" + request.path_params.get("path", "mcp")))

    async def llms(_request: Request) -> Response:
        """The page for models."""
        return PlainTextResponse(llms_text(app))

    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
        Route("/openapi.json", describe),
        Route("/llms.txt", llms),
        Route(WELL_KNOWN, resource_metadata),
        Route(WELL_KNOWN + "/{path:path}", resource_metadata),
    ]


async def _health(opened: OpenRoom) -> dict[str, Any]:
    if opened.room.health is None:
        return {"status": "ok"}
    try:
        return {"status": "ok", **await opened.room.health(opened.service)}
    except PentadError as error:
        return {"status": error.code, "message": error.message}


async def _refuse(_request: Request, error: PentadError) -> Response:
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
