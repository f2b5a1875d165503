"""A room with a door of its own: it says who came in, by which path, with what."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pentad.kernel.errors import Conflict, PentadError
from pentad.mcp.sse import Receive, Send
from pentad.platform import Admitted, Door, Platform, Room, Scope


async def porter(scope: Scope, _receive: Receive, send: Send) -> None:
    admitted: Admitted = scope["state"]["admitted"]
    if scope["path"].endswith("/taken"):
        raise Conflict("It is taken.")
    if scope["path"].endswith("/named"):
        scope["state"]["call"], scope["state"]["outcome"] = "KnockTwice", "-32001"
    admitted.release()
    now = "" if admitted.principal.kind == "anonymous" else (await admitted.principal_now()).id
    told = {"path": scope["path"], "who": admitted.principal.id, "now": now, "body": admitted.body.decode()}
    body = json.dumps(told).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})


def refuse(error: PentadError, path: str) -> tuple[int, bytes]:
    return error.http_status, json.dumps({"in own words": error.message, "at": path}).encode()


def doors(_service: None) -> Mapping[str, Door]:
    return {
        "/hall": Door(porter, is_public=lambda method, path: method == "GET" and path == "/hall/card", refuse=refuse),
        "/hall/side": Door(porter),
    }


@asynccontextmanager
async def open_hall(_platform: Platform) -> AsyncIterator[None]:
    yield None


ROOM: Room[None] = Room(name="hall", title="Hall", instructions="", open=open_hall, doors=doors)
