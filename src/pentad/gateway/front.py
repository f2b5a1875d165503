"""The root ASGI application: every request passes the same guards in the same order.

host -> origin -> credentials -> rate -> calls in flight -> media type -> body, then the MCP endpoint of that path.
A path that is a room's own door passes the same guards but the media type, which is the door's affair. All others pass
host, origin and credentials here and go on to the ordinary routes with the principal in `scope["state"]`.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Final

from pentad.access.credentials import Authenticator
from pentad.access.rate_limits import RateLimits
from pentad.gateway.doors import Doors
from pentad.gateway.guards import HostGuard
from pentad.gateway.parts import Parts, Place
from pentad.gateway.replies import send_empty, send_error, send_refusal
from pentad.gateway.resources import Resources
from pentad.kernel.errors import Forbidden, InvalidInput, Overloaded, PentadError
from pentad.kernel.limits import MIB, Limits
from pentad.kernel.principal import ANONYMOUS, LOCAL, Principal
from pentad.mcp.exchange import Endpoint, HttpExchange
from pentad.mcp.sse import Message, Receive, Send
from pentad.mcp.wire_errors import unforeseen
from pentad.net.body import BodyTooLarge, ClientDisconnected, bounded_receive, drained, read_body
from pentad.platform import Admitted, AsgiApp, Door, Scope

_ASKED_FIRST: Final = frozenset({b"application/json", b"application/json-patch+json"})
"""Kinds of bodies a browser does not send to another origin without asking."""
_FORM: Final = b"multipart/form-data"
_MOST_DRAINED: Final = 32 * MIB
_DRAIN_SECONDS: Final = 10.0
"""What is read of a body that is refused, so that its sender hears why."""
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_NONE_REPEATED: Final = frozenset[bytes]()
_USUAL_MEDIA: Final = frozenset(
    (b"application/json", accept)
    for accept in (None, b"*/*", b"application/json, text/event-stream", b"application/json,text/event-stream")
)
_CORS_HEADERS: Final = (
    b"authorization, x-api-key, content-type, accept, last-event-id, a2a-version, a2a-extensions,"
    b" mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, if-match, if-none-match, idempotency-key"
)


class MisdirectedRequest(PentadError):
    """Asked for by a name that is not ours."""

    code = "misdirected"
    http_status = 421


class UnsupportedMedia(InvalidInput):
    """A body of a kind nobody here reads."""

    code = "unsupported_media_type"
    http_status = 415


class NotAcceptable(InvalidInput):
    """No kind of answer the client would take."""

    code = "not_acceptable"
    http_status = 406


class Front:
    """Guards, then dispatches by path."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        ordinary: AsgiApp,
        *,
        guard: HostGuard,
        authenticator: Authenticator | None,
        rates: RateLimits,
        limits: Limits,
        resources: Resources,
        parts: Parts,
        doors: Doors,
        public_url: str | None,
        stopping: asyncio.Event,
        any_origin: Sequence[str] = (),
    ) -> None:
        self._endpoints = {path: point for key, point in endpoints.items() for path in (key, key + "/")}
        self._ordinary = ordinary
        self._guard = guard
        self._authenticator = authenticator
        self._rates = rates
        self._limits = limits
        self._resources = resources
        self._parts = parts
        self._doors = doors
        self._public_url = public_url
        self._stopping = stopping
        self._any_origin = tuple(any_origin) if authenticator is not None else ()
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        pairs: list[tuple[bytes, bytes]] = scope["headers"]
        headers = dict(pairs)
        origin = headers.get(b"origin")
        try:
            self._check_addressee(scope, headers, origin)
            if origin is not None:
                send = _with_cors(send, origin)
                if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
                    await _preflight(send)
                    return
            endpoint = self._endpoints.get(scope["path"]) or self._parts.place(scope["path"])
            if endpoint is None:
                if self._authenticator is not None:
                    send = self._challenging(scope, headers, send)
                if (door := self._doors.find(scope["path"])) is not None:
                    await self._serve_door(door, scope, headers, receive, send)
                else:
                    await self._serve_ordinary(scope, headers, receive, send)
                return
            principal = LOCAL
            if self._authenticator is not None:
                principal = await self.principal(scope, headers, required=True)
            if not self._rates.try_spend(principal.id):
                await self._rates.spend(principal.id)
            repeated = _NONE_REPEATED if len(headers) == len(pairs) else _repeated(pairs)
            exchange = HttpExchange(headers, repeated, principal, receive, send, front=self, scope=scope)
            if isinstance(endpoint, Place):
                endpoint = await self._parts.endpoint(endpoint, principal)
            await self._serve_mcp(endpoint, scope["method"], exchange)
        except PentadError as error:
            await send_error(send, error, self._resources.refusal(scope, headers, error))
        except Exception as error:  # noqa: BLE001  the outermost wall: a caller hears an incident number, the log the rest
            await send_error(send, PentadError(unforeseen(error, f"{scope['method']} {scope['path']}").message))

    def _check_addressee(self, scope: Scope, headers: Mapping[bytes, bytes], origin: bytes | None) -> None:
        if not self._guard.host_is_ours(headers.get(b"host", b"")):
            raise MisdirectedRequest(
                "This server does not answer to that Host name.", hint="Add the name to allowed_hosts if it is yours."
            )
        if origin is not None and not self._guard.origin_is_ours(origin) and not self._is_shared(scope, headers):
            raise Forbidden(
                "Web pages of that Origin may not call this server.", hint="Add it to allowed_origins if it is yours."
            )

    def _is_shared(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Whether pages of every origin may send this; never on the strength of credentials a browser adds itself.

        Our answers do not allow credentials, so a browser leaves its own out of whatever it asks permission for first,
        and a body in JSON makes it ask.
        """
        if not any(scope["path"].startswith(prefix) for prefix in self._any_origin):
            return False
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        return scope["method"] not in _WITH_BODY or kind in _ASKED_FIRST

    async def principal(self, scope: Scope, headers: Mapping[bytes, bytes], *, required: bool) -> Principal:
        """Who sends these headers; without credentials nobody, unless some are required."""
        if self._authenticator is None:
            return LOCAL
        credentials = headers.get(b"authorization")
        if credentials is None and (key := headers.get(b"x-api-key")) is not None:
            credentials = b"Bearer " + key.strip(b" \t")
        if credentials is None and not required:
            return ANONYMOUS
        if credentials is not None and (known := self._authenticator.known(credentials)) is not None:
            return known
        client = scope.get("client")
        return await self._authenticator.authenticate(credentials, client[0] if client else None)

    def insufficient(self, scope: Scope, headers: Mapping[bytes, bytes], needed: str) -> list[tuple[bytes, bytes]]:
        """The challenge for a caller that lacks a scope."""
        return self._resources.insufficient(scope, headers, needed)

    def _challenging(self, scope: Scope, headers: Mapping[bytes, bytes], send: Send) -> Send:
        """Rooms refuse in their own words; how to log in is the same everywhere, and said here."""

        def answer(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start" and message["status"] in (401, 403):
                message = self._resources.challenged(message, scope, headers)
            return send(message)

        return answer

    async def _serve_ordinary(self, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        principal = await self.principal(scope, headers, required=False)
        if principal is not ANONYMOUS and not self._rates.try_spend(principal.id):
            await self._rates.spend(principal.id)
        try:
            if scope["method"] in _WITH_BODY:
                receive = await self._receive_body(headers, receive)
            scope.setdefault("state", {})["principal"] = principal
            scope["path"] = scope["path"].rstrip("/") or "/"
            await self._ordinary(scope, receive, send)
        except ClientDisconnected:
            return

    async def _serve_door(
        self, door: Door, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        method, path = scope["method"], scope["path"]
        place = _Place(self)
        try:
            principal = LOCAL
            if self._authenticator is not None:
                principal = await self.principal(scope, headers, required=not door.is_public(method, path))
            if principal is not ANONYMOUS and not self._rates.try_spend(principal.id):
                await self._rates.spend(principal.id)
            body = b""
            if method in _WITH_BODY:
                place.take()
                limit, floor = self._limits.body_bytes, self._limits.body_bytes_per_second
                body = await read_body(receive, _length(headers), limit=limit, floor_bytes_per_second=floor)
            now = partial(self.principal, scope, headers, required=True)
            admitted = Admitted(principal, headers, body, place.leave, now, self._public_url, self._stopping)
            state = scope.setdefault("state", {})
            state["principal"], state["admitted"] = principal, admitted
            await door.serve(scope, receive, send)
        except ClientDisconnected:
            return
        except PentadError as error:
            if door.refuse is None:
                raise
            if isinstance(error, BodyTooLarge) and 0 < error.rest <= _MOST_DRAINED:
                place.leave()
                await drained(receive, most=_MOST_DRAINED, seconds=_DRAIN_SECONDS)
            await send_refusal(send, error, *door.refuse(error, path))
        finally:
            place.leave()

    async def _receive_body(self, headers: Mapping[bytes, bytes], receive: Receive) -> Receive:
        """A body that is here already, or, for a form with files, one that its route reads as it comes."""
        length, limit, floor = _length(headers), self._limits.upload_bytes, self._limits.body_bytes_per_second
        if headers.get(b"content-type", b"").startswith(_FORM):
            return bounded_receive(receive, length, limit=limit, floor_bytes_per_second=floor)
        return _once(await read_body(receive, length, limit=limit, floor_bytes_per_second=floor), receive)

    async def _serve_mcp(self, endpoint: Endpoint, method: str, exchange: HttpExchange) -> None:
        if method == "POST":
            await self._post(endpoint, exchange)
        elif method == "GET":
            await endpoint.get(exchange)
        elif method == "DELETE":
            await endpoint.delete(exchange)
        else:
            await send_empty(exchange.send, 405, [(b"allow", b"POST, GET, DELETE")])

    async def _post(self, endpoint: Endpoint, exchange: HttpExchange) -> None:
        self.enter()
        exchange.release = self.leave
        try:
            headers = exchange.headers
            if (headers.get(b"content-type"), headers.get(b"accept")) not in _USUAL_MEDIA:
                _check_media(headers)
            limits = self._limits
            exchange.body = await read_body(
                exchange.receive,
                _length(headers),
                limit=limits.body_bytes,
                floor_bytes_per_second=limits.body_bytes_per_second,
            )
            await endpoint.post(exchange)
        except ClientDisconnected:
            return
        finally:
            exchange.released()

    def enter(self) -> None:
        """Count one more call in flight, or refuse it."""
        if self._in_flight >= self._limits.calls_in_flight:
            raise Overloaded("The server is busy with as many calls as it allows.", hint="Try again in a second.")
        self._in_flight += 1

    def leave(self) -> None:
        """One call in flight is over, or has become a stream."""
        self._in_flight -= 1


class _Place:
    """A place among the calls in flight, left once however often somebody says so."""

    __slots__ = ("_front", "_taken")

    def __init__(self, front: Front) -> None:
        self._front = front
        self._taken = False

    def take(self) -> None:
        self._front.enter()
        self._taken = True

    def leave(self) -> None:
        if self._taken:
            self._taken = False
            self._front.leave()


async def _live(receive: Receive, send: Send) -> None:
    """The server's life is none of ours: what is served was opened before it and is closed after it."""
    for moment in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{moment}.complete"})


def _length(headers: Mapping[bytes, bytes]) -> int | None:
    stated = headers.get(b"content-length")
    return int(stated) if stated is not None and stated.isdigit() else None


def _once(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, then whatever the connection says."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again


def _check_media(headers: Mapping[bytes, bytes]) -> None:
    """JSON in; JSON or a stream out. Plain curl, which says nothing or `*/*`, is welcome."""
    kind = headers.get(b"content-type")
    if kind is not None and b"json" not in kind.lower():
        raise UnsupportedMedia("The body must be JSON.", hint="Send Content-Type: application/json.")
    accept = headers.get(b"accept", b"*/*").lower()
    if b"application/" not in accept and b"text/event-stream" not in accept and b"*/*" not in accept:
        raise NotAcceptable(
            "Answers are JSON or an event stream.", hint="Send Accept: application/json, text/event-stream."
        )


def _repeated(pairs: list[tuple[bytes, bytes]]) -> frozenset[bytes]:
    seen: set[bytes] = set()
    return frozenset(name for name, _ in pairs if name in seen or seen.add(name))


def _with_cors(send: Send, origin: bytes) -> Send:
    """Let the page of an allowed origin read the answer."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            shared = [
                (b"access-control-allow-origin", origin),
                (b"access-control-expose-headers", b"mcp-session-id, www-authenticate, a2a-extensions, etag"),
                (b"vary", b"origin"),
            ]
            message["headers"] = [*message["headers"], *shared]
        await send(message)

    return answer


async def _preflight(send: Send) -> None:
    allowed = [
        (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
        (b"access-control-allow-headers", _CORS_HEADERS),
        (b"access-control-max-age", b"600"),
    ]
    await send_empty(send, 204, allowed)
