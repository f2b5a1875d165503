"""Administration in the CLI process, on the store alone, without rooms."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing

from pentad.access.api_keys import ApiKeys
from pentad.access.audit import AuditTrail
from pentad.access.browser_sessions import BrowserSessions
from pentad.access.oauth.clients import Clients
from pentad.access.oauth.grants import Grants
from pentad.access.passwords import Passwords
from pentad.access.users import Users
from pentad.administration.services import Administration, administration
from pentad.administration.traces import Traces
from pentad.app import CORE_SETS, migration_sets, spans_of_rooms
from pentad.cli.store import open_store
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Unauthenticated
from pentad.kernel.principal import Principal
from pentad.kernel.trace import SpansOf
from pentad.net.fetch import HttpFetcher
from pentad.rooms.finder import find_rooms
from pentad.settings.model import Settings
from pentad.storage.migrations import apply


@asynccontextmanager
async def open_administration(settings: Settings) -> AsyncGenerator[Administration]:
    """Open the administration on the store of these settings. Running servers are notified of every change."""
    clock = SystemClock()
    async with open_store(settings) as database:
        await apply(database, CORE_SETS)
        audit = AuditTrail(database, retention_days=settings.audit.days, clock=clock)
        fetcher = HttpFetcher(settings.fetch)
        jobs = JobQueue(database, clock)

        async def traced_rooms() -> Mapping[str, SpansOf]:
            rooms = find_rooms(settings.rooms)
            await apply(database, migration_sets(rooms))
            return spans_of_rooms(rooms)

        with closing(Passwords()) as passwords:
            try:
                yield administration(
                    settings=settings,
                    database=database,
                    clock=clock,
                    users=Users(database, passwords),
                    api_keys=ApiKeys(database),
                    sessions=BrowserSessions(database),
                    grants=Grants(database),
                    clients=Clients(database, fetcher),
                    audit=audit,
                    jobs=jobs,
                    stopping=asyncio.Event(),
                    check_password=_no_password,
                    principal_now=_always,
                    traces=Traces(database, audit, jobs, clock, traced_rooms),
                )
            finally:
                await audit.stop()
                await fetcher.close()


async def _no_password(name: str, password: str, address: str | None) -> None:
    raise Unauthenticated("The local owner has no password.")


async def _always(principal: Principal) -> Principal:
    return principal
