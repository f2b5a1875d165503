"""An exact name among 20,000 imported servers, while half of them have no vector yet."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from pentad.kernel.ports import Database
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.search.service import RecordSearch
from pentad.rooms.directory.translate.envelope import NO_OVERRIDES
from pentad.rooms.directory.translate.sources import read_source
from pentad.storage.migrations import MigrationSet
from tests.rooms.directory.search.seeding import SETS
from tests.rooms.directory.search.test_ranking import Room
from tests.search.hashing import HashingEmbedder
from tests.stores import Stores

IMPORTED = 20_000
AT_ONCE = 1_000


def server(name: str, about: str) -> dict[str, Any]:
    """A record as it is made of an MCP server's `server.json`."""
    remotes = [{"type": "streamable-http", "url": f"https://{name}"}]
    document = {"name": name, "description": about, "version": "1.0.0", "remotes": remotes}
    return read_source(document, "mcp", NO_OVERRIDES).translated.result


def crowd(size: int) -> Iterator[dict[str, Any]]:
    """Servers whose names and descriptions differ in a number. Only one is translated, as that takes its time."""
    about = "Report writer for team 0123456789: a report for every writer."
    pattern = json.dumps(server("com.example.t0123456789/weekly-report-writer-0123456789", about))
    for number in range(size):
        yield json.loads(pattern.replace("0123456789", str(number)))


async def fill(room: Room, records: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(records), AT_ONCE):
        await room.records.push_many(LOCAL, list(records[start : start + AT_ONCE]))


@pytest.mark.anyio
@pytest.mark.interop
@pytest.mark.timeout(1200)
@pytest.mark.requirement("search:rank:pending", "dir:search:exact-name")
async def test_an_exact_name_is_first_among_twenty_thousand_while_vectors_are_made(stores: Stores) -> None:
    """Every word of the name is in all the other names too, and they are newer."""
    database: Database = await stores.open((*SETS, MigrationSet("search", "pentad.search.schema")))
    room = Room(database, stores, HashingEmbedder())
    room.search = RecordSearch(database, room.index)
    await fill(room, [server("com.example.first/report-writer", "Weekly figures.")])
    await fill(room, list(crowd(IMPORTED)))
    await room.index.embed_pending(IMPORTED // 2)
    await fill(room, [server("com.example.last/report-reader", "Reads what was written.")])
    for words, name in (
        ("com.example.first/report-writer", "report-writer"),
        ("report-writer", "report-writer"),
        ("Report Writer", "report-writer"),
        ("com.example.last/report-reader", "report-reader"),
        ("report-reader", "report-reader"),
        ("weekly-report-writer-19999", "weekly-report-writer-19999"),
    ):
        found = await room.find(words, limit=10)
        assert (found.retrieval, found.no_good_match) == ("hybrid", False)
        assert found.waiting
        assert (await room.names(found))[0] == name, words
        assert found.hits[0].why[0].field == "name"
    await room.records.stop()
    await room.popularity.stop()
