"""Calls of rooms' ordinary routes go into the audit trail as calls of tools do: who, what, how it ended, how long.

A call is named by its method and the route's own pattern, so that nothing a caller writes gets into the trail's names;
of the request only its id and trace are kept. What has no route, or was refused before it came to one, is no call.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Final

from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pentad.kernel.errors import PentadError
from pentad.kernel.trace import RequestMark, request_mark
from pentad.mcp.dispatcher import Record
from pentad.net.body import ClientDisconnected

_REFUSED: Final = 400


def note_calls(routes: Iterable[BaseRoute], room: str, record: Record) -> None:
    """Have every call of these routes noted."""
    for route in routes:
        if isinstance(route, Route | Mount):
            route.app = noted_call(route.app, room, route.path, record)


def noted_call(app: ASGIApp, room: str, pattern: str, record: Record) -> ASGIApp:
    """The same application, each of its calls noted; one that says what was called and how it ended is believed."""

    async def noted(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        outcome = "cancelled"

        async def answer(message: Message) -> None:
            nonlocal outcome
            if message["type"] == "http.response.start":
                status: int = message["status"]
                outcome = "ok" if status < _REFUSED else str(status)
            await send(message)

        started = time.perf_counter()
        request_id, trace = _marks(scope)
        who = scope["state"]["principal"].id
        request_mark.set(RequestMark(request_id, trace[3:35] or None, trace or None, principal=who))
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
            marks = request_id, "", "http", trace, who.credential
            record((time.time(), who.id, room, name, outcome, elapsed, *marks))

    return noted


def _marks(scope: Scope) -> tuple[str, str]:
    """The request's id and trace, as far as the caller gave them."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    return headers.get(b"x-request-id", b"").decode("latin-1"), headers.get(b"traceparent", b"").decode("latin-1")
