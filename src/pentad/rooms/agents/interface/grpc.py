"""A2A 1.0 over gRPC: the same operations as over HTTP, on the gRPC port.

One service serves all agents. The tenant of a request is the agent's name; without one it is the first agent, as at
`/a2a`. Cards name both.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Final, cast

from google.protobuf.message import Message

from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import NotFound, Overloaded, Unavailable
from pentad.net.grpc_calls import Caller, GrpcServices, Method
from pentad.rooms.agents.cards import Cards
from pentad.rooms.agents.codecs.a2a_grpc import MESSAGES, SERVICE, decode_request, encode_answer, status_of
from pentad.rooms.agents.codecs.a2a_v10 import V10
from pentad.rooms.agents.codecs.base import STREAMING, Operation, required_action
from pentad.rooms.agents.codecs.errors import Fault
from pentad.rooms.agents.codecs.json_rpc import check_body
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.interface.a2a import (
    active_extensions,
    idempotency_key,
    requested_extensions,
    requested_version,
)
from pentad.rooms.agents.interface.a2a_operations import AgentRequest, Operations, SingleEvent, Stream
from pentad.rooms.agents.interface.a2a_streams import waits
from pentad.rooms.agents.models import Event, Task

_RECHECK_SECONDS: Final = 10.0
_HEADERS: Final = ("a2a-version", "a2a-extensions", "x-a2a-extensions", "idempotency-key")


class AgentGrpc:
    """The agents of one room over gRPC."""

    def __init__(
        self, operations: Operations, agents: Mapping[str, HostedAgent], cards: Cards, limits: Limits, site: str
    ) -> None:
        self._operations = operations
        self._agents = agents
        self._cards = cards
        self._limits = limits
        self._site = site
        self._streams = Counter[str]()

    def services(self) -> GrpcServices:
        """The service for the port."""
        methods = {V10.methods[operation]: self._method(operation) for operation in MESSAGES}
        return GrpcServices("agents", {SERVICE: methods}, status_of)

    def _method(self, operation: Operation) -> Method:
        async def one(call: Caller, message: Message) -> Message:
            request = self._request(call, operation, message)
            result = await self._operations.run(operation, request, self._params(message))
            return encode_answer(result, MESSAGES[operation].answer)

        async def many(call: Caller, message: Message) -> AsyncGenerator[Message]:
            request = self._request(call, operation, message)
            result = await self._operations.run(operation, request, self._params(message))
            async for answer in self._stream(call, cast("Stream | SingleEvent", result)):
                yield encode_answer(answer, MESSAGES[operation].answer)

        needed = "write" if required_action(operation) == "write" else "read"
        if operation in STREAMING:
            return Method("one-many", needed, many, MESSAGES[operation].request)
        return Method("one-one", needed, one, MESSAGES[operation].request)

    def _params(self, message: Message) -> Any:
        params = decode_request(message)
        check_body(bytes(params), self._limits)
        return params

    def _request(self, call: Caller, operation: Operation, message: Message) -> AgentRequest:
        """The request, after its agent was found and its version and extensions were checked."""
        if (first := next(iter(self._agents.values()), None)) is None:
            raise NotFound("No agent is hosted here.", details={"reason": "agent-not-found"})
        headers = {name.encode(): str(call.headers[name]).encode() for name in _HEADERS if name in call.headers}
        key = idempotency_key(headers.get(b"idempotency-key"))
        request = AgentRequest(call.who, first, self._site, self._agents, V10, "a2a", key, is_grpc=True)
        request.select_tenant(getattr(message, "tenant", None))
        if requested_version(headers, b"") not in (None, V10.dialect):
            raise Fault("version", "gRPC is of A2A 1.0: send a2a-version: 1.0.", supported=V10.dialect)
        offered, _ = self._cards.required_extensions(request.agent)
        demanded = offered if required_action(operation) == "write" else dict.fromkeys(offered, False)
        active_extensions(requested_extensions(headers), demanded)
        return request

    async def _stream(self, call: Caller, result: Stream | SingleEvent) -> AsyncGenerator[Any]:
        if isinstance(result, SingleEvent):
            yield result.result
            return
        most, who = self._limits.streams_per_principal, call.who.id
        if self._streams[who] >= most:
            await result.events.aclose()
            raise Overloaded(f"You already have {most} open streams.", hint="End one of them first.")
        self._streams[who] += 1
        try:
            if result.first is not None:
                for answer in _frames(result, result.first):
                    yield answer
            async for item in _until_stop(result.events, call.stopping, call.still_may):
                for answer in _frames(result, item):
                    yield answer
                if result.ends_at_rest and waits(item):
                    return
        finally:
            self._streams[who] -= 1
            await result.events.aclose()


def _frames(stream: Stream, item: Event | Task) -> list[Any]:
    return [frame.data for frame in V10.encode_frames(item, stream.task_id, stream.context_id)]


async def _until_stop(
    events: AsyncGenerator[Event | Task], stopping: asyncio.Event, still_may: Callable[[], Awaitable[None]]
) -> AsyncGenerator[Event | Task]:
    """The events, until the server stops or the caller loses its rights, even while nothing happens."""
    stop = asyncio.ensure_future(stopping.wait())
    following: asyncio.Future[Event | Task | None] | None = None
    try:
        while True:
            following = following or asyncio.ensure_future(anext(events, None))
            await asyncio.wait({following, stop}, timeout=_RECHECK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                item, following = following.result(), None
                if item is None:
                    return
                yield item
            elif stop.done():
                raise Unavailable("The server is stopping.", hint="Subscribe to the task again in a moment.")
            else:
                await still_may()
    finally:
        stop.cancel()
        if following is not None and following.cancel():
            await asyncio.gather(following, return_exceptions=True)
