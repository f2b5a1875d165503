"""The plug-in API: what a room declares (`Room`) and what it gets (`Platform`). Pentad's own rooms use nothing else.

A room is one object, declared in the entry-point group `pentad.rooms` or named as `my.module:ROOM` in `--rooms`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar, cast

from pentad.access.owners import OwnerNow, owner_as_saved
from pentad.access.sealed_columns import SealedColumn
from pentad.access.secret_box import PLAIN, SecretBox
from pentad.jobs.job import Job
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import Clock
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Misconfigured, NotFound
from pentad.kernel.events import EventSource
from pentad.kernel.ports import Database, Fetcher, Transaction
from pentad.kernel.principal import Principal
from pentad.kernel.trace import OriginOf, SpansOf
from pentad.listings.listing import Catalogue, Listing
from pentad.listings.offered_agents import OfferedAgent
from pentad.mcp.content import Contents
from pentad.mcp.declarations import Prompt, Resource, ResourceListing, Tool
from pentad.search.index import SearchIndex
from pentad.search.searchable import Searchable
from pentad.settings.model import RoomSettings

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from pentad.kernel.errors import PentadError
    from pentad.kernel.pages import Pages
    from pentad.kernel.principal import Action
    from pentad.mcp.dispatcher import Record
    from pentad.mcp.generated_tools import Generator
    from pentad.mcp.http_exchange import Endpoint, Receive, Send
    from pentad.mcp.internal_client import Progress
    from pentad.mcp.lineage import LineageOf
    from pentad.mcp.registry import AudienceCheck, Guard
    from pentad.mcp.tasks import TaskSource
    from pentad.net.grpc_calls import GrpcServices
    from pentad.search.sources import SearchSource
    from pentad.terminal.verbs import Verb, Verbs

Scope = MutableMapping[str, Any]
AsgiApp = Callable[[Scope, "Receive", "Send"], Awaitable[None]]
DEFAULT_ORGANISATION: Final = "default"
"""The organisation of everyone who is in no other."""
S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])


class Neighbours(Protocol):
    """The tools and resources of all open rooms, used with the rights of `principal`: who called the room.

    Rooms never import one another; this is how one uses another. Rights, limits and the audit trail are the same as for
    a call from outside. What counts is what the principal may still do when a tool is called, however long ago it
    called the room. What is refused is raised as an error of the kernel.
    """

    async def call_tool(
        self, principal: Principal, name: str, arguments: Mapping[str, Any], *, progress: "Progress | None" = None
    ) -> Mapping[str, Any]:
        """The tool's result as the protocol knows it; a tool that failed says `isError`."""
        ...

    async def read(self, principal: Principal, uri: str) -> Sequence[Contents]:
        """The contents of a resource."""
        ...

    def schemes(self) -> Sequence[str]:
        """The schemes of the resources of all rooms, also of those that are not open yet."""
        ...

    def only_reads(self, name: str) -> bool:
        """Whether a tool changes nothing, so that it may be called again after a crash."""
        ...


class Report(Protocol):
    """Adds an event to the audit trail, such as `report(principal, "approval refused", target="approval:7")`."""

    def __call__(self, principal: Principal, action: str, *, target: str = "", reason: str = "") -> None: ...


class Alone:
    """No neighbours, for a room that is opened by itself."""

    async def call_tool(
        self, principal: Principal, name: str, arguments: Mapping[str, Any], *, progress: "Progress | None" = None
    ) -> Mapping[str, Any]:
        raise NotFound(f"There is no tool {name[:100]!r} here.")

    async def read(self, principal: Principal, uri: str) -> Sequence[Contents]:
        raise NotFound(f"There is no resource {uri[:200]!r} here.")

    def schemes(self) -> Sequence[str]:
        return ()

    def only_reads(self, name: str) -> bool:
        return False


ALONE: Final = Alone()


async def _no_health() -> Mapping[str, Mapping[str, Any]]:
    return {}


def one_organisation(principal: Principal) -> str:
    """If no room has organisations, everyone belongs to the same one."""
    return DEFAULT_ORGANISATION


def no_report(principal: Principal, action: str, *, target: str = "", reason: str = "") -> None:
    """The audit trail of a room that is opened by itself."""


class ListingTable(Protocol):
    """Lists things in the directory in the transaction that stores them, and withdraws them."""

    def put(self, tx: Transaction, listing: Listing) -> None:
        """List it, or replace what was listed under its key."""
        ...

    def remove(self, tx: Transaction, key: str) -> None: ...

    def changed(self) -> None:
        """What `Room.listed` returns has changed in this process. If it is in the store, call `listings_changed` in the
        transaction instead."""
        ...

    async def caught_up(self, key: str, seconds: float) -> bool:
        """Wait until the directory has this listing as it is now; False if it is still to be done."""
        ...


class _NoListings:
    """The listings of a room that is opened by itself."""

    def put(self, tx: Transaction, listing: Listing) -> None: ...

    def remove(self, tx: Transaction, key: str) -> None: ...

    def changed(self) -> None: ...

    async def caught_up(self, key: str, seconds: float) -> bool:
        return True


UNLISTED: Final = _NoListings()


async def _no_other_database(url: str) -> Database:
    raise Misconfigured("No other database can be opened here.", hint="Open the room as part of a server.")


@dataclass(frozen=True, slots=True)
class Platform:
    """What a room gets: the store, a clock, outgoing HTTP, the folder for large files, the search, the other rooms, and
    its own settings."""

    database: Database
    clock: Clock
    fetcher: Fetcher
    data: Path
    limits: Limits
    settings: Any
    """The room's own settings, an instance of its `Room.settings`."""
    search: SearchIndex
    jobs: JobQueue
    """Queues work inside a transaction; the room's `jobs` say who does it."""
    neighbours: Neighbours = ALONE
    site: str = "http://localhost:8700"
    """This server's URL according to the settings; a request may know a better one."""
    public_url: str | None = None
    """The URL the operator set, if any: it also works from other machines."""
    protected: bool = True
    """Whether callers have to log in."""
    issues_tokens: bool = False
    """Whether this server is its own authorization server."""
    health: Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]] = _no_health
    """The health of each open room that reports it, by name: `status` is `ok` or an error code."""
    secret_box: SecretBox = PLAIN
    """Encrypts secrets before they are stored, if the operator set `secret_key`. The room lists those columns in
    `sealed`."""
    owner_now: OwnerNow = owner_as_saved
    """What the owner of something that acts without a caller may do now, never more than when it was saved; None once
    the owner is gone. A room that is opened by itself has no users to ask."""
    organisation_of: Callable[[Principal], str] = one_organisation
    """The organisation a principal belongs to, according to the open room that has organisations."""
    report: "Report" = no_report
    """Adds an event to the audit trail: who did what to which target, and why."""
    other_database: Callable[[str], Awaitable[Database]] = _no_other_database
    """Opens another database by a URL from the room's settings; the caller closes it."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is told to stop; the room is closed when its work is done, or `drain_seconds` later."""
    drain_seconds: float = 0.0
    listings: "ListingTable" = UNLISTED
    """The directory's entries for what only the store has, such as a registered card; `Room.listed` for the rest."""


def _nothing_is_public(method: str, path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Mount:
    """One place where a room answers beside its tools, and the rules there. Give exactly one of these:

    - `app`: an ASGI application for `path` and everything below it. The guards have checked host, origin, credentials,
      rate and size, and read the body; `scope["state"]["exchange"]` is the request as they found it (`HttpExchange`).
      An application that streams for long calls `exchange.release()` first, so that it no longer counts as a call in
      flight, and `exchange.principal_now()` from time to time. It may set `call` and `outcome` in `scope["state"]`: the
      audit trail then uses them as the name and outcome of the call.
    - `routes`: Starlette routes, each at its own path. They also admit callers without credentials.
    - `endpoint`: an MCP endpoint with a profile of its own.
    - `part`: finds a part of the room by the one parameter of `path` (`/rooms/avatars/{id}/mcp`), to be served alone
      over MCP. Return the same object for as long as the part is the same; raise NotFound if there is none.
    - `grpc`: services on the gRPC port, which all rooms share. Called when the port opens. Needs `Room.has_port`.
    """

    path: str = ""
    app: AsgiApp | None = None
    routes: "Sequence[BaseRoute] | None" = None
    endpoint: "Endpoint | None" = None
    part: "Callable[[str], Awaitable[OpenRoom]] | None" = None
    grpc: "Callable[[], GrpcServices] | None" = None
    is_public: Callable[[str, str], bool] = _nothing_is_public
    """Which requests to an `app` need no credentials, by method and path. Without any, the caller is `ANONYMOUS`."""
    caller_of: "Callable[[str, str], Awaitable[Principal]] | None" = None
    """For an `app` whose paths are credentials, such as upload links: the caller behind a request, by method and path.
    Its rights, rates and upload limits apply. Raise NotFound for a path that means nothing."""
    streamed_bytes: int | None = None
    """For an `app` that reads bodies as they arrive (`receive`): the largest body. The guards then do not read it, and
    enforce this limit and the minimum rate while the application reads."""
    any_origin: bool = False
    """Web pages of every origin may call `path` and below, as long as credentials are required at all. For an `app` or
    an `endpoint`."""
    error_response: "Callable[[PentadError, str], tuple[int, bytes]] | None" = None
    """Status and body of an error, for an `app` whose clients expect other words than the server's own."""
    all_rooms: bool = False
    """This leads to the tools of every room: they audit the calls, and a login here is for all of them."""

    def __post_init__(self) -> None:
        if (problem := self._problem()) is not None:
            raise Misconfigured(f"The mount {self.path!r} cannot work: {problem}.")

    def _problem(self) -> str | None:
        answers = (self.app, self.routes, self.endpoint, self.part, self.grpc)
        if len(answers) - answers.count(None) != 1:
            return "it needs exactly one of app, routes, endpoint, part and grpc"
        if self.routes is not None or self.grpc is not None:
            if self.path:
                return "routes and gRPC services have no path of the mount"
        elif not self.path.startswith("/") or self.path.endswith("/"):
            return "its path must begin with a slash, and not end with one"
        if self.path.count("{") != (0 if self.part is None else 1):
            return "the path of a part, and of nothing else, has one parameter"
        if self.any_origin and self.app is None and self.endpoint is None:
            return "any_origin is for an app or an endpoint"
        if self.app is None and (
            self.error_response
            or self.all_rooms
            or self.caller_of
            or self.streamed_bytes
            or self.is_public is not _nothing_is_public
        ):
            return "is_public, caller_of, streamed_bytes, error_response and all_rooms are for an app"
        return None


@dataclass(frozen=True, slots=True)
class MountContext:
    """What a server gives a room when it asks for its mounts: the server's logins, rate limits and audit trail, and
    where the gRPC port is."""

    host: str
    port: int
    is_shared: bool
    """Whether other processes listen on the same port."""
    authenticate: Callable[[str | None, str | None], Awaitable[Principal]]
    """The principal for an `authorization` header (None for no header) from that client address. Raises if the
    credentials are wrong, or if the address fails too often. With `--auth none` everyone is the local owner."""
    spend: Callable[[str], Awaitable[None]]
    """Takes one call from a principal's rate limit. Raises if nothing is left."""
    record: "Record"
    """Adds a call to the audit trail."""
    stopping: asyncio.Event
    """Set when the server stops: streams and servers have to end."""


@dataclass(frozen=True, slots=True)
class StoreWarning:
    """Something in the store that slows down or endangers a room, and what to do about it."""

    text: str
    fix: str


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """Samples of one metric for `/metrics`. The name of a counter is without `_total`."""

    name: str
    about: str
    kind: Literal["gauge", "counter"]
    labels: Sequence[str]
    samples: Sequence[tuple[Sequence[str], float]]
    """The values of the labels, and the value."""


@dataclass(frozen=True, slots=True)
class Room(Generic[S]):
    """What a room offers.

    `open` yields the room's service, which every tool finds as `call.service`, and closes it at the end. `schema` names
    the package with the room's migrations. `mounts` and `pages` are only asked for by servers.
    """

    name: str
    title: str
    instructions: str
    open: Callable[[Platform], AbstractAsyncContextManager[S]]
    tools: Sequence[Tool] = ()
    generated_tools: "Generator | None" = None
    """Makes tools at run time, for a caller, from the names a profile lists under `typed`; see
    `pentad.mcp.generated_tools`. Announce with `list_changed(tx, "generated_tools", room)` that they changed."""
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()
    listing: ResourceListing | None = None
    guards: "Mapping[str, Guard]" = field(default_factory=dict[str, "Guard"])
    """By the URI of a resource as declared: refuses subscribers who may not read it. Without a guard, the room's read
    scope is enough."""
    in_audience: "AudienceCheck | None" = None
    """Whether a principal belongs to the audience of a change; see `pentad.mcp.changes`."""
    organisation_of: Callable[[S, Principal], str] | None = None
    """The organisation a principal belongs to, if this room has organisations. Other rooms ask the platform."""
    tasks: "Callable[[S], TaskSource] | None" = None
    """The tasks of the room; tools that declare `task` can defer their answer to one."""
    jobs: Sequence[Job[S]] = ()
    """Work that outlasts a request, queued through `Platform.jobs` or on a schedule."""
    listed: Callable[[S], Awaitable[Sequence[Listing]]] | None = None
    """What the room hosts now, for the directory of a server (`pentad.listings`)."""
    offered_agents: Callable[[S], Awaitable[Sequence[OfferedAgent]]] | None = None
    """What of the room can be sent tasks, answered by one of its tools. `listings_changed` announces changes."""
    host_offered: Callable[[S, Sequence[OfferedAgent]], None] | None = None
    """The room that hosts agents hosts these, and no longer those it was told before."""
    catalogue: Callable[[S], Catalogue | None] | None = None
    """The room that is the directory keeps the records of everything that is listed."""
    event_kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the room tells in the feed of events, by kind (`object.created`), with its meaning. The room writes them
    with `pentad.events.outbox.emit`, or shows a log of its own."""
    events: EventSource[S] | None = None
    """A log of the room, in the order of its commits, that is read as events."""
    spans: SpansOf | None = None
    """What the room knows of a trace besides the calls in the audit trail, such as tasks. Reads the store only; the
    room may not be open."""
    origin: OriginOf | None = None
    """What a task of the room was started by. Reads the store only."""
    searchable: Sequence[Searchable] = ()
    """What of the room the shared search finds (`Platform.search`): fields with weights, vectors, filters."""
    search_sources: "Sequence[SearchSource[S]]" = ()
    """What the search over all rooms finds in this one, by kind."""
    lineage: "LineageOf | None" = None
    """Where a resource of the room comes from, with the rights of a caller; see `pentad.mcp.lineage`."""
    schema: str | None = None
    sealed: Sequence[SealedColumn] = ()
    """Columns of the room's tables that hold secrets."""
    mounts: "Callable[[S, MountContext], Sequence[Mount]] | None" = None
    """Where the room answers beside its tools: HTTP paths, further MCP endpoints, the gRPC port."""
    has_port: bool = False
    """Whether one of the mounts is `grpc`. Known before the room opens, so that a taken port stops the start."""
    tools_as_methods: Callable[[S], Sequence[str]] | None = None
    """Tools, by any of their names, that also answer as a JSON-RPC method of that name."""
    pages: "Callable[[], Pages[S]] | None" = None
    """What people see in a browser."""
    identity: tuple[str, str] | None = None
    """The server's name and version when this room is served alone, if a document promises them."""
    health: Callable[[S], Awaitable[Mapping[str, Any]]] | None = None
    """Figures for `/readyz` and, if something is wrong, a `status` other than `ok`. Reads only."""
    telemetry: Callable[[S], Awaitable[Sequence[MetricFamily]]] | None = None
    """What the room adds to `/metrics`. Reads only, and asks nobody else."""
    store_warnings: Callable[[Database], Awaitable[Sequence[StoreWarning]]] | None = None
    """What an operator should know of the room's tables, for `pentad doctor`. Reads only; the room is not open."""
    demo: Callable[[S], Awaitable[None]] | None = None
    """Fills the room with demo data; run at every start of the demo, so it must be safe to run twice."""
    first_content: str = ""
    """A command that puts the first content into the room, shown where the room is empty."""
    settings: type[RoomSettings] = RoomSettings
    """The room's own settings: a dataclass whose fields are made with `setting(default, about)`. An installed room also
    declares it in the entry-point group `pentad.settings`, so that settings can be read without importing the room."""
    cli: "Verbs" = field(default_factory=dict[str, "Verb"])
    """Verbs of the command line. An installed room also declares them in the entry-point group `pentad.cli`, so that
    `pentad --help` can list them without importing the room."""


@dataclass(frozen=True, slots=True)
class OpenRoom:
    """A room that is open, with its service."""

    room: Room[Any]
    service: Any


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter or header of a route. State only limits that the route enforces."""

    name: str
    description: str
    type: str = "string"
    """A type of JSON. An `object` stands for any number of parameters: `_order[field]` for `_order[price]=desc` and so
    on, a plain name for parameters of any name."""
    place: Literal["query", "header"] = "query"
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    choices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """How a route describes itself, for OpenAPI and for the room.

    Types of bodies are anything pydantic can describe: a model, `list[Model]`, `A | B`.
    """

    summary: str
    """Empty if the first line of the function's docstring is the summary."""
    topic: str
    parameters: Sequence[Parameter] = ()
    body: Any = None
    answer: Any = None
    """The type of the body of a successful answer; None for no body, or for one that is not JSON (`produces`)."""
    status: int = 200
    uploads: Sequence[str] = ()
    """Media types of bodies accepted besides JSON; `*/*` for any."""
    other_bodies: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Types of further bodies by a media type that ends in `+json`."""
    produces: Sequence[str] = ()
    """Media types of a successful answer that is not JSON."""
    headers: Sequence[str] = ()
    """Headers of a successful answer that clients can use, such as `ETag`."""
    not_modified: bool = False
    """Whether `If-None-Match` can lead to 304."""
    errors: Mapping[int, Any] | None = None
    """The errors the route itself answers with, by status, and the type of each body if it is not the server's own
    (`Problem`). None if they are not listed: then any error is possible, and each is a `Problem`."""
    public: bool = False
    """Whether callers without credentials are served."""
    scope: str | None = None
    """The scope an access token needs, such as `registers:read`."""
    body_required: bool = True


def described(operation: Operation) -> Callable[[F], F]:
    """Attach the description to a route's function."""

    def attach(endpoint: F) -> F:
        endpoint.operation = operation  # pyright: ignore[reportFunctionMemberAccess]  functions carry attributes
        return endpoint

    return attach


def operation_of(endpoint: Any) -> Operation | None:
    """The description attached to a route's function, if any."""
    found = getattr(endpoint, "operation", None)
    return found if isinstance(found, Operation) else None


def protected_route(
    method: str,
    path: str,
    needed: str,
    operation: Operation,
    handle: "Callable[[Request, Principal], Awaitable[Any]]",
) -> "BaseRoute":
    """A route that sends what `handle` returns as JSON, for callers with the scope `needed`, such as `agents:read`.

    `handle` may also return a response, if the operation says which (`produces`, or the status 204).
    """
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from pentad.mcp.rights import check_right

    room, _, action = needed.partition(":")
    is_json = not operation.produces and operation.status != 204
    answer = operation.answer or (dict[str, Any] if is_json else None)

    @described(replace(operation, answer=answer, scope=needed))
    async def endpoint(request: "Request") -> Response:
        principal: Principal = request.scope["state"]["principal"]
        check_right(principal, room, cast("Action", action))
        found = await handle(request, principal)
        return found if isinstance(found, Response) else JSONResponse(found)

    return Route(path, endpoint, methods=[method])


def is_yes(text: str | None) -> bool:
    """Whether a query parameter says yes."""
    return (text or "").lower() in ("1", "true", "yes")
