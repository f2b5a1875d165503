"""Pages about the server itself: health, readiness, metrics, and what describes it to programs and models.

Everybody may ask whether it is alive and ready. The rest needs no login only where the setting `public_pages` says so.
What stays the same is made once; what costs work is made off the event loop, once for all who ask at a time.
"""

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad import __version__
from pentad.app import App
from pentad.console.home import llms_text
from pentad.http import openapi, telemetry
from pentad.http.documents import Document, Shared
from pentad.http.readiness import readiness
from pentad.kernel.errors import Forbidden, Unauthenticated
from pentad.kernel.principal import Principal

_KEPT_SECONDS: Final = 1.0
"""How old an answer to somebody without credentials may be, of those that cost the store work."""


class ServerPages:
    """The pages of an open Pentad."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._routes: list[BaseRoute] = []
        self._readiness = Shared(self._probe, app.clock, seconds=_KEPT_SECONDS)
        self._metrics = Shared(self._render_metrics, app.clock, seconds=_KEPT_SECONDS)
        self._description = Shared(self._describe, app.clock)
        self._models_page = Document(llms_text(app).encode("utf-8"), "text/plain; charset=utf-8")

    def routes(self) -> list[BaseRoute]:
        async def healthz(_request: Request) -> Response:
            """Whether the process is alive."""
            return JSONResponse({"status": "ok", "version": __version__})

        async def readyz(request: Request) -> Response:
            """Whether the store reads and writes and every room is well; in detail to those who may know."""
            caller = _caller(request)
            status, body = await (self._readiness.kept() if _is_anonymous(caller) else self._readiness.fresh())
            shown = body if self._may_see("readiness", caller) else {"status": body["status"]}
            return JSONResponse(shown, status_code=status)

        async def metrics(request: Request) -> Response:
            """Counters and latencies of all calls, for Prometheus."""
            caller = _caller(request)
            self._check("metrics", caller)
            if not _is_anonymous(caller) and not caller.may("metrics", "read"):
                raise Forbidden("This needs the scope metrics:read.")
            page = await (self._metrics.kept() if _is_anonymous(caller) else self._metrics.fresh())
            return page.answer(request)

        async def describe(request: Request) -> Response:
            """This description."""
            self._check("openapi", _caller(request))
            self._routes = request.app.routes
            return (await self._description.kept()).answer(request)

        async def llms(request: Request) -> Response:
            """The page for models."""
            self._check("llms", _caller(request))
            return self._models_page.answer(request)

        return [
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", metrics),
            Route("/openapi.json", describe),
            Route("/llms.txt", llms),
        ]

    def _may_see(self, page: str, caller: Principal) -> bool:
        return not _is_anonymous(caller) or self._app.settings.is_public(page)

    def _check(self, page: str, caller: Principal) -> None:
        if not self._may_see(page, caller):
            raise Unauthenticated(
                "This page needs credentials.",
                hint=f"Sign in. The operator can open it to everybody: public_pages has to name {page}.",
            )

    async def _probe(self) -> tuple[int, dict[str, Any]]:
        return await readiness(self._app)

    async def _render_metrics(self) -> Document:
        totals = await self._app.audit.totals()

        def render() -> Document:
            return Document(telemetry.exposition(totals, self._app.audit).encode("utf-8"), telemetry.CONTENT_TYPE)

        return await asyncio.to_thread(render)

    async def _describe(self) -> Document:
        """Made of the routes, which do not change while the server runs."""
        server = self._app.settings.url("")

        def render() -> Document:
            body = JSONResponse(openapi.document(self._routes, server)).body
            return Document(bytes(body), "application/json")

        return await asyncio.to_thread(render)


def _caller(request: Request) -> Principal:
    return request.state.principal


def _is_anonymous(caller: Principal) -> bool:
    return caller.kind == "anonymous"
