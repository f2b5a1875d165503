"""Lets rooms call one another's tools and resources, with the rights of the caller they work for.

A call takes the same path as one from outside, with rights, limits, deadlines and audit; only the transport is missing.
The caller may have called the room long ago, so every call checks its current rights. Protocol errors come back as
kernel errors, so that a room needs no knowledge of the protocol.
"""

import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.errors import LimitExceeded, NotFound, PentadError
from pentad.kernel.principal import Principal
from pentad.kernel.trace import current_traceparent, request_mark
from pentad.mcp.call import NO_HEADERS, Peer
from pentad.mcp.content import Contents
from pentad.mcp.declarations import Resource
from pentad.mcp.dispatcher import Dispatcher
from pentad.mcp.messages import CallToolParams, GetPromptParams, ReadResourceParams, RequestId, RequestMeta, encode
from pentad.mcp.references import scheme_of
from pentad.mcp.revisions import NEWEST_LEGACY
from pentad.mcp.wire_errors import ProtocolError, error_from_reply

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Receives a tool's progress: done, total and message."""

INTERNAL: Final = "internal"
CONSOLE: Final = "console"
"""The transport of calls that a person makes on a page. Only the console has a client with it; the rooms' client uses
`INTERNAL`, and no argument of a call changes that."""

_DEEPEST: Final = 8
_depth: ContextVar[int] = ContextVar("internal_call_depth", default=0)


@dataclass(slots=True)
class _InternalPeer(Peer):
    """The calling end of an internal call: answers no questions, and takes no messages but progress.

    To cancel a call, the calling room cancels its own task.
    """

    progress: Progress | None

    def client_info(self) -> Mapping[str, Any]:
        return {"name": "pentad"}

    async def send(self, message: bytes) -> None:
        if self.progress is not None:
            params = msgspec.json.decode(message)["params"]
            await self.progress(params["progress"], params.get("total"), params.get("message"))


class InternalClient:
    """Implements `platform.Neighbours` over all open rooms. The dispatcher is looked up at each call."""

    def __init__(
        self,
        dispatcher: Callable[[], Dispatcher],
        principal_now: Callable[[Principal], Awaitable[Principal]],
        transport: str = INTERNAL,
    ) -> None:
        self._dispatcher = dispatcher
        self._principal_now = principal_now
        self._transport = transport
        self._numbers = itertools.count(1)
        self._schemes: dict[str, None] = {}

    def declare(self, resources: Iterable[Resource]) -> None:
        """Announce the resources of a room, before any room opens: rooms ask for the schemes when they start."""
        self._schemes |= dict.fromkeys(scheme_of(one.uri) for one in resources)

    async def call_tool(
        self,
        principal: Principal,
        name: str,
        arguments: Mapping[str, Any],
        *,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The tool's result as on the wire; if the tool failed, `isError` is true."""
        if name not in self._dispatcher().registry.tools:
            raise NotFound(f"There is no tool {name[:100]!r} here.")
        meta = RequestMeta(progress_token="internal" if progress is not None else None)
        params = CallToolParams(name=name, arguments=msgspec.Raw(encode(arguments)), meta=meta)
        return await self._request("tools/call", params, await self._peer(principal, progress))

    async def read(self, principal: Principal, uri: str) -> Sequence[Contents]:
        """The contents of a resource of any room."""
        result = await self._request("resources/read", ReadResourceParams(uri=uri), await self._peer(principal))
        return msgspec.convert(result["contents"], list[Contents])

    async def get_prompt(self, principal: Principal, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A prompt with its messages as on the wire."""
        params = GetPromptParams(name=name, arguments=dict(arguments))
        return await self._request("prompts/get", params, await self._peer(principal))

    def schemes(self) -> tuple[str, ...]:
        """The schemes of all resources, in the order of the rooms."""
        return tuple(self._schemes)

    def only_reads(self, name: str) -> bool:
        """Whether a tool is declared to change nothing."""
        bound = self._dispatcher().registry.tools.get(name)
        return bound is not None and bool(bound.declared.hints.get("readOnlyHint"))

    async def _peer(self, principal: Principal, progress: Progress | None = None) -> _InternalPeer:
        current = await self._principal_now(principal)
        return _InternalPeer(current, NEWEST_LEGACY, self._transport, current_traceparent(), NO_HEADERS, progress)

    async def _request(self, name: str, params: Any, peer: _InternalPeer) -> dict[str, Any]:
        depth = _depth.get()
        if depth >= _DEEPEST:
            raise LimitExceeded(
                f"Rooms called one another {_DEEPEST} times deep.", hint="They probably call one another in a circle."
            )
        dispatcher = self._dispatcher()
        # The inner call sets its own request mark; the log lines that follow belong to the outer call again.
        mark, token = request_mark.get(), _depth.set(depth + 1)
        number: RequestId = f"internal-{next(self._numbers)}"
        try:
            body = await dispatcher.answer(dispatcher.methods[name], params, number, peer)
        except ProtocolError as error:
            raise error_from_reply(error.code, error.message, error.data, default=PentadError) from None
        finally:
            _depth.reset(token)
            request_mark.set(mark)
        return msgspec.json.decode(body)
