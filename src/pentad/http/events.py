"""The feed of events over HTTP: pages as JSON, and a stream of server-sent events that resumes with `Last-Event-ID`."""

from collections.abc import AsyncGenerator
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute

from pentad.access.audit_query import read_time
from pentad.administration.event_rule_tool import NewRule
from pentad.app import App
from pentad.events.feed import MOST, NOW, URI, EventFilter
from pentad.http.administration import AdminRequest
from pentad.kernel.principal import Principal
from pentad.kernel.query_parameters import names_in, number_in
from pentad.mcp.call import KEEP_ALIVE_SECONDS
from pentad.mcp.http_exchange import KEEP_ALIVE
from pentad.platform import Operation, Parameter, protected_route

STREAM: Final = "text/event-stream"
_HEADERS: Final = {"content-type": STREAM, "cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
_TOPIC: Final = "Events"
_ANYONE: Final = ":read"
_RULES: Final = "/api/events/rules"
_ONE_RULE: Final = "/api/events/rules/{id}"
_FILTERS: Final = (
    Parameter("room", "Rooms, with commas between them."),
    Parameter("kind", "Kinds or types, with commas between them; `object.*` for all kinds with that prefix."),
    Parameter("subject", "The URI the event is about, or a prefix followed by `*`."),
    Parameter("since", "A time (ISO 8601), or a period before now such as 24h."),
    Parameter("until", "A time (ISO 8601), or a period before now."),
    Parameter(
        "cursor", "The cursor of an earlier response, or `now` for future events only. Without one, from the beginning."
    ),
)


def event_routes(app: App) -> list[BaseRoute]:
    """The routes of the feed."""

    async def events(request: Request, principal: Principal) -> Any:
        """What happened, oldest first."""
        wanted = _filter(app, request)
        app.events.check(wanted)
        cursor = request.query_params.get("cursor") or None
        if STREAM in request.headers.get("accept", ""):
            start = request.headers.get("last-event-id") or cursor or NOW
            # Before the response begins: an invalid cursor is refused, and no event after the response begins is
            # missed.
            first = await app.events.page(principal, wanted, start, 1)
            start = first.cursor if start == NOW else start
            return StreamingResponse(_stream(app, principal, wanted, start), headers=_HEADERS)
        page = await app.events.page(
            principal, wanted, cursor, number_in(request.query_params.get("limit"), "limit", 100, 1, MOST)
        )
        return page.as_json()

    async def kinds(_request: Request, _principal: Principal) -> dict[str, Any]:
        return {"rooms": app.events.kinds()}

    async def rules(_request: Request, principal: Principal) -> dict[str, Any]:
        return {"rules": await app.rules.list(principal)}

    async def add_rule(request: Request, principal: Principal) -> Response:
        given = await AdminRequest(app.administration, request).body(NewRule)
        made = await app.rules.add(principal, given.name, given.wanted(), given.action(), given.cursor)
        return JSONResponse(made, 201)

    async def rule(request: Request, principal: Principal) -> dict[str, Any]:
        return await app.rules.get(principal, request.path_params["id"])

    async def remove_rule(request: Request, principal: Principal) -> Response:
        await app.rules.remove(principal, request.path_params["id"])
        return Response(status_code=204)

    async def resume_rule(request: Request, principal: Principal) -> dict[str, Any]:
        return await app.rules.resume(principal, request.path_params["id"])

    limit = Parameter("limit", "How many events.", "integer", minimum=1, maximum=MOST)
    resume = Parameter("Last-Event-ID", "The id of the last event of a stream that was lost.", place="header")
    about = (
        "Read the events of all rooms, oldest first, as CloudEvents; with `Accept: text/event-stream`, as they happen."
    )
    return [
        protected_route("GET", "/api/events", _ANYONE, Operation(about, _TOPIC, (*_FILTERS, limit, resume)), events),
        protected_route("GET", "/api/events/kinds", _ANYONE, Operation("List the kinds of events.", _TOPIC), kinds),
        protected_route("GET", _RULES, _ANYONE, Operation("List your rules.", _TOPIC), rules),
        protected_route(
            "POST",
            _RULES,
            _ANYONE,
            Operation(
                "Add a rule: send each matching event to a URL, or as a task to an agent.",
                _TOPIC,
                body=NewRule,
                answer=dict[str, Any],
                status=201,
            ),
            add_rule,
        ),
        protected_route("GET", _ONE_RULE, _ANYONE, Operation("One of your rules.", _TOPIC), rule),
        protected_route(
            "DELETE", _ONE_RULE, _ANYONE, Operation("Remove one of your rules.", _TOPIC, status=204), remove_rule
        ),
        protected_route(
            "POST",
            f"{_ONE_RULE}/resume",
            _ANYONE,
            Operation("Enable a rule again that has failed too often.", _TOPIC),
            resume_rule,
        ),
    ]


async def _stream(app: App, principal: Principal, wanted: EventFilter, cursor: str) -> AsyncGenerator[bytes]:
    """Events after a cursor as they happen, for as long as the caller may read them."""
    listener = app.hub.add(principal.id, lambda change: change.subject == URI)
    try:
        yield b"retry: 2000\n\n"
        async for part in _new(app, principal, wanted, cursor):
            cursor, frame = part
            yield frame
        async for change in app.hub.changes(listener, app.stopping, KEEP_ALIVE_SECONDS):
            principal = await app.principal_now(principal)
            if change is None:
                yield KEEP_ALIVE
            async for part in _new(app, principal, wanted, cursor):
                cursor, frame = part
                yield frame
    finally:
        app.hub.remove(listener)


async def _new(app: App, principal: Principal, wanted: EventFilter, cursor: str) -> AsyncGenerator[tuple[str, bytes]]:
    """All events after a cursor, each as a frame with the cursor that follows it."""
    while True:
        page = await app.events.page(principal, wanted, cursor, MOST)
        for event, behind in zip(page.events, page.cursors, strict=True):
            yield behind, b"id: %b\nevent: %b\ndata: %b\n\n" % (
                behind.encode(), event.type.encode(), msgspec.json.encode(event.as_json()),
            )  # fmt: skip
        cursor = page.cursor
        if not page.has_more:
            return


def _filter(app: App, request: Request) -> EventFilter:
    given = request.query_params
    now = app.clock.now()
    times = {name: read_time(name, given[name], now) for name in ("since", "until") if given.get(name)}
    return EventFilter(
        frozenset(names_in(given.get("room"))), names_in(given.get("kind")), given.get("subject", ""), **times
    )
