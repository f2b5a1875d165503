"""Reading the past takes today's rights and those of the moment, whichever is stricter, over both stores."""

import time
from typing import Any

import pytest

from pentad.kernel.errors import NotFound, PentadError
from pentad.rooms.registers.models import Caller, Operation, Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.models import AggregateQuery, AsOf, Compare, Metric, Query, Sort, Terms
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN, WRITER
from tests.waiting import until_true

pytestmark = pytest.mark.anyio

OPEN: dict[str, Any] = {"group": "writer", "match": {"status": "open"}}
CASE: dict[str, Any] = {"status": {"type": "string"}, "code": {"type": "string"}, "fee": {"type": "integer"}}
READ_OPEN: dict[str, Any] = {"read": [OPEN], "update": ["writer"], "create": ["writer"], "delete": ["writer"]}


async def cases(registers: Registers, **properties: Any) -> Pair:
    return await pair_of(registers, "case", {**CASE, **properties}, authorization=READ_OPEN)


async def closed_case(registers: Registers, pair: Pair) -> tuple[StoredObject, StoredObject]:
    """A case as it was while it was open, and as it is."""
    made = await registers.objects.create(ADMIN, pair, {"status": "open", "code": "A-1", "fee": 7})
    return made, await registers.objects.replace(ADMIN, pair, made.uuid, {"status": "shut", "code": "A-1", "fee": 8})


async def refusal(work: Any) -> dict[str, Any]:
    with pytest.raises(PentadError) as refused:
        await work
    return refused.value.as_json()


@pytest.mark.requirement("registers:access:past-today")
async def test_an_object_that_became_unreadable_cannot_be_read_as_of_then(registers: Registers):
    pair = await cases(registers)
    made, _ = await closed_case(registers, pair)
    absent = "00000000-0000-7000-8000-000000000009"
    then = AsOf(at=made.updated_at)
    assert (await registers.objects.get(ADMIN, pair, made.uuid, as_of=then)).data["fee"] == 7
    hidden = await refusal(registers.objects.get(WRITER, pair, made.uuid, as_of=then))
    missing = await refusal(registers.objects.get(WRITER, pair, absent, as_of=then))
    assert str(hidden).replace(made.uuid, absent) == str(missing)
    assert await registers.objects.related(WRITER, [made.uuid], as_of=then) == {}


@pytest.mark.requirement("registers:access:past-today")
async def test_an_object_that_became_unreadable_is_in_no_list_count_facet_or_figure_of_then(registers: Registers):
    pair = await cases(registers)
    made, _ = await closed_case(registers, pair)
    then = AsOf(at=made.updated_at)
    queries = (
        Query(as_of=then, facets=(Terms("code", ("code",), "text"),)),
        Query(as_of=then, limit=0),
        Query(as_of=then, filter=Compare(("code",), "eq", "A-1")),
        Query(as_of=AsOf(at=made.updated_at), sort=(Sort(("fee",), "number"),)),
    )
    for caller, expected in ((ADMIN, 1), (WRITER, 0)):
        for asked in queries:
            found = await registers.objects.find(caller, pair, asked)
            assert found.total == expected
            assert len(found.rows) == (expected if asked.limit else 0)
            assert [len(facet["buckets"]) for facet in found.facets.values()] == ([expected] if asked.facets else [])
        assert (await registers.objects.find(caller, None, Query(as_of=then))).total == expected
        figures = await registers.objects.aggregate(
            caller, pair, AggregateQuery(metrics=(Metric("n", "count"), Metric("fees", "sum", ("fee",))), as_of=then)
        )
        assert [group["n"] for group in figures.groups] == [expected]
        exported = [part async for part in registers.transfer.export(caller, pair, "jsonl", {"as_of": then.at})]
        assert (b"A-1" in b"".join(exported)) is bool(expected)


@pytest.mark.requirement("registers:access:past-today")
async def test_a_deleted_object_is_judged_by_its_last_version(registers: Registers):
    pair = await cases(registers)
    seen = await registers.objects.create(ADMIN, pair, {"status": "open", "code": "S"})
    unseen, _ = await closed_case(registers, pair)
    then = AsOf(at=unseen.updated_at)
    await until_true(lambda: time.time() > unseen.updated_at + 0.001)  # times have milliseconds
    for one in (seen, unseen):
        await registers.objects.delete(ADMIN, pair, one.uuid)
    assert (await registers.objects.get(WRITER, pair, seen.uuid, as_of=then)).data["code"] == "S"
    found = await registers.objects.find(WRITER, pair, Query(as_of=then))
    assert [row[1] for row in found.rows] == [seen.uuid]
    assert found.total == 1
    with pytest.raises(NotFound):
        await registers.objects.get(WRITER, pair, unseen.uuid, as_of=then)


@pytest.mark.requirement("registers:access:past-today")
async def test_authorization_that_was_taken_away_is_taken_away_for_the_past_too(registers: Registers):
    pair = await pair_of(registers, "case", CASE)
    made = await registers.objects.create(ADMIN, pair, {"status": "open", "code": "A-1"})
    await registers.objects.replace(ADMIN, pair, made.uuid, {"status": "shut", "code": "A-1"})
    then = AsOf(at=made.updated_at)
    assert (await registers.objects.find(WRITER, pair, Query(as_of=then))).total == 1
    await registers.catalogue.schemas.update(ADMIN, "case", {"authorization": READ_OPEN})
    pair = await registers.catalogue.pair(ADMIN, "library", "case")
    assert (await registers.objects.find(WRITER, pair, Query(as_of=then))).total == 0
    with pytest.raises(NotFound):
        await registers.objects.get(WRITER, pair, made.uuid, as_of=then)


@pytest.mark.requirement("registers:access:past-properties")
async def test_a_property_that_is_hidden_now_or_was_then_is_hidden_in_the_old_version(registers: Registers):
    guarded = {"type": "integer", "authorization": {"read": [{"group": "writer", "match": {"stage": "public"}}]}}
    pair = await pair_of(registers, "offer", {"stage": {"type": "string"}, "price": guarded})
    made = await registers.objects.create(ADMIN, pair, {"stage": "draft", "price": 1})
    public = await registers.objects.replace(ADMIN, pair, made.uuid, {"stage": "public", "price": 2})
    again = await registers.objects.replace(ADMIN, pair, made.uuid, {"stage": "public", "price": 3})
    last = await registers.objects.replace(ADMIN, pair, made.uuid, {"stage": "draft", "price": 4})

    async def prices(caller: Caller) -> list[Any]:
        told: list[Any] = []
        for state in (made, public, again, last):
            then = AsOf(at=state.updated_at)
            one = await registers.objects.get(caller, pair, made.uuid, as_of=then)
            [row] = (await registers.objects.find(caller, pair, Query(as_of=then))).rows
            [found] = (await registers.objects.related(caller, [made.uuid], as_of=then)).values()
            shows = [present(registers.access, caller, pair, each) for each in (one, StoredObject(*row), found[1])]
            assert shows[0] == shows[1] == shows[2]
            told.append(shows[0].get("price"))
        return told

    assert await prices(ADMIN) == [1, 2, 3, 4]
    assert await prices(WRITER) == [None, None, None, None]
    await registers.objects.replace(ADMIN, pair, made.uuid, {"stage": "public", "price": 5})
    assert await prices(WRITER) == [None, 2, 3, None]


@pytest.mark.requirement("registers:access:past-entries")
async def test_history_feed_and_count_leave_out_what_was_not_the_callers_to_see(registers: Registers):
    pair = await cases(registers)
    made = await registers.objects.create(ADMIN, pair, {"status": "draft"})
    for status in ("open", "shut", "open"):
        await registers.objects.replace(ADMIN, pair, made.uuid, {"status": status})
    await registers.objects.lock(ADMIN, pair, made.uuid)
    await registers.objects.unlock(ADMIN, pair, made.uuid)

    async def told(caller: Caller) -> list[int]:
        history = await registers.history.of(caller, pair, made.uuid)
        feed, _ = await registers.history.feed(caller, schema=pair.schema.id)
        assert [one.seq for one in history] == [one.seq for one in reversed(feed)]
        assert await registers.history.count(caller, pair, made.uuid) == len(history)
        first = await registers.history.of(caller, pair, made.uuid, limit=2)
        rest = await registers.history.of(caller, pair, made.uuid, before=first[-1].seq)
        assert [*first, *rest] == history
        return [one.version for one in reversed(history)]

    assert await told(ADMIN) == [1, 2, 3, 4, 4, 4]
    assert await told(WRITER) == [2, 4, 4, 4]
    every = await registers.history.of(ADMIN, pair, made.uuid)
    hidden = next(one.seq for one in every if one.version == 3)
    entry = await refusal(registers.history.entry(WRITER, hidden))
    assert str(entry).replace(str(hidden), "99999") == str(await refusal(registers.history.entry(WRITER, 99999)))
    as_of = await refusal(registers.objects.get(WRITER, pair, made.uuid, as_of=AsOf(change=hidden)))
    none = await refusal(registers.objects.get(WRITER, pair, made.uuid, as_of=AsOf(change=99999)))
    assert str(as_of).replace(str(hidden), "99999") == str(none)
    with pytest.raises(NotFound):
        await registers.objects.find(WRITER, pair, Query(as_of=AsOf(change=hidden)))
    with pytest.raises(NotFound):
        await registers.history.revert(WRITER, pair, made.uuid, change=hidden)


@pytest.mark.requirement("registers:access:past-entries")
async def test_a_deletion_that_was_hidden_is_a_version_that_does_not_exist(registers: Registers):
    pair = await cases(registers)
    made = await registers.objects.create(ADMIN, pair, {"status": "shut"})
    await registers.objects.delete(ADMIN, pair, made.uuid)
    await registers.objects.restore(ADMIN, pair, made.uuid)
    await registers.objects.replace(ADMIN, pair, made.uuid, {"status": "open"})
    hidden = await refusal(registers.history.diff(WRITER, pair, made.uuid, 2))
    absent = await refusal(registers.history.diff(WRITER, pair, made.uuid, 99))
    assert str(hidden).replace("version 2 ", "version 99 ") == str(absent)


@pytest.mark.requirement("registers:access:hashes")
async def test_hashes_that_cover_what_is_hidden_are_not_told(registers: Registers):
    secret = {"type": "integer", "authorization": {"read": ["admin"]}}
    pair = await pair_of(registers, "person", {"name": {"type": "string"}, "salary": secret})
    made = await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5000})
    for caller, told in ((ADMIN, True), (WRITER, False)):
        [entry] = await registers.history.of(caller, pair, made.uuid)
        [change], _ = await registers.history.feed(caller, schema=pair.schema.id)
        verdict = await registers.history.verify(caller, pair, made.uuid)
        assert verdict.valid
        assert [("hash" in one.wire()) for one in (entry, change)] == [told, told]
        assert ("head" in verdict.wire()) is told
    plain = await pair_of(registers, "note", {"name": {"type": "string"}})
    note = await registers.objects.create(ADMIN, plain, {"name": "open"})
    assert (await registers.history.verify(WRITER, plain, note.uuid)).wire()["head"]


@pytest.mark.requirement("registers:access:past-plans")
async def test_a_plan_shows_nothing_of_an_object_that_became_unreadable(registers: Registers):
    pair = await cases(registers)
    made = await registers.objects.create(ADMIN, pair, {"status": "open", "code": "A-1"})
    plan = await registers.plans.make(WRITER, pair, [Operation("update", {"status": "open"}, made.uuid)])
    assert "A-1" in str(plan.preview)  # the old value, as long as the case is open
    plan = await registers.plans.make(WRITER, pair, [Operation("patch", {"code": "B-2"}, made.uuid)])
    assert "B-2" in str((await registers.plans.get(WRITER, plan.id)).preview)
    gone = await registers.objects.create(WRITER, pair, {"status": "open", "code": "C-3"})
    other = await registers.plans.make(WRITER, pair, [Operation("patch", {"code": "B-2"}, gone.uuid)])
    await registers.objects.replace(ADMIN, pair, made.uuid, {"status": "shut", "code": "A-1"})
    await registers.objects.delete(WRITER, pair, gone.uuid)
    await registers.objects.purge(WRITER, pair, gone.uuid)
    texts = [str((await registers.plans.get(WRITER, one.id)).preview) for one in (plan, other)]
    assert "B-2" not in texts[0]
    assert "A-1" not in texts[0]
    assert texts[0].replace(made.uuid, gone.uuid) == texts[1]
    refused = [await refusal(registers.plans.commit(WRITER, one.id)) for one in (plan, other)]
    assert str(refused[0]).replace(made.uuid, gone.uuid) == str(refused[1])


@pytest.mark.requirement("registers:access:past-plans")
async def test_a_plan_does_not_name_hidden_objects_it_changes_along_and_can_still_be_undone(registers: Registers):
    authors = await pair_of(registers, "author", {"name": {"type": "string"}})
    secret = {"read": ["admin"], "create": ["admin"]}
    books = await pair_of(registers, "book", {"author": reference("author", "SET_NULL")}, authorization=secret)
    author = await registers.objects.create(WRITER, authors, {"name": "Ada"})
    book = await registers.objects.create(ADMIN, books, {"author": author.uuid})
    report = await registers.objects.can_delete(WRITER, authors, author.uuid)
    assert report.wire() == {
        "deletable": True, "blockers": [], "cascadeTargets": [], "nullifyTargets": [], "defaultTargets": [],
    }  # fmt: skip
    plan = await registers.plans.make(WRITER, authors, [Operation("delete", None, author.uuid)])
    assert book.uuid not in str(plan.wire())
    await registers.objects.replace(ADMIN, books, book.uuid, {"author": author.uuid, "x": 1})
    await registers.plans.commit(WRITER, plan.id)
    assert (await registers.objects.get(ADMIN, books, book.uuid)).data.get("author") is None
    undone = await registers.plans.undo(WRITER, plan.id)
    assert book.uuid not in str(undone.wire())
    assert (await registers.objects.get(ADMIN, books, book.uuid)).data["author"] == author.uuid


@pytest.mark.requirement("registers:access:past-answers")
async def test_a_repeated_request_does_not_show_what_became_unreadable(registers: Registers):
    pair = await cases(registers)
    shut = await registers.objects.create(WRITER, pair, {"status": "open"}, idempotency_key="mine")
    own = await registers.objects.create(WRITER, pair, {"status": "open"}, idempotency_key="mine")
    assert own.uuid == shut.uuid, "an owner keeps every right"
    made = await registers.objects.create(ADMIN, pair, {"status": "open", "fee": 7})

    async def patch() -> StoredObject:
        return await registers.objects.write(WRITER, pair, Operation("patch", {"code": "B"}, made.uuid), "k")

    assert (await patch()).data == (await patch()).data == {"status": "open", "fee": 7, "code": "B"}
    await registers.objects.replace(ADMIN, pair, made.uuid, {"status": "shut"})
    assert (await refusal(patch()))["code"] == "not_found"


@pytest.mark.requirement("registers:history:changed")
async def test_what_changed_is_told_as_far_as_both_states_may_be_read(registers: Registers):
    secret = {"type": "integer", "authorization": {"read": ["admin"]}}
    pair = await cases(registers, salary=secret)
    made = await registers.objects.create(ADMIN, pair, {"status": "open", "fee": 1, "salary": 5})
    for data in (
        {"status": "shut", "fee": 2, "salary": 6},
        {"status": "open", "fee": 3, "salary": 7},
        {"status": "open", "fee": 4, "salary": 8},
    ):
        await registers.objects.replace(ADMIN, pair, made.uuid, data)

    async def told(caller: Caller) -> list[dict[int, Any]]:
        history = await registers.history.of(caller, pair, made.uuid)
        feed, _ = await registers.history.feed(caller, schema=pair.schema.id)
        entries = [await registers.history.entry(caller, one.seq) for one in history]
        return [{one.version: one.wire().get("changed") for one in found} for found in (history, feed, entries)]

    for seen in await told(ADMIN):
        assert seen[3] == {
            "status": {"old": "shut", "new": "open"}, "fee": {"old": 2, "new": 3}, "salary": {"old": 6, "new": 7},
        }  # fmt: skip
    for seen in await told(WRITER):
        # the second state was not the writer's to see, so what the third replaced is not either
        assert seen == {
            1: {"status": {"old": None, "new": "open"}, "fee": {"old": None, "new": 1}},
            3: None,
            4: {"fee": {"old": 3, "new": 4}},
        }


@pytest.mark.requirement("registers:access:past-names")
@pytest.mark.parametrize(
    "operation", [{"op": "rename", "property": "salary", "to": "pay"}, {"op": "drop", "property": "salary"}]
)
async def test_a_protected_property_stays_hidden_in_the_past_after_it_is_renamed_or_dropped(
    registers: Registers, operation: dict[str, Any]
):
    salary = {"type": "integer", "authorization": {"read": ["admin"]}}
    pair = await pair_of(registers, "worker", {"name": {"type": "string"}, "salary": salary})
    made = await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 4_711_000_007})
    await changed(registers, pair, [operation])
    pair = await registers.catalogue.pair(ADMIN, pair.register.id, pair.schema.id)
    await registers.objects.write(ADMIN, pair, Operation("patch", {"name": "Ada L."}, made.uuid))
    then = AsOf(at=made.updated_at)
    assert (await registers.objects.get(ADMIN, pair, made.uuid, as_of=then)).data["salary"] == 4_711_000_007
    shown = await registers.objects.get(WRITER, pair, made.uuid, as_of=then)
    assert present(registers.access, WRITER, pair, shown)["name"] == "Ada"
    assert "4711000007" not in str(present(registers.access, WRITER, pair, shown))
    history = await registers.history.of(WRITER, pair, made.uuid)
    assert history
    assert "4711000007" not in str([one.changed for one in history])
    with pytest.raises(PentadError):
        await registers.objects.query_of(WRITER, pair, {"filter": {"salary": 4_711_000_007}, "as_of": made.updated_at})
    undone = await registers.catalogue.schemas.undo(ADMIN, pair.schema.id)
    assert "salary" not in undone.past_rules


async def changed(registers: Registers, pair: Pair, operations: list[dict[str, Any]]) -> None:
    try:
        await registers.catalogue.schemas.patch(ADMIN, pair.schema.id, operations)
    except PentadError as error:
        confirm = error.details["confirm"]
        await registers.catalogue.schemas.patch(ADMIN, pair.schema.id, operations, confirm=confirm)
