"""One process serving an open Pentad over HTTP: what `serve` and `demo` share."""

import asyncio
import contextlib
import dataclasses
import gc
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Final

from pentad.app import App, open_app
from pentad.http.application import http_application
from pentad.http.ports import open_ports
from pentad.net.listen import bound_port
from pentad.net.server import new_event_loop, serve
from pentad.settings.model import Settings

Prepare = Callable[[App], Awaitable[None]]
Announce = Callable[[App], None]

GARBAGE: Final = (20_000, 20, 50)
"""When garbage is looked for: a request may well make some ten thousand objects that are all needed until its end."""
_TURN_SECONDS: Final = 0.0001
"""How long a thread that computes keeps others waiting for the interpreter. The writer asks for it back a dozen times
in a unit of work; with the usual fifty times as much it stands still whenever the event loop is busy."""


def run_server(settings: Settings, listener: socket.socket, *, prepare: Prepare, announce: Announce) -> None:
    """Serve on a bound socket until the process is asked to stop.

    `prepare` runs before the first connection is taken, `announce` once they are.
    """
    known = dataclasses.replace(settings, port=bound_port(listener))
    with contextlib.closing(listener), asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_run(known, listener, prepare, announce))


async def _run(settings: Settings, listener: socket.socket, prepare: Prepare, announce: Announce) -> None:
    async with open_app(settings) as app:
        await prepare(app)
        if app.settings.auth == "required" and app.issuer_watch is not None:
            app.issuer_watch.start()
        async with open_ports(app):
            sys.setswitchinterval(_TURN_SECONDS)
            gc.set_threshold(*GARBAGE)
            gc.freeze()  # what is there now stays: it need not be looked through again and again
            await serve(
                http_application(app),
                limits=settings.limits,
                listener=listener,
                ready=lambda _port: announce(app),
                stopping=app.stopping,
                proxies=settings.proxies(),
            )
