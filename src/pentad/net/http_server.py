"""The HTTP server: uvicorn, run from code, with Pentad's limits.

On SIGINT, SIGTERM or `stopping`, `serve` stops and returns once everything has ended; a second SIGINT does not wait for
connections. The application is opened before the server starts and closed after it, so there is no ASGI lifespan. The
application ends its own streams: `stopping` is set before connections are told to finish. Logs only errors.
"""

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from typing import Any, Final

from uvicorn import Server

from pentad.kernel.default_limits import Limits
from pentad.net.connection_guard import WRITE_SECONDS, ConnectionGuard
from pentad.net.forwarded import BehindProxies, TrustedProxies
from pentad.net.http_protocol import GuardedConfig, GuardedProtocol
from pentad.net.listen import bind, bound_port, remove_path

Message = MutableMapping[str, Any]
App = Callable[[MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Any]

GRACE_SECONDS: Final = 10
BACKLOG: Final = 2048
NO_PROXIES: Final = TrustedProxies(())


async def serve(
    app: App,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    limits: Limits,
    uds: str | None = None,
    listener: socket.socket | None = None,
    ready: Callable[[int], None] | None = None,
    stopping: asyncio.Event | None = None,
    grace_seconds: int = GRACE_SECONDS,
    write_seconds: float = WRITE_SECONDS,
    proxies: TrustedProxies = NO_PROXIES,
) -> None:
    """Serve an ASGI application until told to stop.

    `listener` is a socket bound elsewhere (a worker inherits one); it replaces `host`, `port` and `uds`. `ready`
    receives the port once connections are accepted. Setting `stopping` stops the server like a signal. Requests that
    come through `proxies` have the client address and scheme the proxy forwarded.
    """
    owned = listener or bind(host, port, uds)
    guard = ConnectionGuard(limits, asyncio.get_running_loop().time(), write_seconds=write_seconds)
    server = _GuardedServer(
        _config(app, guard, grace_seconds, proxies), stopping or asyncio.Event(), ready, bound_port(owned)
    )
    try:
        await server.serve(sockets=[owned])
    finally:
        server.abort_connections()
        if listener is None and uds is not None:
            remove_path(uds)
        owned.close()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """The event loop for `asyncio.Runner(loop_factory=...)`: uvloop if it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class _GuardedServer(Server):
    """uvicorn's server. Ticks the guard, and does not re-raise the signal that stopped it."""

    def __init__(
        self, config: GuardedConfig, stopping: asyncio.Event, ready: Callable[[int], None] | None, port: int
    ) -> None:
        super().__init__(config)
        self._guard = config.guard
        self._stopping = stopping
        self._ready = ready
        self._port = port

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._ready is not None:
            self._ready(self._port)

    async def on_tick(self, counter: int) -> bool:
        self._guard.tick(asyncio.get_running_loop().time(), self._guarded())
        return await super().on_tick(counter) or self._stopping.is_set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping.set()
        await super().shutdown(sockets=sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def abort_connections(self) -> None:
        """Cut off connections that did not finish within the grace period."""
        for connection in self._guarded():
            connection.transport.abort()

    def _guarded(self) -> list[GuardedProtocol]:
        return [entry for entry in self.server_state.connections if isinstance(entry, GuardedProtocol)]


def _config(app: App, guard: ConnectionGuard, grace_seconds: int, proxies: TrustedProxies) -> GuardedConfig:
    config = GuardedConfig(
        BehindProxies(app, proxies, guard) if proxies else app,
        http=GuardedProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level=logging.ERROR,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=grace_seconds,
    )
    config.guard = guard
    config.proxies = proxies
    return config
