"""A shelf of its own for every test, on each store."""

from collections.abc import AsyncIterator

import pytest

from tests.rooms.registers.interface.tools.shelf import BOOK, Shelf
from tests.rooms.registers.site import Site


@pytest.fixture
async def shelf(site: Site) -> AsyncIterator[Shelf]:
    async with site.app.client() as client:
        schema = (await client.call_tool("schemas", {"action": "create", "data": BOOK}))["structuredContent"]
        data = {"title": "Library", "schemas": [schema["id"]]}
        register = (await client.call_tool("registers", {"action": "create", "data": data}))["structuredContent"]
        yield Shelf(client, register["id"], schema["id"])
