"""HTTP and JSON-RPC with one remote agent: authenticated and size-limited, with errors that name the agent.

Knows no dialect.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.agentvault.credentials import Credentials, Scheme
from pentad.agentvault.exceptions import A2AAuthenticationError
from pentad.kernel.default_limits import KIB, MIB
from pentad.kernel.errors import Forbidden, LimitExceeded
from pentad.kernel.ids import uuid7
from pentad.kernel.json import check_bounds
from pentad.net.event_stream import CONTENT_TYPE, ServerEvent, events
from pentad.rooms.agents.codecs.errors import decode_http_error, decode_rpc_error, invalid_answer
from pentad.rooms.agents.models import Dialect

if TYPE_CHECKING:
    from pentad.agentvault.key_manager import KeyManager
    from pentad.kernel.ports import Fetched, Fetcher

MAX_BYTES: Final = 16 * MIB
MAX_DEPTH: Final = 128
MAX_KEYS: Final = 200_000
_ERROR_BYTES: Final = 64 * KIB
_encode: Final = msgspec.json.Encoder().encode


_NO_RESULT: Final = msgspec.Raw(b"null")  # some leave out a result that is null


class RpcIn(msgspec.Struct):
    """A JSON-RPC response whose members are still bytes."""

    jsonrpc: str = ""
    id: Any = None
    result: msgspec.Raw = _NO_RESULT
    error: Any = None


_rpc: Final = msgspec.json.Decoder(RpcIn)
_any: Final = msgspec.json.Decoder()


@dataclass(slots=True)
class Transport:
    """Calls one agent. `keys` is None if no credentials are sent."""

    fetcher: "Fetcher"
    peer: str
    schemes: Sequence[Scheme]
    keys: "KeyManager | None"
    trusted: bool
    seconds: float
    idle: float
    _credentials: Credentials = field(init=False)

    def __post_init__(self) -> None:
        self._credentials = Credentials(self.fetcher, trusted=self.trusted)

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
        sent = {**await self._headers(headers), "Accept": CONTENT_TYPE}
        if body is not None:
            sent["Content-Type"] = "application/json"
        async with self.fetcher.stream(
            url,
            method=method,
            headers=sent,
            body=body,
            timeout=self.seconds,
            idle=self.idle,
            trusted=self.trusted,
        ) as answer:
            if answer.status == 200 and answer.headers.get("content-type", "").startswith(CONTENT_TYPE):
                async with aclosing(events(answer.chunks, max_event_bytes=MAX_BYTES)) as found:
                    async for event in found:
                        yield event
                return
            start = await answer.beginning(_ERROR_BYTES)
            if not 200 <= answer.status < 300 and not _has_rpc_error(start):
                raise self._http_error(answer.status, answer.headers, start)
        yield start

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
        sent = {**await self._headers(headers), "Accept": "application/json"}
        if body is not None:
            sent["Content-Type"] = "application/json"
        answer = await self._fetch_once(method, url, sent, body)
        if answer.status == 401 and any(scheme.kind == "oauth2" for scheme in self.schemes):
            renewed = {**sent, **await self._headers(headers, renew=True)}
            if renewed != sent:
                return await self._fetch_once(method, url, renewed, body)
        return answer

    async def _fetch_once(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> "Fetched":
        return await self.fetcher.fetch(
            url,
            method=method,
            headers=headers,
            body=body,
            max_bytes=MAX_BYTES,
            timeout=self.seconds,
            trusted=self.trusted,
        )

    async def _headers(self, headers: Mapping[str, str], *, renew: bool = False) -> dict[str, str]:
        if self.keys is None:
            return dict(headers)
        try:
            login = await self._credentials.headers(self.peer, self.schemes, self.keys, renew=renew)
        except A2AAuthenticationError as error:
            raise Forbidden(str(error), details={"reason": "no-credentials", "peer": self.peer}) from error
        return {**headers, **login}

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
            content = body[:_ERROR_BYTES].decode("utf-8", "replace")
        return decode_http_error(self.peer, status, content, headers.get("retry-after"))


def _request(method: str, params: Mapping[str, Any]) -> tuple[str, bytes]:
    request_id = str(uuid7())
    return request_id, _encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def _has_rpc_error(body: bytes) -> bool:
    """Whether an HTTP error contains a JSON-RPC error, which says more."""
    try:
        return _rpc.decode(body[:_ERROR_BYTES]).jsonrpc == "2.0"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
