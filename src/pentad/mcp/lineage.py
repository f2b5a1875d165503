"""The lineage of a resource over all rooms: what made it, from what, and on whose behalf. Contains the tool `lineage`.

Rooms report what they know about one URI (`Room.lineage`); this walks from one to the next, breadth first and within
bounds. Each step uses the caller's rights. Things the caller may not read are shown without a name.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import Field

from pentad.kernel.errors import Forbidden, InvalidInput, NotFound, PentadError
from pentad.kernel.principal import Principal
from pentad.kernel.provenance import Edge, Kind, LineageGraph, Link, Origin, Thing, prov_json
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import Resource, ToolResult, tool
from pentad.mcp.references import WEB, ResourceReader, scheme_of, split_snapshot
from pentad.mcp.rights import check_right

DEPTH: Final = 6
DEEPEST: Final = 20
THINGS: Final = 100
MOST_THINGS: Final = 500
LONGEST_URI: Final = 4_096

LineageOf = Callable[[Any, Principal, str], Awaitable[Origin | None]]
"""Returns what a room knows about a URI. Receives the room's service, the caller and the URI. Returns None if the
origin is unknown; raises NotFound or Forbidden if the caller may not read the resource."""


class LineageRoom(Protocol):
    """The parts of `platform.Room` that the walk reads."""

    @property
    def name(self) -> str: ...
    @property
    def resources(self) -> Sequence[Resource]: ...
    @property
    def lineage(self) -> LineageOf | None: ...


class OpenedRoom(Protocol):
    @property
    def room(self) -> LineageRoom: ...
    @property
    def service(self) -> Any: ...


class Lineage:
    """Finds where resources come from."""

    def __init__(self, rooms: Callable[[], Sequence[OpenedRoom]], reader: ResourceReader) -> None:
        self._rooms = rooms
        self._reader = reader

    async def of(self, caller: Principal, uri: str, *, depth: int = DEPTH, most: int = THINGS) -> LineageGraph:
        """The lineage of one resource; NotFound or Forbidden if the caller may not read it."""
        if not uri or len(uri) > LONGEST_URI:
            raise InvalidInput(f"A URI has 1 to {LONGEST_URI} characters.")
        uri, _ = split_snapshot(uri)
        if not self._is_known(uri):
            known = ", ".join(self._reader.schemes())
            raise InvalidInput(f"{uri[:100]!r} is not a resource of this server.", hint=f"Its URIs begin with {known}.")
        walk = _Walk(uri, depth, most, self._is_known)
        while walk.waiting:
            here, distance = walk.waiting.popleft()
            try:
                origin = await self._origin(caller, here)
            except (NotFound, Forbidden):
                if here == uri:
                    raise
                walk.hide(here)
                continue
            except PentadError as error:
                if here == uri:
                    raise
                walk.fail(here, error)
                continue
            walk.add(here, origin, distance)
        return walk.graph()

    def _is_known(self, uri: str) -> bool:
        return scheme_of(uri) in self._reader.schemes()

    async def _origin(self, caller: Principal, uri: str) -> Origin:
        """What the URI's room knows about it. Even a room that knows nothing decides whether the caller may read it."""
        scheme = scheme_of(uri)
        for opened in self._rooms():
            room = opened.room
            if all(scheme_of(one.uri) != scheme for one in room.resources):
                continue
            check_right(caller, room.name, "read")
            if room.lineage is not None and (found := await room.lineage(opened.service, caller, uri)) is not None:
                return found
            break
        await self._reader.read(caller, uri)
        return Origin(Thing(uri, "entity", "resource"))


class _Walk:
    """The state of one walk: the findings, and the URIs left to visit."""

    def __init__(self, first: str, depth: int, most: int, is_known: Callable[[str], bool]) -> None:
        self.waiting: deque[tuple[str, int]] = deque([(first, 0)])
        self._seen = {first}
        self._depth = depth
        self._most = most
        self._is_known = is_known
        self._things: dict[str, Thing] = {}
        self._edges: dict[Edge, None] = {}
        self._names: dict[str, str] = {}
        """The displayed URI, by the URI under which a thing was found. Things may have several URIs."""
        self._hidden: dict[str, str] = {}
        self._notes: dict[str, None] = {}

    def add(self, uri: str, origin: Origin, distance: int) -> None:
        self._names[uri] = origin.thing.uri
        self._things[origin.thing.uri] = origin.thing
        if origin.more:
            self._notes[origin.more] = None
        for link in origin.links:
            self._add_link(uri, link, distance)

    def _add_link(self, uri: str, link: Link, distance: int) -> None:
        target = link.target
        name = split_snapshot(target)[0] if isinstance(target, str) else target.uri
        if isinstance(target, Thing):
            self._things.setdefault(name, target)
        elif not self._is_known(name):
            self._things.setdefault(name, Thing(name, "entity", "web" if scheme_of(name) in WEB else "other"))
        elif name not in self._seen:
            if distance >= self._depth:
                self._notes["There is more beyond the last step."] = None
                return
            if len(self._seen) >= self._most:
                self._notes[f"Only {self._most} things are looked at."] = None
                return
            self._seen.add(name)
            self.waiting.append((name, distance + 1))
        self._edges[Edge(link.source or uri, link.relation, name, link.at, link.role)] = None

    def hide(self, uri: str) -> None:
        self._hidden[uri] = self._names[uri] = f"urn:pentad:hidden:{len(self._hidden) + 1}"

    def fail(self, uri: str, error: PentadError) -> None:
        self.hide(uri)
        self._notes[f"Something could not be looked up ({error.code})."] = None

    def graph(self) -> LineageGraph:
        names = self._names
        kinds: dict[str, Kind] = {edge.target: _kind_behind(edge) for edge in self._edges}
        hidden = [Thing(name, kinds.get(uri, "entity"), "not readable") for uri, name in self._hidden.items()]
        edges = [
            replace(one, source=names.get(one.source, one.source), target=names.get(one.target, one.target))
            for one in self._edges
        ]
        things = [*self._things.values(), *hidden]
        return LineageGraph(things, list(dict.fromkeys(edges)), len(hidden), list(self._notes))


def _kind_behind(edge: Edge) -> Kind:
    """The kind of thing at the far end of a link."""
    if edge.relation in ("wasGeneratedBy", "wasInformedBy", "wasStartedBy"):
        return "activity"
    if edge.relation in ("wasAssociatedWith", "actedOnBehalfOf", "wasAttributedTo"):
        return "agent"
    return "entity"


class HasLineage(Protocol):
    """The service of the tool."""

    @property
    def lineage(self) -> Lineage: ...


class LineageArguments(Arguments):
    uri: Annotated[str, Field(max_length=LONGEST_URI)]
    depth: Annotated[int, Field(ge=1, le=DEEPEST)] = DEPTH
    format: Annotated[Literal["links", "prov"], Field(description="prov: W3C PROV-JSON.")] = "links"


@tool("lineage", title="Lineage", read_only=True, rare=("depth", "format"))
async def lineage(arguments: LineageArguments, call: Call[HasLineage]) -> ToolResult:
    """What made a resource: tasks, agents, people, sources."""
    graph = await call.service.lineage.of(call.principal, arguments.uri, depth=arguments.depth)
    return ToolResult(structured=prov_json(graph) if arguments.format == "prov" else graph.as_json())
