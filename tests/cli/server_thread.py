"""A real server on a socket, in a thread of this process: for tests about its answers, not about its process.

Starting a process costs seconds, most of them for imports that this process has done already.
"""

import asyncio
import dataclasses
import threading
from collections.abc import Generator
from contextlib import contextmanager
from queue import SimpleQueue

from pentad.app import open_app
from pentad.http.application import http_application
from pentad.net.http_server import serve
from pentad.net.listen import bind, bound_port
from pentad.settings.model import Settings
from tests.waiting import PATIENCE


@contextmanager
def serving(settings: Settings) -> Generator[str]:
    """Serve with these settings on a free port until the block ends. Yields the URL, without a path."""
    told: SimpleQueue[tuple[str, asyncio.Event] | BaseException] = SimpleQueue()
    loop = asyncio.new_event_loop()

    async def run() -> None:
        listener = bind("127.0.0.1", 0)
        known = dataclasses.replace(settings, port=bound_port(listener), grpc_port=0)
        async with open_app(known) as app:
            await serve(
                http_application(app),
                limits=known.limits,
                listener=listener,
                ready=lambda port: told.put((f"http://127.0.0.1:{port}", app.stopping)),
                stopping=app.stopping,
            )

    def work() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            try:
                runner.run(run())
            except BaseException as error:
                told.put(error)
                raise

    thread = threading.Thread(target=work, name="server")
    thread.start()
    try:
        found = told.get(timeout=PATIENCE)
        if isinstance(found, BaseException):
            raise found
        site, stopping = found
        try:
            yield site
        finally:
            loop.call_soon_threadsafe(stopping.set)
    finally:
        thread.join(PATIENCE)
