"""Outgoing HTTP to one checked address, over pooled aiohttp connections.

The only module that imports aiohttp; `fetch.py` imports it on the first fetch. aiohttp never gets a name to resolve:
the URL has the address, and the name is in the Host header and in TLS. So nothing is resolved between the check and the
connection, and a pooled connection belongs to the (address, name) it was opened for.
"""

import asyncio
import io
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import DeadlineExceeded, Forbidden, PentadError, Unavailable
from pentad.net.addresses import Address
from pentad.net.content_encoding import ACCEPTED, BoundedBody, too_large
from pentad.net.fetch_policy import FetchPolicy
from pentad.net.urls import Target

SocketFactory = Callable[[tuple[Any, ...]], socket.socket]
REDIRECTS = frozenset({301, 302, 303, 307, 308})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request without its target."""

    method: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Response:
    """The response from one address; `location` is set if it is a redirect."""

    status: int
    headers: dict[str, str]
    body: bytes
    location: str | None


class OpenResponse:
    """A response whose body has not been read yet; `location` is set if it is a redirect."""

    def __init__(self, response: aiohttp.ClientResponse, host: str) -> None:
        self._response = response
        self._host = host
        self.status = response.status
        self.headers = _joined(response)
        self.location = _location(response)

    async def chunks(self, idle: float) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises if nothing comes for `idle` seconds."""
        content = self._response.content
        try:
            while not content.at_eof():
                async with asyncio.timeout(idle):
                    chunk = await content.readany()
                if chunk:
                    yield chunk
        except TimeoutError:
            raise DeadlineExceeded(f"{self._host} sent nothing for {idle:g} s.", hint="Ask again.") from None
        except (aiohttp.ClientError, ValueError, OSError):
            raise Unavailable(f"{self._host} closed the stream early.", hint="Ask again.") from None

    def close(self) -> None:
        """Discard the rest; the connection is not reused."""
        self._response.close()


class ConnectionPool:
    """Pooled connections. Create it while the event loop runs."""

    def __init__(self, policy: FetchPolicy, tls: ssl.SSLContext | None, sockets: SocketFactory | None) -> None:
        self._policy = policy
        connector = aiohttp.TCPConnector(
            limit=policy.connections,
            resolver=_NoResolver(allowed=policy.proxy),
            ssl=tls or True,
            socket_factory=sockets,
            use_dns_cache=False,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=policy.connect_seconds),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=("Content-Type",),
        )

    async def send(
        self, target: Target, addresses: Sequence[Address], sent: OutgoingRequest, max_bytes: int
    ) -> Response:
        """Send to the first of the addresses that accepts a connection."""

        async def attempt(address: Address) -> Response:
            return await self._send_to(address, target, sent, max_bytes)

        return await self._first(target, addresses, attempt)

    async def open(self, target: Target, addresses: Sequence[Address], sent: OutgoingRequest) -> OpenResponse:
        """Like `send`, without reading the body; the caller closes the response."""

        async def attempt(address: Address) -> OpenResponse:
            return await self._open_at(address, target, sent)

        return await self._first(target, addresses, attempt)

    async def _first(
        self, target: Target, addresses: Sequence[Address], attempt: Callable[[Address], Awaitable[T]]
    ) -> T:
        failure: PentadError = Unavailable(f"{target.host} cannot be reached.")
        for address in addresses:
            try:
                return await attempt(address)
            except (aiohttp.ClientConnectorSSLError, aiohttp.ClientConnectorCertificateError):
                raise Unavailable(
                    f"No trusted TLS connection to {target.host}.", hint="Check the certificate and its name."
                ) from None
            except aiohttp.ConnectionTimeoutError:
                failure = DeadlineExceeded(
                    f"{target.host} did not accept a connection within {self._policy.connect_seconds:g} s.",
                    hint="Check that it runs, or raise fetch.connect_seconds.",
                )
            except aiohttp.ClientConnectorError:
                failure = Unavailable(f"{target.host} refuses connections.", hint="Check that it runs; then try again.")
            except (aiohttp.ClientError, ValueError):
                raise Unavailable(f"{target.host} did not respond with valid HTTP.", hint="Try again later.") from None
        raise failure

    async def close(self) -> None:
        await self._session.close()

    async def _send_to(self, address: Address, target: Target, sent: OutgoingRequest, max_bytes: int) -> Response:
        async with await self._request(address, target, sent, ACCEPTED) as response:
            if (location := _location(response)) is not None:
                response.close()
                return Response(response.status, {}, b"", location)
            self._check_type(response)
            body = await self._read(response, sent.method, max_bytes)
            return Response(response.status, _plain_headers(response, body), body.finish(), None)

    async def _open_at(self, address: Address, target: Target, sent: OutgoingRequest) -> OpenResponse:
        response = await self._request(address, target, sent, "identity")
        opened = OpenResponse(response, target.host)
        try:
            if opened.location is None:
                self._check_type(response)
                _check_plain(opened.headers)
        except PentadError:
            opened.close()
            raise
        return opened

    async def _request(
        self, address: Address, target: Target, sent: OutgoingRequest, encoding: str
    ) -> aiohttp.ClientResponse:
        return await self._session.request(
            sent.method,
            URL(target.url_at(address), encoded=True),
            headers={
                **sent.headers,
                "Host": target.authority,
                "Accept-Encoding": encoding,
                "user-agent": sent.headers.get("user-agent", self._policy.user_agent),
            },
            data=_in_pieces(sent.body),
            allow_redirects=False,
            proxy=self._policy.proxy,
            server_hostname=target.host if target.scheme == "https" else None,
        )

    async def _read(self, response: aiohttp.ClientResponse, method: str, max_bytes: int) -> BoundedBody:
        encoding = "" if method == "HEAD" else response.headers.get("Content-Encoding", "")
        body = BoundedBody(encoding, max_bytes=max_bytes, max_ratio=self._policy.max_ratio)
        if method != "HEAD" and (response.content_length or 0) > max_bytes:
            response.close()
            raise too_large(max_bytes)
        try:
            async for chunk in response.content.iter_any():
                body.feed(chunk)
        except PentadError:
            response.close()  # the rest is not needed, so the connection cannot be reused
            raise
        return body

    def _check_type(self, response: aiohttp.ClientResponse) -> None:
        accepted = self._policy.content_types
        if accepted and response.ok and response.content_type.lower() not in accepted:
            response.close()
            raise Forbidden(
                f"The response is of type {response.content_type[:80]!r}, which is not accepted.",
                hint="The accepted types are the setting fetch.content_types.",
            )


class _NoResolver(AbstractResolver):
    """Resolves only the operator's proxy; any other name that arrives here would be an unchecked address."""

    def __init__(self, allowed: str | None) -> None:
        self._allowed = URL(allowed).raw_host if allowed else None

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host != self._allowed:
            raise OSError("names are resolved and checked before the connection is made")
        return await aiohttp.ThreadedResolver().resolve(host, port, family)

    async def close(self) -> None:
        """Nothing to close."""


def _location(response: aiohttp.ClientResponse) -> str | None:
    return response.headers.get("Location") if response.status in REDIRECTS else None


def _check_plain(headers: Mapping[str, str]) -> None:
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Unavailable(
            "The stream came in an encoding that was not asked for.", hint="Streams are read as they are."
        )


def _in_pieces(body: bytes | None) -> bytes | io.BytesIO | None:
    """A large body in pieces: sending it at once would block the loop, and aiohttp warns about that."""
    return body if body is None or len(body) < MIB else io.BytesIO(body)


def _plain_headers(response: aiohttp.ClientResponse, body: BoundedBody) -> dict[str, str]:
    """The headers, without those that no longer describe the decoded body."""
    found = _joined(response)
    if body.is_encoded:
        found.pop("content-encoding", None)
        found.pop("content-length", None)
    return found


def _joined(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The headers with lower-case names and repeated ones joined."""
    found: dict[str, str] = {}
    for name, value in response.headers.items():
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found
