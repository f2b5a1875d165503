"""References are no search words."""

import pytest

from pentad.kernel.ports import Transaction
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.objects.pending_changes import PendingChange
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.store import schemas_with_old_words
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN

pytestmark = pytest.mark.anyio


async def books(registers: Registers) -> tuple[Pair, str]:
    """Books of one author, who is referred to in every way."""
    authors = await pair_of(registers, "author", {"name": {"type": "string"}})
    properties = {
        "title": {"type": "string"},
        "author": reference("author"),
        "others": {"type": "array", "items": {"$ref": "author"}},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"by": {"$ref": "author"}}}},
        "place": {"type": "object", "properties": {"owner": {"$ref": "author"}, "city": {"type": "string"}}},
    }
    pair = await pair_of(registers, "book", properties)
    author = (await registers.objects.create(ADMIN, authors, {"name": "Ada"})).uuid
    data = {"author": author, "others": [author], "parts": [{"by": author}], "place": {"owner": author, "city": "Bonn"}}
    for title in ("First", "Second"):
        await registers.objects.create(ADMIN, pair, {"title": title, **data})
    return pair, author


async def hits(registers: Registers, pair: Pair, words: str) -> int | None:
    query = await registers.objects.query_of(ADMIN, pair, {"search": words})
    return (await registers.objects.find(ADMIN, pair, query)).total


@pytest.mark.requirement("registers:relations:words")
async def test_part_of_a_reference_finds_nothing(registers: Registers):
    pair, author = await books(registers)
    for part in (author, *author.split("-")):
        assert await hits(registers, pair, part) == 0
    assert await hits(registers, pair, "bonn") == 2
    assert await hits(registers, pair, "first") == 1


@pytest.mark.requirement("registers:relations:words")
async def test_a_store_that_has_them_loses_them_when_it_opens(registers: Registers):
    pair, author = await books(registers)
    database = registers.platform.database

    def spoil(tx: Transaction) -> None:
        """As an older version left it."""
        for portion in store.stream_objects(tx, pair.schema.id):
            drafts = [PendingChange("update", held.stored, held, None, f"first {author}") for held in portion]
            store.reindex(tx, database.dialect, drafts)
        tx.run("UPDATE schemas SET words = 0")

    await database.write(spoil)
    assert await hits(registers, pair, author.split("-")[0]) == 2
    await registers.catalogue.open()
    assert await hits(registers, pair, author.split("-")[0]) == 0
    assert await hits(registers, pair, "second") == 1
    assert await database.read(schemas_with_old_words) == []
