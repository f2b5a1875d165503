"""HTTP and JSON-RPC with one remote agent: authenticated and size-limited, with errors that name the agent. Independent
of the dialect.
"""

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.agentvault.channel import ERROR_BYTES, MAX_DEPTH, MAX_KEYS, Channel
from pentad.agentvault.exceptions import A2AAuthenticationError
from pentad.kernel.errors import Forbidden, LimitExceeded
from pentad.kernel.ids import uuid7
from pentad.kernel.json import check_bounds
from pentad.kernel.retry_after import retry_after
from pentad.net.event_stream import ServerEvent
from pentad.rooms.agents.codecs.errors import decode_http_error, decode_rpc_error, invalid_answer
from pentad.rooms.agents.models import Dialect

if TYPE_CHECKING:
    from pentad.kernel.ports import Fetched

_encode: Final = msgspec.json.Encoder().encode


_NO_RESULT: Final = msgspec.Raw(b"null")  # some agents leave out a result that is null


class RpcIn(msgspec.Struct):
    """A JSON-RPC response whose members are still bytes."""

    jsonrpc: str = ""
    id: Any = None
    result: msgspec.Raw = _NO_RESULT
    error: Any = None


_rpc: Final = msgspec.json.Decoder(RpcIn)
_any: Final = msgspec.json.Decoder()


class Transport:
    """Calls one agent over a channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.peer = channel.agent

    async def rpc(
        self, url: str, method: str, params: Mapping[str, Any], dialect: Dialect, headers: Mapping[str, str]
    ) -> bytes:
        """The result of a JSON-RPC call as bytes."""
        request_id, body = _request(method, params)
        answer = await self._fetch("POST", url, headers, body)
        if not 200 <= answer.status < 300 and not _has_rpc_error(answer.body):
            raise self._http_error(answer.status, answer.headers, answer.body)
        return self._result(answer.body, request_id, dialect)

    async def rpc_stream(
        self, url: str, method: str, params: Mapping[str, Any], dialect: Dialect, headers: Mapping[str, str]
    ) -> AsyncGenerator[ServerEvent]:
        """The events of a streaming JSON-RPC call. Any other response is an error."""
        request_id, body = _request(method, params)
        async with aclosing(self.stream("POST", url, headers, body)) as stream:
            async for event in stream:
                if isinstance(event, ServerEvent):
                    yield event
                else:
                    self._result(event, request_id, dialect)
                    raise invalid_answer(self.peer, "not a stream")

    async def request(self, method: str, url: str, headers: Mapping[str, str], body: Any = None) -> bytes:
        """The body of a successful HTTP request."""
        answer = await self._fetch(method, url, headers, None if body is None else _encode(body))
        if not 200 <= answer.status < 300:
            raise self._http_error(answer.status, answer.headers, answer.body)
        return self.bounded(answer.body)

    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncGenerator[ServerEvent | bytes]:
        """The events of a stream; one bytes object if the response succeeded but is not a stream."""
        with _no_credentials(self.peer):
            async with aclosing(self._channel.stream(method, url, headers, body)) as found:
                async for event in found:
                    if isinstance(event, ServerEvent):
                        yield event
                        continue
                    if not 200 <= event.status < 300 and not _has_rpc_error(event.body):
                        raise self._http_error(event.status, event.headers, event.body)
                    yield event.body

    def read_rpc(self, event: ServerEvent, dialect: Dialect) -> bytes:
        """The result in one event of a JSON-RPC stream."""
        return self._result(event.data.encode(), None, dialect)

    def bounded(self, body: bytes) -> bytes:
        """The same bytes, if they are within the limits."""
        try:
            check_bounds(body, depth=MAX_DEPTH, keys=MAX_KEYS)
        except LimitExceeded as error:
            raise invalid_answer(self.peer, error.message) from None
        return body

    async def _fetch(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> "Fetched":
        with _no_credentials(self.peer):
            return await self._channel.fetch(method, url, headers, body)

    def _result(self, body: bytes, request_id: str | None, dialect: Dialect) -> bytes:
        try:
            answer = _rpc.decode(self.bounded(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise invalid_answer(self.peer, str(error)) from None
        if answer.error is not None:
            raise decode_rpc_error(self.peer, answer.error, dialect)
        if answer.jsonrpc != "2.0":
            raise invalid_answer(self.peer, "not an answer in JSON-RPC 2.0")
        if request_id is not None and answer.id != request_id:
            raise invalid_answer(self.peer, "the answer to another request")
        return bytes(answer.result)

    def _http_error(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        try:
            content: Any = _any.decode(self.bounded(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            content = body[:ERROR_BYTES].decode("utf-8", "replace")
        return decode_http_error(self.peer, status, content, retry_after(headers.get("retry-after")))


@contextmanager
def _no_credentials(peer: str) -> Generator[None]:
    """Forbidden if there are no credentials for the agent."""
    try:
        yield
    except A2AAuthenticationError as error:
        raise Forbidden(str(error), details={"reason": "no-credentials", "peer": peer}) from error


def _request(method: str, params: Mapping[str, Any]) -> tuple[str, bytes]:
    request_id = str(uuid7())
    return request_id, _encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def _has_rpc_error(body: bytes) -> bool:
    """Whether an HTTP error contains a JSON-RPC error, which has more detail."""
    try:
        return _rpc.decode(body[:ERROR_BYTES]).jsonrpc == "2.0"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
