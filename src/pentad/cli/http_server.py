"""Runs one HTTP server process, for `serve` and `demo`."""

import asyncio
import contextlib
import dataclasses
import logging
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Final

from pentad.administration.services import Administration
from pentad.app import App, open_app
from pentad.cli.garbage_collection import collect_new_objects
from pentad.console.app_views import AppViews
from pentad.http.application import http_application
from pentad.http.grpc_port import open_ports
from pentad.http.login import link_path
from pentad.net.http_server import new_event_loop, serve
from pentad.net.listen import bound_port
from pentad.settings.model import Settings, is_loopback

_END_SECONDS: Final = 10.0
_log = logging.getLogger(__name__)

Prepare = Callable[[App], Awaitable[None]]
Announce = Callable[[App], None]

_SWITCH_SECONDS: Final = 0.0001
"""The thread switch interval. The writer thread needs the interpreter a dozen times per unit of work. With Python's
default, which is fifty times longer, it stalls whenever the event loop is busy."""


def run_server(settings: Settings, listener: socket.socket, *, prepare: Prepare, announce: Announce) -> None:
    """Serve on a bound socket until the process is asked to stop.

    `prepare` runs before the first HTTP connection is accepted, `announce` afterwards.
    """
    known = dataclasses.replace(settings, port=bound_port(listener))
    with (
        contextlib.closing(listener),
        contextlib.ExitStack() as ending,
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        try:
            runner.run(_run(known, listener, prepare, announce))
        finally:
            ending.callback(_end_soon(runner.get_loop()).cancel)


def _end_soon(loop: asyncio.AbstractEventLoop) -> threading.Timer:
    """End the process soon: everything is stored and closed. Remaining tasks were cancelled, and one that ignores that
    must not keep the process alive."""

    def end() -> None:
        left = [task.get_coro() for task in asyncio.all_tasks(loop)]
        _log.warning(
            "The server ends while these still run: %s", ", ".join(getattr(c, "__qualname__", "?") for c in left)
        )
        os._exit(0)

    timer = threading.Timer(_END_SECONDS, end)
    timer.daemon = True
    timer.start()
    return timer


async def login_link(settings: Settings, admin: Administration) -> str | None:
    """A one-time login link for the administrator to print at the start; None if printing it is unsafe.

    Printed only on a terminal, because logs are kept and shipped, and only if the server is reachable from this machine
    alone. Otherwise use `pentad users link`.
    """
    if settings.auth == "none" or settings.public_url or not is_loopback(settings.host) or not sys.stderr.isatty():
        return None
    token = await admin.logins.make_first_link()
    return None if token is None else settings.url(link_path(token))


async def _run(settings: Settings, listener: socket.socket, prepare: Prepare, announce: Announce) -> None:
    async with open_app(settings, views=AppViews()) as app:
        if app.settings.auth == "required" and app.issuer_watch is not None:
            app.issuer_watch.start()
        async with open_ports(app):
            await prepare(app)  # last of all that can fail: this may show a password, and only once
            sys.setswitchinterval(_SWITCH_SECONDS)
            collect_new_objects()
            await app.list_hosted()
            await serve(
                http_application(app),
                limits=settings.limits,
                listener=listener,
                ready=lambda _port: announce(app),
                stopping=app.stopping,
                grace_seconds=settings.drain_seconds,
                proxies=settings.proxies(),
            )
