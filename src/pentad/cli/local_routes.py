"""The administration routes, called in the CLI process as the local owner."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.applications import Starlette

from pentad.cli.local_administration import open_administration
from pentad.http.administration import administration_routes
from pentad.http.routes import application
from pentad.kernel.principal import LOCAL
from pentad.settings.model import Settings


@asynccontextmanager
async def open_routes(settings: Settings) -> AsyncGenerator["LocalRoutes"]:
    """The routes on the store of these settings."""
    async with open_administration(settings) as admin:
        yield LocalRoutes(application(administration_routes(admin)))


class LocalRoutes:
    """Calls the routes without a network."""

    def __init__(self, app: Starlette) -> None:
        self._app = app

    @asynccontextmanager
    async def open(
        self, method: str, path: str, body: bytes | None, media_type: str
    ) -> AsyncGenerator[tuple[int, AsyncIterator[bytes]]]:
        """Call a route; yields the status of the response, and its body as it arrives."""
        messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(1)
        pending = [{"type": "http.request", "body": body or b"", "more_body": False}]
        where, _, query = path.partition("?")
        scope: dict[str, Any] = {
            "type": "http", "method": method, "path": where, "raw_path": where.encode(), "query_string": query.encode(),
            "headers": [(b"content-type", media_type.encode()), (b"content-length", b"%d" % len(body or b""))],
            "state": {"principal": LOCAL},
        }  # fmt: skip

        async def receive() -> dict[str, Any]:
            if pending:
                return pending.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def serve() -> None:
            try:
                await self._app(scope, receive, messages.put)  # pyright: ignore[reportArgumentType]  ASGI's messages
            finally:
                await messages.put(None)

        async def chunks() -> AsyncIterator[bytes]:
            while (message := await messages.get()) is not None:
                yield message.get("body", b"")
            await task

        task = asyncio.ensure_future(serve())
        try:
            start = await messages.get()
            if start is None:
                await task
                raise AssertionError("A route ended without a response.")
            yield start["status"], chunks()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
