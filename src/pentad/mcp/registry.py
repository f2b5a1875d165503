"""All declarations of the rooms behind one endpoint, in a deterministic order."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Action, Principal
from pentad.mcp.arguments import Reader, read_strictly
from pentad.mcp.declare import Prompt, Resource, ResourceListing, Tool
from pentad.mcp.list_pages import Listed, ListPages, Pages, Right
from pentad.mcp.results import Encoder, Shape, encoder_of
from pentad.mcp.revisions import REVISIONS, Revision
from pentad.mcp.tasks import TASKS, TaskBook
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError

_ACTIONS: Final[tuple[Action, ...]] = ("read", "write", "admin")

Guard = Callable[[Any, Principal, Mapping[str, str], bool], Awaitable[None]]
"""Takes the room's service, who wants to follow, the address's variables, and whether it is about telling who does."""

Hears = Callable[[Any, Principal, str], Awaitable[bool]]
"""Takes the room's service, who is about to be told of a change, and the audience the room announced it for."""


class Offering(Protocol):
    """What the registry needs to know of a room (`platform.Room` is one)."""

    @property
    def name(self) -> str: ...
    @property
    def instructions(self) -> str: ...
    @property
    def tools(self) -> Sequence[Tool]: ...
    @property
    def resources(self) -> Sequence[Resource]: ...
    @property
    def prompts(self) -> Sequence[Prompt]: ...
    @property
    def listing(self) -> ResourceListing | None: ...
    @property
    def guards(self) -> Mapping[str, Guard]: ...
    @property
    def hears(self) -> Hears | None: ...
    @property
    def tasks(self) -> Callable[[Any], TaskBook] | None: ...
    @property
    def tools_as_methods(self) -> Callable[[Any], Sequence[str]] | None: ...


class Opened(Protocol):
    """A room with its service (`platform.OpenRoom` is one)."""

    @property
    def room(self) -> Offering: ...
    @property
    def service(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool, ready to be called: everything that can be decided before the first call is decided."""

    tool: Tool
    room: str
    service: Any
    read: Reader | None
    encode: Encoder


@dataclass(frozen=True, slots=True)
class BoundResource:
    resource: Resource
    room: str
    service: Any
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class BoundPrompt:
    prompt: Prompt
    room: str
    service: Any


@dataclass(frozen=True, slots=True)
class BoundListing:
    listing: ResourceListing
    room: str
    service: Any


@dataclass(frozen=True, slots=True)
class BoundBook:
    book: TaskBook
    room: str


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """How the server introduces itself."""

    name: str
    version: str
    title: str
    description: str
    website: str | None = None

    def as_json(self) -> dict[str, Any]:
        entry = {"name": self.name, "version": self.version, "title": self.title, "description": self.description}
        return {**entry, "websiteUrl": self.website} if self.website else entry


class Registry:
    """The union of some rooms: names are unique over all of them, and exactly as declared."""

    def __init__(self, rooms: Sequence[Opened], info: ServerInfo, *, page: int = 250) -> None:
        self.info = info
        self.rooms = tuple(rooms)
        self.tools: dict[str, BoundTool] = {}
        self.prompts: dict[str, BoundPrompt] = {}
        self.resources: dict[str, BoundResource] = {}
        self.templates: list[BoundResource] = []
        self.listings: list[BoundListing] = []
        self.books: list[BoundBook] = []
        self.tools_as_methods: list[str] = []
        """Tools, by any of their names, that may be called as methods of their own."""
        for opened in rooms:
            self._add(opened)
        self.shapes = {name: Shape(revision, info.as_json()) for name, revision in REVISIONS.items()}
        listings = [Right(bound.room, "read") for bound in self.listings]
        self._pages = ListPages(self._lists(), page, {"resources/list": listings})

    def _add(self, opened: Opened) -> None:
        room, service = opened.room, opened.service
        for tool in room.tools:
            read = read_strictly(tool.arguments) if tool.arguments is not None else None
            bound = BoundTool(tool, room.name, service, read, encoder_of(tool))
            for name in (tool.name, *tool.aliases):
                _put(self.tools, name, bound, f"tool {name!r} of room {room.name!r}")
        for prompt in room.prompts:
            _put(self.prompts, prompt.name, BoundPrompt(prompt, room.name, service), f"prompt {prompt.name!r}")
        for resource in room.resources:
            bound_resource = BoundResource(resource, room.name, service, room.guards.get(resource.uri))
            if resource.template is None:
                _put(self.resources, resource.uri, bound_resource, f"resource {resource.uri!r}")
            else:
                self.templates.append(bound_resource)
        if room.listing is not None:
            self.listings.append(BoundListing(room.listing, room.name, service))
        if room.tools_as_methods is not None:
            self.tools_as_methods += room.tools_as_methods(service)
        if room.tasks is not None:
            self.books.append(BoundBook(room.tasks(service), room.name))
        elif putting_off := [tool.name for tool in room.tools if tool.task is not None]:
            raise Misconfigured(f"Room {room.name!r} keeps no tasks, but {putting_off} may put answers off.")

    def instructions(self, principal: Principal) -> str:
        """How to use the rooms of which the caller may use anything."""
        rooms = [opened.room for opened in self.rooms if _may_use(principal, opened.room.name)]
        return "\n\n".join(room.instructions for room in rooms if room.instructions)

    def lists(self, kind: str, room: str, principal: Principal) -> bool:
        """Whether a list of this endpoint may hold something of that room for the caller."""
        if all(opened.room.name != room for opened in self.rooms):
            return False
        return _may_use(principal, room) if kind == "tools" else principal.may(room, "read")

    async def hears(self, room: str, principal: Principal, audience: str) -> bool:
        """Whether the caller is of the audience that a room announced a change for; all are where it named none."""
        if not audience:
            return True
        for opened in self.rooms:
            if opened.room.name == room and opened.room.hears is not None:
                return await opened.room.hears(opened.service, principal, audience)
        return False

    def capabilities(self, revision: Revision) -> dict[str, Any]:
        """What this endpoint can do, in the words of the revision: nothing is claimed that is not there."""
        found: dict[str, Any] = {}
        if self.tools:
            found["tools"] = {"listChanged": True}
        if self.resources or self.templates or self.listings:
            found["resources"] = {"subscribe": True, "listChanged": True}
        if self.prompts:
            found["prompts"] = {"listChanged": True}
        if revision.completions_capability and (self.prompts or self.templates):
            found["completions"] = {}
        if revision.tasks_extension and self.books:
            found["extensions"] = {TASKS: {}}
        return {**found, "logging": {}}

    def tool(self, name: str, principal: Principal) -> BoundTool:
        if (bound := self.tools.get(name)) is None:
            raise _unknown("tool", name, self._usable_tools(principal))
        return bound

    def prompt(self, name: str, principal: Principal) -> BoundPrompt:
        if (bound := self.prompts.get(name)) is None:
            usable = [known for known, one in self.prompts.items() if principal.may(one.room, "read")]
            raise _unknown("prompt", name, usable)
        return bound

    def _usable_tools(self, principal: Principal) -> list[str]:
        return [name for name, one in self.tools.items() if principal.may(one.room, one.tool.action)]

    def resource(self, uri: str) -> tuple[BoundResource, dict[str, str]] | None:
        """The declaration that answers for an address, and the template's variables."""
        if (bound := self.resources.get(uri)) is not None:
            return bound, {}
        for bound in self.templates:
            template = bound.resource.template
            if template is not None and (variables := template.match(uri)) is not None:
                return bound, variables
        return None

    def pages(self, method: str, revision: Revision, principal: Principal) -> Pages:
        """A list as the caller may see it."""
        return self._pages.of(method, revision, principal)

    def _lists(self) -> dict[str, list[Listed]]:
        tools = {bound.tool.name: bound for bound in self.tools.values()}
        return {
            "tools/list": [Listed(Right(one.room, one.tool.action), one.tool.listing) for one in tools.values()],
            "prompts/list": [Listed(Right(one.room, "read"), one.prompt.listing) for one in self.prompts.values()],
            "resources/list": [
                Listed(Right(one.room, "read"), one.resource.listing) for one in self.resources.values()
            ],
            "resources/templates/list": [
                Listed(Right(one.room, "read"), one.resource.listing) for one in self.templates
            ],
        }


def _may_use(principal: Principal, room: str) -> bool:
    return any(principal.may(room, action) for action in _ACTIONS)


def _put(table: dict[str, Any], name: str, entry: Any, what: str) -> None:
    if name in table:
        raise Misconfigured(
            f"The {what} is already taken by room {table[name].room!r}.", hint="Rename one, or serve the rooms apart."
        )
    table[name] = entry


def _unknown(kind: str, name: str, known: Sequence[str]) -> ProtocolError:
    guess = did_you_mean(name, known)
    shown = name if len(name) <= 100 else name[:97] + "..."
    return ProtocolError(INVALID_PARAMS, f"Unknown {kind}: {shown!r}.{' ' + guess if guess else ''}", {"name": shown})
