"""The client behind a proxy: its address and scheme, believed only from proxies the operator trusts.

Each proxy appends the address that called it. Read from the right, the first address that is not a trusted proxy is the
client; everything left of it was written by the client itself.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final, Literal

from pentad.kernel.client_addresses import parse_address
from pentad.kernel.errors import Misconfigured
from pentad.net.connection_guard import ConnectionGuard

ForwardedHeader = Literal["x-forwarded-for", "forwarded"]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Any]
Headers = Iterable[tuple[bytes, bytes]]

_PAIR: Final = re.compile(r'(for|proto)=("(?:[^"\\]|\\.)*"|[^;,\s"]+)', re.IGNORECASE)
_PORT: Final = re.compile(r"\[([^\]]*)\](?::\d+)?|([^:]*)(?::\d+)?")
_SCHEMES: Final = ("http", "https")
_TOO_MANY: Final = (
    b'{"title":"Too Many Requests","status":429,"detail":"Too many requests at once from this address.",'
    b'"error":{"code":"rate_limited","message":"Too many requests at once from this address."}}'
)


class TrustedProxies:
    """The trusted proxies, by address or network."""

    def __init__(self, networks: Sequence[str], header: ForwardedHeader = "x-forwarded-for") -> None:
        self._networks = [_network(text) for text in networks]
        self._header = header

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trust(self, address: str) -> bool:
        found = parse_address(address)
        return found is not None and any(found in network for network in self._networks)

    def client(self, peer: str, headers: Headers) -> tuple[str, str | None]:
        """The client's address, and its scheme if known, for a request that `peer` forwarded."""
        if not self.trust(peer):
            return peer, None
        hops, scheme = self._forwarded(headers) if self._header == "forwarded" else _x_forwarded(headers)
        client = peer
        for hop in reversed(hops):
            address = parse_address(_bare(hop))
            if address is None:
                break  # hidden on purpose, or not an address: we only know the last proxy
            client = str(address)
            if not self.trust(client):
                break
        return client, scheme if scheme in _SCHEMES else None

    @staticmethod
    def _forwarded(headers: Headers) -> tuple[list[str], str | None]:
        """RFC 7239."""
        hops: list[str] = []
        scheme: str | None = None
        for element in _items(headers, b"forwarded"):
            pairs = {name.lower(): value.strip('"') for name, value in _PAIR.findall(element)}
            hops.append(pairs.get("for", ""))
            scheme = pairs.get("proto", "").lower() or None
        return hops, scheme


class BehindProxies:
    """An ASGI application whose requests carry the client's address and scheme instead of the proxy's.

    The connections belong to the proxy, so requests are counted by address instead.
    """

    def __init__(self, app: App, proxies: TrustedProxies, guard: ConnectionGuard) -> None:
        self._app = app
        self._proxies = proxies
        self._guard = guard

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        peer = scope.get("client")
        if scope["type"] != "http" or peer is None or not self._proxies.trust(peer[0]):
            await self._app(scope, receive, send)
            return
        address, scheme = self._proxies.client(peer[0], scope["headers"])
        scope["client"] = (address, 0)
        scope["scheme"] = scheme or scope["scheme"]
        if not self._guard.admit(address):
            await _refuse(send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._guard.release(address)


def _x_forwarded(headers: Headers) -> tuple[list[str], str | None]:
    schemes = _items(headers, b"x-forwarded-proto")
    return _items(headers, b"x-forwarded-for"), schemes[-1].lower() if schemes else None


def _items(headers: Headers, name: bytes) -> list[str]:
    """The items of a list header, over all its lines."""
    lines = [value.decode("latin-1") for key, value in headers if key == name]
    return [item.strip() for line in lines for item in line.split(",") if item.strip()]


def _bare(hop: str) -> str:
    """An address without port and brackets."""
    if hop.count(":") > 1 and not hop.startswith("["):
        return hop
    found = _PORT.fullmatch(hop)
    return "" if found is None else found[1] or found[2] or ""


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise Misconfigured(
            f"forwarded_allow_ips has {text[:80]!r}, which is not an address or network.",
            hint="Write the proxy's address, such as 10.0.0.5, or its network, such as 10.0.0.0/24.",
        ) from None


async def _refuse(send: Send) -> None:
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(_TOO_MANY)),
        (b"retry-after", b"1"),
    ]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": _TOO_MANY})
