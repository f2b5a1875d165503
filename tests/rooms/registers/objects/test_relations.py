"""Queries that pass through references, forward and backward, on each store."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.models import Operation
from pentad.rooms.registers.query import related_rows
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN, TurnedClock
from tests.rooms.registers.permits import Permits, make_permits

pytestmark = pytest.mark.anyio


@pytest.fixture
async def permits(registers: Registers) -> Permits:
    return await make_permits(registers)


FORWARD: list[tuple[dict[str, Any], list[str]]] = [
    ({"applicant.city": "Delft"}, ["P-1", "P-2"]),
    ({"applicant.city": {"ne": "Delft"}}, ["P-3", "P-4"]),
    ({"applicant.city": ["Delft", "Leiden"]}, ["P-1", "P-2", "P-3"]),
    ({"applicant.city": {"nin": ["Leiden"]}}, ["P-1", "P-2", "P-4"]),
    ({"applicant.city": {"like": "lei%"}}, ["P-3"]),
    ({"applicant.city": {"contains": "eid"}}, ["P-3"]),
    ({"applicant.income": {"gte": 10, "lt": 20}}, ["P-1", "P-2"]),
    ({"applicant.city": None}, ["P-4"]),
    ({"applicant.city": {"in": [None, "Leiden"]}}, ["P-3", "P-4"]),
    ({"applicant.employer.name": "Acme"}, ["P-1", "P-2", "P-3"]),
    ({"applicant.employer.name": {"exists": False}}, ["P-4"]),
    ({"applicant": {"city": "Delft", "income": {"gt": 10}}}, []),
    ({"applicant": {"city": "Delft", "or": [{"income": 10}, {"name": "Cas"}]}}, ["P-1", "P-2"]),
    ({"applicant.@self.id": {"exists": True}}, ["P-1", "P-2", "P-3"]),
    ({"applicant.@self.name": "Bob"}, ["P-3"]),
    ({"witnesses.city": "Delft"}, ["P-1", "P-4"]),
    ({"witnesses.city": {"ne": "Delft"}}, ["P-2", "P-3"]),
    ({"witnesses.0.city": "Delft"}, ["P-4"]),
    ({"lines.who.city": "Leiden"}, ["P-1", "P-3"]),
    ({"not": {"applicant.city": "Delft"}}, ["P-3", "P-4"]),
    ({"or": [{"applicant.city": "Leiden"}, {"fee": 7}]}, ["P-2", "P-3"]),
    ({"applicant.city": "Delft", "status": "open"}, ["P-1"]),
    ({"free.deep.er": "P-2"}, ["P-2"]),
]


@pytest.mark.requirement("registers:relations:filter")
async def test_a_filter_passes_through_references(permits: Permits):
    for criteria, numbers in FORWARD:
        assert await permits.find("permit", filter=criteria) == numbers, criteria


@pytest.mark.parametrize("few", [related_rows._FEW, 0])
async def test_the_total_is_the_same_whichever_side_is_looked_up_first(
    permits: Permits, monkeypatch: pytest.MonkeyPatch, few: int
):
    monkeypatch.setattr(related_rows, "_FEW", few)
    objects, pair = permits.registers.objects, permits.pairs["permit"]
    for criteria, numbers in FORWARD:
        query = await objects.query_of(ADMIN, pair, {"filter": criteria, "limit": 1})
        assert (await objects.find(ADMIN, pair, query)).total == len(numbers), criteria
        groups = await permits.groups("permit", filter=criteria, metrics={"n": "count"})
        assert [group["n"] for group in groups] == [len(numbers)], criteria


BACKWARD: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("company", {"staff.city": "Delft"}, ["Acme"]),
    ("company", {"staff.permit_applicant.status": "closed"}, ["Acme"]),
    ("company", {"staff": {"exists": False}}, []),
    ("person", {"permit_applicant.status": "open"}, ["Ada", "Bob"]),
    ("person", {"permit_applicant": {"status": "open", "fee": {"gt": 6}}}, ["Bob"]),
    ("person", {"permit_applicant.status": "open", "permit_applicant.fee": {"gt": 6}}, ["Ada", "Bob"]),
    ("person", {"permit_applicant": {"exists": False}}, ["Cas", "Dee"]),
    ("person", {"permit_applicant": None}, ["Cas", "Dee"]),
    ("person", {"permit_applicant": {"eq": []}}, ["Cas", "Dee"]),
    ("person", {"permit_applicant.status": {"ne": "open"}}, ["Cas", "Dee"]),
    ("person", {"permit_witnesses.status": "open", "city": "Delft"}, ["Ada", "Cas"]),
    ("person", {"permit_lines_who.fee": 11}, ["Bob"]),
    ("permit", {"inspections.score": {"gt": 2}}, ["P-1", "P-3"]),
    ("permit", {"inspection.score": 8}, ["P-3"]),
    ("permit", {"inspection_permit": {"exists": False}}, ["P-2", "P-4"]),
    ("permit", {"inspections": {"exists": False}, "applicant.city": "Delft"}, ["P-2"]),
    ("inspection", {"permit.applicant.employer.name": "Acme"}, [1, 3, 8]),
    ("inspection", {"permit.applicant.permit_applicant.status": "closed"}, [1, 3]),
]


@pytest.mark.requirement("registers:relations:filter")
async def test_a_filter_passes_back_to_what_refers_here(permits: Permits):
    for schema, criteria, names in BACKWARD:
        assert await permits.find(schema, filter=criteria) == names, criteria


async def test_related_objects_are_named_by_uuid_too(permits: Permits):
    assert await permits.find("person", filter={"permit_applicant": permits.uuid("P-3")}) == ["Bob"]
    wanted = {"in": [permits.uuid("P-1"), permits.uuid("P-3")]}
    assert await permits.find("person", filter={"permit_applicant": wanted}) == ["Ada", "Bob"]
    assert await permits.find("company", filter={"staff": {"contains": permits.uuid("Ada")}}) == ["Acme"]
    assert await permits.find("permit", filter={"applicant": permits.uuid("Ada")}) == ["P-1", "P-2"]


REFUSED: list[tuple[str, str, str]] = [
    ("permit", "applicant.cty", "Did you mean 'applicant.city'?"),
    ("permit", "applicant.employer.nam", "Did you mean 'applicant.employer.name'?"),
    ("permit", "kind.foo", "The schema has no property 'kind.foo'."),
    ("permit", "fee.foo", "The schema has no property 'fee.foo'."),
    ("permit", "number.foo", "The schema has no property 'number.foo'."),
    ("permit", "witnesses.cty", "Did you mean 'witnesses.city'?"),
    ("permit", "inspectons.score", "Did you mean 'inspections.score'?"),
    ("person", "permits.status", "has no property 'permits.status'"),
    ("inspection", "permit.applicant.employer.staff.name", "passes through more than 3 references"),
    ("permit", "applicant.@self.nme", "There is no metadata"),
]


@pytest.mark.requirement("registers:relations:misspelt")
async def test_an_unknown_path_is_refused_with_the_nearest_name(permits: Permits):
    for schema, name, text in REFUSED:
        asked: list[dict[str, Any]] = [{"filter": {name: "x"}}, {"sort": [name]}, {"facets": [name]}]
        for query in asked:
            with pytest.raises(InvalidInput) as refused:
                await permits.find(schema, **query)
            assert text in refused.value.message
        with pytest.raises(InvalidInput):
            await permits.groups(schema, group_by=[name])


async def test_a_name_that_several_properties_share_is_refused_with_the_longer_ones(permits: Permits):
    with pytest.raises(InvalidInput) as refused:
        await permits.find("person", filter={"permit": {"exists": False}})
    assert {"permit_applicant", "permit_witnesses", "permit_lines_who"} <= set(refused.value.details["properties"])


@pytest.mark.requirement("registers:relations:sort")
async def test_sorting_passes_through_single_references(permits: Permits):
    assert await permits.find("permit", sort=["applicant.city", "-fee"]) == ["P-2", "P-1", "P-3", "P-4"]
    assert await permits.find("permit", sort=["-applicant.city", "fee"]) == ["P-3", "P-1", "P-2", "P-4"]
    assert await permits.find("inspection", sort=["-permit.applicant.income", "score"]) == [8, 1, 3]
    assert await permits.find("permit", sort=["applicant.born"], filter={"applicant.born": {"lt": "1985"}}) == [
        "P-1",
        "P-2",
    ]
    with pytest.raises(InvalidInput) as refused:
        await permits.find("person", sort=["permit_applicant.fee"])
    assert "several related objects" in refused.value.message


async def test_cursors_go_on_through_a_sort_by_a_related_value(permits: Permits):
    objects, pair = permits.registers.objects, permits.pairs["permit"]
    query: dict[str, Any] = {"sort": ["applicant.city"], "limit": 1, "filter": {"applicant.income": {"gte": 0}}}
    seen: list[str] = []
    while True:
        found = await objects.find(ADMIN, pair, await objects.query_of(ADMIN, pair, query))
        seen += [row[1] for row in found.rows]
        if found.cursor is None:
            break
        query["cursor"] = found.cursor
    assert seen == [permits.uuid(one) for one in ("P-1", "P-2", "P-3")]


@pytest.mark.requirement("registers:relations:facets")
async def test_facets_count_values_of_related_objects_once_for_each_object(permits: Permits):
    assert await permits.facets("permit", "applicant.city", "witnesses.city") == {
        "applicant.city": {"Delft": 2, "Leiden": 1},
        "witnesses.city": {"Delft": 2, "Leiden": 2},
    }
    assert await permits.facets("person", "permit_applicant.status", "permit_applicant.inspections.score") == {
        "permit_applicant.status": {"open": 2, "closed": 1},
        "permit_applicant.inspections.score": {1: 1, 3: 1, 8: 1},
    }


@pytest.mark.requirement("registers:relations:figures")
async def test_groups_pass_through_references(permits: Permits):
    metrics = {"n": "count", "fees": {"sum": "fee"}, "income": {"max": "applicant.income"}}
    assert await permits.groups("permit", group_by=["applicant.city"], metrics=metrics) == [
        {"applicant.city": "Delft", "n": 2, "fees": 12, "income": 10},
        {"applicant.city": "Leiden", "n": 1, "fees": 11, "income": 20},
        {"applicant.city": None, "n": 1, "fees": 1, "income": None},
    ]
    by = [{"path": "applicant.born", "by": "year"}]
    assert await permits.groups("permit", group_by=by, filter={"applicant.city": {"exists": True}}) == [
        {"applicant.born": "1980", "count": 2},
        {"applicant.born": "1990", "count": 1},
    ]


@pytest.mark.requirement("registers:relations:figures")
async def test_several_related_objects_do_not_multiply_the_other_figures(permits: Permits):
    metrics = {
        "n": "count", "income": {"sum": "income"}, "fees": {"sum": "permit_applicant.fee"},
        "mean": {"avg": "permit_applicant.fee"}, "permits": {"count": "permit_applicant"},
        "seen": {"count": "permit_witnesses"}, "kinds": {"distinct": "permit_witnesses.status"},
        "first": {"min": "permit_applicant.status"}, "lines": {"count": "permit_lines_who.number"},
        "score": {"max": "permit_applicant.inspections.score"},
    }  # fmt: skip
    assert await permits.groups("person", group_by=["city"], metrics=metrics) == [
        {
            "city": "Delft", "n": 2, "income": 40, "fees": 12, "mean": 6, "permits": 2, "seen": 3, "kinds": 1,
            "first": "closed", "lines": 3, "score": 3,
        },
        {
            "city": "Leiden", "n": 1, "income": 20, "fees": 11, "mean": 11, "permits": 1, "seen": 2, "kinds": 1,
            "first": "open", "lines": 2, "score": 8,
        },
        {
            "city": None, "n": 1, "income": 40, "fees": None, "mean": None, "permits": 0, "seen": 0, "kinds": 0,
            "first": None, "lines": 0, "score": None,
        },
    ]  # fmt: skip
    forward = {"n": "count", "incomes": {"sum": "witnesses.income"}, "who": {"distinct": "lines.who.city"}}
    assert await permits.groups("permit", metrics=forward) == [{"n": 4, "incomes": 110, "who": 2}]


@pytest.mark.requirement("registers:relations:figures")
async def test_an_object_is_in_each_group_of_its_related_objects_once(permits: Permits):
    metrics = {"n": "count", "income": {"sum": "income"}}
    assert await permits.groups("person", group_by=["permit_applicant.status"], metrics=metrics) == [
        {"permit_applicant.status": "closed", "n": 1, "income": 10},
        {"permit_applicant.status": "open", "n": 2, "income": 30},
        {"permit_applicant.status": None, "n": 2, "income": 70},
    ]
    with pytest.raises(InvalidInput) as refused:
        await permits.groups(
            "person", group_by=["permit_applicant.status"], metrics={"fees": {"sum": "permit_applicant.fee"}}
        )
    assert "related schema itself" in (refused.value.hint or "")


@pytest.mark.requirement("registers:relations:past")
async def test_the_past_of_related_objects_is_asked_with_that_of_the_objects(permits: Permits, clock: TurnedClock):
    objects = permits.registers.objects
    then = max(one.updated_at for one in permits.made.values()) + 0.0005
    clock.ahead += 1
    await objects.write(ADMIN, permits.pairs["person"], Operation("patch", {"city": "Gouda"}, permits.uuid("Ada")))
    await objects.write(
        ADMIN, permits.pairs["permit"], Operation("patch", {"applicant": permits.uuid("Ada")}, permits.uuid("P-4"))
    )
    await objects.delete(ADMIN, permits.pairs["permit"], permits.uuid("P-2"))
    now = {"applicant.city": "Gouda"}
    assert await permits.find("permit", filter=now) == ["P-1", "P-4"]
    assert await permits.find("permit", filter=now, as_of=then) == []
    assert await permits.find("permit", filter={"applicant.city": "Delft"}, as_of=then) == ["P-1", "P-2"]
    assert await permits.find("person", filter={"permit_applicant.number": "P-2"}, as_of=then) == ["Ada"]
    assert await permits.find("person", filter={"permit_applicant.number": "P-2"}) == []
    assert await permits.find("person", filter={"permit_witnesses.fee": 5}, as_of=then) == ["Bob", "Cas"]
    grouped = await permits.groups("permit", group_by=["applicant.city"], as_of=then)
    assert grouped == [
        {"applicant.city": "Delft", "count": 2},
        {"applicant.city": "Leiden", "count": 1},
        {"applicant.city": None, "count": 1},
    ]
    with pytest.raises(InvalidInput) as refused:
        await permits.find("person", filter={"permit_lines_who.fee": 5}, as_of=then)
    assert "known of the present only" in refused.value.message


async def test_deleted_objects_are_related_to_nothing(permits: Permits):
    objects = permits.registers.objects
    await objects.delete(ADMIN, permits.pairs["person"], permits.uuid("Ada"))
    assert await permits.find("permit", filter={"applicant.city": "Delft"}) == []
    assert await permits.find("company", filter={"staff.city": "Delft"}) == []


async def test_words_and_relations_are_asked_together(permits: Permits):
    assert await permits.find("permit", search="open", filter={"applicant.city": "Delft"}) == ["P-1"]
    assert await permits.find("permit", search="open", sort=["-applicant.city", "number"]) == ["P-3", "P-1", "P-4"]


@pytest.mark.requirement("registers:relations:addresses")
async def test_a_reference_is_kept_as_a_uuid_however_it_is_written(permits: Permits):
    objects, pair, ada = permits.registers.objects, permits.pairs["permit"], permits.made["Ada"]
    for number, written in enumerate((ada.uri, ada.uuid.upper())):
        made = await objects.create(
            ADMIN, pair, {"number": f"X-{number}", "applicant": written, "witnesses": [written]}
        )
        assert (made.data["applicant"], made.data["witnesses"]) == (ada.uuid, [ada.uuid])
    wanted = {"applicant.name": "Ada", "witnesses.name": "Ada"}
    assert await permits.find("permit", filter=wanted) == ["X-0", "X-1"]


async def test_fields_show_own_properties_alone(permits: Permits):
    with pytest.raises(InvalidInput) as refused:
        await permits.find("permit", fields=["applicant.city"])
    assert "extend" in (refused.value.hint or "")
    assert await permits.find("company", fields=["name", "staff"]) == ["Acme"]


async def test_objects_that_are_embedded_in_place_of_a_reference_are_asked_as_well(registers: Registers):
    catalogue, objects = registers.catalogue, registers.objects
    await catalogue.schemas.create(
        ADMIN, {"title": "Place", "slug": "place", "properties": {"city": {"type": "string"}}}
    )
    properties = {"n": {"type": "integer"}, "at": {"type": "object", "$ref": "place"}}
    await catalogue.schemas.create(ADMIN, {"title": "Event", "slug": "event", "properties": properties})
    await catalogue.registers.create(ADMIN, {"title": "R", "slug": "r", "schemas": ["place", "event"]})
    place, event = await catalogue.pair(ADMIN, "r", "place"), await catalogue.pair(ADMIN, "r", "event")
    far = await objects.create(ADMIN, place, {"city": "Delft"})
    await objects.create(ADMIN, event, {"n": 1, "at": far.uuid})
    await objects.create(ADMIN, event, {"n": 2, "at": {"city": "Delft"}})
    await objects.create(ADMIN, event, {"n": 3, "at": {"city": "Leiden"}})
    query = await objects.query_of(ADMIN, event, {"filter": {"at.city": "Delft"}})
    assert (await objects.find(ADMIN, event, query)).total == 2
