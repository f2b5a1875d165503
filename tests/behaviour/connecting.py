"""Ways to connect a client on each wire, and apps with a test's own settings."""

import asyncio
import contextlib
import os
import subprocess
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, Protocol

import pytest

from pentad.app import App, open_app
from pentad.http.application import http_application
from pentad.http.front import Front
from pentad.kernel.clock import Clock
from pentad.settings.model import Settings
from tests.behaviour.clients import Client, ConnectionClient, HttpClient, Object, Wire
from tests.conformance.server import REPOSITORY, environment, pentad

ROOM = "tests.behaviour.room:ROOM"


class Connect(Protocol):
    def __call__(self, wire: Wire | None = None, capabilities: Object | None = None) -> Awaitable[Client]: ...


_FRONTS: "weakref.WeakKeyDictionary[App, Front]" = weakref.WeakKeyDictionary()


def front_of(app: App) -> Front:
    """The app's one HTTP front."""
    if app not in _FRONTS:
        _FRONTS[app] = http_application(app)
    return _FRONTS[app]


async def connect_http(
    app: App, wire: Wire, capabilities: Object | None = None, *, path: str = "/mcp", **headers: str
) -> HttpClient:
    """A client over HTTP on this app, with further headers (`authorization=...`)."""
    client = HttpClient(wire, capabilities or {}, front_of(app), path)
    client.extra = headers
    await client.start()
    return client


@contextlib.asynccontextmanager
async def connected_in_memory(app: App, wire: Wire, capabilities: Object) -> AsyncGenerator[ConnectionClient]:
    async def write(message: bytes) -> None:
        client.take(message)

    connection = app.connection(write, transport="memory")
    client = ConnectionClient(wire, capabilities, connection.receive)
    await client.start()
    yield client
    await connection.close(grace_seconds=0)


@contextlib.asynccontextmanager
async def connected_over_stdio(
    child: "subprocess.Popen[bytes]", wire: Wire, capabilities: Object
) -> AsyncGenerator[ConnectionClient]:
    assert child.stdin is not None
    assert child.stdout is not None
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 24)
    with os.fdopen(os.dup(child.stdout.fileno()), "rb") as pipe:
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        outgoing = child.stdin

        async def write(message: bytes) -> None:
            outgoing.write(message + b"\n")
            outgoing.flush()

        client = ConnectionClient(wire, capabilities, write)

        async def pump() -> None:
            while line := await reader.readline():
                client.take(line)

        pumping = asyncio.create_task(pump())
        await client.start()
        yield client
        pumping.cancel()
        await asyncio.gather(pumping, return_exceptions=True)
        transport.close()


AppMaker = Callable[..., Awaitable[App]]


@pytest.fixture
async def make_app(tmp_path: Path) -> AsyncIterator[AppMaker]:
    """Opens apps with the test's own settings; they close with the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(*, clock: Clock | None = None, **settings: Any) -> App:
            given: dict[str, Any] = {"data": tmp_path, "rooms": (ROOM,), "auth": "none", **settings}
            return await stack.enter_async_context(open_app(Settings(**given), clock=clock))

        yield make


@contextlib.contextmanager
def stdio_child(folder: Path, room: str = ROOM, **variables: str) -> Generator["subprocess.Popen[bytes]"]:
    """A real child process that speaks stdio, and exits when its input ends; with further environment variables.

    It searches by words alone, as the other transports do, unless a variable says where a model is.
    """
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(
            [pentad(), "mcp", "serve", "--rooms", room, "--data", str(folder / "data")],
            cwd=REPOSITORY,
            env={**environment(), "PENTAD_MODELS": str(folder / "none"), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert child.stdin is not None
    assert child.stdout is not None
    yield child
    child.stdin.close()
    code = child.wait(60)
    unread = child.stdout.read().splitlines()
    assert all(b'"method":"notifications/' in line for line in unread), "no answer is left unread at the end"
    child.stdout.close()
    assert code == 0, (folder / "log").read_text(encoding="utf-8")
