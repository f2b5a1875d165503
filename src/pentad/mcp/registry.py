"""All declarations of the rooms behind one endpoint, in a deterministic order, with lists encoded once per revision."""

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import msgspec.structs

from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Principal
from pentad.mcp.arguments import Reader, read_strictly
from pentad.mcp.content import Annotations
from pentad.mcp.declare import Prompt, Resource, ResourceListing, Tool
from pentad.mcp.messages import encode
from pentad.mcp.results import Encoder, Shape, encoder_of
from pentad.mcp.revisions import REVISIONS, Revision
from pentad.mcp.tasks import TASKS, TaskBook
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError

if TYPE_CHECKING:
    from pentad.mcp.variants import Variants

_LISTS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}

Guard = Callable[[Any, Principal, Mapping[str, str], bool], Awaitable[None]]
"""Takes the room's service, who wants to follow, the address's variables, and whether it is about telling who does."""


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
    def tasks(self) -> Callable[[Any], TaskBook] | None: ...
    @property
    def variants(self) -> Callable[[Any], "Variants"] | None: ...


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
        self._page = page
        self.tools: dict[str, BoundTool] = {}
        self.prompts: dict[str, BoundPrompt] = {}
        self.resources: dict[str, BoundResource] = {}
        self.templates: list[BoundResource] = []
        self.listings: list[BoundListing] = []
        self.books: list[BoundBook] = []
        self.plain: list[str] = []
        """Tools, by any of their names, that may be called as methods of their own."""
        for opened in rooms:
            self._add(opened)
        self.shapes = {name: Shape(revision, info.as_json()) for name, revision in REVISIONS.items()}
        self._pages: dict[tuple[str, str], list[bytes]] = {}

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
        if room.variants is not None:
            self.plain += room.variants(service).methods
        if room.tasks is not None:
            self.books.append(BoundBook(room.tasks(service), room.name))
        elif putting_off := [tool.name for tool in room.tools if tool.task is not None]:
            raise Misconfigured(f"Room {room.name!r} keeps no tasks, but {putting_off} may put answers off.")

    @cached_property
    def instructions(self) -> str:
        return "\n\n".join(opened.room.instructions for opened in self.rooms if opened.room.instructions)

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

    def tool(self, name: str) -> BoundTool:
        if (bound := self.tools.get(name)) is None:
            raise _unknown("tool", name, self.tools)
        return bound

    def prompt(self, name: str) -> BoundPrompt:
        if (bound := self.prompts.get(name)) is None:
            raise _unknown("prompt", name, self.prompts)
        return bound

    def resource(self, uri: str) -> tuple[BoundResource, dict[str, str]] | None:
        """The declaration that answers for an address, and the template's variables."""
        if (bound := self.resources.get(uri)) is not None:
            return bound, {}
        for bound in self.templates:
            template = bound.resource.template
            if template is not None and (variables := template.match(uri)) is not None:
                return bound, variables
        return None

    def page(self, method: str, revision: Revision, cursor: str | None) -> tuple[bytes, bool]:
        """One page of a list as an encoded object, and whether it is the last."""
        pages = self._pages.get((method, revision.name))
        if pages is None:
            pages = self._pages[(method, revision.name)] = self._encode_pages(method, revision)
        index = 0 if cursor is None else read_cursor(cursor, method)
        if not 0 <= index < len(pages):
            raise ProtocolError(INVALID_PARAMS, f"{method}: this cursor leads nowhere. Start again without a cursor.")
        return pages[index], index == len(pages) - 1

    def _encode_pages(self, method: str, revision: Revision) -> list[bytes]:
        allowed = revision.tool_fields if method == "tools/list" else revision.named_fields
        entries = [visible(entry, allowed, revision) for entry in self._entries[method]()]
        key = _LISTS[method]
        slices = [entries[start : start + self._page] for start in range(0, len(entries), self._page)] or [[]]
        pages: list[bytes] = []
        for index, entries_of_page in enumerate(slices):
            body: dict[str, Any] = {key: entries_of_page}
            if index + 1 < len(slices):
                body["nextCursor"] = make_cursor(method, index + 1)
            pages.append(encode(body))
        return pages

    @cached_property
    def _entries(self) -> Mapping[str, Callable[[], list[dict[str, Any]]]]:
        listed = {bound.tool.name: bound.tool for bound in self.tools.values()}
        return {
            "tools/list": lambda: [tool.listing() for tool in listed.values()],
            "prompts/list": lambda: [bound.prompt.listing() for bound in self.prompts.values()],
            "resources/list": lambda: [bound.resource.listing() for bound in self.resources.values()],
            "resources/templates/list": lambda: [bound.resource.listing() for bound in self.templates],
        }


def visible(entry: Mapping[str, Any], allowed: frozenset[str], revision: Revision) -> dict[str, Any]:
    """A list entry as a revision knows it."""
    shown = {key: value for key, value in entry.items() if key in allowed}
    annotations = shown.get("annotations")
    if isinstance(annotations, Annotations) and not revision.meta_on_content:
        shown["annotations"] = msgspec.structs.replace(annotations, last_modified=None)
    return shown


def make_cursor(method: str, position: int, inner: str | None = None) -> str:
    """An opaque cursor; it only means something to the list that made it."""
    return base64.urlsafe_b64encode(msgspec.json.encode([method, position, inner])).decode("ascii")


def read_cursor(cursor: str, method: str) -> int:
    return read_inner_cursor(cursor, method)[0]


def read_inner_cursor(cursor: str, method: str) -> tuple[int, str | None]:
    """The position a cursor stands for, and the inner cursor of a list that exists only at run time."""
    try:
        made_by, position, inner = msgspec.json.decode(
            base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True), type=tuple[str, int, str | None]
        )
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        made_by, position, inner = "", -1, None
    if made_by != method:
        raise ProtocolError(INVALID_PARAMS, f"{method}: this cursor is not one of its own. Start without a cursor.")
    return position, inner


def _put(table: dict[str, Any], name: str, entry: Any, what: str) -> None:
    if name in table:
        raise Misconfigured(
            f"The {what} is already taken by room {table[name].room!r}.", hint="Rename one, or serve the rooms apart."
        )
    table[name] = entry


def _unknown(kind: str, name: str, known: Mapping[str, Any]) -> ProtocolError:
    guess = did_you_mean(name, known)
    shown = name if len(name) <= 100 else name[:97] + "..."
    return ProtocolError(INVALID_PARAMS, f"Unknown {kind}: {shown!r}.{' ' + guess if guess else ''}", {"name": shown})
