"""The registry of one endpoint: everything its rooms declare, by name, in a fixed order."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import ANY_ROOM, Action, Principal
from pentad.mcp.app_views import EXTENSION, MIME_TYPE, RESOURCE_META, SCHEME, SECONDS_FRESH, AppView, ViewRenderer
from pentad.mcp.confirmations import ConfirmRule, ConfirmRules, with_confirm_token
from pentad.mcp.declarations import Prompt, Resource, ResourceListing, Tool, resource
from pentad.mcp.generated_tools import GeneratedTools, Generator, generating_rooms
from pentad.mcp.list_pages import ListEntry, ListPages, Pages, Right
from pentad.mcp.messages import CALL_TOOL
from pentad.mcp.profiles import SEVERAL_ROOMS, Profile
from pentad.mcp.results import Encoder, ResultFormat, encoder_of
from pentad.mcp.revisions import REVISIONS, Revision
from pentad.mcp.tasks import TASKS, TaskSource
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError

if TYPE_CHECKING:
    from pentad.kernel.pages import ToolCall

T = TypeVar("T")
_UNLISTED: Final = (
    "Only common tools are listed. search_tools finds all others by what they do, describe_tool shows their schemas,"
    " call_tool runs them."
)
_ACTIONS: Final[tuple[Action, ...]] = ("read", "write", "admin")

Guard = Callable[[Any, Principal, Mapping[str, str], bool], Awaitable[str | None]]
"""Checks a subscriber, and raises if access is refused. Receives the room's service, the subscriber, the URI's
variables, and whether it is already subscribed (and about to be notified). Returns the URI under which the room
announces changes of the resource, if that may differ from the URI the subscriber used."""

AudienceCheck = Callable[[Any, Principal, str], Awaitable[bool]]
"""Whether a subscriber belongs to an audience. Receives the room's service, the subscriber and the audience."""


class DeclaredRoom(Protocol):
    """The parts of `platform.Room` that the registry reads."""

    @property
    def name(self) -> str: ...
    @property
    def instructions(self) -> str: ...
    @property
    def tools(self) -> Sequence[Tool]: ...
    @property
    def generated_tools(self) -> Generator | None: ...
    @property
    def resources(self) -> Sequence[Resource]: ...
    @property
    def prompts(self) -> Sequence[Prompt]: ...
    @property
    def listing(self) -> ResourceListing | None: ...
    @property
    def guards(self) -> Mapping[str, Guard]: ...
    @property
    def in_audience(self) -> AudienceCheck | None: ...
    @property
    def tasks(self) -> Callable[[Any], TaskSource] | None: ...
    @property
    def tools_as_methods(self) -> Callable[[Any], Sequence[str]] | None: ...


class OpenedRoom(Protocol):
    """The parts of `platform.OpenRoom` that the registry reads."""

    @property
    def room(self) -> DeclaredRoom: ...
    @property
    def service(self) -> Any: ...


class Bound(Struct, Generic[T], frozen=True):
    """A declaration together with the room it belongs to."""

    declared: T
    room: str
    service: Any


class BoundTool(Bound[Tool], frozen=True):
    """A tool with its result encoder and confirmation rule, which are chosen once."""

    encode: Encoder
    confirm: ConfirmRule | None
    is_plain: bool
    """Whether a call is the tool's function and nothing else."""


class BoundResource(Bound[Resource], frozen=True):
    """A resource with its checks for subscribers and audiences."""

    guard: Guard | None = None
    in_audience: AudienceCheck | None = None


class CoreDeclarations(Struct, frozen=True):
    """Tools and resources that belong to no room. `search_tools` are offered where some tools are not listed; `tools`
    and `resources` also wherever several rooms are served completely."""

    service: Any
    search_tools: Sequence[Tool] = ()
    tools: Sequence[Tool] = ()
    resources: Sequence[Resource] = ()


class ServerInfo(Struct, frozen=True):
    """The server's name and description for clients."""

    name: str
    version: str
    title: str
    description: str
    website: str | None = None

    def as_json(self) -> dict[str, Any]:
        entry = {"name": self.name, "version": self.version, "title": self.title, "description": self.description}
        return {**entry, "websiteUrl": self.website} if self.website else entry


class Registry:
    """The declarations of some rooms that a profile selects. Names are unique, and exactly as declared."""

    def __init__(
        self,
        rooms: Sequence[OpenedRoom],
        info: ServerInfo,
        *,
        page: int = 250,
        profile: Profile = SEVERAL_ROOMS,
        core: "Callable[[Registry], CoreDeclarations] | None" = None,
        confirm: ConfirmRules | None = None,
        own: "Sequence[BoundResource]" = (),
        views: ViewRenderer | None = None,
    ) -> None:
        self.info = info
        self.profile = profile
        self.views = views
        self._view_uris: dict[str, str] = {}
        self._confirm = confirm or ConfirmRules(())
        self.rooms = tuple(opened for opened in rooms if _has_selected(opened.room, profile))
        self.tools: dict[str, BoundTool] = {}
        """All callable tools, by each of their names. Not all of them are listed."""
        self.prompts: dict[str, Bound[Prompt]] = {}
        self.resources: dict[str, BoundResource] = {}
        self.templates: list[BoundResource] = []
        self.listings: list[Bound[ResourceListing]] = []
        self.task_sources: list[Bound[TaskSource]] = []
        self.tools_as_methods: list[str] = []
        """Tools, by any of their names, that can also be called as a method of that name."""
        for opened in self.rooms:
            self._add(opened)
        for bound in own:
            self._add_resource(bound)
        if views is not None:
            for bound in self.tools.values():
                if bound.declared.view is not None and bound.declared.view.name not in self._view_uris:
                    self._add_view(bound, bound.declared.view, views)
        sources = generating_rooms(self.rooms, profile)
        self.generated: GeneratedTools | None = None
        """Tools that exist for some callers only, if the profile names any."""
        if sources:
            self.generated = GeneratedTools(sources, self._bind, self.entry, self.tools.__contains__)
        is_complete = all(profile.shows(bound.declared) for bound in self.tools.values())
        is_complete = is_complete and (self.generated is None or profile.lists != "search")
        self.search_tools: list[Tool] = []
        shares = not is_complete or (len(self.rooms) > 1 and not profile.is_selection)
        if core is not None and (shares or profile.tools):  # a start without them is quicker
            self._add_core(core(self), is_complete=is_complete, shares=shares)
        self.formats = {name: ResultFormat(revision, info.as_json()) for name, revision in REVISIONS.items()}
        listings = [Right(bound.room, "read") for bound in self.listings]
        self._pages = ListPages(self._lists(), page, {"resources/list": listings})

    def _add(self, opened: OpenedRoom) -> None:
        room, service = opened.room, opened.service
        for tool in room.tools:
            if self.profile.selects(room.name, tool):
                self._add_tool(tool, room.name, service)
        for prompt in room.prompts:
            _put(self.prompts, prompt.name, Bound(prompt, room.name, service), f"prompt {prompt.name!r}")
        for one in room.resources:
            self._add_resource(BoundResource(one, room.name, service, room.guards.get(one.uri), room.in_audience))
        if room.listing is not None:
            self.listings.append(Bound(room.listing, room.name, service))
        if room.tools_as_methods is not None:
            self.tools_as_methods += [name for name in room.tools_as_methods(service) if name in self.tools]
        if room.tasks is not None:
            self.task_sources.append(Bound(room.tasks(service), room.name, service))
        elif deferring := [tool.name for tool in room.tools if tool.task is not None]:
            raise Misconfigured(f"Room {room.name!r} has no `tasks`, but its tools {deferring} declare `task`.")

    def _add_core(self, core: CoreDeclarations, *, is_complete: bool, shares: bool) -> None:
        """Add the tools and resources that belong to no room. A profile that lists all of its tools gets only those it
        names."""
        profile = self.profile
        self.search_tools = [tool for tool in core.search_tools if not is_complete or profile.names(tool)]
        offered = [tool for tool in core.tools if shares or profile.names(tool)]
        for tool in (*self.search_tools, *offered):
            self._add_tool(tool, ANY_ROOM, core.service)
        if shares:
            self.templates += [BoundResource(one, ANY_ROOM, core.service) for one in core.resources]

    def _add_resource(self, bound: BoundResource) -> None:
        if bound.declared.template is None:
            _put(self.resources, bound.declared.uri, bound, f"resource {bound.declared.uri!r}")
        else:
            self.templates.append(bound)

    def _add_view(self, bound: BoundTool, view: AppView, views: ViewRenderer) -> None:
        """Serve the document of a view. Hosts cache it by its URI, so the URI changes whenever the document does."""
        document = views.document(view, view.tool or bound.declared.name)
        uri = f"{SCHEME}{view.name}.{sha256(document.encode()).hexdigest()[:4]}"

        async def read() -> str:
            """The page that shows a tool's results inside a conversation (MCP Apps)."""
            return document

        made = resource(uri, name=view.name, title=view.title, mime_type=MIME_TYPE, seconds_fresh=SECONDS_FRESH)(read)
        self._add_resource(BoundResource(msgspec.structs.replace(made, meta=RESOURCE_META), bound.room, bound.service))
        self._view_uris[view.name] = uri

    def _add_tool(self, tool: Tool, room: str, service: Any) -> None:
        bound = self._bind(tool, room, service)
        for name in (tool.name, *tool.aliases):
            _put(self.tools, name, bound, f"tool {name!r} of room {room!r}")

    def _bind(self, tool: Tool, room: str, service: Any) -> BoundTool:
        confirm = self._confirm.of(tool)
        return BoundTool(tool, room, service, encoder_of(tool), confirm, confirm is None and not tool.heavy)

    def instructions(self, principal: Principal) -> str:
        """The instructions of the rooms the caller has any rights in, and how to find unlisted tools."""
        rooms = [opened.room for opened in self.rooms if _may_use(principal, opened.room.name)]
        texts = [room.instructions for room in rooms if room.instructions]
        return "\n\n".join([*texts, _UNLISTED] if rooms and self.search_tools else texts)

    def entry(self, bound: BoundTool, *, detailed: bool | None = None) -> dict[str, Any]:
        """A tool's entry in this endpoint's list, or with all details."""
        details = self.profile.output_schemas if detailed is None else detailed
        entry = bound.declared.listing(detailed=details, read_only=self.profile.read_only)
        if bound.room == ANY_ROOM and self.profile.lists != "search":
            entry.pop("_meta", None)  # the hint to keep them loaded applies only to lists that contain nothing else
        if (view := bound.declared.view) is not None and (uri := self._view_uris.get(view.name)) is not None:
            entry["_meta"] = {**entry.get("_meta", {}), "ui": {"resourceUri": uri}}
        return entry if bound.confirm is None else with_confirm_token(entry)

    def lists(self, kind: str, room: str, principal: Principal) -> bool:
        """Whether a list of this endpoint can contain entries of that room for this caller."""
        if kind == "generated_tools":
            return self.generated is not None and self.generated.generates_in(room) and _may_use(principal, room)
        if all(opened.room.name != room for opened in self.rooms):
            return False
        return _may_use(principal, room) if kind == "tools" else principal.may(room, "read")

    async def in_audience(self, room: str, principal: Principal, audience: str) -> bool:
        """Whether the caller belongs to the audience of a change in a room's lists. Without an audience, everyone
        does."""
        if not audience:
            return True
        for opened in self.rooms:
            if opened.room.name == room and opened.room.in_audience is not None:
                return await opened.room.in_audience(opened.service, principal, audience)
        return False

    def capabilities(self, revision: Revision) -> dict[str, Any]:
        """The server capabilities in this revision, limited to those the rooms have."""
        found: dict[str, Any] = {}
        if self.tools or self.generated is not None:
            found["tools"] = {"listChanged": True}
        if self.resources or self.templates or self.listings:
            found["resources"] = {"subscribe": True, "listChanged": True}
        if self.prompts:
            found["prompts"] = {"listChanged": True}
        if revision.completions_capability and (self.prompts or self.templates):
            found["completions"] = {}
        extensions: dict[str, Any] = {TASKS: {}} if revision.tasks_extension and self.task_sources else {}
        if revision.structured and self._view_uris:
            extensions[EXTENSION] = {}
        return {**found, **({"extensions": extensions} if extensions else {}), "logging": {}}

    def reachable(self, call: "ToolCall", principal: Principal) -> "ToolCall | None":
        """A call that a view offers, in a form that hosts allow: they refuse tools that are not listed. None if the
        caller may not make it."""
        bound = self.tools.get(call.tool)
        if bound is None or not principal.may(bound.room, bound.declared.action):
            return None
        if self._is_listed(bound):
            return call
        if not self.search_tools:
            return None
        return replace(call, tool=CALL_TOOL, arguments={"name": call.tool, "arguments": call.arguments})

    async def find_tool(self, name: str, principal: Principal) -> BoundTool:
        """A declared tool, or one generated for the caller."""
        generated = {} if self.generated is None or name in self.tools else await self.generated.of(principal)
        return generated.get(name) or self.tool(name, principal, generated)

    def tool(self, name: str, principal: Principal, generated: "Mapping[str, BoundTool] | None" = None) -> BoundTool:
        if (bound := self.tools.get(name)) is None:
            known = {**self.tools, **(generated or {})}
            usable = [known for known, one in known.items() if principal.may(one.room, one.declared.action)]
            raise _unknown("tool", name, usable, self._other_tools_hint())
        return bound

    async def usable_tools(self, principal: Principal) -> list[BoundTool]:
        """The tools the caller may call here, each once, without those that are always listed."""
        tools = {
            bound.declared.name: bound
            for bound in self.tools.values()
            if bound.room != ANY_ROOM or bound.declared.listed == "room"
        }
        if self.generated is not None:
            tools |= await self.generated.of(principal)
        return [one for one in tools.values() if principal.may(one.room, one.declared.action)]

    def audited_as(self, name: str) -> tuple[str, str]:
        """The room and name under which a call is recorded. Names invented by callers are not recorded."""
        if (bound := self.tools.get(name)) is not None:
            return bound.room, bound.declared.name
        room = None if self.generated is None else self.generated.room_of(name)
        return ("", "(unknown tool)") if room is None else (room, name)

    def _other_tools_hint(self) -> str:
        """A hint on where to find other tools."""
        if self.search_tools:
            return " search_tools finds tools by what they do."
        return " This profile offers some tools only; /mcp has all." if self.profile.is_selection else ""

    def prompt(self, name: str, principal: Principal) -> Bound[Prompt]:
        if (bound := self.prompts.get(name)) is None:
            usable = [known for known, one in self.prompts.items() if principal.may(one.room, "read")]
            raise _unknown("prompt", name, usable)
        return bound

    def resource(self, uri: str) -> tuple[BoundResource, dict[str, str]] | None:
        """The resource that serves a URI, and the template's variables."""
        if (bound := self.resources.get(uri)) is not None:
            return bound, {}
        if uri.startswith(SCHEME):  # the document of a view, requested by a URI from before it changed
            name = uri.removeprefix(SCHEME).partition(".")[0]
            current = self._view_uris.get(name)
            return None if current is None else (self.resources[current], {})
        for bound in self.templates:
            template = bound.declared.template
            if template is not None and (variables := template.match(uri)) is not None:
                return bound, variables
        return None

    def pages(self, method: str, revision: Revision, principal: Principal) -> Pages:
        """A list as this caller may see it."""
        return self._pages.of(method, revision, principal)

    async def tool_pages(self, revision: Revision, principal: Principal) -> Pages:
        """The list of tools with those generated for the caller."""
        more = (
            () if self.generated is None or self.profile.lists == "search" else await self.generated.entries(principal)
        )
        return self._pages.of("tools/list", revision, principal, more)

    def _is_listed(self, bound: BoundTool) -> bool:
        """Whether the profile lists the tool. A list of only search tools contains those that ask to be kept loaded."""
        if bound.room == ANY_ROOM and self.profile.lists == "search":
            return bool(bound.declared.meta)
        return self.profile.shows(bound.declared)

    def _lists(self) -> dict[str, list[ListEntry]]:
        tools = {bound.declared.name: bound for bound in self.tools.values()}  # aliases are not listed
        listed = [one for one in tools.values() if self._is_listed(one)]
        return {
            "tools/list": [
                ListEntry(Right(bound.room, bound.declared.action), partial(self.entry, bound)) for bound in listed
            ],
            "prompts/list": [_entry(bound) for bound in self.prompts.values()],
            "resources/list": [_entry(bound) for bound in self.resources.values()],
            "resources/templates/list": [_entry(bound) for bound in self.templates],
        }


def _entry(bound: Bound[Prompt] | Bound[Resource]) -> ListEntry:
    return ListEntry(Right(bound.room, "read"), bound.declared.listing)


def _has_selected(room: DeclaredRoom, profile: Profile) -> bool:
    """Whether the profile selects anything of the room."""
    if room.generated_tools is not None and profile.typed_in(room.name):
        return True
    if not room.tools:
        return not (profile.tools or profile.tags or profile.typed) and (
            not profile.rooms or room.name in profile.rooms
        )
    return any(profile.selects(room.name, tool) for tool in room.tools)


def _may_use(principal: Principal, room: str) -> bool:
    return any(principal.may(room, action) for action in _ACTIONS)


def _put(table: dict[str, Any], name: str, entry: Any, what: str) -> None:
    if name in table:
        raise Misconfigured(
            f"The {what} is already taken by room {table[name].room!r}.", hint="Rename one, or serve the rooms apart."
        )
    table[name] = entry


def _unknown(kind: str, name: str, known: Sequence[str], more: str = "") -> ProtocolError:
    guess = did_you_mean(name, known)
    short = name if len(name) <= 100 else name[:97] + "..."
    text = f"Unknown {kind}: {short!r}.{' ' + guess if guess else more}"
    return ProtocolError(INVALID_PARAMS, text, {"name": short})
