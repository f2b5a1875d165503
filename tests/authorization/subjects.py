"""Everything that can be called, enumerated from the declarations: nothing is listed here by hand."""

import typing
from collections.abc import Iterator
from typing import Any, Final

from starlette.routing import Route

from pentad.app import App
from pentad.http.resources import Resources
from pentad.http.routes import ordinary_routes
from pentad.mcp.declare import Tool
from pentad.rooms.agents.interface.a2a import METHODS, AgentEndpoint
from pentad.rooms.directory.wire.server import services

TWIN: Final = "/index.php/apps/openregister"
"""The compatibility prefix: the same endpoints once more."""


def subjects(app: App) -> set[str]:
    """The name of everything that answers somebody, `kind` first."""
    found: set[str] = {f"endpoint {path}" for path in ("/mcp", "/rooms/{room}/mcp")}
    for opened in app.rooms:
        room, service = opened.room, opened.service
        found |= {name for tool in room.tools for name in _tool(tool)}
        found |= {f"resource {one.uri}" for one in room.resources}
        found |= {f"prompt {one.name}" for one in room.prompts}
        if room.part is not None:
            found.add(f"endpoint /rooms/{room.name}/{{part}}/mcp")
        if room.endpoints is not None:
            found |= {f"endpoint {path.removeprefix(TWIN)}" for path in room.endpoints(service, app.record)}
        if room.doors is not None:
            doors = room.doors(service)
            found |= {f"door {path}" for path in doors}
            for door in doors.values():
                agents = getattr(door.serve, "__self__", None)
                if isinstance(agents, AgentEndpoint):
                    found |= {f"rpc {method}" for method in METHODS}
        if room.server is not None:
            found |= {f"grpc /{name}/{method}" for name, methods in services(service).items() for method in methods}
    return found | {f"route {method} {path.removeprefix(TWIN)}" for method, path, _ in routes(app)}


def routes(app: App) -> Iterator[tuple[str, str, Any]]:
    """Every ordinary route: its method, its pattern, and the function behind it."""
    for route in ordinary_routes(app, Resources((), public_url=None, own_url="")).routes:
        assert isinstance(route, Route), route
        for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
            yield method, route.path, route.endpoint


def _tool(tool: Tool) -> Iterator[str]:
    """The tool, once for each `action` where its arguments have one."""
    field = None if tool.arguments is None else tool.arguments.model_fields.get("action")
    actions = () if field is None else typing.get_args(field.annotation)
    yield from (f"tool {tool.name}:{action}" for action in actions)
    if not actions:
        yield f"tool {tool.name}"
