"""One HTTP request that passed the HTTP guards, and the ways to answer it."""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pentad.kernel.principal import Principal
from pentad.mcp.messages import RequestId
from pentad.mcp.sse import Receive, Send
from pentad.mcp.wire_errors import ProtocolError

_JSON: Final = (b"content-type", b"application/json")


class Front(Protocol):
    """What let the request in: it knows credentials and how to ask for better ones."""

    async def principal(self, scope: MutableMapping[str, Any], headers: Mapping[bytes, bytes]) -> Principal:
        """What the credentials in the headers are worth now."""
        ...

    def insufficient(
        self, scope: MutableMapping[str, Any], headers: Mapping[bytes, bytes], needed: str
    ) -> list[tuple[bytes, bytes]]:
        """The headers of a refusal for want of a scope."""
        ...


@dataclass(slots=True)
class HttpExchange:
    """One HTTP request that passed the HTTP guards."""

    headers: Mapping[bytes, bytes]
    repeated: frozenset[bytes]
    """Names of headers that came more than once."""
    principal: Principal
    receive: Receive
    send: Send
    body: bytes = b""
    release: Callable[[], None] | None = None
    """Gives back the place among the calls in flight."""
    front: "Front | None" = None
    scope: MutableMapping[str, Any] = field(default_factory=dict[str, Any])
    """The request as the server handed it over; for the front."""

    async def principal_now(self) -> Principal:
        """Who the client is by now: an exchange that lasts can outlive its credentials."""
        if self.front is None:
            return self.principal
        return await self.front.principal(self.scope, self.headers)

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
        headers = error.headers()
        if self.front is not None and (needed := error.required_scope) is not None:
            headers = self.front.insufficient(self.scope, self.headers, needed)
        await self.reply(error.http_status(modern=modern), error.encoded(request_id), *headers)

    def accepts_stream(self) -> bool:
        """Whether the client can read a stream; plain curl (`*/*` or nothing) can."""
        accept = self.headers.get(b"accept")
        return accept is None or b"text/event-stream" in accept or b"*/*" in accept


class Endpoint(Protocol):
    """What answers the exchanges of one path: the protocol as it is, or the profile a room promises there."""

    async def post(self, exchange: HttpExchange) -> None: ...

    async def get(self, exchange: HttpExchange) -> None: ...

    async def delete(self, exchange: HttpExchange) -> None: ...
