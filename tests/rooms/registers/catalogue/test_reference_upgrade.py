"""References that an older version stored as addresses become uuids when the room opens."""

import logging
from typing import Any

import pytest

from pentad.kernel.ports import Transaction
from pentad.rooms.registers.definitions.object_validation import json_text
from pentad.rooms.registers.models import Pair, StoredObject
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.objects.integrity import references_of
from pentad.rooms.registers.objects.pending_changes import PendingChange, provenance_of
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.store import schemas_with_old_references
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN

pytestmark = pytest.mark.anyio

BOOK = {
    "title": {"type": "string"},
    "author": reference("author"),
    "others": {"type": "array", "items": {"$ref": "author"}},
    "parts": {"type": "array", "items": {"type": "object", "properties": {"by": {"$ref": "author"}}}},
}


async def as_older_version(registers: Registers, pair: Pair, stored: StoredObject, data: dict[str, Any]) -> None:
    """Write an object as an older version did, which took references as they came."""
    database = registers.platform.database

    def spoil(tx: Transaction) -> None:
        held = store.existing_by_uuid(tx, [stored.uuid])[stored.uuid]
        changed = {**held.stored.data, **data}
        after = held.stored.altered(
            version=held.stored.version + 1,
            text=json_text(changed)[0],
            updated_at=held.stored.updated_at + 0.001,
            known_data=changed,
        )
        pending = PendingChange("update", after, held, references_of(pair.definition, changed), "words")
        store.write_changes(tx, database.dialect, [pending], provenance_of(ADMIN))
        tx.run("UPDATE schemas SET uuid_references = 0")

    await database.write(spoil)


async def titles(registers: Registers, pair: Pair, name: str) -> list[str]:
    query = await registers.objects.query_of(ADMIN, pair, {"filter": {"author.name": name}, "sort": ["title"]})
    return [StoredObject(*row).data["title"] for row in (await registers.objects.find(ADMIN, pair, query)).rows]


@pytest.mark.requirement("registers:relations:old-stores")
async def test_queries_follow_them_after_the_room_opened(registers: Registers, monkeypatch: pytest.MonkeyPatch) -> None:
    authors = await pair_of(registers, "author", {"name": {"type": "string"}})
    books = await pair_of(registers, "book", BOOK)
    ada = await registers.objects.create(ADMIN, authors, {"name": "Ada"})
    names = [f"Book {number}" for number in range(5)]
    every = {"author": ada.uri, "others": [ada.uri, ada.uuid.upper()], "parts": [{"by": ada.uri}]}
    made = [await registers.objects.create(ADMIN, books, {"title": title}) for title in names]
    for one in made:
        await as_older_version(registers, books, one, every)
    last = made[-1].uuid
    assert await titles(registers, books, "Ada") == []
    monkeypatch.setattr(store, "CHUNK", 2)
    await registers.catalogue.open()
    assert await titles(registers, books, "Ada") == names
    found = await registers.objects.get(ADMIN, books, last)
    assert found.data == {
        "title": "Book 4",
        "author": ada.uuid,
        "others": [ada.uuid, ada.uuid],
        "parts": [{"by": ada.uuid}],
    }
    assert found.version == 3
    assert (await registers.history.verify(ADMIN, books, last)).valid
    assert await registers.platform.database.read(schemas_with_old_references) == []
    await registers.catalogue.open()
    assert (await registers.objects.get(ADMIN, books, last)).version == 3


@pytest.mark.requirement("registers:relations:old-stores")
async def test_an_object_that_cannot_follow_stays_and_is_named_in_the_log(
    registers: Registers, caplog: pytest.LogCaptureFixture
) -> None:
    authors = await pair_of(registers, "author", {"name": {"type": "string"}})
    books = await pair_of(registers, "book", {**BOOK, "author": reference("author", unique=True)})
    ada = await registers.objects.create(ADMIN, authors, {"name": "Ada"})
    bob = await registers.objects.create(ADMIN, authors, {"name": "Bob"})
    await registers.objects.create(ADMIN, books, {"title": "First", "author": ada.uuid})
    twin = await registers.objects.create(ADMIN, books, {"title": "Twin"})
    free = await registers.objects.create(ADMIN, books, {"title": "Free"})
    await as_older_version(registers, books, twin, {"author": ada.uri})
    await as_older_version(registers, books, free, {"author": bob.uri})
    with caplog.at_level(logging.WARNING):
        await registers.catalogue.open()
    assert (await registers.objects.get(ADMIN, books, twin.uuid)).data["author"] == ada.uri
    assert (await registers.objects.get(ADMIN, books, free.uuid)).data["author"] == bob.uuid
    assert f"The references of object {twin.uuid} stay addresses" in caplog.text


@pytest.mark.requirement("registers:relations:old-stores")
async def test_a_state_of_that_time_comes_back_with_uuids(registers: Registers) -> None:
    authors = await pair_of(registers, "author", {"name": {"type": "string"}})
    books = await pair_of(registers, "book", BOOK)
    ada = await registers.objects.create(ADMIN, authors, {"name": "Ada"})
    made = await registers.objects.create(ADMIN, books, {"title": "First", "author": ada.uuid})
    await as_older_version(registers, books, made, {"author": ada.uri})
    await registers.objects.delete(ADMIN, books, made.uuid)
    await registers.catalogue.open()
    restored = await registers.objects.restore(ADMIN, books, made.uuid)
    assert restored.data["author"] == ada.uuid
    await registers.objects.replace(ADMIN, books, made.uuid, {"title": "First"})
    reverted = await registers.history.revert(ADMIN, books, made.uuid, version=2)
    assert reverted.data["author"] == ada.uuid
    assert await titles(registers, books, "Ada") == ["First"]
