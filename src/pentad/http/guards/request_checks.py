"""Checks of a request's headers: Host, Content-Type and Accept. `origins.py` checks which web page sends it.

- Host: is the request meant for this server? An attacker's name server can point the attacker's own name at this
  machine (DNS rebinding), and a page of that name could then talk to us as if we were its own server. So the Host must
  be a name this server answers to.
- Content-Type: a browser sends `text/plain` and forms to any server without a preflight, so we accept neither. A body
  must be JSON, or of a type that its route declares for uploads.
"""

import ipaddress
import socket
from collections.abc import Collection, Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Send

from pentad.kernel.errors import Forbidden, InvalidInput, PentadError
from pentad.platform import Scope, operation_of

Headers = Mapping[bytes, bytes]

_MOST_CACHED: Final = 1000
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_WILDCARDS: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  compared, not bound
_SINGLE_HEADERS: Final = frozenset(
    {b"origin", b"authorization", b"x-api-key", b"content-type", b"content-encoding", b"sec-fetch-site"}
)
_CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_FROM_BROWSERS: Final = (b"origin", b"sec-fetch-site", b"sec-fetch-mode")
_ANY_TYPE: Final = "*/*"
_USUAL: Final = frozenset(
    (b"application/json", accept)
    for accept in (None, b"*/*", b"application/json, text/event-stream", b"application/json,text/event-stream")
)


class MisdirectedRequest(PentadError):
    """The request names another server."""

    code = "misdirected"
    http_status = 421


class AmbiguousRequest(InvalidInput):
    """The request has two values where only one makes sense."""

    code = "ambiguous_request"
    http_status = 400


class UnsupportedMedia(InvalidInput):
    """The body has a type that is not accepted here."""

    code = "unsupported_media_type"
    http_status = 415


class NotAcceptable(InvalidInput):
    """The client accepts none of our response types."""

    code = "not_acceptable"
    http_status = 406


class HostGuard:
    """Checks Host headers. Results are cached, because the same few keep coming."""

    def __init__(self, bound_to: str, *, public_url: str | None, hosts: Iterable[str] = ()) -> None:
        self._names = set(_LOOPBACK) | {name.lower() for name in hosts}
        self._any_address = bound_to in _WILDCARDS
        if self._any_address:
            self._names.add(socket.gethostname().lower())
        else:
            self._names.add(bound_to.lower().strip("[]"))
        if public_url is not None:
            self._names.add((urlsplit(public_url).hostname or "").lower())
        self._cache: dict[bytes, bool] = {}

    def check(self, headers: Headers, target: bytes | None) -> None:
        """Refuse a request that names another server: in its Host, or in `target`, the URL on its request line."""
        host = headers.get(b"host", b"")
        if not self.is_ours(host):
            raise MisdirectedRequest(
                "This server does not accept that Host name.", hint="Add the name to allowed_hosts if it is yours."
            )
        if target is not None:
            self._check_target(target, host)

    def is_ours(self, host: bytes) -> bool:
        known = self._cache.get(host)
        if known is None:
            name = host_name(header_text(host))
            known = name is not None and (name in self._names or (self._any_address and _is_address(name)))
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            self._cache[host] = known
        return known

    def _check_target(self, target: bytes, host: bytes) -> None:
        """A URL on the request line (RFC 9112, 3.2.2) is as binding as the Host header, and must not contradict it."""
        scheme, _, rest = target.lower().partition(b"://")
        authority = rest.partition(b"/")[0].partition(b"?")[0]
        if scheme not in (b"http", b"https") or not self.is_ours(authority):
            raise MisdirectedRequest(
                "The URL on the request line names another server.", hint="This server is no proxy: send only the path."
            )
        if authority != host.strip(b" \t").lower():
            raise AmbiguousRequest(
                "The URL on the request line and the Host header name different servers.", hint="Send only the path."
            )


def repeated_headers(pairs: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """Names of repeated headers. Raises for a second Host, and for two values where only one makes sense."""
    seen: dict[bytes, bytes] = {}
    repeated: set[bytes] = set()
    for name, value in pairs:
        if name in seen:
            repeated.add(name)
            if name == b"host" or (name in _SINGLE_HEADERS and value != seen[name]):
                text = f"The header {name.decode('ascii')} came more than once."
                raise AmbiguousRequest(text, hint="Send it once.")
        seen[name] = value
    return frozenset(repeated)


def check_mcp(headers: Headers) -> None:
    """JSON in; JSON or a stream out. Plain curl, which sends no Accept or `*/*`, is fine."""
    kind, accept = headers.get(b"content-type"), headers.get(b"accept")
    if (kind, accept) in _USUAL:
        return
    if kind is not None and not is_json(kind):
        raise _not_json()
    accept = b"*/*" if accept is None else accept.lower()
    if b"application/" not in accept and b"text/event-stream" not in accept and b"*/*" not in accept:
        raise NotAcceptable(
            "Responses are JSON or an event stream.", hint="Send Accept: application/json, text/event-stream."
        )


def check_browser_body(headers: Headers, body: bytes) -> None:
    """For applications that ignore the Content-Type: even there, a browser must send JSON."""
    if body and not is_json(headers.get(b"content-type", b"")) and any(name in headers for name in _FROM_BROWSERS):
        raise _not_json()


def check_routes(routes: Iterable[BaseRoute]) -> None:
    """Make every route refuse bodies of types it does not declare."""
    for route in routes:
        if isinstance(route, Route) and not _CHANGING.isdisjoint(route.methods or ()):
            operation = operation_of(route.endpoint)
            route.app = _checked(route.app, frozenset(operation.uploads if operation else ()))


def _checked(app: ASGIApp, uploads: Collection[str]) -> ASGIApp:
    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in _CHANGING:
            _check_body(dict(scope["headers"]), uploads)
        await app(scope, receive, send)

    return checked


def _check_body(headers: Headers, uploads: Collection[str]) -> None:
    if headers.get(b"content-length", b"0").strip(b" \t") == b"0" and b"transfer-encoding" not in headers:
        return
    kind = headers.get(b"content-type", b"")
    if is_json(kind):
        return
    if _ANY_TYPE not in uploads and _without_parameters(kind).decode("latin-1") not in uploads:
        raise _not_json(uploads)
    if b"origin" not in headers and any(name in headers for name in _FROM_BROWSERS):
        raise Forbidden("A browser has to say which page uploads this.", hint="Send it with fetch from a page of ours.")


def is_json(kind: bytes) -> bool:
    kind = _without_parameters(kind)
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def _without_parameters(kind: bytes) -> bytes:
    return kind.partition(b";")[0].strip(b" \t").lower()


def _not_json(uploads: Iterable[str] = ()) -> UnsupportedMedia:
    other = "".join(f", or {one}" for one in sorted(uploads))
    return UnsupportedMedia("The body must be JSON.", hint=f"Send Content-Type: application/json{other}.")


def host_name(host: str) -> str | None:
    """The name in a Host header, without port and brackets; None if it is not a host."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname if parts.netloc == host and parts.username is None else None


def _is_address(name: str) -> bool:
    """Whether the name is a literal address, which no foreign name server can rebind."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def header_text(header: bytes) -> str:
    return header.strip(b" \t").decode("latin-1")
