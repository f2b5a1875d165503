"""Decides which web pages may call: checks Origin and Sec-Fetch-Site, and lets allowed pages read responses (CORS).

A browser lets any page send requests to any server, and adds remembered logins. It also identifies the page: `Origin`
is its exact scheme, host and port, `Sec-Fetch-Site` its relation to us. Only our own pages and those of
`allowed_origins` may call. A request without either header does not come from a browser.

CORS never allows credentials: a page sends its own, in a header it sets itself.
"""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlsplit

from pentad.http.error_responses import send_empty
from pentad.http.guards.request_checks import Headers, header_text, is_json
from pentad.kernel.errors import Forbidden
from pentad.mcp.http_exchange import Message, Send
from pentad.platform import Scope

Origin = tuple[str, str, int]
"""Scheme, host and port."""

_MOST_CACHED: Final = 1000
_PORTS: Final = {"http": 80, "https": 443}
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_EXPOSED: Final = (
    b"mcp-session-id, www-authenticate, a2a-extensions, etag, allow, x-request-id, pentad-ignored-parameters"
)
_OWN_SITE: Final = frozenset({b"same-origin", b"none"})
_ALLOWED_HEADERS: Final = (
    b"authorization, x-api-key, content-type, accept, last-event-id, a2a-version, a2a-extensions,"
    b" mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, if-match, if-none-match, idempotency-key,"
    b" traceparent, x-request-id"
)


class OriginGuard:
    """Checks which web page a request comes from. Pages of any origin may call the `shared` paths and those below.

    Paths in `open_to_all` ignore credentials that a browser adds automatically, so pages may send them anything.
    `always_trusted` means that callers need no credentials, so every request counts as one with credentials.
    """

    def __init__(
        self,
        *,
        public_url: str | None,
        origins: Iterable[str] = (),
        shared: Sequence[str] = (),
        open_to_all: Sequence[str] = (),
        always_trusted: bool = False,
    ) -> None:
        named = [*origins, *([] if public_url is None else [_origin_part(public_url)])]
        self._allowed = {origin for name in named if (origin := origin_of(name.rstrip("/"))) is not None}
        self._shared = () if always_trusted else tuple(f"{prefix.rstrip('/')}/" for prefix in shared)
        self._open = tuple(f"{prefix}/" for prefix in open_to_all)
        self._always_trusted = always_trusted
        self._cache: dict[tuple[bytes, bytes, str], bool] = {}

    def check(self, scope: Scope, headers: Headers, origin: bytes | None) -> None:
        """Refuse requests from foreign pages."""
        if origin is not None:
            ours = self.is_ours(origin, headers.get(b"host", b""), scope["scheme"])
            if not ours and not self._is_allowed(scope, headers, origin):
                raise Forbidden("Web pages of that Origin may not call this server.", hint=_origin_hint(origin))
        elif (site := headers.get(b"sec-fetch-site")) is not None and site.strip(b" \t").lower() not in _OWN_SITE:
            self._check_foreign_site(scope, headers)

    def is_ours(self, origin: bytes, host: bytes, scheme: str) -> bool:
        """Whether an Origin is this server, as the request names it, or one of the allowed ones."""
        key = (origin, host, scheme)
        known = self._cache.get(key)
        if known is None:
            found = origin_of(header_text(origin))
            known = found is not None and (
                found in self._allowed or found == origin_of(f"{scheme}://{header_text(host)}")
            )
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            self._cache[key] = known
        return known

    def _is_allowed(self, scope: Scope, headers: Headers, origin: bytes) -> bool:
        if self._open and f"{scope['path']}/".startswith(self._open):
            return True
        return origin.strip() != b"null" and self._is_shared(scope, headers)

    def _is_shared(self, scope: Scope, headers: Headers) -> bool:
        """Whether pages of any origin may send this. Credentials that a browser adds automatically never count.

        A browser sends a preflight request before JSON or a method other than GET, HEAD and POST. We allow it without
        credentials, so the browser omits those it remembers. A plain GET has no preflight; of the credentials that the
        browser may add to it, we read only Basic, so we refuse that.
        """
        if not f"{scope['path']}/".startswith(self._shared):
            return False
        if scope["method"] in _READING:
            return headers.get(b"authorization", b"").lstrip(b" \t")[:5].lower() != b"basic"
        return is_json(headers.get(b"content-type", b""))

    def _check_foreign_site(self, scope: Scope, headers: Headers) -> None:
        """Without an Origin, a foreign page may link to us and read what is public, but no more."""
        if scope["method"] in _READING:
            whole_page = headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
            if whole_page or not self._has_credentials(headers):
                return
        raise Forbidden(
            "Web pages of other sites may not call this server.",
            hint="Open it directly, or add the page's origin to allowed_origins if it is yours.",
        )

    def _has_credentials(self, headers: Headers) -> bool:
        return self._always_trusted or any(name in headers for name in (b"authorization", b"x-api-key", b"cookie"))


def origin_of(text: str) -> Origin | None:
    """The origin in a text, with its default port filled in; None if it is not an origin."""
    try:
        parts = urlsplit(text.lower())
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if parts.hostname is None or port is None or parts.username is not None or parts.scheme not in _PORTS:
        return None
    if parts.path or "?" in text or "#" in text:
        return None
    return parts.scheme, parts.hostname, port


def _origin_part(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _origin_hint(origin: bytes) -> str:
    """The exact setting to add, if the origin can be allowed."""
    text = header_text(origin)
    if origin_of(text) is None or len(text) > 200 or not text.isascii() or not text.isprintable():
        return "Call from a page with an origin of its own that is in allowed_origins."
    return (
        f'If it is yours, add it: allowed_origins = ["{text}"] in pentad.toml, or PENTAD_ALLOWED_ORIGINS={text}.'
        " Behind a proxy, set public_url to the address in the browser."
    )


def with_cors(send: Send, origin: bytes) -> Send:
    """Let a page of this origin read the response."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            shared = [
                (b"access-control-allow-origin", origin),
                (b"access-control-expose-headers", _EXPOSED),
                (b"vary", b"origin"),
            ]
            message["headers"] = [*message["headers"], *shared]
        await send(message)

    return answer


def is_preflight(method: str, headers: Headers) -> bool:
    """Whether this is a preflight: the browser asks if a page may send a request."""
    return method == "OPTIONS" and b"access-control-request-method" in headers


async def answer_preflight(send: Send) -> None:
    """Say which methods and headers an allowed page may send."""
    allowed = [
        (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
        (b"access-control-allow-headers", _ALLOWED_HEADERS),
        (b"access-control-max-age", b"600"),
    ]
    await send_empty(send, 204, allowed)
