"""Changing schemas that have objects: looked at first, migrated in one go, or refused, over both stores."""

from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.changing import confirmed
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio


async def indexes(registers: Registers, schema: int) -> set[str]:
    database = registers.platform.database
    sql = (
        "SELECT name FROM sqlite_schema WHERE type = 'index'"
        if database.dialect == "sqlite"
        else "SELECT indexname::text FROM pg_indexes"
    )
    found = await database.read(lambda rows: rows.all(sql))
    return {row[0] for row in found if row[0].startswith((f"ox_{schema}_", f"ux_{schema}_"))}


async def people(registers: Registers, *names: str) -> tuple[Pair, list[str]]:
    pair = await pair_of(registers, "person", {"name": {"type": "string"}, "age": {"type": "string"}})
    made = [await registers.objects.create(ADMIN, pair, {"name": name, "age": "30"}) for name in names]
    return pair, [one.uuid for one in made]


NEW: dict[str, Any] = {"properties": {"title": {"type": "string"}, "age": {"type": "integer"}}, "required": ["title"]}


@pytest.mark.requirement("registers:evolution:preflight")
async def test_a_change_that_objects_do_not_fit_is_refused_with_a_way_out(registers: Registers):
    pair, uuids = await people(registers, "Ada", "Ben")
    report = await registers.catalogue.schemas.preflight(ADMIN, "person", NEW)
    assert (report.total, report.failing) == (2, 2)
    with pytest.raises(Conflict, match="2 of 2 objects of 'person' would not fit") as refused:
        await registers.catalogue.schemas.update(ADMIN, "person", NEW)
    assert refused.value.details["report"]["failing"] == 2
    assert (await registers.catalogue.schemas.get(ADMIN, "person")).version == "0.0.1"
    assert (await registers.objects.get(ADMIN, pair, uuids[0])).version == 1


@pytest.mark.requirement("registers:evolution:told")
async def test_a_report_tells_nothing_that_its_reader_may_not_read(registers: Registers):
    secret = {"type": "string", "authorization": {"read": ["admin"]}}
    pair = await pair_of(
        registers, "person", {"name": {"type": "string"}, "secret": secret}, authorization={"define": ["writer"]}
    )
    await registers.objects.create(ADMIN, pair, {"name": "common", "secret": "ruby"})
    await registers.organisations.create(ADMIN, "acme", "Acme")
    await registers.organisations.add_member(ADMIN, "acme", ADMIN.principal.id)
    for caller, name in ((WRITER, "mine"), (ADMIN, "theirs")):
        await registers.objects.create(caller, pair, {"name": name})
    wanted = {"properties": {"name": {"enum": ["miney", "their"]}, "secret": secret}}
    reader = Caller(Principal("user:rea", "rea", role_scopes("reader")))
    with pytest.raises(Forbidden):
        await registers.catalogue.schemas.preflight(reader, "person", wanted)
    report = await registers.catalogue.schemas.preflight(WRITER, "person", wanted)
    assert (report.total, report.failing, report.complete) == (2, 2, False)
    with pytest.raises(Conflict, match="2 of 2 objects") as refused:
        await registers.catalogue.schemas.update(WRITER, "person", wanted)
    for said in (repr(report.as_json()), repr(refused.value.details)):
        assert "'mine'" in said
        assert "common" in said
        assert "theirs" not in said
        assert "ruby" not in said
    whole = repr((await registers.catalogue.schemas.preflight(ADMIN, "person", wanted)).as_json())
    assert "theirs" in whole


@pytest.mark.requirement("registers:evolution:migration")
async def test_a_migration_carries_every_object_over_in_one_go(registers: Registers):
    pair, uuids = await people(registers, "Ada", "Ben")
    steps = [
        {"step": "rename", "property": "name", "to": "title"},
        {"step": "cast", "property": "age", "to": "integer"},
    ]
    assert (await registers.catalogue.schemas.preflight(ADMIN, "person", NEW, migration=steps)).failing == 0
    await registers.catalogue.schemas.update(ADMIN, "person", NEW, migration=steps)
    pair = await registers.catalogue.pair(ADMIN, "library", "person")
    for uuid, name in zip(uuids, ("Ada", "Ben"), strict=True):
        moved = await registers.objects.get(ADMIN, pair, uuid)
        assert (moved.data, moved.version) == ({"title": name, "age": 30}, 2)
        assert [one.action for one in await registers.history.of(ADMIN, pair, uuid)] == ["migrate", "create"]
        assert (await registers.history.verify(ADMIN, pair, uuid)).valid
    assert (await registers.objects.find(ADMIN, pair, Query(search="Ada"))).total == 1


@pytest.mark.requirement("registers:evolution:atomic")
async def test_a_migration_that_does_not_suffice_changes_nothing(registers: Registers):
    pair, uuids = await people(registers, "Ada")
    steps = [{"step": "rename", "property": "name", "to": "title"}]
    with pytest.raises(Conflict, match="even after the migration"):
        await registers.catalogue.schemas.update(ADMIN, "person", NEW, migration=steps)
    assert (await registers.objects.get(ADMIN, pair, uuids[0])).data == {"name": "Ada", "age": "30"}
    with pytest.raises(InvalidInput):
        await registers.catalogue.schemas.update(ADMIN, "person", NEW, migration=[{"step": "pray"}])


async def test_a_soft_schema_takes_any_change(registers: Registers):
    await people(registers, "Ada")
    changed = await confirmed(registers.catalogue.schemas.update, ADMIN, "person", {**NEW, "hardValidation": False})
    assert changed.version == "0.0.2"


async def test_indexes_come_and_go_with_the_declarations(registers: Registers):
    pair = await pair_of(
        registers, "thing", {"a": {"type": "string", "x-index": True}, "b": {"type": "integer", "unique": True}}
    )
    key = pair.schema.id
    first = await indexes(registers, key)
    assert sorted(name[:2] for name in first) == ["ox", "ux"]
    await registers.catalogue.schemas.update(ADMIN, key, {"properties": {"a": {"type": "string", "facetable": True}}})
    assert await indexes(registers, key) == {name for name in first if name.startswith("ox")}
    await registers.catalogue.schemas.delete(ADMIN, key)
    assert await indexes(registers, key) == set()


async def test_uniqueness_is_refused_where_values_occur_twice_already(registers: Registers):
    pair = await pair_of(registers, "thing", {"code": {"type": "string"}})
    made = [await registers.objects.create(ADMIN, pair, {"code": "same"}) for _ in range(2)]
    with pytest.raises(Conflict, match="cannot be unique") as refused:
        await registers.catalogue.schemas.update(
            ADMIN, pair.schema.id, {"properties": {"code": {"type": "string", "unique": True}}}
        )
    assert refused.value.details["duplicates"][0][:2] == sorted(one.uuid for one in made)


async def test_an_index_is_refused_where_texts_are_too_long_for_it(registers: Registers):
    pair = await pair_of(registers, "thing", {"code": {"type": "string"}})
    await registers.objects.create(ADMIN, pair, {"code": "x" * 3000})
    with pytest.raises(Conflict, match="cannot be indexed"):
        await registers.catalogue.schemas.update(
            ADMIN, pair.schema.id, {"properties": {"code": {"type": "string", "x-index": True}}}
        )


async def test_a_property_that_becomes_a_reference_is_followed_from_then_on(registers: Registers):
    authors = await pair_of(registers, "author", {})
    books = await pair_of(registers, "book", {"author": {"type": "string"}})
    author = await registers.objects.create(ADMIN, authors, {})
    book = await registers.objects.create(ADMIN, books, {"author": author.uuid})
    await registers.catalogue.schemas.update(ADMIN, "book", {"properties": {"author": reference("author", "RESTRICT")}})
    report = await registers.objects.can_delete(ADMIN, authors, author.uuid)
    assert [one.uuid for one in report.blockers] == [book.uuid]


async def test_a_parent_cannot_change_so_that_objects_of_its_children_break(registers: Registers):
    await pair_of(registers, "animal", {"name": {"type": "string"}})
    dogs = await pair_of(registers, "dog", {"breed": {"type": "string"}}, allOf=[{"$ref": "animal"}])
    await registers.objects.create(ADMIN, dogs, {"name": "Rex", "breed": "Collie"})
    with pytest.raises(Conflict, match="1 of 1 object of 'dog'"):
        await registers.catalogue.schemas.update(ADMIN, "animal", {"properties": {"name": {"type": "integer"}}})
    await registers.catalogue.schemas.update(
        ADMIN, "animal", {"properties": {"name": {"type": "string", "maxLength": 3}}}
    )
    with pytest.raises(InvalidInput, match="at most 3"):
        await registers.objects.create(ADMIN, dogs, {"name": "Lassie"})
