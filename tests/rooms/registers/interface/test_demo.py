"""The demo's registers: there, believable, the same every time, and left alone once they are there."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pentad.kernel.principal import ANONYMOUS
from pentad.rooms.registers.interface.demo import fill_demo
from pentad.rooms.registers.models import Caller, StoredObject
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from pentad.search.minilm import MiniLM
from pentad.search.models.catalogue import PulledModel
from tests.rooms.registers.opening import ADMIN, opened
from tests.stores import Stores

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def registers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Registers]:
    stores = Stores(None, Path(tmp_path_factory.mktemp("demo")))
    try:
        async with opened(stores) as found:
            await fill_demo(found)
            yield found
    finally:
        await stores.close()


async def contents(registers: Registers) -> dict[str, list[str]]:
    """Every object's data by pair, without uuids: they differ from run to run."""
    found: dict[str, list[str]] = {}
    for pair in await registers.catalogue.visible_pairs(ADMIN):
        rows = (await registers.objects.find(ADMIN, pair, Query(limit=1000))).rows
        references = {reference.path[0] for reference in pair.definition.references}
        found[pair.label] = [
            repr({name: value for name, value in StoredObject(*row).data.items() if name not in references})
            for row in rows
        ]
    return found


@pytest.mark.requirement("registers:demo")
async def test_there_are_four_registers_with_a_few_hundred_objects(registers: Registers):
    found = await contents(registers)
    registers_found = {label.partition("/")[0] for label in found}
    assert registers_found == {"museum-loans", "street-trees", "repair-workshop", "tree-permits"}
    assert 300 <= sum(map(len, found.values())) <= 700
    assert all(found.values())


async def test_filling_it_again_changes_nothing(registers: Registers):
    before = await registers.history.feed(ADMIN, None, limit=1000)
    await fill_demo(registers)
    assert (await registers.history.feed(ADMIN, before[1], limit=10))[0] == []


async def test_it_is_the_same_every_time(registers: Registers, tmp_path: Path):
    again = Stores(None, tmp_path)
    try:
        async with opened(again) as other:
            await fill_demo(other)
            assert await contents(other) == await contents(registers)
    finally:
        await again.close()


async def test_its_history_has_changes_deletions_and_reverts_by_agents_with_reasons(registers: Registers):
    cursor: str | None = None
    actions: set[tuple[str, str | None]] = set()
    while True:
        changes, following = await registers.history.feed(ADMIN, cursor, limit=1000)
        actions |= {(change.action, change.agent) for change in changes}
        assert all(change.reason for change in changes)
        if not changes:
            break
        cursor = following
    assert {action for action, _ in actions} >= {"create", "update", "delete", "revert"}
    assert {agent for _, agent in actions} >= {"registrar-desk", "inspection-app", "bench-agent"}


async def test_a_reverted_object_is_as_it_was_and_its_chain_holds(registers: Registers):
    pair = await registers.catalogue.pair(ADMIN, "street-trees", "tree")
    asked = await registers.objects.query_of(ADMIN, pair, {"filter": {"number": "T-00008"}})
    (row,) = (await registers.objects.find(ADMIN, pair, asked)).rows
    tree = StoredObject(*row)
    assert (tree.version, tree.data["health"]) == (3, "good")
    assert (await registers.history.verify(ADMIN, pair, tree.uuid)).valid


async def test_computed_properties_and_cascades_are_part_of_it(registers: Registers):
    workshop = await registers.catalogue.pair(ADMIN, "repair-workshop", "repair")
    rows = (await registers.objects.find(ADMIN, workshop, Query(limit=1000))).rows
    repairs = [StoredObject(*row).data for row in rows]
    assert all(
        repair["total"] == round(repair["hours"] * 42 + sum(part["price"] for part in repair["parts"]), 2)
        for repair in repairs
    )
    deleted = await registers.objects.deleted(ADMIN, limit=100)
    assert {pair.schema.slug for pair, _ in deleted} >= {"tree", "inspection", "loan", "repair"}


async def test_everybody_may_read_the_trees_and_nothing_else(registers: Registers):
    stranger = Caller(ANONYMOUS)
    seen = {pair.register.slug for pair in await registers.catalogue.visible_pairs(stranger)}
    assert seen == {"street-trees"}


@pytest.mark.requirement("registers:demo", "registers:search:hybrid")
async def test_its_repairs_are_found_by_questions_in_other_words(tmp_path: Path, pulled_model: PulledModel):
    stores, embedder = Stores(None, tmp_path), MiniLM(pulled_model)
    try:
        async with opened(stores, embedder=embedder) as registers:
            await fill_demo(registers)
            await registers.platform.search.embed_pending()
            pair = await registers.catalogue.pair(ADMIN, "repair-workshop", "repair")
            for question, thing in (
                ("espresso maker drips water", "coffee machine"),
                ("needle breaks the yarn", "sewing machine"),
                ("computer stays empty", "laptop"),
            ):
                found = await registers.objects.find(ADMIN, pair, Query(search=question, limit=1))
                assert found.retrieval == "hybrid"
                assert StoredObject(*found.rows[0]).data["thing"] == thing
    finally:
        embedder.close()
        await stores.close()
