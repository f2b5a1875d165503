"""The client behind CLI verbs. It talks to a server with `--url`, or to rooms opened in this process.

A verb with `@server_options()` receives a `Target` and works the same way on both.
"""

import asyncio
import base64
import functools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast
from urllib.parse import urlencode, urlsplit

import click

from pentad.kernel.errors import Forbidden, InvalidInput, NotFound, PentadError, Unauthenticated, Unavailable
from pentad.terminal.launcher import launcher
from pentad.terminal.options import Decorator, Verb, settings_options

if TYPE_CHECKING:
    from pentad.net.fetch import HttpFetcher
    from pentad.settings.model import Settings

T = TypeVar("T")

_SERVER_OPTIONS: Final = (
    click.option("--url", help="Use a server over HTTP instead, e.g. http://127.0.0.1:8700."),
    click.option("--token", envvar="PENTAD_TOKEN", help="The API key for --url; safer in PENTAD_TOKEN."),
)


Send = Callable[[str, str, "bytes | None", str], Awaitable["tuple[int, bytes]"]]
"""Sends a request (method, path with query, body, media type); returns the status and body of the response."""
_FIRST_ERROR: Final = 400
_LONGEST_SILENCE: Final = 3_600.0
"""How long a stream of the audit trail may stay silent."""
_BY_STATUS: Final[dict[int, type[PentadError]]] = {401: Unauthenticated, 403: Forbidden, 404: NotFound}


class Session(Protocol):
    """The client's side of an MCP conversation."""

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]: ...

    async def list_all(self, method: str, key: str) -> list[dict[str, Any]]: ...


class Client:
    """A conversation with Pentad, in this process or over HTTP."""

    def __init__(self, session: Session, send: "Send | None" = None) -> None:
        self.request = session.request
        self.list_all = session.list_all
        self._send = send

    async def send_file(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: bytes | None = None,
        media_type: str = "application/octet-stream",
    ) -> "tuple[int, bytes]":
        """Send a request to a path of the server and return status and body.

        Only with `--url`. Parameters that are None are left out.
        """
        if self._send is None:
            raise RuntimeError("This needs a server: give --url.")
        given = urlencode({key: value for key, value in query.items() if value is not None}, doseq=True)
        return await self._send(method, f"{path}?{given}", body, media_type)

    async def call_route(
        self, method: str, path: str, query: Mapping[str, Any], body: bytes | None = None, media_type: str = ""
    ) -> Any:
        """Call a path of the server and return its JSON, or raise its error. Only with `--url`."""
        status, answer = await self.send_file(method, path, query, body, media_type)
        parsed = parse_answer(status, answer)
        if status >= _FIRST_ERROR:
            raise error_from_answer(status, parsed)
        return parsed

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The structured content of a tool's result."""
        return (await self.call(name, arguments))["structuredContent"]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool and return its result, or raise its error. Arguments that are None are left out."""
        given = {key: value for key, value in arguments.items() if value is not None}
        result = await self.request("tools/call", {"name": name, "arguments": given})
        if result.get("isError"):
            from pentad.mcp.wire_errors import error_from_result

            raise error_from_result(result)
        return result

    async def read(self, uri: str) -> str:
        """The text of a resource."""
        return (await self.request("resources/read", {"uri": uri}))["contents"][0]["text"]


def parse_answer(status: int, body: bytes) -> Any:
    """The JSON of a response."""
    try:
        return json.loads(body)
    except ValueError:
        raise Unavailable(f"The server answered {status}, but not with JSON.") from None


def error_from_answer(status: int, answer: Any) -> PentadError:
    """The error in a JSON response."""
    from pentad.mcp.wire_errors import known_error

    members = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    error: Any = members.get("error")
    inner = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    said: Any = inner.get("message") or members.get("message") or (error if isinstance(error, str) else None)
    text = str(said or f"The server answered {status}.")
    found = known_error(inner) if inner else None
    return found or _BY_STATUS.get(status, Unavailable if status >= 500 else PentadError)(text)


@dataclass(frozen=True, slots=True)
class Server:
    """An HTTP server and the credentials for it. Without credentials, the login saved by `pentad login` is used."""

    url: str
    """Its MCP endpoint."""
    authorization: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """What a verb operates on: a server, or the store of the settings."""

    settings: "Settings"
    server: Server | None = None

    def run(self, work: Callable[[Client], Coroutine[Any, Any, T]], *rooms: str) -> T:
        """Run `work` with a client. In this process, only these rooms are opened, or those of the settings if none are
        named."""

        async def run() -> T:
            async with self.open(*rooms) as client:
                return await work(client)

        return asyncio.run(run())

    def site(self, path: str) -> str:
        """The URL of a path on the server, or on the one these settings would start."""
        return self.settings.url(path) if self.server is None else _site(self.server.url) + path

    def call_route(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Mapping[str, Any] | None = None
    ) -> Any:
        """Call an administration route, on the server or on the settings' store, and return its JSON or raise its
        error."""

        async def run() -> Any:
            async with self.stream_route(method, path, query, body) as chunks:
                return json.loads(b"".join([chunk async for chunk in chunks]))

        return asyncio.run(run())

    @asynccontextmanager
    async def stream_route(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Call an administration route and yield its body as it arrives, or raise its error."""
        given = urlencode({name: value for name, value in (query or {}).items() if value is not None})
        encoded = None if body is None else json.dumps(body).encode()
        opened = launcher().open_routes(self.settings) if self.server is None else _remote_routes(self.server)
        async with (
            opened as routes,
            routes.open(method, f"{path}?{given}" if given else path, encoded, "application/json") as (status, chunks),
        ):
            if status >= _FIRST_ERROR:
                answer = b"".join([chunk async for chunk in chunks])
                raise error_from_answer(status, parse_answer(status, answer))
            yield chunks

    def call_tool(self, name: str, arguments: Mapping[str, Any], *rooms: str) -> dict[str, Any]:
        """The structured result of one tool call."""
        return self.run(lambda client: client.call_tool(name, arguments), *rooms)

    @asynccontextmanager
    async def open(self, *rooms: str) -> AsyncGenerator[Client]:
        """A conversation that is closed at the end."""
        if self.server is not None:
            async with _remote_session(self.server) as (session, send):
                yield Client(session, send)
            return
        from pentad.mcp.connection import RemoteError
        from pentad.mcp.wire_errors import error_from_reply

        settings = replace(self.settings, rooms=rooms) if rooms else self.settings
        async with launcher().open_app(settings) as app, app.client() as session:
            try:
                yield Client(session)
            except RemoteError as error:
                raise error_from_reply(error.code, error.message, error.data) from None


def login_options(*, filters_by_user: bool = False) -> Decorator:
    """Give a verb the options for a server and its credentials, received as `server` (None without `--url`).

    The user is `--user` or `--login`; only the latter if the verb's own `--user` is a filter.
    """
    flags = ("--login",) if filters_by_user else ("--user", "--login")
    help_text = "The user name for --url; prompts for the password."
    options = (*_SERVER_OPTIONS, click.option(*flags, "login", metavar="NAME[:PASSWORD]", help=help_text))

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def run(*args: Any, url: str | None, token: str | None, login: str | None, **given: Any) -> Any:
            server = None if url is None else Server(_endpoint(url), _authorization(token, login))
            return verb(*args, server=server, **given)

        decorated: Verb = run
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def server_options(*names: str, filters_by_user: bool = False) -> Decorator:
    """Give a verb the options of the store, of these settings and of a server; it receives them as `target`."""

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def run(*args: Any, settings: "Settings", server: Server | None, **given: Any) -> Any:
            return verb(*args, target=Target(settings, server), **given)

        with_settings: Verb = settings_options(*names, "data", "database")(run)
        return login_options(filters_by_user=filters_by_user)(with_settings)

    return decorate


def _endpoint(url: str) -> str:
    """The MCP endpoint of a URL, which may be just the server's address."""
    return f"{url.rstrip('/')}/mcp" if urlsplit(url).path in ("", "/") else url


def basic_authorization(name: str, password: str) -> str:
    """The Authorization header for a name and password."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode("ascii")


def _authorization(token: str | None, user: str | None) -> str | None:
    """The Authorization header; prompts for a missing password."""
    if user is None:
        return None if token is None else f"Bearer {token}"
    name, colon, password = user.partition(":")
    if not colon:
        password = click.prompt("Password", hide_input=True, err=True)
    return basic_authorization(name, password)


def fetcher_for(url: str) -> "HttpFetcher":
    """Outgoing HTTP, only to the host the user named."""
    from pentad.mcp.remote_server import MOST_BYTES, TIMEOUT_SECONDS
    from pentad.net.fetch import HttpFetcher
    from pentad.net.fetch_policy import FetchPolicy

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput("--url is not a server's address.", hint="Write http://127.0.0.1:8700.")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    # No redirects: the credentials are only for the server the user named.
    policy = FetchPolicy(
        allow_hosts=frozenset({parts.hostname}),
        allow_http=True,
        ports=frozenset({port}),
        max_bytes=MOST_BYTES,
        max_redirects=0,
        timeout=TIMEOUT_SECONDS,
    )
    return HttpFetcher(policy)


@asynccontextmanager
async def _remote_session(server: Server) -> AsyncGenerator[tuple[Session, Send]]:
    from pentad.mcp.remote_server import MOST_BYTES, TIMEOUT_SECONDS, RemoteServer
    from pentad.terminal.saved_logins import login_hint

    async with _remote_routes(server) as routes:

        async def send(method: str, path: str, body: bytes | None, media_type: str) -> tuple[int, bytes]:
            answer = await routes.fetcher.fetch(
                routes.site + path,
                method=method,
                headers=routes.headers(body, media_type),
                body=body,
                max_bytes=MOST_BYTES,
                timeout=TIMEOUT_SECONDS,
            )
            return answer.status, answer.body

        session = RemoteServer(server.url, routes.authorization, routes.fetcher, login_hint=login_hint(server.url))
        try:
            await session.open()
            yield session, send
        finally:
            await session.close()


@dataclass(frozen=True, slots=True)
class _RemoteRoutes:
    """The routes of a server over HTTP."""

    site: str
    authorization: str | None
    fetcher: "HttpFetcher"

    def headers(self, body: bytes | None, media_type: str) -> dict[str, str]:
        headers = {} if self.authorization is None else {"Authorization": self.authorization}
        return headers if body is None else {**headers, "Content-Type": media_type}

    @asynccontextmanager
    async def open(
        self, method: str, path: str, body: bytes | None, media_type: str
    ) -> AsyncGenerator[tuple[int, AsyncIterator[bytes]]]:
        headers = self.headers(body, media_type)
        url = self.site + path
        async with self.fetcher.stream(url, method=method, headers=headers, body=body, idle=_LONGEST_SILENCE) as answer:
            yield answer.status, answer.chunks


@asynccontextmanager
async def _remote_routes(server: Server) -> AsyncGenerator[_RemoteRoutes]:
    """The routes of a server, with the given credentials or the saved login."""
    from pentad.terminal.saved_logins import access_token, saved_logins

    fetcher = fetcher_for(server.url)
    try:
        authorization = server.authorization
        if authorization is None and (token := await access_token(saved_logins(), server.url, fetcher)) is not None:
            authorization = f"Bearer {token}"
        yield _RemoteRoutes(_site(server.url), authorization, fetcher)
    finally:
        await fetcher.close()


def _site(url: str) -> str:
    """The URL that the paths of a server begin with."""
    parts = urlsplit(url)
    path = parts.path.partition("/rooms/")[0].partition("/mcp/")[0].rstrip("/").removesuffix("/mcp")
    return f"{parts.scheme}://{parts.netloc}{path}"
