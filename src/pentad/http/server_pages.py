"""Pages about the server itself: `/healthz`, `/readyz`, `/metrics`, `/openapi.json` and `/llms.txt`.

Everyone may ask whether the server is alive and ready. The other pages need a login, unless the setting `public_pages`
names them. Constant pages are made once. Expensive ones are made off the event loop, once for all concurrent callers.
"""

import asyncio
import gzip
import hashlib
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, Final, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad import __version__, openapi
from pentad.access.single_flight import SingleFlight
from pentad.app import App
from pentad.console.home import llms_text
from pentad.http import prometheus
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import Forbidden, Unauthenticated
from pentad.kernel.principal import Principal
from pentad.platform import Operation, described

V = TypeVar("V")

_CACHE_SECONDS: Final = 1.0
"""How old a page that needs the store may be for callers without credentials."""
_COMPRESSED_FROM: Final = 1024
_STATUSES: Final = {"ok": 200, "degraded": 200, "failing": 503}


class ServerPages:
    """The pages of an open Pentad."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._routes: list[BaseRoute] = []
        self._readiness = CachedValue(self._probe, app.clock, seconds=_CACHE_SECONDS)
        self._metrics = CachedValue(self._render_metrics, app.clock, seconds=_CACHE_SECONDS)
        self._description = CachedValue(self._describe, app.clock)
        self._models_page = Document(llms_text(app).encode("utf-8"), "text/plain; charset=utf-8")

    def routes(self) -> list[BaseRoute]:
        @described(Operation("", "server", answer=dict[str, str], public=True))
        async def healthz(_request: Request) -> Response:
            """Whether the process is alive."""
            return JSONResponse({"status": "ok", "version": __version__})

        @described(Operation("", "server", answer=dict[str, Any], errors={503: dict[str, Any]}, public=True))
        async def readyz(request: Request) -> Response:
            """Whether the store reads and writes and every room is well; in detail for callers who may know."""
            caller = _caller(request)
            status, body = await (self._readiness.cached() if _is_anonymous(caller) else self._readiness.fresh())
            visible = body if self._may_see("readiness", caller) else {"status": body["status"]}
            return JSONResponse(visible, status_code=status)

        @described(self._operation("metrics", produces=["text/plain"], scope="metrics:read"))
        async def metrics(request: Request) -> Response:
            """Counters and latencies of all calls, and the rooms' samples, for Prometheus."""
            caller = _caller(request)
            self._check("metrics", caller)
            if not _is_anonymous(caller) and not caller.may("metrics", "read"):
                raise Forbidden("This needs the scope metrics:read.")
            page = await (self._metrics.cached() if _is_anonymous(caller) else self._metrics.fresh())
            return page.answer(request)

        @described(self._operation("openapi", answer=dict[str, Any]))
        async def describe(request: Request) -> Response:
            """This description."""
            self._check("openapi", _caller(request))
            self._routes = request.app.routes
            return (await self._description.cached()).answer(request)

        @described(self._operation("llms", produces=["text/plain"]))
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

    def _operation(self, page: str, **facts: Any) -> Operation:
        public = self._app.settings.is_public(page)
        return Operation("", "server", headers=["ETag"], not_modified=True, public=public, **facts)

    def _may_see(self, page: str, caller: Principal) -> bool:
        return not _is_anonymous(caller) or self._app.settings.is_public(page)

    def _check(self, page: str, caller: Principal) -> None:
        if not self._may_see(page, caller):
            raise Unauthenticated(
                "This page needs credentials.",
                hint=f"Sign in. The operator can make it public: public_pages has to name {page}.",
            )

    async def _probe(self) -> tuple[int, dict[str, Any]]:
        return await readiness(self._app)

    async def _render_metrics(self) -> "Document":
        totals, families = await self._app.audit.totals(), await self._app.telemetry()

        def render() -> Document:
            text = prometheus.exposition(totals, self._app.audit, families)
            return Document(text.encode("utf-8"), prometheus.CONTENT_TYPE)

        return await asyncio.to_thread(render)

    async def _describe(self) -> "Document":
        """Made from the routes, which do not change while the server runs."""
        settings = self._app.settings
        site, rooms = settings.url(""), [opened.room.name for opened in self._app.rooms]
        schemes: dict[str, Any] = {}
        if settings.auth == "required":
            schemes = openapi.security_schemes(site, rooms, issues_tokens=settings.login.authorization_server)

        def render() -> Document:
            operations = openapi.operations_of(self._routes)
            described = openapi.document(operations, title="Pentad", version=__version__, server=site, schemes=schemes)
            body = JSONResponse(described).body
            return Document(bytes(body), "application/json")

        return await asyncio.to_thread(render)


async def readiness(app: App) -> tuple[int, dict[str, Any]]:
    """The status and body of `/readyz`: `ok`, `degraded` or `failing`, with the reasons.

    `degraded` is still 200: the store refuses writes, a room is unhealthy, or a token issuer or the identity provider
    is unreachable, but everything else works, above all reading. Taking such a server out of service would turn a
    partial failure into a total one, on every server of that store at once. `failing` is 503: not even reading is
    reliable.
    """
    store = await app.store_watch.now()
    health = app.store_watch.health
    rooms = {opened.room.name: {"status": "ok"} for opened in app.rooms} | await app.health()
    issuers = {name: "ok" if trouble is None else "unreachable" for name, trouble in app.issuer_troubles().items()}
    provider = app.provider_health()
    states = [*issuers.values(), provider.get("status", "ok"), *(state.get("status") for state in rooms.values())]
    status = health.status
    if status == "ok":
        if store.trouble is not None:
            status = "failing"
        elif any(state != "ok" for state in states):
            status = "degraded"
    store_state: dict[str, Any] = {"dialect": store.dialect, "schema": store.schema, "queued": store.queued}
    if troubles := [{**fault.error, "since": iso(fault.since)} for fault in health.faults()]:
        store_state["troubles"] = troubles
    elif store.trouble is not None:
        store_state["troubles"] = [store.trouble.as_json()]
    body: dict[str, Any] = {"status": status, "store": store_state, "rooms": rooms}
    if issuers:
        body["issuers"] = issuers
    if provider:
        body["identity_provider"] = {"status": provider["status"]}  # the reason may name hosts of a private network
    return _STATUSES[status], body


class Document:
    """Bytes with an ETag, compressed once for clients that accept gzip. Create a large one in a thread."""

    def __init__(self, body: bytes, media_type: str, *, cache_control: str = "no-cache") -> None:
        self._body = body
        self._gzipped = gzip.compress(body, 6) if len(body) >= _COMPRESSED_FROM else None
        self._etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        self._headers = {
            "cache-control": cache_control,
            "vary": "accept-encoding",
            "x-content-type-options": "nosniff",
        }
        self._media_type = media_type

    def answer(self, request: Request) -> Response:
        """The document, or 304 if the client already has it."""
        gzipped = self._gzipped if "gzip" in request.headers.get("accept-encoding", "") else None
        etag = self._etag if gzipped is None else f'{self._etag[:-1]}-gzip"'
        headers = {**self._headers, "etag": etag}
        known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
        if etag in known or known == ["*"]:
            return Response(status_code=304, headers=headers)
        if gzipped is not None:
            headers["content-encoding"] = "gzip"
        return Response(gzipped or self._body, headers=headers, media_type=self._media_type)


class CachedValue(Generic[V]):
    """A value that concurrent callers compute together, cached for some seconds."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, V]], clock: Clock, *, seconds: float = inf) -> None:
        self._make = make
        self._monotonic = clock.monotonic
        self._seconds = seconds
        self._flights: SingleFlight[None, V] = SingleFlight()
        self._cached: tuple[V, float] | None = None

    async def cached(self) -> V:
        """The value, at most `seconds` old."""
        if self._cached is not None and self._monotonic() < self._cached[1]:
            return self._cached[0]
        return await self.fresh()

    async def fresh(self) -> V:
        """A value computed now."""
        value = await self._flights.run(None, self._make)
        self._cached = (value, self._monotonic() + self._seconds)
        return value


def _caller(request: Request) -> Principal:
    return request.state.principal


def _is_anonymous(caller: Principal) -> bool:
    return caller.kind == "anonymous"
