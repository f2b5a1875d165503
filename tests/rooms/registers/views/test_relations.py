"""Columns through references and rollups over relations, on both stores, with the viewer's rights."""

import asyncio
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.ports import Rows
from pentad.rooms.registers.catalogue.schema_change import SchemaChange
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.views.columns import MOST_RELATED
from tests.rooms.registers.definitions.making import compiled
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER
from tests.rooms.registers.views.offices import INSPECTION, PERMIT, PERSON, Office, fill, open_office

pytestmark = pytest.mark.anyio


@pytest.fixture
async def office(registers: Registers) -> Office:
    return await open_office(registers)


@pytest.mark.requirement("registers:views:relations")
async def test_a_column_passes_through_references(office: Office) -> None:
    made = await fill(office)
    await office.make("permit", number="P-5")
    columns = [
        "number", "applicant.city", {"name": "Tags", "path": "applicant.tags"},
        {"name": "Income", "path": "applicant.income"}, "applicant",
        {"name": "Known", "path": "applicant.@self.version"},
    ]  # fmt: skip
    rows = await office.rows("permit", columns, sort=["-number"])
    assert rows[0] == {
        "number": "P-5", "applicant.city": None, "Tags": None, "Income": None, "applicant": None,
        "Known": None,
    }  # fmt: skip
    assert rows[1] == {
        "number": "P-4", "applicant.city": "Leiden", "Tags": ["bob"], "Income": 50, "applicant": made["Bob"],
        "Known": 1,
    }  # fmt: skip
    columns = ["score", "permit.applicant.name", "permit.urgent", "inspectors.1.name", "inspectors.2.name"]
    deep = await office.rows("inspection", columns, sort=["score"])
    assert deep[0] == {
        "score": 3, "permit.applicant.name": "Ada", "permit.urgent": False, "inspectors.1.name": "Eve",
        "inspectors.2.name": None,
    }  # fmt: skip


@pytest.mark.requirement("registers:views:relations")
async def test_rollups_are_figures_over_related_objects(office: Office) -> None:
    await fill(office)
    columns: list[Any] = [
        "name",
        {"count": "permits"},
        {"name": "Open", "count": "permits", "filter": {"status": "open"}},
        {"name": "Fees", "sum": "permits.fee"},
        {"name": "Mean", "avg": "permits.fee"},
        {"name": "First", "min": "permits.decided"},
        {"name": "Last", "max": "permits.at"},
        {"name": "Decision", "latest": "permits.status", "by": "decided"},
        {"name": "Newest", "latest": "permits.number"},
        {"name": "Best", "max": "permits.inspections.score"},
        {"name": "Inspected", "count": "permits", "filter": {"inspections": {"exists": True}}},
        {"name": "Share", "expression": "round(100 * Fees / income)"},
    ]
    ada, bob, eve = await office.rows("person", columns, sort=["name"])
    assert ada == {
        "name": "Ada", "count permits": 3, "Open": 2, "Fees": 35.5, "Mean": 17.75, "First": "2026-01-05",
        "Last": ada["Last"], "Decision": "closed", "Newest": "P-3", "Best": 9, "Inspected": 2, "Share": 36,
    }  # fmt: skip
    assert ada["Last"].startswith("2026-03-01T09:00:00")
    assert (bob["count permits"], bob["Fees"], bob["Best"], bob["Inspected"]) == (1, 7, None, 0)
    assert eve == {
        "name": "Eve", "count permits": 0, "Open": 0, "Fees": 0, "Mean": None, "First": None, "Last": None,
        "Decision": None, "Newest": None, "Best": None, "Inspected": 0, "Share": 0,
    }  # fmt: skip


@pytest.mark.requirement("registers:views:relations")
async def test_of_objects_made_at_the_same_time_the_last_one_is_the_latest(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pentad.rooms.registers.objects.service.current_time", lambda _: 1_780_000_000.0)
    ada = await office.make("person", name="Ada")
    for number in range(12):
        await office.make("permit", number=f"P-{number}", applicant=ada)
    [row] = await office.rows("person", [{"name": "Newest", "latest": "permits.number"}])
    assert row == {"Newest": "P-11"}


@pytest.mark.requirement("registers:views:relations")
async def test_rollups_go_forward_through_lists_and_count_each_object_once(office: Office) -> None:
    made = await fill(office)
    await office.make("inspection", score=1, inspectors=[made["Eve"], made["Eve"]])
    columns: list[Any] = ["score", {"name": "n", "count": "inspectors"}, {"name": "Sum", "sum": "inspectors.income"}]
    first, second, *_ = await office.rows("inspection", columns, sort=["score"])
    assert (first["n"], first["Sum"], second["n"], second["Sum"]) == (1, 70, 2, 120)
    assert await office.rows("inspection", [{"count": "permit"}], filter={"score": 1}) == [{"count permit": 0}]
    assert await office.rows("inspection", [{"count": "permit"}], filter={"score": 3}) == [{"count permit": 1}]
    by_person = await office.rows("person", ["name", {"name": "n", "count": "inspections"}], sort=["name"])
    assert [row["n"] for row in by_person] == [0, 3, 4]


@pytest.mark.requirement("registers:views:checked")
@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("permits.fee", "several objects"),
        ({"count": "premits"}, "permits"),
        ({"sum": "permits.status"}, "needs numbers"),
        ({"max": "permits.urgent"}, "needs numbers"),
        ({"sum": "permits"}, "needs a property"),
        ({"sum": "income"}, "needs a property"),
        ({"latest": "permits"}, "needs a property"),
        ({"count": "permits", "filter": {"statsu": "open"}}, "status"),
        ({"count": "permits", "by": "fee"}, "no member"),
        ({"latest": "permits.fee", "by": "nope"}, "nope"),
        ({"latest": "inspections.score", "by": "inspectors"}, "compared by latest"),
        ({"latest": "permits.fee", "by": 5}, "must be a text"),
        ({"median": "permits.fee"}, "exactly one source"),
        ({"count": "permits.inspections.permit.applicant.permits"}, "more than 3"),
    ],
)
async def test_a_rollup_that_means_nothing_is_refused(office: Office, column: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        await office.rows("person", ["name", column])


async def test_relation_columns_are_bounded_and_of_the_present(office: Office) -> None:
    many = [{"name": str(number), "count": "permits"} for number in range(MOST_RELATED + 1)]
    with pytest.raises(LimitExceeded, match=str(MOST_RELATED)):
        await office.rows("person", many)
    with pytest.raises(InvalidInput, match="present only"):
        await office.rows("person", many[:1], as_of="2026-01-01")


@pytest.mark.requirement("registers:views:cost")
async def test_the_number_of_statements_does_not_grow_with_the_rows(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = [
        "name",
        {"count": "permits"},
        {"name": "Fees", "sum": "permits.fee"},
        {"name": "L", "latest": "permits.at"},
    ]
    view = await office.registers.views.create(ADMIN, office.pairs["person"], "V", {"columns": columns, "limit": 500})
    database = office.registers.platform.database
    task = asyncio.current_task()
    counts: list[int] = []
    plain = type(database).read

    async def read(self: Any, work: Any) -> Any:
        """Counts only what this test reads, not what the watcher of views does meanwhile."""
        mine = asyncio.current_task() is task

        def counted(rows: Rows) -> Any:
            return work(Counting(rows, counts) if mine else rows)

        return await plain(self, counted)

    class Counting:
        def __init__(self, rows: Any, found: list[int]) -> None:
            self._rows, self._found = rows, found

        def __getattr__(self, name: str) -> Any:
            if name in ("all", "one", "value", "stream"):
                self._found.append(1)
            return getattr(self._rows, name)

    async def statements() -> int:
        counts.clear()
        monkeypatch.setattr(type(database), "read", read)
        await office.registers.views.page(ADMIN, view)
        monkeypatch.setattr(type(database), "read", plain)
        return len(counts)

    await fill(office)
    few = await statements()
    for number in range(40):
        person = await office.make("person", name=f"N{number}")
        await office.make("permit", number=f"N-{number}", applicant=person, fee=number)
    assert await statements() < few + 10, "a pair may have to be read again"


# rights


ONLY_ADMINS = {"read": ["admin"], "update": ["admin"]}


async def shared(office: Office, kind: str, columns: list[Any], **query: Any) -> str:
    query = {"columns": columns, **query}
    return (await office.registers.views.create(ADMIN, office.pairs[kind], "Shared", query, shared=True)).id


async def seen(office: Office, view: str, caller: Caller = WRITER) -> list[dict[str, Any]]:
    page = await office.registers.views.run(caller, view)
    return [{name: value for name, value in row.items() if name != "id"} for row in page.rows]


@pytest.mark.requirement("registers:views:rights")
async def test_rollups_count_only_what_the_viewer_may_read(office: Office) -> None:
    await fill(office)
    rule = {"read": ["admin", {"group": "authenticated", "match": {"status": "open"}}]}
    await office.change("permit", authorization=rule)
    columns: list[Any] = [
        "name", {"name": "n", "count": "permits"},
        {"name": "Closed", "count": "permits", "filter": {"status": "closed"}},
        {"name": "Fees", "sum": "permits.fee"}, {"name": "Max", "max": "permits.fee"},
        {"name": "Latest", "latest": "permits.number", "by": "decided"},
        {"name": "Best", "max": "permits.inspections.score"},
        {"name": "Others", "count": "permits", "filter": {"not": {"status": "open"}}},
    ]  # fmt: skip
    view = await shared(office, "person", columns, sort=["name"])
    assert (await seen(office, view, ADMIN))[0] == {
        "name": "Ada", "n": 3, "Closed": 1, "Fees": 35.5, "Max": 25.5, "Latest": "P-2", "Best": 9, "Others": 1,
    }  # fmt: skip
    assert (await seen(office, view))[0] == {
        "name": "Ada", "n": 2, "Closed": 0, "Fees": 10, "Max": 10, "Latest": "P-3", "Best": 5, "Others": 0,
    }  # fmt: skip


@pytest.mark.requirement("registers:views:rights")
async def test_a_hidden_object_is_absent_on_the_far_side(office: Office) -> None:
    await fill(office)
    rule = {"read": ["admin", {"group": "authenticated", "match": {"city": "Leiden"}}]}
    await office.change("person", authorization=rule)
    view = await shared(
        office, "permit", ["number", "applicant.name", {"name": "n", "count": "applicant"}], sort=["number"]
    )
    rows = await seen(office, view)
    assert [(row["applicant.name"], row["n"]) for row in rows] == [(None, 0), (None, 0), (None, 0), ("Bob", 1)]


@pytest.mark.requirement("registers:views:rights")
async def test_a_hidden_property_on_the_far_side_is_in_no_column(office: Office) -> None:
    await fill(office)
    await office.change("permit", properties={**PERMIT, "fee": {"type": "number", "authorization": ONLY_ADMINS}})
    await office.change("person", properties={**PERSON, "income": {"type": "number", "authorization": ONLY_ADMINS}})
    attempts: list[Any] = [
        {"sum": "permits.fee"}, {"max": "permits.fee"}, {"latest": "permits.fee"}, {"count": "permits.fee"},
        {"latest": "permits.status", "by": "fee"}, {"count": "permits", "filter": {"fee": {"gt": 20}}},
        {"count": "permits", "filter": {"applicant.income": {"gt": 20}}}, {"sum": "permits.applicant.income"},
    ]  # fmt: skip
    named = [{**column, "name": str(number)} for number, column in enumerate(attempts)]
    view = await shared(office, "person", ["name", *named])
    page = await office.registers.views.run(WRITER, view)
    assert page.columns == ["name"]
    assert [one["path"] for one in page.problems] == [
        f"/query/columns/{place}" for place in range(1, len(attempts) + 1)
    ]
    told = str(page.problems) + str(await office.registers.views.described(WRITER, page.view))
    assert "fee" not in told.replace(page.view.id, "")
    assert "permits" not in told
    for column in attempts:
        with pytest.raises(InvalidInput):
            await office.rows("person", ["name", column], WRITER)
    permits = await shared(office, "permit", ["number", "applicant.income", {"name": "x", "expression": "fee * 2"}])
    assert (await office.registers.views.run(WRITER, permits)).columns == ["number"]


@pytest.mark.requirement("registers:views:rights")
async def test_a_hidden_schema_is_not_named_by_a_view(office: Office) -> None:
    await fill(office)
    await office.change("permit", authorization={"read": ["admin"]})
    view = await shared(
        office, "person", ["name", {"name": "Secret permits", "count": "permits"}], filter={"permits": {"exists": True}}
    )
    with pytest.raises(InvalidInput, match="cannot be run") as error:
        await office.registers.views.run(WRITER, view)
    stored = await office.registers.views.get(WRITER, view)
    told = str(error.value.details) + str(await office.registers.views.described(WRITER, stored)) + error.value.message
    assert "permit" not in told.lower().replace("shared", "")


@pytest.mark.requirement("registers:views:rights")
async def test_objects_of_other_organisations_are_in_no_rollup(office: Office) -> None:
    registers = office.registers
    made = await fill(office)
    beside = await registers.organisations.create(ADMIN, "beside", "Beside")
    await registers.organisations.add_member(ADMIN, beside.slug, OTHER.principal.id)
    everybody = {"read": ["public"], "create": ["writer"]}
    await office.change("person", authorization=everybody)
    await registers.catalogue.registers.update(ADMIN, "office", {"authorization": everybody})
    office.pairs["person"] = await registers.catalogue.pair(ADMIN, "office", "person")
    pair = await registers.catalogue.pair(OTHER, "office", "person")
    view = await registers.views.create(OTHER, pair, "Theirs", {"columns": ["name"], "sort": ["name"]})
    assert len((await registers.views.run(OTHER, view.id)).rows) == 3
    with pytest.raises(InvalidInput):
        await registers.views.create(OTHER, pair, "Counted", {"columns": [{"count": "permits"}]})
    assert made


# schema changes and followers


@pytest.mark.requirement("registers:views:broken-by")
async def test_a_view_that_reads_a_schema_through_a_relation_is_broken_by_its_change(office: Office) -> None:
    view = await shared(office, "person", ["name", {"name": "Fees", "sum": "permits.fee"}])
    await shared(office, "person", ["name", {"name": "n", "count": "permits"}])
    pair = office.pairs["permit"]
    rest = compiled({name: one for name, one in PERMIT.items() if name != "fee"})

    def broken(caller: Caller, schema: Any, new: Any) -> Any:
        change = SchemaChange(schema.schema, schema.schema)
        return office.registers.platform.database.read(
            lambda rows: list(office.registers.views.broken_by(rows, caller, change, schema.definition, new))
        )

    [one] = await broken(ADMIN, pair, rest)
    assert (one["kind"], one["id"], one["title"]) == ("view", view, "Shared")
    assert one["problems"][0]["path"] == "/query/columns/1"
    assert "fee" in one["because"]
    assert await broken(ADMIN, office.pairs["inspection"], compiled(INSPECTION)) == []


async def test_a_view_knows_the_schemas_it_reads(office: Office) -> None:
    columns = ["name", {"name": "Best", "max": "permits.inspections.score"}]
    view = await office.registers.views.create(ADMIN, office.pairs["person"], "V", {"columns": columns})
    assert view.uses == {office.pairs["permit"].schema.id, office.pairs["inspection"].schema.id}
    assert (await office.registers.views.get(ADMIN, view.id)).uses == view.uses
