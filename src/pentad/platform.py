"""What a room is (`Room`) and what it is given (`Platform`). Rooms outside this package use the same door.

A room is one object at a known place: `pentad.rooms.<name>.room:ROOM`, or any `my.module:ROOM` named on the command
line.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar

from pentad.access.owners import OwnerNow, owner_as_saved
from pentad.access.sealed_columns import SealedColumn
from pentad.access.secret_box import PLAIN, SecretBox
from pentad.jobs.job import Job
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Misconfigured, NotFound
from pentad.kernel.limits import Limits
from pentad.kernel.ports import Database, Fetcher
from pentad.kernel.principal import Principal
from pentad.mcp.content import Contents
from pentad.mcp.declare import Prompt, Resource, ResourceListing, Tool
from pentad.search.index import SearchIndex

if TYPE_CHECKING:
    from pydantic import BaseModel
    from starlette.routing import BaseRoute

    from pentad.kernel.errors import PentadError
    from pentad.kernel.pages import Pages
    from pentad.mcp.dispatcher import Record
    from pentad.mcp.exchange import Endpoint
    from pentad.mcp.registry import Guard, Hears
    from pentad.mcp.sse import Receive, Send
    from pentad.mcp.tasks import TaskBook
    from pentad.mcp.variants import Variants
    from pentad.mcp.within import Progress

Scope = MutableMapping[str, Any]
AsgiApp = Callable[[Scope, "Receive", "Send"], Awaitable[None]]
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


class Alone:
    """No neighbours: what a room has that is opened by itself."""

    async def call_tool(
        self, principal: Principal, name: str, arguments: Mapping[str, Any], *, progress: "Progress | None" = None
    ) -> Mapping[str, Any]:
        raise NotFound(f"There is no tool {name[:100]!r} here.")

    async def read(self, principal: Principal, uri: str) -> Sequence[Contents]:
        raise NotFound(f"There is no resource {uri[:200]!r} here.")


ALONE: Final = Alone()


async def _nobody() -> Mapping[str, Mapping[str, Any]]:
    return {}


async def _no_other_database(url: str) -> Database:
    raise Misconfigured("No other database can be opened here.", hint="Open the room as part of a server.")


@dataclass(frozen=True, slots=True)
class Platform:
    """The shared ground: one store, one clock, one way out, the folder for large files, one search, the other rooms,
    and the room's own settings."""

    database: Database
    clock: Clock
    fetcher: Fetcher
    data: Path
    limits: Limits
    settings: Mapping[str, Any]
    """The table `[rooms.<name>]` of the configuration file, and `PENTAD_<NAME>_*` of the environment."""
    search: SearchIndex
    jobs: JobQueue
    """Queues work inside a transaction; the room's `jobs` say who does it."""
    neighbours: Neighbours = ALONE
    site: str = "http://localhost:8700"
    """The address of this server, as far as the settings know it; a request may know better."""
    public_url: str | None = None
    """The same, where the operator named it: an address that leads here from elsewhere too."""
    protected: bool = True
    """Whether callers have to log in."""
    health: Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]] = _nobody
    """What each open room that has something to say says of itself, by its name: `status` is `ok`, or the code of what
    keeps it from saying more."""
    secret_box: SecretBox = PLAIN
    """Encrypts secrets before they go into the store, where the operator set `secret_key`; the room names the columns
    they are in as its `sealed`."""
    owner_now: OwnerNow = owner_as_saved
    """What the owner of something that acts without a caller may do now, never more than when it was saved; None once
    the owner is gone. A room that is opened by itself has no users to ask."""
    other_database: Callable[[str], Awaitable[Database]] = _no_other_database
    """Opens a further database by an address the operator wrote into the room's settings; whoever asks closes it."""


@dataclass(frozen=True, slots=True)
class Doorway:
    """What a room's own server is given: where to listen, and the core's way of telling who comes in.

    `principal` turns the value of an `authorization` header, or None for no header, and the address it came from into
    who is calling, or refuses: for the credentials, or because that address comes too often without any that were right
    before. With `--auth none` everybody is the owner of this machine. `spend` takes one call from a principal's
    allowance and refuses when there is none left; `record` notes a call in the audit trail. `shared` means that other
    processes listen on the same address. When `stopping` is set the server has to come to an end.
    """

    host: str
    port: int
    shared: bool
    principal: Callable[[str | None, str | None], Awaitable[Principal]]
    spend: Callable[[str], Awaitable[None]]
    record: "Record"
    stopping: asyncio.Event


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that passed the front's guards, as a door finds it in `scope["state"]["admitted"]`.

    A door that goes on for long after its answer began calls `release` then, to stop counting as a call in flight, and
    asks `principal_now` from time to time who the client still is. What it puts into `scope["state"]` as `call` and
    `outcome` is how the audit trail names what was called and how that ended.
    """

    principal: Principal
    headers: Mapping[bytes, bytes]
    body: bytes
    release: Callable[[], None]
    principal_now: Callable[[], Awaitable[Principal]]
    public_url: str | None
    """The address clients use, where the operator named it; else they use the Host of their request."""
    stopping: asyncio.Event
    """Set when the server comes to an end: streams have to."""


@dataclass(frozen=True, slots=True)
class Door:
    """An ASGI application of the room's own for a path and everything below it, behind the front's guards.

    The front has checked host, origin, credentials, allowance and the size of the body, and read the body; what it
    found is an `Admitted`. `is_public` names the requests, by method and path, that need no credentials: whoever sends
    none is then `ANONYMOUS`. `refuse` answers in the door's own words what the guards refused.
    """

    serve: AsgiApp
    is_public: Callable[[str, str], bool] = lambda method, path: False
    refuse: "Callable[[PentadError, str], tuple[int, bytes]] | None" = None


@dataclass(frozen=True, slots=True)
class Room(Generic[S]):
    """What a room offers.

    `open` gives the service every `call.service` of the room will be, and closes it at the end. `schema` names the
    package that holds the room's migrations. `routes` are ordinary HTTP routes (Starlette), `endpoints` further MCP
    endpoints by path, with a profile of their own, `doors` applications of the room's own by path, `pages` what people
    see in a browser; all four are asked for only by an HTTP server.
    """

    name: str
    title: str
    instructions: str
    open: Callable[[Platform], AbstractAsyncContextManager[S]]
    tools: Sequence[Tool] = ()
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()
    listing: ResourceListing | None = None
    guards: "Mapping[str, Guard]" = field(default_factory=dict[str, "Guard"])
    """By the address of a resource as declared: what refuses to have it followed by who may not read it. Without one
    the room's read scope is enough."""
    hears: "Hears | None" = None
    """Whether somebody is of the audience that the room announced a change for; see `pentad.mcp.changes`."""
    tasks: "Callable[[S], TaskBook] | None" = None
    """The work of the room that may outlast the call that began it; its tools with `task` put answers off into it."""
    jobs: Sequence[Job[S]] = ()
    """Work that outlasts a request, queued through `Platform.jobs` or on a schedule."""
    schema: str | None = None
    sealed: Sequence[SealedColumn] = ()
    """Columns of the room's tables that hold secrets."""
    routes: "Callable[[S], Sequence[BaseRoute]] | None" = None
    endpoints: "Callable[[S, Record], Mapping[str, Endpoint]] | None" = None
    doors: "Callable[[S], Mapping[str, Door]] | None" = None
    pages: "Callable[[], Pages[S]] | None" = None
    part: "Callable[[S, str], Awaitable[OpenRoom]] | None" = None
    """A part of the room that is served alone, by its name: over HTTP at `/rooms/<room>/<name>/mcp`. It gives the same
    object for as long as the part is the same, and NotFound for a name that is none."""
    server: "Callable[[S, Doorway], AbstractAsyncContextManager[None]] | None" = None
    """A further server of the room's own beside HTTP, open for as long as the process serves."""
    any_origin: Sequence[str] = ()
    """Path prefixes that pages of every origin may call, as long as credentials are required at all."""
    variants: "Callable[[S], Variants] | None" = None
    """Older ways of calling the room that its settings turn on."""
    identity: tuple[str, str] | None = None
    """The server's name and version where this room is served alone, if a document promises them."""
    health: Callable[[S], Awaitable[Mapping[str, Any]]] | None = None
    demo: Callable[[S], Awaitable[None]] | None = None
    """Fills the room with demo data; run at every start of the demo, so it must be safe to run twice."""


@dataclass(frozen=True, slots=True)
class OpenRoom:
    """A room that is open, with its service."""

    room: Room[Any]
    service: Any


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter or header of a route."""

    name: str
    description: str
    type: str = "string"
    place: Literal["query", "header"] = "query"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """How a route describes itself, to OpenAPI and to whatever a room makes of its routes."""

    summary: str
    topic: str
    parameters: Sequence[Parameter] = ()
    body: "type[BaseModel] | None" = None
    answer: "type[BaseModel] | None" = None
    status: int = 200
    uploads: Sequence[str] = ()
    """Media types a body may have besides JSON; `*/*` for any."""


def described(operation: Operation) -> Callable[[F], F]:
    """Attach the description to a route's endpoint."""

    def attach(endpoint: F) -> F:
        endpoint.operation = operation  # pyright: ignore[reportFunctionMemberAccess]  functions carry attributes
        return endpoint

    return attach


def operation_of(endpoint: Any) -> Operation | None:
    """The description a route's endpoint carries, if it does."""
    found = getattr(endpoint, "operation", None)
    return found if isinstance(found, Operation) else None
