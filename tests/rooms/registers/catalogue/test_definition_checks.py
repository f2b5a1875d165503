"""To write objects is not to define them: who may change a register or schema, and what no change of one may tell."""

from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from pentad.kernel.principal import ANONYMOUS, Principal
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.models import Compare, Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.changing import confirmed
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER

pytestmark = pytest.mark.anyio

READER = Caller(Principal("user:rea", "rea", role_scopes("reader")))
ONLY_ADMINS = {"read": ["admin"], "update": ["admin"]}
EARNED = 5_000_000_007
"""So long that it is not by chance part of an id or a time."""
SALARY: dict[str, Any] = {"type": "integer", "authorization": ONLY_ADMINS}
OPEN: dict[str, Any] = {"name": {"type": "string"}, "note": {"type": ["string", "integer", "null"]}}


async def staff(registers: Registers, properties: dict[str, Any] | None = None, **schema: Any) -> Pair:
    """What Ada earns only administrators may know; but any writer may define the schema."""
    body = {"authorization": {"define": ["writer"]}, **schema}
    body["properties"] = {**OPEN, "salary": SALARY, **(properties or {})}
    made = await registers.catalogue.schemas.create(ADMIN, {"title": "person", "slug": "person", **body})
    await registers.catalogue.registers.create(ADMIN, {"title": "Firm", "slug": "firm", "schemas": [made.id]})
    pair = await registers.catalogue.pair(ADMIN, "firm", "person")
    await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": EARNED})
    return pair


async def told(registers: Registers, caller: Caller = WRITER) -> str:
    """All that a caller can see of the people, as text."""
    pair = await registers.catalogue.pair(caller, "firm", "person")
    found = await registers.objects.find(caller, pair, Query())
    rows = [registers.objects.get(caller, pair, row[1]) for row in found.rows]
    return repr([present(registers.access, caller, pair, await row, prune=False) for row in rows])


# who may define


@pytest.mark.requirement("registers:define:owners")
async def test_a_writer_changes_neither_the_schema_nor_the_register_of_somebody_else(registers: Registers):
    await staff(registers, authorization={})
    catalogue = registers.catalogue
    before = (await catalogue.registers.get(ADMIN, "firm"), await catalogue.schemas.get(ADMIN, "person"))
    public = {"authorization": {"read": ["public"]}}
    steps = [{"step": "rename", "property": "salary", "to": "note"}]
    for attempt in (
        catalogue.schemas.update(WRITER, "person", {"properties": {**OPEN, "salary": {"type": "integer"}}}),
        catalogue.schemas.update(WRITER, "person", public),
        catalogue.schemas.update(WRITER, "person", {"title": "Mine"}),
        catalogue.schemas.update(WRITER, "person", {"properties": OPEN}, migration=steps),
        catalogue.schemas.preflight(WRITER, "person", {"title": "Mine"}),
        catalogue.schemas.delete(WRITER, "person"),
        catalogue.registers.update(WRITER, "firm", public),
        catalogue.registers.update(WRITER, "firm", {"authorization": {"read": [WRITER.principal.id]}}),
        catalogue.registers.update(WRITER, "firm", {"schemas": []}),
        catalogue.registers.delete(WRITER, "firm"),
    ):
        with pytest.raises(Forbidden, match="may not define"):
            await attempt
    assert before == (await catalogue.registers.get(ADMIN, "firm"), await catalogue.schemas.get(ADMIN, "person"))


@pytest.mark.requirement("registers:define:owners")
async def test_who_makes_a_register_and_a_schema_defines_them(registers: Registers):
    catalogue = registers.catalogue
    schema = await catalogue.schemas.create(WRITER, {"title": "Mine", "properties": OPEN})
    register = await catalogue.registers.create(WRITER, {"title": "Mine too", "schemas": [schema.id]})
    await catalogue.schemas.update(WRITER, schema.id, {"authorization": {"define": [OTHER.principal.id]}})
    await catalogue.registers.update(WRITER, register.id, {"authorization": {"define": [OTHER.principal.id]}})
    await catalogue.schemas.update(OTHER, schema.id, {"title": "Ours"})
    await catalogue.registers.update(OTHER, register.id, {"title": "Ours", "authorization": {"define": ["admin"]}})
    with pytest.raises(Forbidden):
        await catalogue.registers.update(OTHER, register.id, {"title": "Theirs"})
    assert (await catalogue.registers.update(WRITER, register.id, {"title": "Mine again"})).title == "Mine again"
    assert (await catalogue.registers.update(ADMIN, register.id, {"title": "Ours"})).title == "Ours"


@pytest.mark.requirement("registers:define:registers")
async def test_nobody_puts_a_schema_into_a_register_of_somebody_else(registers: Registers):
    await staff(registers)
    catalogue = registers.catalogue
    mine = await catalogue.schemas.create(WRITER, {"title": "Mine", "slug": "mine"})
    with pytest.raises(Forbidden):
        await catalogue.registers.update(WRITER, "firm", {"schemas": ["person", mine.id]})
    pair = await catalogue.pair(WRITER, "firm", "mine")
    with pytest.raises(Forbidden, match="may not create objects of 'mine' in 'firm'"):
        await registers.objects.create(WRITER, pair, {"a": 1})
    assert mine.id not in (await catalogue.registers.get(ADMIN, "firm")).schemas
    await catalogue.registers.update(ADMIN, "firm", {"schemas": ["person", mine.id]})
    pair = await catalogue.pair(WRITER, "firm", "mine")
    assert (await registers.objects.create(WRITER, pair, {"a": 1})).version == 1


@pytest.mark.requirement("registers:define:registers")
async def test_a_definer_does_not_take_schemas_it_cannot_see_out_of_a_register(registers: Registers):
    await staff(registers, authorization={"read": ["admin"]})
    catalogue = registers.catalogue
    other = await catalogue.schemas.create(ADMIN, {"title": "Other"})
    both = {"schemas": ["person", other.id], "authorization": {"define": ["writer"]}}
    whole = await catalogue.registers.update(ADMIN, "firm", both)
    assert (await catalogue.registers.get(WRITER, "firm")).schemas == (other.id,)
    assert [one.schemas for one in await catalogue.registers.list(WRITER)] == [(other.id,)]
    assert (await confirmed(catalogue.registers.update, WRITER, "firm", {"schemas": []})).schemas == ()
    left = (await catalogue.registers.get(ADMIN, "firm")).schemas
    assert left == tuple(key for key in whole.schemas if key != other.id)


# what a change may not tell its author


@pytest.mark.requirement("registers:define:widening")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"properties": {**OPEN, "salary": {"type": "integer"}}}, id="drop the rule"),
        pytest.param(
            {"properties": {**OPEN, "salary": {**SALARY, "authorization": {"read": ["writer"]}}}}, id="loosen the rule"
        ),
        pytest.param({"properties": OPEN}, id="drop the property"),
        pytest.param({"properties": {**OPEN, "salary": {**SALARY, "maximum": 4000}}}, id="bound it"),
        pytest.param({"properties": {**OPEN, "salary": {**SALARY, "unique": True}}}, id="make it unique"),
        pytest.param({"required": ["salary"]}, id="demand it"),
        pytest.param({"configuration": {"unique": [["salary", "name"]]}}, id="make it unique with another"),
        pytest.param(
            {"properties": {**OPEN, "salary": SALARY, "copy": {"type": "integer", "computed": "salary"}}}, id="compute"
        ),
        pytest.param(
            {"properties": {**OPEN, "salary": SALARY, "copy": {"type": "string", "default": "{{ salary }}"}}},
            id="take as a default",
        ),
        pytest.param({"allOf": [{"properties": {"salary": {"maximum": 4000}}}]}, id="bound it from outside"),
        pytest.param({"if": {"properties": {"salary": {"const": EARNED}}}, "then": False}, id="ask by if"),
        pytest.param({"additionalProperties": False}, id="ask by what is not declared"),
        pytest.param(
            {
                "authorization": {
                    "define": ["writer"],
                    "update": [{"group": "writer", "match": {"salary": {"$gt": 4000}}}],
                }
            },
            id="ask by a rule",
        ),
        pytest.param(
            {
                "properties": {
                    **OPEN,
                    "salary": SALARY,
                    "note": {
                        "type": "string",
                        "authorization": {"read": [{"group": "writer", "match": {"salary": EARNED}}]},
                    },
                }
            },
            id="ask by a property's rule",
        ),
    ],
)
async def test_who_may_not_read_a_property_cannot_define_it_into_the_open(registers: Registers, change: dict[str, Any]):
    await staff(registers)
    with pytest.raises(Forbidden, match=r"which you may not read|so you may not change"):
        await registers.catalogue.schemas.update(WRITER, "person", change)
    with pytest.raises(Forbidden, match=r"which you may not read|so you may not change"):
        await registers.catalogue.schemas.preflight(WRITER, "person", change)
    assert str(EARNED) not in await told(registers)
    assert str(EARNED) in await told(registers, ADMIN)


@pytest.mark.requirement("registers:define:widening")
async def test_what_a_definer_may_read_it_may_define(registers: Registers):
    await staff(registers)
    wider = {"properties": {**OPEN, "salary": SALARY, "room": {"type": "string"}}, "description": "People"}
    changed = await registers.catalogue.schemas.update(WRITER, "person", wider)
    assert list(changed.body["properties"]) == ["name", "note", "salary", "room"]
    loose = {"authorization": {"define": ["writer"], "delete": ["writer"]}}
    assert (await registers.catalogue.schemas.update(WRITER, "person", loose)).body["authorization"] == loose[
        "authorization"
    ]


@pytest.mark.requirement("registers:define:widening")
async def test_the_owner_of_a_schema_cannot_open_what_is_kept_from_it_either(registers: Registers):
    made = await registers.catalogue.schemas.create(WRITER, {"title": "person", "slug": "person", "properties": OPEN})
    await registers.catalogue.schemas.update(ADMIN, made.id, {"properties": {**OPEN, "salary": SALARY}})
    with pytest.raises(Forbidden, match="'salary'"):
        await registers.catalogue.schemas.update(WRITER, made.id, {"properties": OPEN})
    await registers.catalogue.schemas.update(ADMIN, made.id, {"authorization": {"read": ["admin"]}})
    for block in ({}, {"read": ["public"]}, {"read": ["admin", WRITER.principal.id]}):
        with pytest.raises(Forbidden, match="may not say who may"):
            await registers.catalogue.schemas.update(WRITER, made.id, {"authorization": block})
    assert (await registers.catalogue.schemas.update(WRITER, made.id, {"title": "People"})).title == "People"


@pytest.mark.requirement("registers:define:widening")
async def test_who_may_not_read_a_register_cannot_say_who_may(registers: Registers):
    some = {"group": "writer", "match": {"name": "Eva"}}
    await staff(registers)
    await registers.catalogue.registers.update(ADMIN, "firm", {"authorization": {"read": [some], "define": ["writer"]}})
    for block in ({"define": ["writer"]}, {"read": ["public"], "define": ["writer"]}):
        with pytest.raises(Forbidden, match="may not say who may"):
            await registers.catalogue.registers.update(WRITER, "firm", {"authorization": block})
    rule = {"group": "writer", "match": {"salary": {"$gt": 4000}}}
    asking = {"authorization": {"read": [some], "update": [rule], "define": ["writer"]}}
    with pytest.raises(Forbidden, match="asks about 'salary'"):
        await registers.catalogue.registers.update(WRITER, "firm", asking)
    with pytest.raises(Forbidden, match="asks about 'salary'"):
        await registers.catalogue.registers.create(
            WRITER, {"title": "Mine", "schemas": ["person"], "authorization": {"read": [rule]}}
        )


@pytest.mark.requirement("registers:define:widening")
async def test_a_parent_schema_does_not_open_what_its_child_keeps(registers: Registers):
    catalogue = registers.catalogue
    parent = await catalogue.schemas.create(
        ADMIN, {"title": "Base", "slug": "base", "properties": {}, "authorization": {"define": ["writer"]}}
    )
    await catalogue.schemas.update(ADMIN, parent.id, {"properties": {"salary": SALARY}})
    await staff(registers, {"salary": {"type": "integer"}}, allOf=[{"$ref": "base"}])
    assert str(EARNED) not in await told(registers)
    with pytest.raises(Forbidden, match="'salary'"):
        await catalogue.schemas.update(WRITER, parent.id, {"properties": {}})
    assert str(EARNED) not in await told(registers)


# migrations


@pytest.mark.requirement("registers:define:migrations")
@pytest.mark.parametrize(
    "step",
    [
        {"step": "rename", "property": "salary", "to": "note"},
        {"step": "rename", "property": "note", "to": "salary"},
        {"step": "drop", "property": "salary"},
        {"step": "drop", "property": "/salary"},
        {"step": "enum_map", "property": "salary", "values": [[EARNED, 1]]},
        {"step": "default", "property": "salary", "value": 1},
    ],
)
async def test_a_migration_does_not_reach_properties_its_author_may_not_read(
    registers: Registers, step: dict[str, Any]
):
    pair = await staff(registers)
    with pytest.raises(Forbidden, match="'salary'"):
        await registers.catalogue.schemas.update(WRITER, "person", {"description": "x"}, migration=[step])
    with pytest.raises(Forbidden, match="'salary'"):
        await registers.catalogue.schemas.preflight(WRITER, "person", {"description": "x"}, migration=[step])
    found = await registers.objects.find(ADMIN, pair, Query())
    assert [row[4] for row in found.rows] == [1]


@pytest.mark.requirement("registers:define:migrations")
@pytest.mark.parametrize("right", ["read", "update"])
async def test_a_migration_does_not_reach_objects_its_author_may_not_change(registers: Registers, right: str):
    mine = {"group": "writer", "match": {"name": "Eva"}}
    pair = await staff(registers, authorization={"define": ["writer"], right: [mine], "create": ["writer"]})
    step = {"step": "rename", "property": "name", "to": "title"}
    wanted = {"properties": {"title": {"type": "string"}, "note": OPEN["note"], "salary": SALARY}}
    with pytest.raises(Forbidden, match="objects that you may not"):
        await registers.catalogue.schemas.update(WRITER, "person", wanted, migration=[step])
    await registers.catalogue.schemas.update(ADMIN, "person", wanted, migration=[step])
    pair = await registers.catalogue.pair(ADMIN, "firm", "person")
    assert (await registers.objects.find(ADMIN, pair, Query(filter=Compare(("title",), "eq", "Ada")))).total == 1


@pytest.mark.requirement("registers:define:migrations")
async def test_a_migration_does_not_reach_objects_of_another_organisation(registers: Registers):
    pair = await staff(registers)
    await registers.organisations.create(ADMIN, "acme", "Acme")
    await registers.organisations.add_member(ADMIN, "acme", ADMIN.principal.id)
    await registers.objects.create(ADMIN, pair, {"name": "Theirs"})
    step = {"step": "drop", "property": "note"}
    with pytest.raises(Forbidden, match="objects that you may not"):
        await registers.catalogue.schemas.update(WRITER, "person", {"description": "x"}, migration=[step])


@pytest.mark.requirement("registers:define:migrations")
async def test_who_may_define_and_change_everything_migrates(registers: Registers):
    await staff(registers)
    step = {"step": "rename", "property": "name", "to": "title"}
    wanted = {"properties": {"title": {"type": "string"}, "note": OPEN["note"], "salary": SALARY}}
    await registers.catalogue.schemas.update(WRITER, "person", wanted, migration=[step])
    assert "'title': 'Ada'" in await told(registers)


# counts and names of what may not be seen


@pytest.mark.requirement("registers:define:discreet")
async def test_what_stands_in_the_way_of_a_definer_is_told_without_what_it_may_not_see(registers: Registers):
    catalogue = registers.catalogue
    await staff(registers, authorization={"define": ["writer"], "read": ["admin", "writer"]})
    await catalogue.schemas.create(
        ADMIN, {"title": "Hidden child", "allOf": [{"$ref": "person"}], "authorization": {"read": ["admin"]}}
    )
    with pytest.raises(Conflict) as refused:
        await catalogue.schemas.delete(WRITER, "person")
    assert refused.value.message == "The schema 'person' still has objects."
    assert not refused.value.details
    with pytest.raises(Conflict, match="still has 1 object"):
        await catalogue.schemas.delete(ADMIN, "person")
    pair = await catalogue.pair(ADMIN, "firm", "person")
    for row in (await registers.objects.find(ADMIN, pair, Query())).rows:
        await registers.objects.delete(ADMIN, pair, row[1])
        await registers.objects.purge(ADMIN, pair, row[1])
    with pytest.raises(Conflict, match="is part of others"):
        await catalogue.schemas.delete(WRITER, "person")
    with pytest.raises(Conflict, match="is part of hidden-child"):
        await catalogue.schemas.delete(ADMIN, "person")


@pytest.mark.requirement("registers:define:discreet")
async def test_objects_that_a_definer_may_not_see_are_not_named_where_a_property_cannot_be_unique(registers: Registers):
    pair = await staff(registers)
    made = [await registers.objects.create(ADMIN, pair, {"name": "Eva"}) for _ in range(2)]
    unique = {"properties": {**OPEN, "name": {"type": "string", "unique": True}, "salary": SALARY}}
    with pytest.raises(Conflict) as whole:
        await registers.catalogue.schemas.update(ADMIN, "person", unique)
    assert made[0].uuid in repr(whole.value.as_json())
    with pytest.raises(Conflict) as refused:
        await registers.catalogue.schemas.update(WRITER, "person", unique)
    assert refused.value.message == "name cannot be unique: objects have the same value."
    assert not any(one.uuid in repr(refused.value.as_json()) for one in made)


@pytest.mark.requirement("registers:define:discreet")
async def test_a_hidden_schema_made_of_a_changed_one_is_not_told_of(registers: Registers):
    catalogue = registers.catalogue
    await catalogue.schemas.create(WRITER, {"title": "Base", "slug": "base", "properties": OPEN})
    hidden = {"title": "Hidden child", "allOf": [{"$ref": "base"}], "authorization": {"read": ["admin"]}}
    child = await catalogue.schemas.create(ADMIN, hidden)
    register = await catalogue.registers.create(ADMIN, {"title": "R", "schemas": [child.id]})
    await registers.objects.create(ADMIN, await catalogue.pair(ADMIN, register.id, child.id), {"name": "Ada"})
    with pytest.raises(Conflict) as refused:
        await catalogue.schemas.update(WRITER, "base", {"properties": {**OPEN, "name": {"type": "integer"}}})
    assert "child" not in repr(refused.value.as_json())
    assert "Ada" not in repr(refused.value.as_json())


@pytest.mark.requirement("registers:define:discreet")
async def test_a_schema_one_may_not_see_is_none_to_build_upon(registers: Registers):
    await registers.catalogue.schemas.create(
        ADMIN, {"title": "Secret", "slug": "secret", "properties": OPEN, "authorization": {"read": ["admin"]}}
    )
    said: list[str] = []
    for name in ("secret", "nowhere"):
        with pytest.raises(InvalidInput) as refused:
            await registers.catalogue.schemas.create(WRITER, {"title": "Mine", "allOf": [{"$ref": name}]})
        said.append(repr(refused.value.as_json()).replace(name, "*"))
    assert said[0] == said[1]


async def test_the_block_of_a_property_knows_no_definers(registers: Registers):
    with pytest.raises(InvalidInput, match="no right 'define'"):
        await registers.catalogue.schemas.create(
            ADMIN, {"title": "T", "properties": {"a": {"authorization": {"define": ["writer"]}}}}
        )


async def test_a_stranger_is_not_told_of_a_register_without_anything_public(registers: Registers):
    await staff(registers)
    stranger = Caller(ANONYMOUS)
    assert (await registers.catalogue.registers.list(stranger)).total == 0
    with pytest.raises(NotFound):
        await registers.catalogue.registers.get(stranger, "firm")
    await registers.catalogue.schemas.create(
        ADMIN, {"title": "Shown", "slug": "shown", "authorization": {"read": ["public"]}}
    )
    await registers.catalogue.registers.update(ADMIN, "firm", {"schemas": ["person", "shown"]})
    assert len((await registers.catalogue.registers.get(stranger, "firm")).schemas) == 1
