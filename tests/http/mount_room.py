"""A room with its own application, which reports the caller, the path and the body."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from pentad.kernel.errors import Conflict, PentadError
from pentad.mcp.http_exchange import HttpExchange, Receive, Send
from pentad.platform import Mount, MountContext, Platform, Room, Scope


async def porter(scope: Scope, receive: Receive, send: Send) -> None:
    exchange: HttpExchange = scope["state"]["exchange"]
    if scope["path"].endswith("/taken"):
        raise Conflict("It is taken.")
    if scope["path"].endswith("/named"):
        scope["state"]["call"], scope["state"]["outcome"] = "KnockTwice", "-32001"
    exchange.release()
    now = "" if exchange.principal.kind == "anonymous" else (await exchange.principal_now()).id
    told = {"path": scope["path"], "who": exchange.principal.id, "now": now, "body": exchange.body.decode()}
    if scope["path"].endswith("/replayed"):
        told["body"] = (await receive())["body"].decode()
    body = json.dumps(told).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})


def refuse(error: PentadError, path: str) -> tuple[int, bytes]:
    return error.http_status, json.dumps({"in own words": error.message, "at": path}).encode()


def is_public(method: str, path: str) -> bool:
    return method == "GET" and path == "/hall/card"


def mounts(_service: None, _context: MountContext) -> Sequence[Mount]:
    return [
        Mount("/hall", app=porter, is_public=is_public, error_response=refuse),
        Mount("/hall/side", app=porter),
    ]


@asynccontextmanager
async def open_hall(_platform: Platform) -> AsyncGenerator[None]:
    yield None


ROOM: Room[None] = Room(name="hall", title="Hall", instructions="", open=open_hall, mounts=mounts)
