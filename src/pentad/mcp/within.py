"""Calls from inside: a room asks its neighbours for a tool or a resource, with the rights of who called the room.

It is the same way as from outside, rights, limits, deadlines and audit included; only the transport is missing. The
caller may have called the room long ago, so each call asks again what it may do by now. A
refusal comes back as the error of the kernel it was, so that a room can handle it without knowing the protocol.
"""

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound, PentadError, Unavailable
from pentad.kernel.principal import Principal
from pentad.kernel.trace import outgoing_traceparent, request_mark
from pentad.mcp.asking import MissingCapability, Question
from pentad.mcp.call import NO_HEADERS
from pentad.mcp.content import Contents
from pentad.mcp.dispatcher import Dispatcher
from pentad.mcp.messages import CallToolParams, ReadResourceParams, RequestId, RequestMeta, encode
from pentad.mcp.revisions import NEWEST_LEGACY, Revision
from pentad.mcp.tool_errors import error_from
from pentad.mcp.wire_errors import FORBIDDEN, INVALID_PARAMS, OVERLOADED, RESOURCE_NOT_FOUND, ProtocolError

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Told how far a tool is: done, of how much, and a word about it."""

_DEEPEST: Final = 8
_depth: ContextVar[int] = ContextVar("calls_within", default=0)
_BY_NUMBER: Final[dict[int, type[PentadError]]] = {
    RESOURCE_NOT_FOUND: NotFound,
    FORBIDDEN: Forbidden,
    INVALID_PARAMS: InvalidInput,
    OVERLOADED: Unavailable,
}


class _Insider:
    """The calling end of one call from inside: nobody to ask, nowhere to send but to who wants the progress."""

    transport = "internal"
    revision: Revision = NEWEST_LEGACY
    session_id: str | None = None
    headers = NO_HEADERS

    def __init__(self, principal: Principal, progress: Progress | None) -> None:
        self.principal = principal
        self.trace = outgoing_traceparent()
        self._progress = progress

    def supports(self, capability: str) -> bool:
        return False

    def client_info(self) -> Mapping[str, Any]:
        return {"name": "pentad"}

    def wants_log(self, level: str) -> bool:
        return False

    async def send(self, message: bytes) -> None:
        if self._progress is not None:
            said = msgspec.json.decode(message)["params"]
            await self._progress(said["progress"], said.get("total"), said.get("message"))

    def remembered(self) -> dict[str, Any]:
        return {}

    async def ask(self, questions: Mapping[str, Question], state: dict[str, Any]) -> dict[str, Any]:
        raise MissingCapability(next(iter(questions.values())).capability)

    async def close_stream(self) -> None:
        """There is no stream."""

    def waiting(self) -> None:
        """Whoever called can cancel by cancelling."""


class Within:
    """The neighbours of a room, as `platform.Neighbours`: all rooms that are open, asked for at the first call."""

    def __init__(
        self, dispatcher: Callable[[], Dispatcher], principal_now: Callable[[Principal], Awaitable[Principal]]
    ) -> None:
        self._dispatcher = dispatcher
        self._principal_now = principal_now
        self._numbers = itertools.count(1)

    async def call_tool(
        self, principal: Principal, name: str, arguments: Mapping[str, Any], *, progress: Progress | None = None
    ) -> dict[str, Any]:
        """The tool's result as the protocol knows it; a tool that failed says `isError`."""
        if name not in self._dispatcher().registry.tools:
            raise NotFound(f"There is no tool {name[:100]!r} here.")
        meta = RequestMeta(progress_token="within" if progress is not None else None)
        params = CallToolParams(name=name, arguments=msgspec.Raw(encode(arguments)), meta=meta)
        return await self._answer("tools/call", params, _Insider(await self._principal_now(principal), progress))

    async def read(self, principal: Principal, uri: str) -> Sequence[Contents]:
        """The contents of a resource of any room."""
        peer = _Insider(await self._principal_now(principal), None)
        answer = await self._answer("resources/read", ReadResourceParams(uri=uri), peer)
        return msgspec.convert(answer["contents"], list[Contents])

    async def _answer(self, name: str, params: Any, peer: _Insider) -> dict[str, Any]:
        depth = _depth.get()
        if depth >= _DEEPEST:
            raise LimitExceeded(f"Rooms called one another {_DEEPEST} times deep.", hint="Something goes in a circle.")
        dispatcher = self._dispatcher()
        mark, deeper = request_mark.get(), _depth.set(depth + 1)
        number: RequestId = f"within-{next(self._numbers)}"
        try:
            body = await dispatcher.answer(dispatcher.methods[name], params, number, peer)
        except ProtocolError as refused:
            raise _as_kernel_error(refused) from None
        finally:
            _depth.reset(deeper)
            request_mark.set(mark)
        return msgspec.json.decode(body)


def _as_kernel_error(refused: ProtocolError) -> PentadError:
    given: Any = refused.data
    known = error_from(cast("dict[str, Any]", given)) if isinstance(given, dict) else None
    return known or _BY_NUMBER.get(refused.code, PentadError)(refused.message)
