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
from pentad.kernel.errors import InvalidInput, Misconfigured, NotFound
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
    from pydantic import BaseModel
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
"""The organisation of callers that belong to no other one."""
S = TypeVar("S")
M = TypeVar("M", bound="BaseModel")
F = TypeVar("F", bound=Callable[..., Any])


class Neighbours(Protocol):
    """The tools and resources of all open rooms, used with the rights of `principal`, the room's caller.

    Rooms never import one another; they call each other through this. Rights, limits and the audit trail are the same
    as for a call from outside. Each call checks the principal's current rights, however long ago it called the room.
    Refused calls raise an error from `pentad.kernel.errors`.
    """

    async def call_tool(
        self, principal: Principal, name: str, arguments: Mapping[str, Any], *, progress: "Progress | None" = None
    ) -> Mapping[str, Any]:
        """The tool's result in MCP's form; if the tool failed, `isError` is true."""
        ...

    async def read(self, principal: Principal, uri: str) -> Sequence[Contents]:
        """The contents of a resource."""
        ...

    def schemes(self) -> Sequence[str]:
        """The URI schemes of all rooms' resources, including rooms that are not open yet."""
        ...

    def only_reads(self, name: str) -> bool:
        """Whether a tool only reads, so that repeating it after a crash is safe."""
        ...


class Report(Protocol):
    """Adds an event to the audit trail, such as `report(principal, "approval refused", target="approval:7")`."""

    def __call__(self, principal: Principal, action: str, *, target: str = "", reason: str = "") -> None: ...


class NoNeighbours:
    """No neighbours, for a room that is opened alone."""

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


NO_NEIGHBOURS: Final = NoNeighbours()


async def _no_health() -> Mapping[str, Mapping[str, Any]]:
    return {}


def one_organisation(principal: Principal) -> str:
    """One organisation for everyone, if no room manages organisations."""
    return DEFAULT_ORGANISATION


def no_report(principal: Principal, action: str, *, target: str = "", reason: str = "") -> None:
    """A null audit trail, for a room that is opened alone."""


class ListingTable(Protocol):
    """Adds and removes directory entries in the transaction that stores the listed thing."""

    def put(self, tx: Transaction, listing: Listing) -> None:
        """Add an entry, or replace the one with the same key."""
        ...

    def remove(self, tx: Transaction, key: str) -> None: ...

    def changed(self) -> None:
        """Call this when the result of `Room.listed` has changed in this process. If it depends on the store, call
        `listings_changed` in the transaction instead."""
        ...

    async def caught_up(self, key: str, seconds: float) -> bool:
        """Wait until the directory has the current version of this listing; False if it is still pending."""
        ...


class _NoListings:
    """Null listings, for a room that is opened alone."""

    def put(self, tx: Transaction, listing: Listing) -> None: ...

    def remove(self, tx: Transaction, key: str) -> None: ...

    def changed(self) -> None: ...

    async def caught_up(self, key: str, seconds: float) -> bool:
        return True


UNLISTED: Final = _NoListings()


async def _no_other_database(url: str) -> Database:
    raise Misconfigured("Other databases cannot be opened here.", hint="Open the room as part of a server.")


@dataclass(frozen=True, slots=True)
class Platform:
    """The services a room receives: the store, a clock, outgoing HTTP, a folder for large files, search, the other
    rooms, and its own settings."""

    database: Database
    clock: Clock
    fetcher: Fetcher
    data: Path
    limits: Limits
    settings: Any
    """The room's own settings, an instance of its `Room.settings`."""
    search: SearchIndex
    jobs: JobQueue
    """Queues work inside a transaction; handlers are declared in `Room.jobs`."""
    neighbours: Neighbours = NO_NEIGHBOURS
    site: str = "http://localhost:8700"
    """This server's URL from the settings. A request may know a better one."""
    public_url: str | None = None
    """The URL the operator set, if any: it also works from other machines."""
    protected: bool = True
    """Whether callers have to log in."""
    issues_tokens: bool = False
    """Whether this server is its own authorization server."""
    health: Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]] = _no_health
    """The health of each open room that reports it, by room name: `status` is `ok` or an error code."""
    secret_box: SecretBox = PLAIN
    """Encrypts secrets before they are stored, if the operator set `secret_key`. List those columns in
    `Room.sealed`."""
    owner_now: OwnerNow = owner_as_saved
    """The current rights of an owner on whose behalf something acts without a caller, such as a webhook: never more
    than when it was saved, and None if the owner no longer exists."""
    organisation_of: Callable[[Principal], str] = one_organisation
    """The principal's organisation, from the room that manages organisations."""
    report: "Report" = no_report
    """Adds an event to the audit trail: who did what, to which target, and why."""
    other_database: Callable[[str], Awaitable[Database]] = _no_other_database
    """Opens another database by a URL from the room's settings; the caller closes it."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server begins to stop. The room is closed when its work is done, or after `drain_seconds`."""
    drain_seconds: float = 0.0
    listings: "ListingTable" = UNLISTED
    """Directory entries for things that exist only in the store, such as a registered card. Use `Room.listed` for the
    rest."""


def _nothing_is_public(method: str, path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Mount:
    """Something a room serves besides its tools, and the rules that apply to it. Give exactly one of these:

    - `app`: an ASGI application for `path` and everything below it. The guards have checked host, origin, credentials,
      rate and size, and read the body; `scope["state"]["exchange"]` is the checked request (`HttpExchange`).
      Before streaming for a long time, call `exchange.release()`, so that the request no longer counts as in flight;
      call `exchange.principal_now()` from time to time to check that the caller still has access. It may set `call` and
      `outcome` in `scope["state"]`: the audit trail then uses them as the name and outcome of the call.
    - `routes`: Starlette routes, each at its own path. They also admit callers without credentials.
    - `endpoint`: an MCP endpoint with a profile of its own.
    - `part`: serves one part of the room alone over MCP. It is found by the parameter of `path`
    (`/rooms/avatars/{id}/mcp`). Return the same object as long as the part is unchanged; raise NotFound if there is
    none.
    - `grpc`: services on the gRPC port, which all rooms share. Called when the port opens. Needs `Room.has_port`.
    """

    path: str = ""
    app: AsgiApp | None = None
    routes: "Sequence[BaseRoute] | None" = None
    endpoint: "Endpoint | None" = None
    part: "Callable[[str], Awaitable[OpenRoom]] | None" = None
    grpc: "Callable[[], GrpcServices] | None" = None
    is_public: Callable[[str, str], bool] = _nothing_is_public
    """Which requests to an `app` need no credentials, by method and path. Their caller is then `ANONYMOUS`."""
    caller_of: "Callable[[str, str], Awaitable[Principal]] | None" = None
    """For an `app` whose paths are credentials, such as upload links: finds the caller by method and path. The caller's
    rights, rate limits and upload limits apply. Raise NotFound for an unknown path."""
    streamed_bytes: int | None = None
    """For an `app` that reads bodies as they arrive (`receive`): the largest body. The guards then do not read it, and
    enforce this limit and the minimum rate while the application reads."""
    any_origin: bool = False
    """Web pages of any origin may call `path` and below, unless the server runs with `--auth none`. For an `app` or an
    `endpoint`."""
    error_response: "Callable[[PentadError, str], tuple[int, bytes]] | None" = None
    """Makes the status and body of an error, for an `app` whose clients expect a different format."""
    all_rooms: bool = False
    """Set this if the app calls tools of every room: the tools write the audit trail, and a login here covers all
    rooms."""

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
    """The services a server provides when it asks a room for its mounts: logins, rate limits, audit trail, and the gRPC
    port."""

    host: str
    port: int
    is_shared: bool
    """Whether other processes listen on the same port."""
    authenticate: Callable[[str | None, str | None], Awaitable[Principal]]
    """The principal for an `authorization` header (or None) from a client address. Raises if the credentials are wrong,
    or after too many failures from that address. With `--auth none`, every caller is the local owner."""
    spend: Callable[[str], Awaitable[None]]
    """Counts one call against a principal's rate limit. Raises if it is exceeded."""
    record: "Record"
    """Adds a call to the audit trail."""
    stopping: asyncio.Event
    """Set when the server stops. End streams and servers then."""


@dataclass(frozen=True, slots=True)
class StoreWarning:
    """A condition in the store that slows down or endangers a room, and what to do about it."""

    text: str
    fix: str


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """Samples of one metric for `/metrics`. Omit `_total` from the name of a counter."""

    name: str
    about: str
    kind: Literal["gauge", "counter"]
    labels: Sequence[str]
    samples: Sequence[tuple[Sequence[str], float]]
    """Label values, and the sample's value."""


@dataclass(frozen=True, slots=True)
class Room(Generic[S]):
    """Everything a room offers.

    `open` yields the room's service, available to tools as `call.service`, and closes it at the end. `schema` names the
    package with the room's migrations. Only servers use `mounts` and `pages`.
    """

    name: str
    title: str
    instructions: str
    open: Callable[[Platform], AbstractAsyncContextManager[S]]
    tools: Sequence[Tool] = ()
    generated_tools: "Generator | None" = None
    """Makes tools at run time, for a caller, from the names a profile lists under `typed`; see
    `pentad.mcp.generated_tools`. When they change, call `list_changed(tx, "generated_tools", room)`."""
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()
    listing: ResourceListing | None = None
    guards: "Mapping[str, Guard]" = field(default_factory=dict[str, "Guard"])
    """Access checks for subscribers, by the declared URI of a resource. Without a guard, the room's read scope is
    enough."""
    in_audience: "AudienceCheck | None" = None
    """Whether a principal may hear of a change; see `pentad.mcp.changes`."""
    organisation_of: Callable[[S, Principal], str] | None = None
    """The principal's organisation, if this room manages organisations. Other rooms ask the platform."""
    tasks: "Callable[[S], TaskSource] | None" = None
    """The room's MCP tasks. Tools that declare `task` can defer their result to one."""
    jobs: Sequence[Job[S]] = ()
    """Work that outlasts a request, queued through `Platform.jobs` or on a schedule."""
    listed: Callable[[S], Awaitable[Sequence[Listing]]] | None = None
    """The things the room hosts now, to be listed in the server's directory (`pentad.listings`)."""
    offered_agents: Callable[[S], Awaitable[Sequence[OfferedAgent]]] | None = None
    """Parts of the room that can be sent tasks as agents, each backed by a tool. Call `listings_changed` when they
    change."""
    host_offered: Callable[[S, Sequence[OfferedAgent]], None] | None = None
    """Set by the room that hosts agents: replaces the agents other rooms offer with these."""
    catalogue: Callable[[S], Catalogue | None] | None = None
    """Set by the directory: keeps the records of everything that is listed."""
    event_kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    """The kinds of events the room emits (`object.created`), and their meaning. Emit them with
    `pentad.events.outbox.emit`, or provide `events`."""
    events: EventSource[S] | None = None
    """The room's own log, in commit order, read as events."""
    spans: SpansOf | None = None
    """The room's spans of a trace besides audited calls, such as tasks. Reads only the store, because the room may not
    be open."""
    origin: OriginOf | None = None
    """The event that started a task of the room. Reads only the store."""
    searchable: Sequence[Searchable] = ()
    """Collections for the shared search (`Platform.search`): fields with weights, vectors, filters."""
    search_sources: "Sequence[SearchSource[S]]" = ()
    """The kinds of things that the search over all rooms finds here."""
    lineage: "LineageOf | None" = None
    """Finds the origins of a resource of the room, with the caller's rights; see `pentad.mcp.lineage`."""
    schema: str | None = None
    sealed: Sequence[SealedColumn] = ()
    """Columns of the room's tables that hold secrets."""
    mounts: "Callable[[S, MountContext], Sequence[Mount]] | None" = None
    """What the room serves besides its tools: HTTP paths, further MCP endpoints, gRPC services."""
    has_port: bool = False
    """Whether one of the mounts is `grpc`. Declared here so that a port in use is reported before any room opens."""
    tools_as_methods: Callable[[S], Sequence[str]] | None = None
    """Tools that can also be called as a JSON-RPC method, by any of their names."""
    pages: "Callable[[], Pages[S]] | None" = None
    """The room's pages in the console."""
    identity: tuple[str, str] | None = None
    """The server's name and version when this room is served alone, for compatibility with the original server."""
    health: Callable[[S], Awaitable[Mapping[str, Any]]] | None = None
    """Figures for `/readyz`; their `status` is not `ok` if something is wrong. Must only read."""
    telemetry: Callable[[S], Awaitable[Sequence[MetricFamily]]] | None = None
    """The room's samples for `/metrics`. Must only read, and make no outgoing requests."""
    store_warnings: Callable[[Database], Awaitable[Sequence[StoreWarning]]] | None = None
    """Warnings about the room's tables, for `pentad doctor`. Must only read; the room is not open."""
    demo: Callable[[S], Awaitable[None]] | None = None
    """Fills the room with demo data. It runs at every start of the demo, so it must be safe to repeat."""
    first_content: str = ""
    """A command that adds the first content, shown while the room is empty."""
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
    """A query parameter or header of a route. State only limits that the route enforces."""

    name: str
    description: str
    type: str = "string"
    """A JSON type. An `object` stands for any number of parameters: `_order[field]` for `_order[price]=desc` and so on;
    a plain name means parameters of any name."""
    place: Literal["query", "header"] = "query"
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    choices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """The description of a route.

    Body types can be anything pydantic can describe: a model, `list[Model]`, `A | B`.
    """

    summary: str
    """Empty if the first line of the function's docstring is the summary."""
    topic: str
    parameters: Sequence[Parameter] = ()
    body: Any = None
    answer: Any = None
    """The type of a successful response's body; None for no body, or for one that is not JSON (`produces`)."""
    status: int = 200
    uploads: Sequence[str] = ()
    """Media types of bodies accepted besides JSON; `*/*` for any."""
    other_bodies: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Types of further bodies by a media type that ends in `+json`."""
    produces: Sequence[str] = ()
    """Media types of a successful response that is not JSON."""
    headers: Sequence[str] = ()
    """Headers of a successful response, such as `ETag`."""
    not_modified: bool = False
    """Whether `If-None-Match` can yield a 304."""
    errors: Mapping[int, Any] | None = None
    """The route's own errors by status, each with the type of its body unless that is the server's `Problem`. None if
    they are not listed: then any error is possible, and each is a `Problem`."""
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


def parse_body(model: type[M], body: bytes, hint: str) -> M:
    """The JSON body of a request. Errors name the fields and never quote a value, which may be a secret."""
    from pydantic import ValidationError

    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        found = [(".".join(map(str, one["loc"])) or "body", one["msg"]) for one in error.errors(include_input=False)]
        raise InvalidInput(
            " ".join(f"{place}: {message}." for place, message in found[:5]),
            hint=hint,
            details={"problems": [{"path": place, "message": message} for place, message in found[:20]]},
        ) from None


def protected_route(
    method: str,
    path: str,
    needed: str,
    operation: Operation,
    handle: "Callable[[Request, Principal], Awaitable[Any]]",
) -> "BaseRoute":
    """A route that requires the scope `needed`, such as `agents:read`, and returns the result of `handle` as JSON.

    `handle` may also return a response, if the operation declares it (`produces`, or status 204).
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
    """Whether a query parameter is true."""
    return (text or "").lower() in ("1", "true", "yes")
