"""The root ASGI application: every request passes the guards in the same order, then the mount of its path answers.

- An MCP endpoint: host -> origin -> credentials -> rate -> calls in flight -> media type -> body.
- A mounted application: the same, but it checks the media type itself unless a browser sends the body.
- An ordinary route: host, origin, credentials or browser session, rate, CSRF token; the route declares what bodies it
  takes.

Callers without credentials pass the limits of `access/anonymous.py` first. The front gives every request its trace, as
`trace` in the scope, and the `X-Request-Id` of its response, as `request_id`.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Final

from starlette.requests import Request

from pentad.access.browser_sessions import BrowserSession
from pentad.access.rate_limits import RateLimits
from pentad.http.error_responses import send_body, send_empty, send_error
from pentad.http.guards.anonymous import AnonymousGuard, releasing
from pentad.http.guards.browser import BrowserGuard, is_form, login_url, wants_page
from pentad.http.guards.credentials import CredentialsGuard, wrong_audience
from pentad.http.guards.encoding import encoding_of, inflated
from pentad.http.guards.origins import OriginGuard, answer_preflight, is_preflight, with_cors
from pentad.http.guards.request_checks import HostGuard, check_browser_body, check_mcp, repeated_headers
from pentad.http.login import error_page
from pentad.http.mounts import MountedApp, MountTable
from pentad.http.oauth import client_error_body, is_for_clients
from pentad.http.protected_resources import ProtectedResources
from pentad.kernel import trace
from pentad.kernel.default_limits import MIB, Limits
from pentad.kernel.errors import Overloaded, PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.principal import ANONYMOUS, Principal
from pentad.mcp.http_exchange import Endpoint, HttpExchange, Message, Receive, Send
from pentad.net.request_body import BodyTooLarge, ClientDisconnected, bounded_receive, drained, read_body
from pentad.platform import AsgiApp, Scope

_FORM: Final = b"multipart/form-data"
_MOST_DRAINED: Final = 32 * MIB
_DRAIN_SECONDS: Final = 10.0
"""How long to keep reading a refused body: many clients read no response before they have sent everything."""
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_READING: Final = frozenset({"GET", "HEAD"})
_NONE_REPEATED: Final = frozenset[bytes]()


class Front:
    """Guards, then dispatches by path."""

    def __init__(
        self,
        mounts: MountTable,
        *,
        hosts: HostGuard,
        origins: OriginGuard,
        credentials: CredentialsGuard,
        browsers: BrowserGuard | None,
        anonymous: AnonymousGuard,
        rates: RateLimits,
        limits: Limits,
        resources: ProtectedResources,
        public_url: str | None,
        stopping: asyncio.Event,
    ) -> None:
        self.mounts = mounts
        self._hosts = hosts
        self._origins = origins
        self._credentials = credentials
        self._browsers = browsers
        self._anonymous = anonymous
        self._rates = rates
        self._limits = limits
        self._resources = resources
        self.public_url = public_url
        self.stopping = stopping
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pairs: list[tuple[bytes, bytes]] = scope["headers"]
        headers = dict(pairs)
        if b"traceparent" in headers or b"x-request-id" in headers:
            scope["trace"], scope["request_id"] = _accepted_trace(headers)
        else:
            scope["trace"] = scope["request_id"] = trace.new_trace_id()
        origin = headers.get(b"origin")
        principal = self._cached_caller(scope, headers)
        try:
            if principal is ANONYMOUS and (b"cookie" not in headers or not self._is_logged_in(scope, headers)):
                await self._anonymous.spend(scope)
            repeated = _NONE_REPEATED if len(headers) == len(pairs) else repeated_headers(pairs)
            self._hosts.check(headers, scope.get("target"))
            if origin is not None or b"sec-fetch-site" in headers:
                self._origins.check(scope, headers, origin)
            if origin is not None:
                send = with_cors(send, origin)
                if is_preflight(scope["method"], headers):
                    await answer_preflight(send)
                    return
            endpoint = self.mounts.endpoint(scope["path"])
            if endpoint is not None:
                if principal is None or principal is ANONYMOUS:
                    principal = await self._verify(scope, headers)
                exchange = HttpExchange(headers, repeated, principal, receive, send, self, scope)
                await self._serve_mcp(endpoint, scope["method"], exchange)
                return
            if (mount := self.mounts.app(scope["path"])) is not None:
                send = self._add_challenges(scope, headers, send)
                await self._serve_app(
                    mount, HttpExchange(headers, repeated, ANONYMOUS, receive, send, self, scope), principal
                )
            else:
                await self._serve_route(scope, headers, principal, receive, send)
        except PentadError as error:
            if principal is None or principal is ANONYMOUS:
                await self._anonymous.slow_down(scope)
            ensure_logged(error, f"{scope['method']} {scope['path']}")
            await self._refuse(scope, headers, error, send)
        except Exception as error:  # noqa: BLE001  the outermost handler: the caller gets an incident number, the log the rest
            await send_error(send, internal_error(error, f"{scope['method']} {scope['path']}"))

    async def principal(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal:
        """The owner of the credentials in the headers, with the rights they have now."""
        return await self._credentials.current_caller(scope, headers)

    def _cached_caller(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal | None:
        """The caller, if its credentials are cached and valid for this path; ANONYMOUS if it sent none."""
        principal = self._credentials.cached_caller(scope, headers)
        if principal is None:  # not cached, or the header names an OAuth client
            return ANONYMOUS if is_for_clients(scope["path"]) else None
        if principal.audience is not None and not self._is_for(principal, scope):
            return None
        return principal

    async def _verify(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal:
        """The caller; raises if the credentials are wrong or missing, or are not for this path."""
        principal = await self._credentials.verify_caller(scope, headers)
        if principal.audience is not None and not self._is_for(principal, scope):
            raise wrong_audience()
        return principal

    def _is_for(self, principal: Principal, scope: Scope) -> bool:
        """Whether a token limited to certain resources is valid here."""
        path, audience = scope["path"], principal.audience
        return audience is None or audience == path or self.mounts.covers(audience.split(), path)

    def scope_challenge(self, scope: Scope, headers: Mapping[bytes, bytes], needed: str) -> list[tuple[bytes, bytes]]:
        """The challenge for a caller that lacks a scope."""
        return self._resources.scope_challenge(scope, headers, needed, self._cached_caller(scope, headers))

    def _add_challenges(self, scope: Scope, headers: Mapping[bytes, bytes], send: Send) -> Send:
        """Add the login challenges to a room's own refusals: they are the same everywhere."""
        if not self._credentials.are_needed:
            return send

        def answer(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start" and message["status"] in (401, 403):
                message = self._resources.with_challenges(message, scope, headers)
            return send(message)

        return answer

    async def _refuse(self, scope: Scope, headers: Mapping[bytes, bytes], error: PentadError, send: Send) -> None:
        """Send an error: a page for a person in a browser, JSON for everyone else."""
        if is_for_clients(scope["path"]):
            await send_body(send, error, error.http_status, client_error_body(error), [(b"cache-control", b"no-store")])
        elif scope.get("state", {}).get("session") is not None and wants_page(headers):
            request = Request(scope)
            await error_page(request, error)(scope, request.receive, send)
        else:
            await send_error(send, error, self._resources.challenges(scope, headers, error))

    def _is_logged_in(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a browser with a known login requests an ordinary route. Cookies do not count anywhere else."""
        if self._browsers is None or self.mounts.endpoint(scope["path"]) or self.mounts.app(scope["path"]):
            return False
        return self._browsers.cached(scope, headers) is not None

    async def _spend(self, principal: Principal) -> None:
        """Count a call against its caller's rate; callers without one are counted by address."""
        if principal is not ANONYMOUS and not self._rates.try_spend(principal.id):
            await self._rates.spend(principal.id)

    async def _serve_route(
        self, scope: Scope, headers: Mapping[bytes, bytes], principal: Principal | None, receive: Receive, send: Send
    ) -> None:
        try:
            state = scope.setdefault("state", {})
            session = None
            for_clients = is_for_clients(scope["path"])
            if principal is None:
                principal = await self._verify(scope, headers)
            elif principal is ANONYMOUS and self._browsers is not None and not for_clients:
                session = await self._browsers.session(scope, headers)
                principal = self._credentials.limited(session.principal)
                send = self._browsers.with_cookie(session, scope, headers, send)
            if session is not None and wants_page(headers):
                send = _ask_for_login(scope, session, send)
            elif not for_clients:
                send = self._add_challenges(scope, headers, send)
            state["principal"], state["session"] = principal, session
            await self._spend(principal)
            if scope["method"] in _WITH_BODY:
                receive = await self._receive_checked(headers, session, state, receive)
            scope["path"] = scope["path"].rstrip("/") or "/"
            await self._run_in_turn(self.mounts.routes, principal, scope, receive, send)
        except ClientDisconnected:
            return

    async def _run_in_turn(
        self, app: AsgiApp, principal: Principal, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Run an application; callers without credentials wait for their turn. An application that waits for something
        releases its `slot` first."""
        if principal is not ANONYMOUS:
            await app(scope, receive, send)
            return
        slot = scope["state"]["slot"] = await self._anonymous.slot(scope["path"])
        try:
            await app(scope, receive, releasing(slot, send))
        finally:
            slot.release()

    async def _serve_app(self, mount: MountedApp, exchange: HttpExchange, principal: Principal | None) -> None:
        scope, headers, receive, send = exchange.scope, exchange.headers, exchange.receive, exchange.send
        method, path = scope["method"], scope["path"]
        limit = self._limits.body_bytes
        try:
            if mount.caller_of is not None:
                principal = self._credentials.limited(await mount.caller_of(method, path))
                limit = self._limits.upload_bytes
            elif principal is None or (principal is ANONYMOUS and not mount.is_public(method, path)):
                principal = await self._verify(scope, headers)
            exchange.principal = principal
            await self._spend(principal)
            if method in _WITH_BODY:
                if principal is not ANONYMOUS:  # an anonymous caller with a slow body must not take the slot of others
                    self._enter(exchange)
                if mount.streamed_bytes is None:
                    exchange.body = await self._read(headers, receive, limit, principal)
                    check_browser_body(headers, exchange.body)
                    receive = _replay_body(exchange.body, receive)
                else:
                    check_browser_body(headers, b"-")
                    receive = self._bounded(headers, receive, mount.streamed_bytes)
            state = scope.setdefault("state", {})
            state["principal"], state["exchange"] = principal, exchange
            await self._run_in_turn(mount.serve, principal, scope, receive, send)
        except ClientDisconnected:
            return
        except PentadError as error:
            if mount.error_response is None:
                raise
            if isinstance(error, BodyTooLarge) and 0 < error.rest <= _MOST_DRAINED:
                exchange.release()
                await drained(exchange.receive, most=_MOST_DRAINED, seconds=_DRAIN_SECONDS)
            if principal is None or principal is ANONYMOUS:
                await self._anonymous.slow_down(scope)
            await send_body(send, error, *mount.error_response(error, path))
        finally:
            exchange.release()

    async def _receive_checked(
        self, headers: Mapping[bytes, bytes], session: BrowserSession | None, state: dict[str, Any], receive: Receive
    ) -> Receive:
        """A body, after checking that a browser with a session sends it from a page of ours."""
        principal: Principal = state["principal"]
        if session is None or self._browsers is None:
            return await self._receive_body(headers, principal, receive)
        if not is_form(headers):
            state["is_own_form"] = await self._browsers.check(session, headers, b"")
            return await self._receive_body(headers, principal, receive)
        body = await self._read(headers, receive, self._limits.body_bytes, principal)
        state["is_own_form"] = await self._browsers.check(session, headers, body)
        return _replay_body(body, receive)

    async def _receive_body(self, headers: Mapping[bytes, bytes], principal: Principal, receive: Receive) -> Receive:
        """A body read in advance; for a form with files, one that the route reads as it arrives."""
        limit = self._limits.upload_bytes
        is_form = headers.get(b"content-type", b"").startswith(_FORM) and b"content-encoding" not in headers
        if is_form and principal is not ANONYMOUS:
            return self._bounded(headers, receive, limit)
        return _replay_body(await self._read(headers, receive, limit, principal), receive)

    def _bounded(self, headers: Mapping[bytes, bytes], receive: Receive, limit: int) -> Receive:
        """A body within limits, to be read as it arrives."""
        floor = self._limits.body_bytes_per_second
        return bounded_receive(receive, _length(headers), limit=limit, floor_bytes_per_second=floor)

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive, limit: int, principal: Principal) -> bytes:
        """The whole body, without its encoding."""
        if principal is ANONYMOUS:
            limit = min(limit, self._limits.anonymous_body_bytes)
        stated = headers.get(b"content-encoding")
        encoding = None if stated is None else encoding_of(stated)
        floor = self._limits.body_bytes_per_second
        body = await read_body(receive, _length(headers), limit=limit, floor_bytes_per_second=floor)
        return body if encoding is None else await inflated(body, encoding, limit)

    async def _serve_mcp(self, endpoint: Endpoint, method: str, exchange: HttpExchange) -> None:
        principal = exchange.principal
        if not self._rates.try_spend(principal.id):
            await self._rates.spend(principal.id)
        if method == "POST":
            await self._post(endpoint, exchange)
        elif method == "GET":
            await endpoint.get(exchange)
        elif method == "DELETE":
            await endpoint.delete(exchange)
        else:
            await send_empty(exchange.send, 405, [(b"allow", b"POST, GET, DELETE")])

    async def _post(self, endpoint: Endpoint, exchange: HttpExchange) -> None:
        self._enter(exchange)
        try:
            check_mcp(exchange.headers)
            limit = self._limits.body_bytes
            exchange.body = await self._read(exchange.headers, exchange.receive, limit, exchange.principal)
            await endpoint.post(exchange)
        except ClientDisconnected:
            return
        finally:
            exchange.release()

    def _enter(self, exchange: HttpExchange) -> None:
        """Count one more call in flight, until the exchange releases it; or refuse it."""
        if self._in_flight >= self._limits.calls_in_flight:
            raise Overloaded("The server has reached its limit of concurrent calls.", hint="Try again in a second.")
        self._in_flight += 1
        exchange.on_release = self._leave

    def _leave(self) -> None:
        self._in_flight -= 1


def _accepted_trace(headers: Mapping[bytes, bytes]) -> tuple[str, str]:
    """The trace that the caller continues or names, and the response's request id."""
    given = (headers.get(name) for name in (b"traceparent", b"x-request-id"))
    return trace.accept_trace(*(None if value is None else value.decode("latin-1").strip(" \t") for value in given))


def _ask_for_login(scope: Scope, session: BrowserSession, send: Send) -> Send:
    """Redirect a person who has to log in to the login page; the browser's own prompt has no logout."""
    redirected = False

    async def answer(message: Message) -> None:
        nonlocal redirected
        is_refusal = message["type"] == "http.response.start" and message["status"] == 401
        if is_refusal and session.login is None and scope["method"] in _READING:
            redirected = True
            await send_empty(send, 303, [(b"location", target), (b"cache-control", b"no-store")])
        elif not redirected:
            await send(message)

    target = login_url(scope).encode("ascii", "replace")
    return answer


def _length(headers: Mapping[bytes, bytes]) -> int | None:
    stated = headers.get(b"content-length")
    return int(stated) if stated is not None and stated.isdigit() else None


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Replays a body that was already read, then continues with the connection."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again
