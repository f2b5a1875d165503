"""Everything that can be called, enumerated from the declarations; nothing is listed by hand."""

import typing
from collections.abc import Iterator
from typing import Any, Final

from starlette.routing import Route

from pentad.app import App
from pentad.console.routes import JSON
from pentad.http.grpc_port import mount_context
from pentad.kernel.principal import ANY_ROOM
from pentad.mcp.declarations import Tool
from pentad.net.grpc_calls import Method
from pentad.platform import Mount
from pentad.rooms.agents.interface.a2a import METHODS, AgentEndpoint
from tests.behaviour.connecting import front_of

TWIN: Final = "/index.php/apps/openregister"
"""The compatibility prefix: the same endpoints a second time."""


def subjects(app: App) -> set[str]:
    """The name of one thing that can be called, `kind` first."""
    found: set[str] = {f"endpoint {path}" for path in ("/mcp", "/rooms/{room}/mcp")}
    registry = app.internal_server.registry
    core = [bound.declared for bound in registry.tools.values() if bound.room == ANY_ROOM]
    found |= {subject for tool in core for subject in _tool(tool)}
    found |= {f"resource {bound.declared.uri}" for bound in registry.templates if bound.room == ANY_ROOM}
    for opened in app.rooms:
        room = opened.room
        found |= {name for tool in room.tools for name in _tool(tool)}
        found |= {f"resource {one.uri}" for one in room.resources}
        found |= {f"prompt {one.name}" for one in room.prompts}
        for mount in () if room.mounts is None else room.mounts(opened.service, mount_context(app)):
            found |= set(_mount(mount))
    found |= {f"resource {one.declared.uri}" for one in app.own_resources}
    found |= {f"route {method} {path.removeprefix(TWIN)}" for method, path, _ in routes(app)}
    return found - {f"{page}{JSON}" for page in pages_as_json(app)}


def pages_as_json(app: App) -> set[str]:
    """The pages that also exist as JSON. Both forms share one row, and access to both is judged."""
    known = {f"route {method} {path}" for method, path, _ in routes(app)}
    return {one for one in known if one.startswith("route GET /console") and f"{one}{JSON}" in known}


def routes(app: App) -> Iterator[tuple[str, str, Any]]:
    """Every ordinary route: its method, its pattern, and the function behind it."""
    for route in front_of(app).mounts.routes.routes:
        assert isinstance(route, Route), route
        for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
            yield method, route.path, route.endpoint


def _mount(mount: Mount) -> Iterator[str]:
    """What a mount adds; its routes are among all the routes."""
    if mount.endpoint is not None or mount.part is not None:
        yield f"endpoint {mount.path.removeprefix(TWIN)}"
    if mount.app is not None:
        yield f"app {mount.path}"
        agents = getattr(mount.app, "__self__", None)
        if isinstance(agents, AgentEndpoint):
            yield from (f"rpc {method}" for method in METHODS)
    if mount.grpc is not None:
        yield from (f"grpc {name}" for name in _grpc_methods(mount))


def grpc_methods(app: App) -> dict[str, Method]:
    """Every method of the gRPC port, by its path."""
    context = mount_context(app)
    mounts = [mount for one in app.rooms if one.room.mounts for mount in one.room.mounts(one.service, context)]
    return {name: method for mount in mounts for name, method in _grpc_methods(mount).items()}


def _grpc_methods(mount: Mount) -> dict[str, Method]:
    if mount.grpc is None:
        return {}
    known = mount.grpc().services.items()
    return {f"/{service}/{name}": method for service, methods in known for name, method in methods.items()}


def _tool(tool: Tool) -> Iterator[str]:
    """The tool, once for each `action` if its arguments have one."""
    field = None if tool.arguments is None else tool.arguments.model_fields.get("action")
    actions = () if field is None else typing.get_args(field.annotation)
    yield from (f"tool {tool.name}:{action}" for action in actions)
    if not actions:
        yield f"tool {tool.name}"
