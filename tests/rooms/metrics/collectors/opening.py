"""Opens a single collector with a platform around it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pentad.app import App, open_app
from pentad.rooms.metrics.collectors.contract import CollectorContext, Factory
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.engine.query_engine import Answer, QueryEngine, build_query
from pentad.rooms.metrics.room import ROOM
from pentad.settings.model import Settings
from tests.room_settings import room_settings


class Opened:
    def __init__(self, app: App, engine: QueryEngine) -> None:
        self.app = app
        self.engine = engine

    async def answer(self, collector: str, **more: Any) -> Answer:
        info = self.engine.catalogue.find(collector).info()
        return await self.engine.answer(collector, build_query(info, self.app.clock, **more))


@asynccontextmanager
async def opened(
    folder: Path, *factories: Factory, database: str | None = None, settings: dict[str, Any] | None = None
) -> AsyncGenerator[Opened]:
    """Pentad without rooms of its own but the directory, and these collectors."""
    async with open_app(Settings(data=folder, database=database, rooms=("directory",))) as app:
        source = CollectorContext(app.platform(ROOM), room_settings("metrics", **(settings or {})))
        made = [collector for factory in factories for collector in factory(source)]
        engine = QueryEngine(Catalogue(made), app.fetcher, app.clock, trusted=source.trusted)
        try:
            yield Opened(app, engine)
        finally:
            for close in source.closing:
                await close()
