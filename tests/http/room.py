"""A room with ordinary HTTP routes: one that answers, one that refuses, one that crashes, and an unhealthy one."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pentad.kernel.errors import Conflict, RateLimited, Unavailable
from pentad.mcp.declarations import tool
from pentad.platform import Mount, MountContext, Operation, Platform, Room, described

CANARY = "canary-51c0"


@tool("page", read_only=True)
async def page() -> str:
    """Says hello."""
    return "hello"


def mounts(_service: None, _context: MountContext) -> Sequence[Mount]:
    async def whoami(request: Request) -> Response:
        """Who is asking."""
        return JSONResponse({"principal": request.state.principal.id})

    async def item(request: Request) -> Response:
        """One item by number."""
        raise Conflict(f"Item {request.path_params['number']} is taken.", hint="Take another.", details={"free": 8})

    async def crash(_request: Request) -> Response:
        """Fails in a way nobody foresaw."""
        raise RuntimeError(CANARY)

    async def busy(_request: Request) -> Response:
        """Has had enough."""
        raise RateLimited("Too many.", retry_after=7)

    async def note(request: Request) -> Response:
        """Takes JSON."""
        return JSONResponse({"received": len(await request.body())})

    @described(Operation("Takes files.", "pages", uploads=("text/csv", "multipart/form-data")))
    async def upload(request: Request) -> Response:
        return JSONResponse({"received": len(await request.body())})

    routes = [
        Route("/api/notes", note, methods=["POST", "PUT", "PATCH", "DELETE"]),
        Route("/api/upload", upload, methods=["POST"]),
        Route("/api/whoami", whoami),
        Route("/api/items/{number:int}", item, methods=["GET", "PUT"]),
        Route("/api/crash", crash),
        Route("/api/busy", busy),
    ]
    return [Mount(routes=routes)]


@asynccontextmanager
async def open_pages(_platform: Platform) -> AsyncGenerator[None]:
    yield None


async def unwell(_service: None) -> Mapping[str, Any]:
    raise Unavailable("The index cannot be reached.")


ROOM: Room[None] = Room(name="pages", title="Pages", instructions="", open=open_pages, tools=[page], mounts=mounts)
SICK: Room[None] = Room(name="sick", title="Sick", instructions="", open=open_pages, health=unwell)
