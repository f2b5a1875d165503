"""An engine in front of a fake platform, over real HTTP; shared by tests and benchmarks of the collectors."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

from pentad.kernel.clock import Clock, SystemClock
from pentad.net.fetch import HttpFetcher
from pentad.rooms.metrics.collectors.anypoint.collector import collectors
from pentad.rooms.metrics.collectors.contract import CollectorContext
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.engine.query_engine import Answer, QueryEngine, build_query
from tests.anypoint.logins import APPS, USERS
from tests.anypoint.server import Platform, serving
from tests.room_settings import room_settings

_CLIENT_ID, _CLIENT_SECRET = next(iter(APPS.items()))
_USERNAME, _PASSWORD = next(iter(USERS.items()))
APP: Final[dict[str, str]] = {"anypoint_client_id": _CLIENT_ID, "anypoint_client_secret": _CLIENT_SECRET}
USER: Final[dict[str, str]] = {"anypoint_username": _USERNAME, "anypoint_password": _PASSWORD}


class PlatformEngine:
    """One engine in front of one platform."""

    def __init__(self, engine: QueryEngine, platform: Platform) -> None:
        self.engine = engine
        self.platform = platform

    async def ask(self, collector: str, keys: str | Iterable[str] = (), **more: Any) -> Answer:
        info = self.engine.catalogue.find(collector).info()
        return await self.engine.answer(collector, build_query(info, self.engine.clock, keys=keys, **more))


@asynccontextmanager
async def platform_engine(
    platform: Platform,
    settings: dict[str, Any] | None = None,
    *,
    limit: int = 64,
    url: str | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[PlatformEngine]:
    """Start the platform, with an engine; by default with a connected app and the top group."""
    async with serving(platform) if url is None else _running_at(platform, url):
        given: dict[str, Any] = {
            "anypoint_url": platform.url,
            "anypoint_org": platform.world.root,
            **(APP if settings is None else settings),
        }
        fetcher = HttpFetcher()
        try:
            yield PlatformEngine(engine_for(given, fetcher, limit, clock), platform)
        finally:
            await fetcher.close()


def engine_for(
    settings: dict[str, Any], fetcher: HttpFetcher, limit: int = 64, clock: Clock | None = None
) -> QueryEngine:
    """An engine with the collectors of the platform and no others."""
    none: Any = None
    source = CollectorContext(none, room_settings("metrics", **settings))
    return QueryEngine(
        Catalogue(collectors(source)), fetcher, clock or SystemClock(), limit=limit, trusted=source.trusted
    )


@asynccontextmanager
async def _running_at(platform: Platform, url: str) -> AsyncGenerator[Platform]:
    platform.url = url
    yield platform
