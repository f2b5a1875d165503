"""Registers and schemas: made, found by any of their names, changed, refused and removed, over both stores."""

import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, VersionMismatch
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER, opened
from tests.stores import Stores

pytestmark = pytest.mark.anyio

READER = Caller(Principal("user:rea", "rea", role_scopes("reader")))
NOTE = {"title": "Note", "properties": {"text": {"type": "string"}}}


@pytest.mark.requirement("registers:catalogue:references")
async def test_a_register_is_found_by_id_uuid_and_slug_in_any_case(registers: Registers):
    made = await registers.catalogue.registers.create(ADMIN, {"title": "Städtische Bäume", "description": "Trees"})
    assert made.slug == "stadtische-baume"
    assert (made.version, made.body["description"]) == ("0.0.1", "Trees")
    for ref in (made.id, str(made.id), made.uuid, made.uuid.upper(), made.slug, made.slug.upper()):
        assert (await registers.catalogue.registers.get(ADMIN, ref)).uuid == made.uuid


async def test_equal_titles_get_different_slugs(registers: Registers):
    slugs = [(await registers.catalogue.schemas.create(ADMIN, {"title": "A b"})).slug for _ in range(3)]
    assert slugs == ["a-b", "a-b-2", "a-b-3"]


async def test_a_title_without_letters_still_gives_a_slug_that_is_no_number(registers: Registers):
    first = await registers.catalogue.registers.create(ADMIN, {"title": "2024"})
    second = await registers.catalogue.registers.create(ADMIN, {"title": "东京"})
    assert (first.slug, second.slug) == ("register-2024", "register")


async def test_a_chosen_slug_that_is_taken_is_refused_with_who_has_it(registers: Registers):
    made = await registers.catalogue.registers.create(ADMIN, {"title": "One", "slug": "Same"})
    with pytest.raises(Conflict, match=f"register {made.id}"):
        await registers.catalogue.registers.create(ADMIN, {"title": "Two", "slug": "same"})


@pytest.mark.parametrize("slug", ["7", "with space", "01a1dd80-9665-713c-bb04-fe37bf87c83b", "x" * 101])
async def test_a_slug_that_could_mean_something_else_is_refused(registers: Registers, slug: str):
    with pytest.raises(InvalidInput, match="cannot be the slug"):
        await registers.catalogue.registers.create(ADMIN, {"title": "T", "slug": slug})


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"title": ""},
        {"title": 5},
        {"title": "x", "schemas": "all"},
        {"title": "x", "version": 1},
        {"title": "x", "uuid": "y"},
    ],
)
async def test_a_register_of_the_wrong_shape_is_refused(registers: Registers, data: dict[str, object]):
    with pytest.raises(InvalidInput):
        await registers.catalogue.registers.create(ADMIN, data)


async def test_a_missing_register_is_answered_with_those_there_are(registers: Registers):
    await registers.catalogue.registers.create(ADMIN, {"title": "People"})
    with pytest.raises(NotFound) as missed:
        await registers.catalogue.registers.get(ADMIN, "peple")
    assert "You have access to 1 register: 1 people." in missed.value.message
    assert "Did you mean 'people'?" in missed.value.message
    assert missed.value.hint == "Try registers with action=list."


@pytest.mark.parametrize("ref", [0, -1, 2**70, "0" * 30, "nul\0", "", "'; DROP TABLE registers; --"])
async def test_a_senseless_name_finds_nothing(registers: Registers, ref: int | str):
    with pytest.raises(NotFound):
        await registers.catalogue.registers.get(ADMIN, ref)


async def test_an_update_keeps_what_it_does_not_name_and_counts_the_version_up(registers: Registers):
    made = await registers.catalogue.registers.create(
        ADMIN, {"title": "A", "description": "d", "configuration": {"a": 1}}
    )
    changed = await registers.catalogue.registers.update(ADMIN, made.id, {"title": "B"})
    assert (changed.title, changed.body["description"], changed.version) == ("B", "d", "0.0.2")
    same = await registers.catalogue.registers.update(ADMIN, made.id, {"title": "B"})
    assert same.version == "0.0.2"
    named = await registers.catalogue.registers.update(ADMIN, made.id, {"version": "2.0.0"})
    assert named.version == "2.0.0"
    merged = await registers.catalogue.registers.update(ADMIN, made.id, {"configuration": {"b": 2}}, merge=True)
    assert merged.body["configuration"] == {"a": 1, "b": 2}
    replaced = await registers.catalogue.registers.update(
        ADMIN, made.id, {"configuration": {"b": 2}, "description": None}
    )
    assert replaced.body["configuration"] == {"b": 2}
    assert "description" not in replaced.body
    assert replaced.wire()["description"] is None


async def test_an_update_of_another_version_is_refused(registers: Registers):
    made = await registers.catalogue.registers.create(ADMIN, {"title": "A"})
    await registers.catalogue.registers.update(ADMIN, made.id, {"title": "B"}, if_version="0.0.1")
    with pytest.raises(VersionMismatch):
        await registers.catalogue.registers.update(ADMIN, made.id, {"title": "C"}, if_version="0.0.1")


async def test_the_owner_is_whoever_made_it_and_cannot_be_claimed(registers: Registers):
    made = await registers.catalogue.registers.create(WRITER, {"title": "A", "owner": "user:oda"})
    assert made.wire()["owner"] == WRITER.principal.id
    changed = await registers.catalogue.registers.update(WRITER, made.id, {"title": "B", "owner": "user:oda"})
    assert changed.wire()["owner"] == WRITER.principal.id


async def test_a_reader_cannot_make_registers(registers: Registers):
    with pytest.raises(Forbidden):
        await registers.catalogue.registers.create(READER, {"title": "A"})


async def test_a_register_hidden_by_its_authorization_is_not_found_and_not_listed(registers: Registers):
    block = {"read": [WRITER.principal.id]}
    made = await registers.catalogue.registers.create(WRITER, {"title": "Mine", "authorization": block})
    assert (await registers.catalogue.registers.list(OTHER)).total == 0
    with pytest.raises(NotFound, match="You have access to 0 registers"):
        await registers.catalogue.registers.get(OTHER, made.id)
    assert (await registers.catalogue.registers.list(WRITER)).items == [made]


async def test_lists_come_in_pages_with_their_length(registers: Registers):
    for title in "abcde":
        await registers.catalogue.registers.create(ADMIN, {"title": title})
    page = await registers.catalogue.registers.list(ADMIN, limit=2, offset=2)
    assert ([one.title for one in page], page.total) == (["c", "d"], 5)


async def test_schemas_of_a_register_may_be_named_in_any_way(registers: Registers):
    first = await registers.catalogue.schemas.create(ADMIN, NOTE)
    second = await registers.catalogue.schemas.create(ADMIN, {"title": "Other"})
    made = await registers.catalogue.registers.create(ADMIN, {"title": "R", "schemas": [first.id, second.uuid, "note"]})
    assert made.schemas == (first.id, second.id)
    with pytest.raises(NotFound):
        await registers.catalogue.registers.update(ADMIN, made.id, {"schemas": ["nothing"]})


async def test_what_holds_objects_cannot_be_deleted(registers: Registers):
    schema = await registers.catalogue.schemas.create(ADMIN, NOTE)
    register = await registers.catalogue.registers.create(ADMIN, {"title": "R"})
    pair = await registers.catalogue.pair(ADMIN, register.id, schema.id, "create")
    made = await registers.objects.create(ADMIN, pair, {"text": "x"})
    for delete in (
        registers.catalogue.registers.delete(ADMIN, register.id),
        registers.catalogue.schemas.delete(ADMIN, schema.id),
    ):
        with pytest.raises(Conflict, match="still has 1 object"):
            await delete
    await registers.objects.delete(ADMIN, pair, made.uuid)
    with pytest.raises(Conflict, match="This would lose 1 deleted object"):
        await registers.catalogue.registers.delete(ADMIN, register.id)
    await registers.objects.purge(ADMIN, pair, made.uuid)
    await registers.catalogue.schemas.delete(ADMIN, schema.id)
    assert (await registers.catalogue.registers.get(ADMIN, register.id)).schemas == ()
    await registers.catalogue.registers.delete(ADMIN, register.id)
    with pytest.raises(NotFound):
        await registers.catalogue.registers.get(ADMIN, register.id)


async def test_the_first_object_makes_a_schema_part_of_a_register(registers: Registers):
    schema = await registers.catalogue.schemas.create(ADMIN, NOTE)
    register = await registers.catalogue.registers.create(ADMIN, {"title": "R"})
    pair = await registers.catalogue.pair(ADMIN, register.slug, schema.slug, "create")
    await registers.objects.create(ADMIN, pair, {"text": "x"})
    assert (await registers.catalogue.registers.get(ADMIN, register.id)).schemas == (schema.id,)
    assert [pair.uri for pair in await registers.catalogue.visible_pairs(ADMIN)] == [pair.uri]


async def test_a_schema_others_are_made_of_cannot_be_deleted(registers: Registers):
    parent = await registers.catalogue.schemas.create(ADMIN, NOTE)
    await registers.catalogue.schemas.create(ADMIN, {"title": "Child", "allOf": [{"$ref": "note"}]})
    with pytest.raises(Conflict, match="part of child"):
        await registers.catalogue.schemas.delete(ADMIN, parent.id)


async def test_a_schema_that_cannot_be_understood_leaves_nothing_behind(registers: Registers):
    with pytest.raises(InvalidInput):
        await registers.catalogue.schemas.create(
            ADMIN, {"title": "Bad", "properties": {"a": {"type": "string", "enum": []}}}
        )
    assert (await registers.catalogue.schemas.list(ADMIN)).total == 0


async def test_a_change_by_another_process_is_seen_by_the_next_write_at_once(registers: Registers, stores: Stores):
    schema = await registers.catalogue.schemas.create(ADMIN, NOTE)
    register = await registers.catalogue.registers.create(ADMIN, {"title": "R"})
    known = await registers.catalogue.pair(ADMIN, register.id, schema.id)
    async with opened(stores) as elsewhere:
        tighter = {"properties": {"text": {"type": "string", "maxLength": 3}}}
        await elsewhere.catalogue.schemas.update(ADMIN, schema.id, tighter)
    with pytest.raises(InvalidInput, match="at most 3"):
        await registers.objects.create(ADMIN, known, {"text": "too long"})
    assert (await registers.objects.create(ADMIN, known, {"text": "ok"})).version == 1


async def test_a_pair_is_read_again_after_a_change(registers: Registers):
    schema = await registers.catalogue.schemas.create(ADMIN, NOTE)
    register = await registers.catalogue.registers.create(ADMIN, {"title": "R"})
    assert (await registers.catalogue.pair(ADMIN, register.id, schema.id)).schema.title == "Note"
    await registers.catalogue.schemas.update(ADMIN, schema.id, {"title": "Other"})
    assert (await registers.catalogue.pair(ADMIN, register.id, schema.id)).schema.title == "Other"
