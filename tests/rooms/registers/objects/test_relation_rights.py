"""What a caller may not read does not exist at the far end of a relation either: attacks by filter, sort and count."""

import re
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.models import Caller, Operation, StoredObject
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER, TurnedClock
from tests.rooms.registers.permits import SCHEMAS, Permits, make_permits

pytestmark = pytest.mark.anyio
WRITERS = {"create": ["writer"], "update": ["writer"], "delete": ["writer"]}
OPEN_ALONE = {"read": [{"group": "authenticated", "match": {"status": "open"}}], **WRITERS}
IN_DELFT = {"read": [{"group": "authenticated", "match": {"city": "Delft"}}], **WRITERS}
ADMINS = {"read": ["admin"]}


@pytest.mark.requirement("registers:relations:rights")
async def test_objects_that_a_rule_hides_match_no_filter(registers: Registers):
    permits = await make_permits(registers, {"person": {"authorization": IN_DELFT}})
    for criteria in (
        {"applicant.city": "Leiden"},
        {"applicant.income": 20},
        {"applicant.@self.id": permits.uuid("Bob")},
    ):
        assert await permits.find("permit", WRITER, filter=criteria) == []
        assert await permits.find("permit", ADMIN, filter=criteria) == ["P-3"]
    assert await permits.find("permit", WRITER, filter={"applicant.name": {"exists": False}}) == ["P-3", "P-4"]
    assert await permits.find("permit", WRITER, filter={"applicant.city": {"ne": "Delft"}}) == ["P-3", "P-4"]
    assert await permits.find("permit", WRITER, filter={"witnesses.city": "Leiden"}) == []
    assert await permits.find("permit", WRITER, filter={"lines.who.name": "Bob"}) == []
    assert await permits.find("permit", WRITER, filter={"applicant": {"name": "Bob"}}) == []


async def test_objects_that_a_rule_hides_sort_and_count_as_absent(registers: Registers):
    permits = await make_permits(registers, {"person": {"authorization": IN_DELFT}})
    assert await permits.find("permit", WRITER, sort=["-applicant.income", "number"]) == ["P-1", "P-2", "P-3", "P-4"]
    assert await permits.facets("permit", "applicant.city", "witnesses.city", caller=WRITER) == {
        "applicant.city": {"Delft": 2}, "witnesses.city": {"Delft": 2},
    }  # fmt: skip
    metrics = {"n": "count", "income": {"sum": "applicant.income"}, "seen": {"sum": "witnesses.income"}}
    assert await permits.groups("permit", WRITER, group_by=["applicant.city"], metrics=metrics) == [
        {"applicant.city": "Delft", "n": 2, "income": 20, "seen": 30},
        {"applicant.city": None, "n": 2, "income": None, "seen": 40},
    ]


async def test_objects_that_a_rule_hides_refer_to_nothing(registers: Registers):
    permits = await make_permits(registers, {"permit": {"authorization": OPEN_ALONE}})
    assert await permits.find("person", WRITER, filter={"permit_applicant.fee": 7}) == []
    assert await permits.find("person", WRITER, filter={"permit_applicant.number": {"exists": True}}) == ["Ada", "Bob"]
    metrics = {"n": {"count": "permit_applicant"}, "fees": {"sum": "permit_applicant.fee"}}
    assert await permits.groups("person", WRITER, metrics=metrics) == [{"n": 2, "fees": 16}]
    assert await permits.groups("person", ADMIN, metrics=metrics) == [{"n": 3, "fees": 23}]
    groups = await permits.groups("person", WRITER, group_by=["permit_applicant.status"])
    assert [one["permit_applicant.status"] for one in groups] == ["open", None]


async def test_the_rule_on_a_middle_object_breaks_the_chain(registers: Registers):
    permits = await make_permits(registers, {"permit": {"authorization": OPEN_ALONE}})
    assert await permits.find("inspection", WRITER, filter={"permit.applicant.name": "Bob"}) == [8]
    await permits.registers.objects.write(
        ADMIN, permits.pairs["permit"], Operation("patch", {"status": "shut"}, permits.uuid("P-3"))
    )
    assert await permits.find("inspection", WRITER, filter={"permit.applicant.name": "Bob"}) == []
    assert await permits.find("inspection", ADMIN, filter={"permit.applicant.name": "Bob"}) == [8]
    assert await permits.find("inspection", WRITER, sort=["-permit.applicant.income", "score"]) == [1, 3, 8]


def with_rule(schema: str, name: str) -> dict[str, Any]:
    """One property that only administrators read."""
    properties = {**SCHEMAS[schema], name: {**SCHEMAS[schema][name], "authorization": ADMINS}}
    return {schema: {"properties": properties}}


async def refused_alike(permits: Permits, schema: str, caller: Caller, hidden: str, absent: str) -> None:
    """A hidden name is refused in the words for one that does not exist."""
    asked: list[Any] = [
        lambda name: permits.find(schema, caller, filter={name: "x"}),
        lambda name: permits.find(schema, caller, filter={name: {"exists": False}}),
        lambda name: permits.find(schema, caller, sort=[name]),
        lambda name: permits.facets(schema, name, caller=caller),
        lambda name: permits.groups(schema, caller, group_by=[name]),
        lambda name: permits.groups(schema, caller, metrics={"n": {"count": name}}),
    ]
    for ask in asked:
        said: list[str] = []
        for name in (hidden, absent):
            with pytest.raises(InvalidInput) as refused:
                await ask(name)
            error = refused.value
            text = f"{error.message} {error.hint}"
            [step] = set(name.split(".")) - set((absent if name == hidden else hidden).split("."))
            said.append(re.sub(r" Did you mean [^?]*\?", "", text).replace(step, "<step>"))
            assert step not in error.details["properties"]
        assert said[0] == said[1]


@pytest.mark.requirement("registers:relations:rights")
async def test_a_hidden_property_of_the_far_object_is_unknown(registers: Registers):
    permits = await make_permits(registers, with_rule("person", "income"))
    assert await permits.find("permit", ADMIN, filter={"applicant.income": 10}) == ["P-1", "P-2"]
    await refused_alike(permits, "permit", WRITER, "applicant.income", "applicant.absent")
    with pytest.raises(InvalidInput):
        await permits.find("permit", WRITER, filter={"applicant": {"income": 10}})


async def test_a_hidden_reference_leads_nowhere_in_either_direction(registers: Registers):
    permits = await make_permits(registers, with_rule("permit", "applicant"))
    await refused_alike(permits, "permit", WRITER, "applicant.city", "applicanX.city")
    await refused_alike(permits, "person", WRITER, "permit_applicant.fee", "permit_applicanX.fee")
    await refused_alike(permits, "inspection", WRITER, "permit.applicant.city", "permit.applicanX.city")


async def test_a_schema_the_caller_may_not_see_is_at_no_end_of_a_relation(registers: Registers):
    permits = await make_permits(
        registers, {"person": {"authorization": ADMINS}, "inspection": {"authorization": ADMINS}}
    )
    with pytest.raises(InvalidInput) as refused:
        await permits.find("permit", WRITER, filter={"inspections.score": 1})
    assert "inspection" not in str(refused.value.details["properties"])
    with pytest.raises(InvalidInput):
        await permits.find("permit", WRITER, filter={"applicant.city": "Delft"})
    with pytest.raises(InvalidInput):
        await permits.find("permit", WRITER, filter={"applicant.permit_applicant.fee": 7})


async def test_other_organisations_objects_do_not_count(registers: Registers):
    permits = await make_permits(registers)
    objects = registers.objects
    foreign = await objects.create(ADMIN, permits.pairs["person"], {"name": "Eve", "city": "Delft", "income": 1})
    await objects.create(ADMIN, permits.pairs["permit"], {"number": "P-9", "applicant": foreign.uuid, "fee": 100})
    acme = await registers.organisations.create(ADMIN, "acme", "Acme")
    await registers.organisations.add_member(ADMIN, "acme", OTHER.principal.id)
    await registers.platform.database.write(
        lambda tx: tx.run("UPDATE objects SET organisation = ? WHERE uuid = ?", acme.id, foreign.uuid)
    )
    assert await permits.find("permit", ADMIN, filter={"applicant.name": "Eve"}) == ["P-9"]
    assert await permits.find("permit", WRITER, filter={"applicant.name": "Eve"}) == []
    assert await permits.groups("permit", WRITER, metrics={"n": {"count": "applicant.name"}}) == [{"n": 3}]


async def test_rights_are_those_of_the_moment_a_query_runs(registers: Registers):
    permits = await make_permits(registers)
    objects, pair = registers.objects, permits.pairs["permit"]
    query = await objects.query_of(WRITER, pair, {"filter": {"applicant.city": "Leiden"}})
    assert (await objects.find(WRITER, pair, query)).total == 1
    await registers.catalogue.schemas.update(ADMIN, "person", {"authorization": IN_DELFT})
    assert (await objects.find(WRITER, pair, query)).total == 0


async def test_the_past_of_a_related_object_takes_the_rights_of_today(registers: Registers, clock: TurnedClock):
    permits = await make_permits(registers, {"person": {"authorization": IN_DELFT}})
    then = max(one.updated_at for one in permits.made.values()) + 0.0005
    clock.ahead += 1
    await registers.objects.write(
        ADMIN, permits.pairs["person"], Operation("patch", {"city": "Gouda"}, permits.uuid("Ada"))
    )
    assert await permits.find("permit", ADMIN, filter={"applicant.city": "Delft"}, as_of=then) == ["P-1", "P-2"]
    assert await permits.find("permit", WRITER, filter={"applicant.city": "Delft"}, as_of=then) == []


async def test_uses_and_used_show_what_the_caller_may_see(registers: Registers):
    permits = await make_permits(registers, {"person": {"authorization": IN_DELFT}, **with_rule("permit", "applicant")})
    objects = registers.objects

    async def named(caller: Caller, schema: str, name: str, direction: Any) -> tuple[list[Any], int]:
        page = await objects.neighbours(caller, permits.pairs[schema], permits.uuid(name), direction, 20, 0)
        shown = [stored.data.get("name") or stored.data.get("number") for _, stored in page if stored.schema]
        return [one for one in shown if one], page.total

    assert await named(ADMIN, "permit", "P-1", "uses") == (["Ada", "Bob", "Cas"], 3)
    assert await named(WRITER, "permit", "P-1", "uses") == (["Cas"], 1)
    assert await named(ADMIN, "person", "Ada", "used") == (["P-1", "P-2", "P-4"], 3)
    assert await named(WRITER, "person", "Ada", "used") == (["P-4"], 1)


async def shown(permits: Permits, caller: Caller, field: str) -> list[Any]:
    """What a field through references shows for every permit."""
    objects, pair = permits.registers.objects, permits.pairs["permit"]
    query = await objects.query_of(caller, pair, {"fields": [field], "sort": ["number"]}, related=True)
    found = [StoredObject(*row) for row in (await objects.find(caller, pair, query)).rows]
    rows: list[dict[str, Any]] = [{} for _ in found]
    await objects.add_related(caller, query, found, rows)
    return [row[field] for row in rows]


@pytest.mark.requirement("registers:relations:fields")
async def test_fields_show_nothing_of_related_objects_that_a_rule_hides(registers: Registers):
    permits = await make_permits(registers, {"person": {"authorization": IN_DELFT}})
    assert await shown(permits, ADMIN, "applicant.name") == ["Ada", "Ada", "Bob", None]
    assert await shown(permits, ADMIN, "applicant.employer.name") == ["Acme", "Acme", "Acme", None]
    assert await shown(permits, WRITER, "applicant.name") == ["Ada", "Ada", None, None]
    assert await shown(permits, WRITER, "applicant.employer.name") == ["Acme", "Acme", None, None]
    assert await shown(permits, WRITER, "applicant.@self.id") == [permits.uuid("Ada")] * 2 + [None, None]


@pytest.mark.requirement("registers:relations:fields")
@pytest.mark.parametrize(
    ("schema", "name", "field"), [("permit", "applicant", "applicant.name"), ("person", "income", "applicant.income")]
)
async def test_fields_through_a_hidden_property_are_refused_as_unknown(
    registers: Registers, schema: str, name: str, field: str
):
    permits = await make_permits(registers, with_rule(schema, name))
    assert len(await shown(permits, ADMIN, field)) == 4
    with pytest.raises(InvalidInput, match="no property"):
        await shown(permits, WRITER, field)
