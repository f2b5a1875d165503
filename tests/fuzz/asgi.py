"""Asks an ASGI application in memory, as a server would that read the bytes from a socket."""

import asyncio
from typing import Any, Protocol

from tests.fuzz.mutations import Attack
from tests.fuzz.verdict import Reply


class Asgi(Protocol):
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


async def exchange(app: Asgi, attack: Attack, *, patience: float = 0.05) -> Reply:
    """Send one request and read the answer; a stream that goes on longer than `patience` is left."""
    started: list[dict[str, Any]] = []
    chunks: list[bytes] = []
    finished = asyncio.Event()
    given = False

    async def receive() -> dict[str, Any]:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": attack.body, "more_body": False}
        if started:
            try:
                await asyncio.wait_for(finished.wait(), patience)
            except TimeoutError:
                return {"type": "http.disconnect"}
        await finished.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            started.append(message)
            return
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            finished.set()

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": attack.verb,
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": attack.headers,
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8700),
        "state": {},
    }
    await asyncio.wait_for(app(scope, receive, send), 60)
    assert len(started) == 1, f"{len(started)} answers to one request"
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in started[0]["headers"]}
    return Reply(started[0]["status"], headers, b"".join(chunks), finished.is_set())
