"""One HTTP request that passed the guards of the HTTP front, and the ways to answer it."""

import asyncio
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pentad.kernel.principal import Principal
from pentad.mcp.messages import RequestId
from pentad.mcp.sse import Receive, Send
from pentad.mcp.wire_errors import ProtocolError

_JSON: Final = (b"content-type", b"application/json")


class Front(Protocol):
    """The HTTP front that admitted the request. It knows the credentials, and how to ask for better ones."""

    @property
    def public_url(self) -> str | None: ...
    @property
    def stopping(self) -> asyncio.Event: ...

    async def principal(self, scope: MutableMapping[str, Any], headers: Mapping[bytes, bytes]) -> Principal:
        """What the credentials in the headers are worth now."""
        ...

    def insufficient(
        self, scope: MutableMapping[str, Any], headers: Mapping[bytes, bytes], needed: str
    ) -> list[tuple[bytes, bytes]]:
        """The headers of an answer to a caller that lacks a scope."""
        ...


@dataclass(slots=True)
class HttpExchange:
    """One HTTP request that passed the guards of the HTTP front."""

    headers: Mapping[bytes, bytes]
    repeated: frozenset[bytes]
    """Names of headers that came more than once."""
    principal: Principal
    receive: Receive
    send: Send
    front: Front
    scope: MutableMapping[str, Any] = field(default_factory=dict[str, Any])
    """The request as the server handed it over."""
    body: bytes = b""
    on_release: Callable[[], None] | None = None

    @property
    def public_url(self) -> str | None:
        """The address clients use, if the operator set one; otherwise they use the Host of their request."""
        return self.front.public_url

    @property
    def stopping(self) -> asyncio.Event:
        """Set when the server stops: streams have to end."""
        return self.front.stopping

    async def principal_now(self) -> Principal:
        """Who the client is by now: an exchange that lasts can outlive its credentials."""
        return await self.front.principal(self.scope, self.headers)

    def release(self) -> None:
        """The call is over, or has become a stream: it no longer counts as in flight. Calling this twice is fine."""
        release, self.on_release = self.on_release, None
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
        if (needed := error.required_scope) is not None:
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
