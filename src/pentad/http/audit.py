"""Records calls of routes and applications in the audit trail, like calls of tools: who, what, outcome, duration.

A call is named by its method and the route's pattern, so callers cannot put text into the trail's names. Only the id
and trace of a request are recorded. Requests that match no route, or fail before they reach one, are not calls.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Final

from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pentad.kernel import trace as traces
from pentad.kernel.errors import PentadError
from pentad.kernel.trace import RequestMark, request_mark, trace_id_of
from pentad.mcp.dispatcher import Record
from pentad.net.request_body import ClientDisconnected

_FIRST_ERROR: Final = 400


def audit_routes(routes: Iterable[BaseRoute], room: str, record: Record) -> None:
    """Record every call of these routes."""
    for route in routes:
        if isinstance(route, Route | Mount):
            route.app = audit_app(route.app, room, route.path, record)


def audit_app(app: ASGIApp, room: str, pattern: str, record: Record) -> ASGIApp:
    """The same application, with every call recorded. It may set the call's name and outcome itself, in its state."""

    async def audited(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        outcome = "cancelled"

        async def answer(message: Message) -> None:
            nonlocal outcome
            if message["type"] == "http.response.start":
                status: int = message["status"]
                outcome = "ok" if status < _FIRST_ERROR else str(status)
            await send(message)

        started = time.perf_counter()
        trace = scope.get("trace") or traces.new_trace_id()
        request_id = _request_id(scope)
        who = scope["state"]["principal"].id
        request_mark.set(RequestMark(request_id, trace_id_of(trace), trace, principal=who))
        try:
            await app(scope, receive, answer)
        except PentadError as error:
            outcome = str(error.http_status)
            raise
        except (asyncio.CancelledError, ClientDisconnected):
            outcome = "cancelled"
            raise
        except Exception:
            outcome = "500"
            raise
        finally:
            elapsed = int((time.perf_counter() - started) * 1_000_000)
            state = scope["state"]
            name, outcome = state.get("call") or f"{scope['method']} {pattern}", state.get("outcome") or outcome
            who = state["principal"]
            marks = request_id, "", "http", trace, who.credential, ""  # all fields of a call, as the trail expects
            record((time.time(), who.id, room, name, outcome, elapsed, *marks))

    return audited


def _request_id(scope: Scope) -> str:
    """The id that the caller gave the request; empty if it gave none."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"), "")
