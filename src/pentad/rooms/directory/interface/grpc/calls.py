"""How every gRPC call is handled: authentication, authorization, rate limit, the method, then the audit trail.

A stream can outlive its caller's rights, so they are checked again while it runs.

A service is a table of methods. A method is a plain function of the call and the request (or the stream of requests)
that returns the answer or yields the answers. It raises kernel errors and knows nothing of gRPC.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError, Message
from grpc.aio import AbortError, ServicerContext

from pentad.kernel.errors import Forbidden, InvalidInput, PentadError
from pentad.kernel.incidents import internal_error
from pentad.kernel.principal import ANONYMOUS, LOCAL, Principal
from pentad.kernel.trace import RequestMark, request_mark
from pentad.mcp.dispatcher import Record
from pentad.platform import MountContext
from pentad.rooms.directory.wire.statuses import retry_of, status_of

ROOM: Final = "directory"
RECHECK_SECONDS: float = 5.0
Shape = Literal["one-one", "one-many", "many-one", "many-many"]


@dataclass(frozen=True, slots=True)
class Caller:
    """The call as a method sees it, besides the request."""

    who: Principal
    stopping: asyncio.Event
    still_may: Callable[[], Awaitable[None]]
    """Raises an error if the caller has lost its rights since the call began; checks every few seconds at most."""
    begin: Callable[[], Awaitable[None]]
    """Tells the caller that its call was accepted, for methods that may be silent for long."""


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC. Without a message type, requests or answers are passed as bytes."""

    shape: Shape
    action: Literal["read", "write"]
    run: Callable[[Caller, Any], Any]
    request: type[Message] | None = None
    answers_bytes: bool = False


Service = Mapping[str, Method]


class CallGuard:
    """Admits calls and records how they ended."""

    def __init__(
        self, mount: MountContext, *, login_waived: bool, by_certificate: Callable[[Any], Principal | None]
    ) -> None:
        self._mount = mount
        self._login_waived = login_waived
        self._by_certificate = by_certificate
        self._record: Record = mount.record

    @asynccontextmanager
    async def admitted(self, name: str, method: Method, context: "ServicerContext[Any, Any]") -> AsyncGenerator[Caller]:
        """The caller. Errors inside the block become the status of the call."""
        headers = dict[str, Any]((key, value) for key, value in context.invocation_metadata() or ())
        started, outcome, who = time.perf_counter(), "cancelled", ANONYMOUS
        refusal: tuple[Any, ...] | None = None
        try:
            principal = who = await self._principal(headers, context)
            _require(principal, name, method)
            await self._mount.spend(principal.id)
            request_id, trace = str(headers.get("x-request-id", "")), str(headers.get("traceparent", ""))
            request_mark.set(RequestMark(request_id, trace[3:35] or None, trace or None, principal=who.id))

            async def check() -> None:
                _require(await self._principal(headers, context), name, method)

            begin = partial(context.send_initial_metadata, ())
            yield Caller(principal, self._mount.stopping, _PeriodicCheck(check), begin)
            outcome = "ok"
        except PentadError as error:
            code, text = status_of(error, name)
            outcome, refusal = code.name.lower(), (code, text, retry_of(error))
        except (AbortError, asyncio.CancelledError, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001  the caller gets an incident number, the log has the details
            outcome, refusal = "internal", status_of(internal_error(error, name))
        finally:
            if who is not ANONYMOUS:  # failed logins are audited separately, so that a flood cannot fill the trail
                elapsed = int((time.perf_counter() - started) * 1_000_000)
                marks = str(headers.get("x-request-id", "")), "", "grpc", str(headers.get("traceparent", ""))
                self._record((time.time(), who.id, ROOM, name, outcome, elapsed, *marks, who.credential))
        if refusal is not None:  # after the audit entry, so that a caller who sees the status can find the entry
            await context.abort(*refusal)

    async def _principal(self, headers: Mapping[str, Any], context: "ServicerContext[Any, Any]") -> Principal:
        if self._login_waived:
            return LOCAL
        given = headers.get("authorization")
        if given is None and (known := self._by_certificate(context.auth_context())) is not None:
            return known
        return await self._mount.authenticate(None if given is None else str(given), address_of(context.peer()))


def _require(principal: Principal, name: str, method: Method) -> None:
    if not principal.may(ROOM, method.action):
        raise Forbidden(f"not allowed to access {name}")


class _PeriodicCheck:
    """Repeats a check if the last one is old."""

    def __init__(self, check: Callable[[], Awaitable[None]]) -> None:
        self._check = check
        self._checked_at = time.monotonic()

    async def __call__(self) -> None:
        if time.monotonic() - self._checked_at >= RECHECK_SECONDS:
            await self._check()
            self._checked_at = time.monotonic()


def address_of(peer: str) -> str | None:
    """The address of a gRPC peer: `ipv4:192.0.2.7:50000`, `ipv6:[2001:db8::7]:50000`, `unix:/path`."""
    kind, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else None


def handlers(guard: CallGuard, service: str, methods: Service) -> grpc.GenericRpcHandler:
    """The gRPC handler of a service."""
    return grpc.method_handlers_generic_handler(
        service, {name: _handler(guard, f"/{service}/{name}", method) for name, method in methods.items()}
    )


def _handler(guard: CallGuard, name: str, method: Method) -> "grpc.RpcMethodHandler[Any, Any]":
    async def one(requests: Any, context: "ServicerContext[Any, Any]") -> Any:
        async with guard.admitted(name, method, context) as call:
            return await method.run(call, await _read(method, requests, context, call))

    async def many(requests: Any, context: "ServicerContext[Any, Any]") -> AsyncIterator[Any]:
        async with guard.admitted(name, method, context) as call:
            async for answer in method.run(call, await _read(method, requests, context, call)):
                await call.still_may()
                yield answer

    # On the wire one request is a stream of one. A unary handler would be called after the request arrived,
    # so a client that never sends it could hold a call slot without being authenticated.
    write = None if method.answers_bytes else _serialized
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


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()
