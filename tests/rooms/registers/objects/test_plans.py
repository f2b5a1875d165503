"""Plans: what is shown is what happens, or nothing does; and it can be taken back, over both stores."""

import pytest

from pentad.kernel.errors import Conflict, LimitExceeded, NotFound, VersionMismatch
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio


async def state(registers: Registers, pair: Pair) -> dict[str, str]:
    found = await registers.objects.find(ADMIN, pair, Query(limit=1000))
    return {row[1]: row[5] for row in found.rows}


@pytest.mark.requirement("registers:plans:preview")
async def test_a_preview_shows_everything_and_changes_nothing(registers: Registers):
    authors = await pair_of(registers, "author", {"name": {"type": "string"}})
    books = await pair_of(registers, "book", {"author": reference("author", "CASCADE")})
    author = await registers.objects.create(ADMIN, authors, {"name": "A"})
    book = await registers.objects.create(ADMIN, books, {"author": author.uuid})
    before = await state(registers, authors), await state(registers, books)
    plan = await registers.plans.make(
        ADMIN,
        authors,
        [Operation("create", {"name": "N"}), Operation("delete", ref=author.uuid), Operation("create", {"name": 5})],
    )
    created, deleted, failed = plan.preview
    assert created["diff"] == [{"op": "add", "path": "/name", "value": "N"}]
    assert deleted["also"] == [{"uuid": book.uuid, "action": "delete", "schema": books.schema.id}]
    assert failed["error"]["code"] == "invalid_input"
    assert not plan.valid
    assert (await state(registers, authors), await state(registers, books)) == before
    assert (await registers.plans.get(ADMIN, plan.id)).preview == plan.preview
    assert len(await registers.history.of(ADMIN, authors, author.uuid)) == 1


@pytest.mark.requirement("registers:plans:undo")
async def test_a_committed_plan_does_what_was_shown_and_undoing_restores_exactly(registers: Registers, trees: Pair):
    kept = await registers.objects.create(ADMIN, trees, {"number": "T-1", "note": "before", "height": 1})
    gone = await registers.objects.create(ADMIN, trees, {"number": "T-2"})
    before = await state(registers, trees)
    plan = await registers.plans.make(
        ADMIN,
        trees,
        [
            Operation("update", {"number": "T-1", "tags": ["new"]}, kept.uuid),
            Operation("patch", {"note": "again"}, kept.uuid),
            Operation("delete", ref=gone.uuid),
            Operation("create", {"number": "T-2"}),
            Operation("upsert", {"number": "T-3"}, key=("number",)),
        ],
    )
    assert plan.valid
    done = await registers.plans.commit(ADMIN, plan.id)
    assert done.state == "committed"
    assert [row["status"] for row in done.wire()["outcomes"]] == ["updated", "updated", "deleted", "created", "created"]
    assert done.outcomes is not None
    assert [one.uuid for one in done.outcomes] == [row["uuid"] for row in plan.preview]
    assert (await registers.objects.get(ADMIN, trees, kept.uuid)).data == {
        "number": "T-1",
        "tags": ["new"],
        "note": "again",
    }
    with pytest.raises(Conflict, match="committed"):
        await registers.plans.commit(ADMIN, plan.id)
    undone = await registers.plans.undo(ADMIN, plan.id)
    assert undone.state == "undone"
    assert await state(registers, trees) == before
    with pytest.raises(Conflict, match="undone"):
        await registers.plans.undo(ADMIN, plan.id)
    changes = await registers.history.of(ADMIN, trees, kept.uuid)
    assert [(one.action, one.plan) for one in changes] == [
        ("revert", f"undo:{plan.id}"), ("revert", f"undo:{plan.id}"), ("update", plan.id), ("update", plan.id),
        ("create", None),
    ]  # fmt: skip
    assert (await registers.history.verify(ADMIN, trees, kept.uuid)).valid


@pytest.mark.requirement("registers:plans:moved")
async def test_a_plan_fails_when_what_it_saw_has_moved(registers: Registers, trees: Pair):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    plan = await registers.plans.make(ADMIN, trees, [Operation("patch", {"note": "x"}, made.uuid)])
    await registers.objects.write(ADMIN, trees, Operation("patch", {"height": 3}, made.uuid))
    with pytest.raises(VersionMismatch, match="is at version 2"):
        await registers.plans.commit(ADMIN, plan.id)
    assert (await registers.plans.get(ADMIN, plan.id)).state == "open"


@pytest.mark.requirement("registers:plans:reach")
async def test_a_plan_fails_when_it_would_reach_further_than_it_showed(registers: Registers):
    authors = await pair_of(registers, "author", {"name": {"type": "string"}})
    books = await pair_of(registers, "book", {"author": reference("author", "CASCADE")})
    author = await registers.objects.create(ADMIN, authors, {"name": "A"})
    plan = await registers.plans.make(ADMIN, authors, [Operation("delete", ref=author.uuid)])
    book = await registers.objects.create(ADMIN, books, {"author": author.uuid})
    with pytest.raises(VersionMismatch, match="other objects"):
        await registers.plans.commit(ADMIN, plan.id)
    assert (await registers.objects.get(ADMIN, books, book.uuid)).version == 1


async def test_an_invalid_plan_cannot_be_committed(registers: Registers, trees: Pair):
    plan = await registers.plans.make(ADMIN, trees, [Operation("create", {"number": "T-1"}), Operation("create", {})])
    with pytest.raises(Exception, match="1 of 2 rows failed"):
        await registers.plans.commit(ADMIN, plan.id)
    assert await state(registers, trees) == {}


async def test_undoing_is_refused_after_somebody_else_went_on(registers: Registers, trees: Pair):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    plan = await registers.plans.make(ADMIN, trees, [Operation("patch", {"note": "x"}, made.uuid)])
    await registers.plans.commit(ADMIN, plan.id)
    await registers.objects.write(ADMIN, trees, Operation("patch", {"note": "y"}, made.uuid))
    with pytest.raises(VersionMismatch):
        await registers.plans.undo(ADMIN, plan.id)
    assert (await registers.objects.get(ADMIN, trees, made.uuid)).data["note"] == "y"


async def test_undoing_a_cascade_brings_everything_back(registers: Registers):
    nodes = await pair_of(
        registers, "node", {"parent": reference("node", "CASCADE"), "see": reference("node", "SET_NULL")}
    )
    root = await registers.objects.create(ADMIN, nodes, {})
    await registers.objects.create(ADMIN, nodes, {"parent": root.uuid})
    await registers.objects.create(ADMIN, nodes, {"see": root.uuid})
    before = await state(registers, nodes)
    plan = await registers.plans.make(ADMIN, nodes, [Operation("delete", ref=root.uuid)])
    await registers.plans.commit(ADMIN, plan.id)
    assert len(await state(registers, nodes)) == 1
    await registers.plans.undo(ADMIN, plan.id)
    assert await state(registers, nodes) == before


@pytest.mark.requirement("registers:plans:owners")
async def test_a_plan_belongs_to_whoever_made_it(registers: Registers, trees: Pair):
    plan = await registers.plans.make(ADMIN, trees, [Operation("create", {"number": "T-1"})])
    for attempt in (registers.plans.get, registers.plans.commit, registers.plans.undo):
        with pytest.raises(NotFound):
            await attempt(WRITER, plan.id)
    for size in (0, 1001):
        with pytest.raises(LimitExceeded):
            await registers.plans.make(ADMIN, trees, [Operation("create", {})] * size)
