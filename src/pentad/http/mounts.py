"""Everything that serves HTTP, by path: the rooms' mounts, the MCP endpoints, and the ordinary routes.

`/x` and `/x/` are the same, except below an application, which sees the path unchanged.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pentad.app import App, McpServer
from pentad.http.audit import audit_app
from pentad.http.grpc_port import mount_context
from pentad.http.guards.credentials import CredentialsGuard
from pentad.http.http_sse import MESSAGES, STREAM, HttpSse
from pentad.http.protected_resources import ProtectedResources
from pentad.http.routes import all_routes
from pentad.kernel.errors import Misconfigured, PentadError
from pentad.kernel.lru import LruCache
from pentad.kernel.principal import Principal
from pentad.mcp.http_exchange import Endpoint, HttpExchange
from pentad.mcp.profiles import BUILT_IN, Profile, find_profile
from pentad.mcp.rights import check_right
from pentad.mcp.streamable_http import McpEndpoint
from pentad.platform import AsgiApp, Mount, OpenRoom

_PARTS_KEPT: Final = 256
_PROFILES: Final = "/mcp/"


class MountTable:
    """All mounts of an open Pentad. Registers the rooms behind each path with the protected resources."""

    def __init__(self, app: App, resources: ProtectedResources, credentials: CredentialsGuard) -> None:
        self._app = app
        self._resources = resources
        self.endpoints: dict[str, Endpoint] = {"/mcp": mcp_endpoint(app, "/mcp", app.all_rooms)}
        self.parts: list[PartMount] = []
        self.apps: dict[str, MountedApp] = {}
        self.any_origin: list[str] = []
        context = mount_context(app)
        mounts = [
            (opened, mount)
            for opened in app.rooms
            for mount in (() if opened.room.mounts is None else opened.room.mounts(opened.service, context))
        ]
        for opened in app.rooms:
            path = f"/rooms/{opened.room.name}/mcp"
            self.endpoints[path] = mcp_endpoint(app, path, app.one_room(opened))
        for name in (*BUILT_IN, *app.settings.profiles):
            path = f"{_PROFILES}{name}"
            server = app.profile(name)
            self.endpoints[path] = mcp_endpoint(app, path, server)
            rooms = [opened.room.name for opened in server.registry.rooms]
            resources.add_profile(path, rooms, read_only=server.registry.profile.read_only)
        if app.settings.http_sse:
            for mount in HttpSse(self.endpoints["/mcp"]).mounts():
                self._add("", mount, resources)
        for opened, mount in mounts:
            self._add(opened.room.name, mount, resources)
            if mount.grpc is not None and not opened.room.has_port:
                raise Misconfigured(f"Room {opened.room.name!r} has gRPC services, but has_port is False.")
        self._endpoints = {path: point for key, point in self.endpoints.items() for path in (key, key + "/")}
        routes = [(opened.room.name, mount.routes) for opened, mount in mounts if mount.routes is not None]
        self.routes = all_routes(app, routes, resources, credentials, self.is_resource)

    def _add(self, room: str, mount: Mount, resources: ProtectedResources) -> None:
        if mount.path in self.endpoints or (mount.path in self.apps and not mount.all_rooms):
            raise Misconfigured(f"Room {room!r} mounts {mount.path!r}, where something else answers already.")
        if mount.endpoint is not None:
            self.endpoints[mount.path] = mount.endpoint
        elif mount.part is not None:
            self.parts.append(PartMount(self._app, room, mount.path, mount.part))
        elif mount.app is not None:
            audited = mount.app if mount.all_rooms else audit_app(mount.app, room, mount.path, self._app.record)
            self.apps[mount.path] = MountedApp(
                audited, mount.is_public, mount.error_response, mount.caller_of, mount.streamed_bytes
            )
        if mount.path and not mount.all_rooms:
            resources.add(room, [mount.path])
        if mount.any_origin:
            self.any_origin.append(mount.path)

    def endpoint(self, path: str) -> Endpoint | None:
        """The MCP endpoint at a path."""
        known = self._endpoints.get(path)
        if known is not None:
            return known
        if path.startswith(_PROFILES):
            return NoProfile(path.removeprefix(_PROFILES).rstrip("/"), self._app.settings.profiles)
        return next((found for part in self.parts if (found := part.match(path)) is not None), None)

    def is_resource(self, path: str) -> bool:
        """Whether a token may be for this path alone: it is an MCP endpoint, an application or a room's."""
        endpoint = self.endpoint(path)
        if isinstance(endpoint, NoProfile):
            return False
        return endpoint is not None or self.app(path) is not None or self._resources.has_rooms(path)

    def covers(self, resources: Iterable[str], path: str) -> bool:
        """Whether a token for these resources is valid at a path: for the resource itself and everything below it.

        An MCP endpoint covers only itself, and nothing above covers it, because the paths below `/mcp` are profiles.
        """
        path = path.rstrip("/")
        path = STREAM if path == MESSAGES else path
        return any(
            path == one or (path.startswith(f"{one}/") and not self.endpoint(one) and not self.endpoint(path))
            for one in resources
        )

    def app(self, path: str) -> "MountedApp | None":
        """The application at a path or above it; the longest path wins."""
        if not self.apps:
            return None
        while path:
            if (mount := self.apps.get(path)) is not None:
                return mount
            path = path.rpartition("/")[0]
        return None


@dataclass(frozen=True, slots=True)
class MountedApp:
    """An application and its rules; see `Mount`."""

    serve: AsgiApp
    is_public: Callable[[str, str], bool]
    error_response: Callable[[PentadError, str], tuple[int, bytes]] | None
    caller_of: Callable[[str, str], Awaitable[Principal]] | None
    streamed_bytes: int | None


@dataclass(frozen=True, slots=True)
class NoProfile:
    """Answers below `/mcp/` if no profile has that name; callers with credentials learn the existing names."""

    name: str
    own: Mapping[str, Profile]

    async def post(self, exchange: HttpExchange) -> None:
        del exchange
        find_profile(self.name, self.own)

    get = delete = post


class PartMount:
    """The parts of a room that are served alone. They are added and removed while the server runs."""

    def __init__(self, app: App, room: str, path: str, find: Callable[[str], Awaitable[OpenRoom]]) -> None:
        self._app = app
        self._room = room
        self._find = find
        self.path = path
        before, _, after = path.partition("{")
        after = after.partition("}")[2]
        self._pattern = re.compile(f"{re.escape(before)}([^/]{{1,200}}){re.escape(after)}/?")
        self._endpoints = LruCache[str, tuple[OpenRoom, Endpoint]](_PARTS_KEPT)

    def match(self, path: str) -> "PartEndpoint | None":
        """The endpoint for a path of this form, whether or not the part exists."""
        found = self._pattern.fullmatch(path)
        return None if found is None else PartEndpoint(self, found[1])

    async def endpoint(self, name: str, exchange: HttpExchange) -> Endpoint:
        """The endpoint of a part. Only callers who may read the room learn whether the part exists."""
        check_right(exchange.principal, self._room, "read")
        part = await self._find(name)
        known = self._endpoints.get(name)
        if known is None or known[0] is not part:
            path = re.sub(r"\{.*\}", lambda _: name, self.path)
            known = (part, mcp_endpoint(self._app, path, self._app.one_part(part)))
            self._endpoints.put(name, known)
        return known[1]


@dataclass(frozen=True, slots=True)
class PartEndpoint:
    """Looks up the part once the request has passed the guards, then passes the request to the part's own endpoint."""

    mount: PartMount
    name: str

    async def post(self, exchange: HttpExchange) -> None:
        await (await self.mount.endpoint(self.name, exchange)).post(exchange)

    async def get(self, exchange: HttpExchange) -> None:
        await (await self.mount.endpoint(self.name, exchange)).get(exchange)

    async def delete(self, exchange: HttpExchange) -> None:
        await (await self.mount.endpoint(self.name, exchange)).delete(exchange)


def mcp_endpoint(app: App, path: str, server: McpServer) -> McpEndpoint:
    return McpEndpoint(
        path, server.legacy, server.modern, app.sessions, app.streams, app.hub, app.settings.limits, app.stopping
    )
