"""An importer over the real record parts, on each store."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from pentad.kernel.principal import Principal
from pentad.rooms.directory.models import Pushed, Record
from pentad.rooms.directory.oasf.schema_source import EmbeddedSchemas
from pentad.rooms.directory.search.query import Found, Query
from pentad.rooms.directory.search.service import RecordSearch
from pentad.rooms.directory.translate.import_pipeline import Importer
from tests.behaviour.clocks import TurnedClock
from tests.rooms.directory.records.parts import SETS, Parts, parts_over
from tests.stores import Stores


@dataclass
class Here:
    """The record parts as a node."""

    parts: Parts
    found: RecordSearch

    async def push(self, who: Principal, data: dict[str, Any]) -> Pushed:
        return await self.parts.records.push(who, data)

    async def search(self, query: Query) -> Found:
        return await self.found.find(query)

    async def pull(self, cid: str) -> Record:
        return await self.parts.records.pull(cid)


@pytest.fixture
async def here(stores: Stores) -> AsyncIterator[Here]:
    database = await stores.open(SETS)
    parts = parts_over(database)
    yield Here(parts, RecordSearch(database))
    await parts.stop()


@pytest.fixture
def importer(here: Here) -> Importer:
    return Importer(EmbeddedSchemas(), here, TurnedClock())  # the date of a source without one is part of its CID
