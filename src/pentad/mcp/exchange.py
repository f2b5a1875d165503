"""One HTTP request that passed the gateway's guards, and the ways to answer it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from pentad.kernel.principal import Principal
from pentad.mcp.messages import RequestId
from pentad.mcp.sse import Receive, Send
from pentad.mcp.wire_errors import ProtocolError

_JSON: Final = (b"content-type", b"application/json")


@dataclass(slots=True)
class HttpExchange:
    """One HTTP request that passed the gateway's guards."""

    headers: Mapping[bytes, bytes]
    repeated: frozenset[bytes]
    """Names of headers that came more than once."""
    principal: Principal
    receive: Receive
    send: Send
    body: bytes = b""
    release: Callable[[], None] | None = None
    """Gives back the place among the calls in flight."""
    recognise: Callable[[Mapping[bytes, bytes]], Awaitable[Principal]] | None = None
    """What the credentials in the headers are worth now."""

    async def principal_now(self) -> Principal:
        """Who the client is by now: an exchange that lasts can outlive its credentials."""
        return self.principal if self.recognise is None else await self.recognise(self.headers)

    def released(self) -> None:
        """The call is over, or has become a stream: it no longer counts as in flight."""
        release, self.release = self.release, None
        if release is not None:
            release()

    def header(self, name: bytes) -> bytes | None:
        """A header's value without the blanks around it, which httptools leaves in place."""
        value = self.headers.get(name)
        return None if value is None else value.strip(b" \t")

    async def reply(self, status: int, body: bytes, *extra: tuple[bytes, bytes]) -> None:
        length = (b"content-length", b"%d" % len(body))
        headers = [_JSON, length, *extra] if body else [length, *extra]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, error: ProtocolError, request_id: RequestId | None, *, modern: bool) -> None:
        await self.reply(error.http_status(modern=modern), error.encoded(request_id), *error.headers())

    def accepts_stream(self) -> bool:
        """Whether the client can read a stream; plain curl (`*/*` or nothing) can."""
        accept = self.headers.get(b"accept")
        return accept is None or b"text/event-stream" in accept or b"*/*" in accept


class Endpoint(Protocol):
    """What answers the exchanges of one path: the protocol as it is, or the profile a room promises there."""

    async def post(self, exchange: HttpExchange) -> None: ...

    async def get(self, exchange: HttpExchange) -> None: ...

    async def delete(self, exchange: HttpExchange) -> None: ...
