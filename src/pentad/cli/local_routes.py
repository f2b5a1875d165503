"""The routes of administration in the process of a verb: on the store alone, without rooms, as the machine's owner."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

from starlette.applications import Starlette

from pentad.access.api_keys import ApiKeys
from pentad.access.audit import AuditTrail
from pentad.access.browser_sessions import BrowserSessions
from pentad.access.oauth.clients import Clients
from pentad.access.oauth.grants import Grants
from pentad.access.passwords import Passwords
from pentad.access.users import Users
from pentad.administration.services import administration
from pentad.app import CORE_SETS
from pentad.cli.store import open_store
from pentad.http.administration import administration_routes
from pentad.http.routes import application
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Unauthenticated
from pentad.kernel.principal import LOCAL, Principal
from pentad.net.fetch import HttpFetcher
from pentad.settings.model import Settings
from pentad.storage.migrations import apply


@asynccontextmanager
async def open_routes(settings: Settings) -> AsyncGenerator["LocalRoutes"]:
    """The routes on the store of these settings. Running servers are notified of every change."""
    clock = SystemClock()
    async with open_store(settings) as database:
        await apply(database, CORE_SETS)
        audit = AuditTrail(database, retention_days=settings.audit.days, clock=clock)
        fetcher = HttpFetcher(settings.fetch)
        with closing(Passwords()) as passwords:
            services = administration(
                settings=settings,
                database=database,
                clock=clock,
                users=Users(database, passwords),
                api_keys=ApiKeys(database),
                sessions=BrowserSessions(database),
                grants=Grants(database),
                clients=Clients(database, fetcher),
                audit=audit,
                jobs=JobQueue(database, clock),
                stopping=asyncio.Event(),
                check_password=_no_password,
                principal_now=_always,
            )
            try:
                yield LocalRoutes(application(administration_routes(services)))
            finally:
                await audit.stop()
                await fetcher.close()


class LocalRoutes:
    """Calls the routes without a network."""

    def __init__(self, app: Starlette) -> None:
        self._app = app

    @asynccontextmanager
    async def open(
        self, method: str, path: str, body: bytes | None, media_type: str
    ) -> AsyncGenerator[tuple[int, AsyncIterator[bytes]]]:
        """The status of a response, and its body as it arrives."""
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


async def _no_password(name: str, password: str, address: str | None) -> None:
    raise Unauthenticated("The owner of this machine has no password here.")


async def _always(principal: Principal) -> Principal:
    return principal
