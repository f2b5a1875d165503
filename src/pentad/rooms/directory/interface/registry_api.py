"""The MCP registry API, version 0.1, for hosts and publishers; `/v0` is the same.

Errors have both `error` and `detail`, because clients read one or the other. Web pages of any origin may read every
answer. Hosts send no credentials, so the settings say who may read without; publishing and changing always need them.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Annotated, Any, Final

import msgspec

from pentad import __version__
from pentad.kernel import cursors
from pentad.kernel.clock import parse_iso
from pentad.kernel.errors import PROBLEM_TYPE, InvalidInput, NotFound, PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.json_values import text_or_none
from pentad.kernel.principal import ANONYMOUS
from pentad.kernel.query_parameters import query_of
from pentad.mcp.http_exchange import HttpExchange, Message, Receive, Send
from pentad.mcp.rights import check_right
from pentad.platform import AsgiApp, Mount, Scope
from pentad.rooms.directory.registry.server_files import is_name
from pentad.rooms.directory.registry.service import (
    DEFAULT_LIMIT,
    MOST_LIMIT,
    NotPublished,
    Place,
    ServerEntry,
    ServerQuery,
    publication_problems,
)
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.settings import DirectorySettings
from pentad.rooms.directory.translate.formats import parse_json

PATHS: Final = ("/v0.1", "/v0")
_CORS: Final = (
    (b"access-control-allow-methods", b"GET, POST, PATCH, OPTIONS"),
    (b"access-control-allow-headers", b"Authorization, Content-Type"),
)
_LONGEST_SEARCH: Final = 200
_FILTERS: Final = ("search", "version", "updated_since", "include_deleted")
_SERVER: Final = re.compile(r"/servers/([^/]+/[^/]+)(/.*)")
_STATUS: Final = "/status"

Query = Mapping[str, str]


class BadRequest(InvalidInput, code="bad_request", status=400):
    """A parameter that cannot be read."""


class MethodNotAllowed(PentadError, code="method_not_allowed", status=405):
    """The path does not take this method."""


class NotImplementedHere(PentadError, code="not_implemented", status=501):
    """A write of the registry API that this registry does not support."""


def configured_readers(directory: Directory) -> "Readers":
    """Who may read without credentials, from the settings."""
    settings: DirectorySettings = directory.platform.settings
    return Readers(settings.registry_readers == "anyone", settings.registry_networks)


def registry_mounts(directory: Directory, readers: "Readers") -> list[Mount]:
    """The mounts of the registry, at both paths."""
    api = RegistryApi(directory, readers)
    return [
        Mount(
            path,
            app=readable_by_pages(api.app(path)),
            is_public=lambda method, path: True,  # the application checks rights itself, to answer with registry errors
            error_response=error_response,
            any_origin=True,
        )
        for path in PATHS
    ]


@dataclass(frozen=True, slots=True)
class Readers:
    """Who may read without credentials: anyone, or callers from certain networks."""

    anyone: bool
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def check(self, scope: Scope, exchange: HttpExchange) -> None:
        """Refuse callers who may not read."""
        if self.anyone:
            return
        client = scope.get("client")
        if exchange.principal is ANONYMOUS and client and self._is_near(client[0]):
            return
        check_right(exchange.principal, "directory", "read")

    def _is_near(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self.networks)


def error_response(error: PentadError, _path: str = "") -> tuple[int, bytes]:
    """An error in the formats of both the registry's OpenAPI document and its reference server."""
    issues = [
        {"message": one["message"], "location": f"body.{one['path']}" if one["path"] else "body"}
        for one in error.details.get("issues", ())
    ]
    problem = error.as_problem()
    return error.http_status, msgspec.json.encode({**problem, "error": problem["detail"], "errors": issues})


def readable_by_pages(app: AsgiApp) -> AsgiApp:
    """Add headers that let web pages of any origin read the answers. If a request names its origin, the HTTP front
    allows exactly that one."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        names_origin = any(name == b"origin" for name, _ in scope["headers"])
        shared = (*_CORS, *(() if names_origin else ((b"access-control-allow-origin", b"*"),)))

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *shared]
            await send(message)

        await app(scope, receive, answer)

    return serve


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    """The path below the prefix, decoded, without a trailing slash."""
    query: Query
    exchange: HttpExchange


class RegistryApi:
    """Answers the requests of the registry's API."""

    def __init__(self, directory: Directory, readers: Readers) -> None:
        self._directory = directory
        self._readers = readers
        self._fixed: dict[str, tuple[str, Callable[[_Request], Awaitable[Any]]]] = {
            "/servers": ("GET", self._list),
            "/publish": ("POST", self._publish),
            "/validate": ("POST", self._validate),
            "/ping": ("GET", self._ping),
            "/health": ("GET", self._health),
            "/version": ("GET", self._version),
        }

    def app(self, prefix: str) -> AsgiApp:
        """The application below a path."""

        async def serve(scope: Scope, _receive: Receive, send: Send) -> None:
            exchange: HttpExchange = scope["state"]["exchange"]
            method = "GET" if scope["method"] == "HEAD" else scope["method"]

            async def work() -> tuple[bytes, str]:
                request = _Request(method, _path(scope, prefix), _query(scope), exchange)
                return msgspec.json.encode(await self._answer(request, scope)), "application/json"

            await answered(scope, send, work)

        return serve

    async def _answer(self, request: _Request, scope: Scope) -> Any:
        if "\0" in request.path:
            raise BadRequest("The path contains a NUL character.")
        if request.method == "GET":
            self._readers.check(scope, request.exchange)
        if (known := self._fixed.get(request.path)) is not None:
            wanted, handle = known
            if request.method != wanted:
                raise MethodNotAllowed(f"{request.method} is not for this path.", hint=f"It takes {wanted}.")
            return await handle(request)
        found = _SERVER.fullmatch(request.path)
        if found is None or not is_name(found[1]):
            raise NotFound(f"There is nothing at {request.path[:200]!r}.", hint="GET /v0.1/servers lists the servers.")
        return await self._server(request, found[1], found[2])

    async def _server(self, request: _Request, name: str, rest: str) -> Any:
        """Answer requests below a server's name: its versions, one version, and the status."""
        registry = self._directory.registry
        version = rest.removeprefix("/versions/") if rest.startswith("/versions/") else None
        match request.method:
            case "PATCH" if rest == _STATUS:
                return await self._set_status(request, name, None)
            case "PATCH" if version is not None and version.endswith(_STATUS):
                return await self._set_status(request, name, version.removesuffix(_STATUS))
            case "PUT" | "DELETE" if version:
                check_right(request.exchange.principal, "directory", "write")
                raise NotImplementedHere(
                    "A published version is not changed or deleted here.", hint="Publish a new one, or set the status."
                )
            case "GET" if rest == "/versions":
                deleted = _is_true(request.query, "include_deleted")
                return _list_json(await registry.versions(name, include_deleted=deleted))
            case "GET" if version:
                deleted = _is_true(request.query, "include_deleted")
                return (await registry.get(name, version, include_deleted=deleted)).as_json()
            case _:
                raise NotFound(f"There is nothing at {request.path[:200]!r}.")

    async def _list(self, request: _Request) -> Any:
        limit = _limit(request.query)
        query, after = _first_page(request.query), None
        if cursor := request.query.get("cursor"):
            query, after = _next_page(cursor, request.query)
        page = await self._directory.registry.page(query, limit, after)
        return _list_json(page.entries, None if page.after is None else _cursor(query, page.after))

    async def _publish(self, request: _Request) -> Any:
        principal = request.exchange.principal
        check_right(principal, "directory", "write")
        self._directory.require_local()
        entry = await self._directory.registry.publish(principal, self._directory.importer, request.exchange.body)
        return entry.as_json()

    async def _validate(self, request: _Request) -> Any:
        check_right(request.exchange.principal, "directory", "read")
        issues = publication_problems(request.exchange.body)
        return {"valid": not issues, "issues": [one.as_json() for one in issues]}

    async def _set_status(self, request: _Request, name: str, version: str | None) -> Any:
        principal = request.exchange.principal
        check_right(principal, "directory", "write")
        try:
            given = parse_json(request.exchange.body.decode())
        except (UnicodeDecodeError, InvalidInput):
            raise NotPublished("The body is not a JSON object.", hint='Send {"status": "deprecated"}.') from None
        status, message = text_or_none(given.get("status")) or "", text_or_none(given.get("statusMessage")) or ""
        changed = await self._directory.registry.set_status(principal, name, version, status, message)
        if version is not None:
            return changed[0].as_json()
        return {"updatedCount": len(changed), "servers": [one.as_json() for one in changed]}

    async def _ping(self, _request: _Request) -> Any:
        return {"pong": True}

    async def _health(self, _request: _Request) -> Any:
        return {"status": "ok"}

    async def _version(self, _request: _Request) -> Any:
        return {"version": __version__}


async def answered(scope: Scope, send: Send, work: Callable[[], Awaitable[tuple[bytes, str]]]) -> None:
    """Answer with a body and its media type, or with an error in the registry's form; OPTIONS with headers alone."""
    if scope["method"] == "OPTIONS":
        await _send(send, 204, b"", None)
        return
    status, place = 200, f"{scope['method']} {scope['path'][:200]}"
    try:
        body, kind = await work()
    except PentadError as error:
        (status, body), kind = error_response(ensure_logged(error, place)), PROBLEM_TYPE
    except Exception as error:  # noqa: BLE001  the caller gets an incident number, the log the rest
        (status, body), kind = error_response(internal_error(error, place)), PROBLEM_TYPE
    await _send(send, status, body, kind, without_body=scope["method"] == "HEAD")


async def _send(send: Send, status: int, body: bytes, kind: str | None, *, without_body: bool = False) -> None:
    headers = [(b"content-length", b"%d" % len(body)), (b"x-content-type-options", b"nosniff")]
    if kind is not None:
        headers.append((b"content-type", kind.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if without_body else body})


def _path(scope: Scope, prefix: str) -> str:
    """The path below the prefix, decoded. A name has exactly one slash, so it may be encoded or not."""
    return scope["path"][len(prefix) :].rstrip("/")


def _query(scope: Scope) -> Query:
    given = query_of(scope)
    return {name: values[-1] for name, values in given.items() if values[-1]}


def _limit(query: Query) -> int:
    text = query.get("limit", str(DEFAULT_LIMIT))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MOST_LIMIT:
        raise InvalidInput(f"limit is {text[:20]!r}; it is a number from 1 to {MOST_LIMIT}.")
    return int(text)


def _first_page(query: Query) -> ServerQuery:
    search = query.get("search", "")
    if len(search) > _LONGEST_SEARCH:
        raise BadRequest(f"A search has at most {_LONGEST_SEARCH} characters.")
    since = query.get("updated_since")
    deleted = _is_true(query, "include_deleted")
    if since is not None and "include_deleted" in query and not deleted:
        raise BadRequest("updated_since includes what was deleted.", hint="Leave include_deleted out.")
    return ServerQuery(search, query.get("version", ""), None if since is None else _moment(since), deleted)


def _moment(text: str) -> float:
    try:
        if "T" not in text.upper():
            raise ValueError(text)
        return parse_iso(text.upper().replace(" ", "+")).timestamp()
    except (ValueError, OverflowError):
        raise BadRequest(
            f"updated_since is {text[:40]!r}.", hint="It is a time of RFC 3339, such as 2026-05-01T00:00:00Z."
        ) from None


def _is_true(query: Query, name: str) -> bool:
    value = query.get(name, "false").lower()
    if value not in ("true", "false", "1", "0"):
        raise BadRequest(f"{name} is true or false.")
    return value in ("true", "1")


_Record = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Cursor = tuple[str | float, str | int, str, str, float | None, bool]


def _cursor(query: ServerQuery, after: Place) -> str:
    """The cursor of the next page. It includes the filters, because some hosts do not repeat them, and is URL-safe,
    because hosts do not encode it."""
    kept = [*after, query.search, query.version, query.updated_since, query.include_deleted]
    return cursors.pack(kept)


def _next_page(cursor: str, given: Query) -> tuple[ServerQuery, Place]:
    """The filters and the position in a cursor. Filters sent with it must be the same."""
    try:
        *after, search, version, since, deleted = cursors.unpack(cursor, _Cursor)
        query = ServerQuery(search, version, since, include_deleted=deleted)
        place = msgspec.convert(after, tuple[str, str] if since is None else tuple[float, _Record])
    except (ValueError, msgspec.DecodeError):
        raise BadRequest("The cursor cannot be read.", hint="Send nextCursor of the previous page unchanged.") from None
    if any(name in given for name in _FILTERS):
        beside = _first_page(given)
        for name in _FILTERS:
            if name in given and getattr(beside, name) != getattr(query, name):
                raise BadRequest(f"The cursor belongs to a list with another {name}.", hint="Begin without a cursor.")
    return query, place


def _list_json(entries: list[ServerEntry], cursor: str | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"count": len(entries)}
    if cursor is not None:
        metadata["nextCursor"] = cursor
    return {"servers": [one.as_json() for one in entries], "metadata": metadata}
