"""Browser sessions over HTTP: finds the session of a cookie, checks the CSRF token, and sets the cookie.

Cookies count only at ordinary routes (the console, REST, login), never at an MCP endpoint or a mounted application, and
never together with an Authorization header. A browser adds its cookie to requests automatically, so every request that
uses a login to change something must also carry the session's CSRF token: as the field `csrf` of a form, or in
`X-CSRF-Token`. This is checked here for all routes. `OriginGuard` has already refused requests of foreign pages.
"""

from base64 import b64encode
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import count
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pentad.access.browser_sessions import BrowserSession, BrowserSessions
from pentad.console.forms import CSRF_FIELD
from pentad.http.guards.request_checks import Headers, UnsupportedMedia
from pentad.kernel.errors import Forbidden
from pentad.kernel.pages import FILE_NAME, SEVERAL
from pentad.kernel.principal import ANONYMOUS
from pentad.mcp.http_exchange import Message, Send
from pentad.net import multipart
from pentad.platform import Scope

FORM: Final = b"application/x-www-form-urlencoded"
FORM_WITH_FILES: Final = b"multipart/form-data"
CSRF_HEADER: Final = b"x-csrf-token"
_VISITOR_SECONDS: Final = 3600
_MOST_FIELDS: Final = 1000
_NAVIGATES: Final = (None, b"navigate")


class MissingCsrfToken(Forbidden, code="csrf"):
    """The request does not come from a page that this server made for this browser."""


class BrowserGuard:
    """Finds sessions by cookie and writes the cookies of changed ones."""

    def __init__(self, sessions: BrowserSessions, *, public_url: str | None) -> None:
        self._sessions = sessions
        self._is_https = public_url is not None and public_url.lower().startswith("https://")

    def cached(self, scope: Scope, headers: Headers) -> BrowserSession | None:
        """The session, if its login is cached."""
        token = self._token(scope, headers)
        return None if token is None else self._sessions.cached(token)

    async def session(self, scope: Scope, headers: Headers) -> BrowserSession:
        """The browser session of a request without other credentials."""
        return await self._sessions.find(self._token(scope, headers))

    async def check(self, session: BrowserSession, headers: Headers, body: bytes) -> bool:
        """Whether the request carries the session's CSRF token. With a login it must, or this raises."""
        given = headers.get(CSRF_HEADER, b"").strip(b" \t").decode("latin-1")
        if not given and is_form(headers):
            found = [value for name, value in await _parsed(headers, body) if name == CSRF_FIELD]
            given = found[0] if len(found) == 1 else ""
        is_own = bool(given) and session.accepts(given)
        if session.login is not None and not is_own:
            raise missing_csrf_token()
        return is_own

    def with_cookie(self, session: BrowserSession, scope: Scope, headers: Headers, send: Send) -> Send:
        """Set or delete the cookie in the response, if the session has changed."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and (token := session.new_token) is not None:
                cookie = self._cookie(session, token, scope, headers)
                message = {**message, "headers": [*message["headers"], (b"set-cookie", cookie.encode("ascii"))]}
            await send(message)

        return answer

    def _token(self, scope: Scope, headers: Headers) -> str | None:
        """The value of the cookie. Two different ones mean that someone else set one of them, so neither counts."""
        if b"cookie" not in headers:
            return None
        wanted = self._name(scope, headers)
        given = (value for name, value in scope["headers"] if name == b"cookie")
        found = {value for pairs in given for name, value in _pairs(pairs) if name == wanted}
        return found.pop() if len(found) == 1 else None

    def _name(self, scope: Scope, headers: Headers) -> str:
        """The cookie's name. It contains the port, because all ports of a host share cookies."""
        if self._is_secure(scope):
            return "__Host-pentad"
        return f"pentad-{_port(headers.get(b'host', b''))}"

    def _is_secure(self, scope: Scope) -> bool:
        return self._is_https or scope.get("scheme") == "https"

    def _cookie(self, session: BrowserSession, token: str, scope: Scope, headers: Headers) -> str:
        seconds = self._sessions.longest_seconds if session.login is not None else _VISITOR_SECONDS
        age = 0 if not token else int(seconds)
        secure = "; Secure" if self._is_secure(scope) else ""
        return f"{self._name(scope, headers)}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}"


def form_route(path: str, handle: Callable[[Request], Awaitable[Response]]) -> Route:
    """A route for a form of our pages; refuses every request that does not come from one of them."""

    async def posted(request: Request) -> Response:
        if not is_form(dict(request.scope["headers"])):
            raise UnsupportedMedia("The body must be a form.", hint=f"Send Content-Type: {FORM.decode()}.")
        if not is_own_form(request):
            raise missing_csrf_token()
        return await handle(request)

    return Route(path, posted, methods=["POST"], include_in_schema=False)


def is_own_form(request: Request) -> bool:
    """Whether a page of ours made the request: it has the CSRF token, or credentials that no foreign page can add."""
    if getattr(request.state, "session", None) is None:
        return request.state.principal is not ANONYMOUS
    return bool(getattr(request.state, "is_own_form", False))


async def form_fields(request: Request) -> dict[str, str]:
    """The fields of a form; the last value of a repeated field counts."""
    return dict(await form_pairs(request))


async def form_pairs(request: Request) -> list[tuple[str, str]]:
    """The fields of a form in order, for forms with several check boxes of one name."""
    return await _parsed(dict(request.scope["headers"]), await request.body())


def missing_csrf_token() -> MissingCsrfToken:
    return MissingCsrfToken(
        "This form is out of date, or another site sent it.",
        hint="Open the page again and send the form from there; scripts send the token in X-CSRF-Token.",
    )


def is_form(headers: Headers) -> bool:
    """Whether the body is a form of a page. A form with files counts unless a script sent it, with the CSRF token in
    the header: that kind is read as it arrives."""
    given = headers.get(b"content-type", b"").partition(b";")[0].strip(b" \t").lower()
    return given == FORM or (given == FORM_WITH_FILES and CSRF_HEADER not in headers)


def wants_page(headers: Headers) -> bool:
    """Whether a person requests a page in a browser, judging by Accept and, if sent, Sec-Fetch-Mode."""
    return b"text/html" in headers.get(b"accept", b"") and headers.get(b"sec-fetch-mode") in _NAVIGATES


def login_url(scope: Scope) -> str:
    """The login page, with the way back to the requested page."""
    query = scope.get("query_string", b"").decode("latin-1")
    raw: bytes | None = scope.get("raw_path")
    path = scope["path"] if raw is None else raw.partition(b"?")[0].decode("latin-1")
    back = f"{path}?{query}" if query else path
    return "/login" if back == "/" else f"/login?{urlencode({'next': back})}"


def _pairs(header: bytes) -> Iterable[tuple[str, str]]:
    for part in header.decode("latin-1").split(";"):
        name, sign, value = part.partition("=")
        if sign:
            yield name.strip(), value.strip().strip('"')


def _port(host: bytes) -> int:
    try:
        return urlsplit(f"//{host.decode('latin-1').strip()}").port or 80
    except ValueError:
        return 80


async def _parsed(headers: Headers, body: bytes) -> list[tuple[str, str]]:
    """The fields in order. The value of a file is its content in base64, and its name is a field of its own
    (`name:<field>`); a field without a file is left out. The files of a field that ends in `/-` are numbered from 0."""
    content_type = headers.get(b"content-type", b"").decode("latin-1")
    if multipart.is_form(content_type):
        async with multipart.read_form(_chunks(body), content_type, _MOST_FIELDS) as form:
            numbers: defaultdict[str, Iterator[int]] = defaultdict(count)
            files: list[tuple[str, str]] = []
            for one in form.files:
                if one.name:
                    several = one.field.endswith(SEVERAL)
                    field = f"{one.field[:-1]}{next(numbers[one.field])}" if several else one.field
                    files += [(field, b64encode(one.content.read()).decode()), (f"{FILE_NAME}{field}", one.name)]
            return [*form.fields.items(), *files]
    try:
        return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return []


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body
