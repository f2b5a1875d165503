"""Handles every gRPC call: authentication, authorization, rate limit, the method, then the audit trail.

Every call belongs to a trace, which its metadata may name (`traceparent`, `x-request-id`). The request id is returned
as a trailer, or in a stream's initial metadata.

A stream can outlive its caller's rights, so they are checked again while it runs.

A service is a table of methods. A method is a plain function of the call and the request (or the stream of requests)
that returns the answer or yields the answers. It raises Pentad's errors and knows nothing about gRPC;
`GrpcServices.status_of` translates them.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Protocol
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError, Message
from grpc.aio import AbortError, ServicerContext

from pentad.kernel.errors import Forbidden, InvalidInput, Overloaded, PentadError, RateLimited
from pentad.kernel.principal import ANONYMOUS, LOCAL, Principal
from pentad.kernel.trace import RequestMark, accept_trace, request_mark, trace_id_of

RECHECK_SECONDS: float = 5.0
Shape = Literal["one-one", "one-many", "many-one", "many-many"]
Status = tuple[grpc.StatusCode, str, tuple[tuple[str, str | bytes], ...]]
"""The result of a failed call: code, text and trailers."""
_TEXT_BYTES: Final = 6_000


@dataclass(frozen=True, slots=True)
class Caller:
    """The call as a method sees it, besides the request."""

    who: Principal
    stopping: asyncio.Event
    still_may: Callable[[], Awaitable[None]]
    """Raises an error if the caller has lost its rights since the call began; checks every few seconds at most."""
    begin: Callable[[], Awaitable[None]]
    """Confirms to the caller that its call was accepted, for methods that may be silent for long."""
    headers: Mapping[str, Any]
    """The metadata of the call."""


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC. Without a message type, requests or answers are passed as bytes."""

    shape: Shape
    action: Literal["read", "write"]
    run: Callable[[Caller, Any], Any]
    request: type[Message] | None = None
    answers_bytes: bool = False


Service = Mapping[str, Method]


class PortAccess(Protocol):
    """The server's logins, rate limits and audit trail, as a port uses them."""

    @property
    def authenticate(self) -> Callable[[str | None, str | None], Awaitable[Principal]]: ...

    @property
    def spend(self) -> Callable[[str], Awaitable[None]]: ...

    @property
    def record(self) -> Callable[[tuple[Any, ...]], None]: ...

    @property
    def stopping(self) -> asyncio.Event: ...


def nobody(_connection: Mapping[str, Any]) -> Principal | None:
    """The default: client certificates do not authenticate callers."""
    return None


@dataclass(frozen=True, slots=True)
class GrpcServices:
    """The services of one room, by full name, and how their callers are treated."""

    room: str
    services: Mapping[str, Service]
    status_of: Callable[[Exception, str], Status]
    """The status for an error of the method of that name."""
    login_waived: bool = False
    by_certificate: Callable[[Mapping[str, Any]], Principal | None] = nobody
    """The caller named by a connection's certificate."""


class CallGuard:
    """Admits calls and records how they ended."""

    def __init__(self, access: PortAccess, services: GrpcServices) -> None:
        self._access = access
        self._services = services

    @asynccontextmanager
    async def admitted(self, name: str, method: Method, context: "ServicerContext[Any, Any]") -> AsyncGenerator[Caller]:
        """The caller. Errors inside the block become the status of the call."""
        headers = dict[str, Any]((key, value) for key, value in context.invocation_metadata() or ())
        started, outcome, who = time.perf_counter(), "cancelled", ANONYMOUS
        refusal: Status | None = None
        trace, request_id = accept_trace(_text(headers.get("traceparent")), _text(headers.get("x-request-id")))
        echo = (("x-request-id", request_id),)
        context.set_trailing_metadata(echo)
        try:
            principal = who = await self._principal(headers, context)
            self._require(principal, name, method)
            await self._access.spend(principal.id)
            request_mark.set(RequestMark(request_id, trace_id_of(trace), trace, principal=who.id))

            async def check() -> None:
                self._require(await self._principal(headers, context), name, method)

            begin = partial(context.send_initial_metadata, echo)
            yield Caller(principal, self._access.stopping, _PeriodicCheck(check), begin, headers)
            outcome = "ok"
        except (AbortError, asyncio.CancelledError, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001  the caller gets a status; the log has the details of unexpected errors
            refusal = self._services.status_of(error, name)
            outcome = refusal[0].name.lower()
        finally:
            if who is not ANONYMOUS:  # failed logins are audited separately, so that a flood cannot fill the trail
                elapsed = int((time.perf_counter() - started) * 1_000_000)
                marks = _text(headers.get("x-request-id")) or "", "", "grpc", trace
                self._access.record(
                    (time.time(), who.id, self._services.room, name, outcome, elapsed, *marks, who.credential)
                )
        if refusal is not None:  # after the audit entry, so that a caller who sees the status can find the entry
            code, text, trailers = refusal
            await context.abort(code, text, (*trailers, *echo))

    async def _principal(self, headers: Mapping[str, Any], context: "ServicerContext[Any, Any]") -> Principal:
        if self._services.login_waived:
            return LOCAL
        given = headers.get("authorization")
        if given is None and (key := headers.get("x-api-key")) is not None:
            given = f"Bearer {key}"
        if given is None and (known := self._services.by_certificate(context.auth_context())) is not None:
            return known
        return await self._access.authenticate(None if given is None else str(given), address_of(context.peer()))

    def _require(self, principal: Principal, name: str, method: Method) -> None:
        if not principal.may(self._services.room, method.action):
            raise Forbidden(f"not allowed to access {name}")


class _PeriodicCheck:
    """Repeats a check unless the last one is recent."""

    def __init__(self, check: Callable[[], Awaitable[None]]) -> None:
        self._check = check
        self._checked_at = time.monotonic()

    async def __call__(self) -> None:
        if time.monotonic() - self._checked_at >= RECHECK_SECONDS:
            await self._check()
            self._checked_at = time.monotonic()


def _text(value: Any) -> str | None:
    """A header's text; we read no binary headers."""
    return value if isinstance(value, str) else None


def address_of(peer: str) -> str | None:
    """The address of a gRPC peer: `ipv4:192.0.2.7:50000`, `ipv6:[2001:db8::7]:50000`, `unix:/path`."""
    kind, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else None


def handlers(access: PortAccess, services: GrpcServices) -> list[grpc.GenericRpcHandler]:
    """The gRPC handlers of a room's services."""
    guard = CallGuard(access, services)
    return [
        grpc.method_handlers_generic_handler(
            service, {name: _handler(guard, f"/{service}/{name}", method) for name, method in methods.items()}
        )
        for service, methods in services.services.items()
    ]


def _handler(guard: CallGuard, name: str, method: Method) -> "grpc.RpcMethodHandler[Any, Any]":
    async def one(requests: Any, context: "ServicerContext[Any, Any]") -> Any:
        async with guard.admitted(name, method, context) as call:
            return await method.run(call, await _read(method, requests, context, call))

    async def many(requests: Any, context: "ServicerContext[Any, Any]") -> AsyncIterator[Any]:
        async with guard.admitted(name, method, context) as call:
            async for answer in method.run(call, await _read(method, requests, context, call)):
                await call.still_may()
                yield answer

    # On the wire a single request is a stream of one. A unary handler would be called only once the request has
    # arrived, so a client that never sends it could hold a call slot without being authenticated.
    write = None if method.answers_bytes else serialized
    if method.shape.endswith("many"):
        return grpc.stream_stream_rpc_method_handler(many, None, write)
    return grpc.stream_unary_rpc_method_handler(one, None, write)


async def _read(method: Method, requests: Any, context: "ServicerContext[Any, Any]", call: Caller) -> Any:
    """The request as a message, or the stream of them. Read here, because authentication comes first."""
    if method.shape.startswith("many"):
        return _messages(method.request, requests, call)
    raw: Any = await context.read()
    if not isinstance(raw, bytes):
        raise InvalidInput("the call has no request")
    return raw if method.request is None else _message(method.request, raw)


async def _messages(
    kind: type[Message] | None, stream: AsyncIterator[bytes], call: Caller
) -> AsyncIterator[Message | bytes]:
    async for raw in stream:
        await call.still_may()
        yield raw if kind is None else _message(kind, raw)


def _message(kind: type[Message], raw: bytes) -> Message:
    try:
        return kind.FromString(raw)
    except (DecodeError, ValueError):
        raise InvalidInput(f"the request is not a {kind.DESCRIPTOR.full_name}") from None


def serialized(message: Message) -> bytes:
    return message.SerializeToString()


def retry_of(error: PentadError) -> tuple[tuple[str, str], ...]:
    """The `retry-after` trailer in whole seconds, for an error that asks the caller to wait."""
    if isinstance(error, RateLimited | Overloaded):
        return (("retry-after", str(max(1, round(error.retry_after)))),)
    return ()


def shortened(text: str) -> str:
    """The text cut to fit a header: clients accept 8 KiB at most, and every non-ASCII byte takes three."""
    room = _TEXT_BYTES
    for position, character in enumerate(text):
        room -= 1 if " " <= character <= "~" and character != "%" else 3 * len(character.encode("utf-8", "replace"))
        if room < 0:
            return text[:position] + " ..."
    return text
