"""A schema has a limited number of indexes; one of an older version that has more still works."""

import logging
from typing import Any

import pytest

from pentad.kernel.errors import LimitExceeded
from pentad.rooms.registers.objects.indexes import MOST_INDEXES
from pentad.rooms.registers.room import store_warnings
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of
from tests.rooms.registers.objects.test_evolution import indexes
from tests.rooms.registers.opening import ADMIN, WRITER, opened
from tests.rooms.registers.site import Site
from tests.stores import Stores

pytestmark = pytest.mark.anyio


def columns(count: int, first: int = 0, **rule: Any) -> dict[str, Any]:
    return {f"p{number}": {"type": "string", **rule} for number in range(first, first + count)}


@pytest.mark.requirement("registers:evolution:index-limit")
@pytest.mark.parametrize("rule", [{"unique": True}, {"x-index": True}, {"facetable": True}], ids=str)
async def test_too_many_indexes_are_refused_with_their_names(registers: Registers, rule: dict[str, Any]) -> None:
    with pytest.raises(LimitExceeded, match=f"asks for {MOST_INDEXES + 1} indexes, and {MOST_INDEXES} is") as refused:
        await pair_of(registers, "wide", columns(MOST_INDEXES + 1, **rule))
    assert "p0, p1, p2" in refused.value.message
    assert "x-index" in (refused.value.hint or "")
    pair = await pair_of(registers, "wide", columns(2, **rule))
    change = {"properties": columns(MOST_INDEXES - 1, first=2, **rule)}
    with pytest.raises(LimitExceeded):
        await registers.catalogue.schemas.update(ADMIN, "wide", change, merge=True)
    assert len(await indexes(registers, pair.schema.id)) == 2


@pytest.mark.parametrize("stores", ["postgres"], indirect=True)
@pytest.mark.requirement("registers:query:growth")
async def test_postgres_has_statistics_of_every_indexed_property(stores: Stores) -> None:
    """It has none of partial indexes."""
    _ = stores.url  # a database of its own: statistics of earlier tests stay in the shared ones

    async def statistics(registers: Registers) -> list[str]:
        named = "SELECT substr(stxname, 4) FROM pg_statistic_ext ORDER BY 1"
        return [name for (name,) in await registers.platform.database.read(lambda rows: rows.all(named))]

    properties = {"code": {"type": "string", "unique": True}, "fee": {"type": "number", "x-index": True}}
    async with opened(stores) as registers:
        pair = await pair_of(registers, "tree", properties)
        made = await indexes(registers, pair.schema.id)
        assert await statistics(registers) == sorted(name[3:] for name in made)
        await change(registers, "tree", {"code": {"unique": False}})
        assert len(await statistics(registers)) == 1


TOGETHER = "pentad.rooms.registers.objects.indexes.MOST_INDEXES_TOGETHER"


@pytest.mark.requirement("registers:evolution:index-limit-together")
async def test_all_schemas_share_one_limit(registers: Registers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TOGETHER, 5)
    await pair_of(registers, "first", columns(3, unique=True))
    pair = await pair_of(registers, "second", {**columns(2, facetable=True), "plain": {"type": "string"}})
    for add in (
        pair_of(registers, "third", columns(1, unique=True)),
        change(registers, "second", {"plain": {"unique": True}}),
        registers.catalogue.schemas.preflight(ADMIN, "second", {"properties": columns(1, 2, unique=True)}, merge=True),
    ):
        with pytest.raises(LimitExceeded, match="all schemas of the store together may have 5") as refused:
            await add
        assert refused.value.details["most"] == 5
    assert len(await indexes(registers, pair.schema.id)) == 2
    await pair_of(registers, "fourth", columns(5))
    await change(registers, "second", {"p0": {"facetable": False}, "plain": {"facetable": True}})
    await change(registers, "first", {"p0": {"unique": False}})
    await pair_of(registers, "third", columns(1, unique=True))


@pytest.mark.requirement("registers:evolution:index-limit-together")
async def test_a_store_with_more_than_the_limit_still_changes_its_schemas(
    registers: Registers, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pair_of(registers, "wide", columns(4, unique=True))
    monkeypatch.setattr(TOGETHER, 2)
    changed = await registers.catalogue.schemas.update(ADMIN, "wide", {"description": "four"}, merge=True)
    assert changed.version == "0.0.2"
    await change(registers, "wide", {"p0": {"unique": False}})
    with pytest.raises(LimitExceeded):
        await change(registers, "wide", {"p0": {"unique": True}})


@pytest.mark.requirement("registers:evolution:index-limit", "registers:evolution:index-limit-together")
async def test_both_limits_are_told_over_mcp_and_rest(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {"title": "Wide", "properties": columns(MOST_INDEXES + 1, unique=True)}
    narrow = {"title": "Narrow", "properties": columns(1, unique=True)}
    monkeypatch.setattr(TOGETHER, 0)
    async with site.app.client() as client:
        for data, said, most in (
            (wide, f"asks for {MOST_INDEXES + 1} indexes, and {MOST_INDEXES} is the most", MOST_INDEXES),
            (narrow, "asks for 1 index, and all schemas of the store together may have 0", 0),
        ):
            refused = await site.send("POST", "/api/schemas", data)
            assert (refused.status, refused.json["error"]) == (413, "limit_exceeded"), refused.body
            assert said in refused.json["message"]
            assert refused.json["details"]["most"] == most
            told = await client.call_tool("schemas", {"action": "create", "data": data})
            assert (told["isError"], said in told["content"][0]["text"]) == (True, True)
            assert told["_meta"]["pentad/error"]["code"] == "limit_exceeded"


async def change(registers: Registers, schema: str, properties: dict[str, Any]) -> None:
    """Merge properties; nothing is stored, so nothing is lost."""
    await registers.catalogue.schemas.update(ADMIN, schema, {"properties": properties}, merge=True)


@pytest.mark.requirement("registers:evolution:index-limit")
async def test_a_schema_that_has_too_many_still_works_and_is_named_in_the_log_and_by_doctor(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(stores) as registers:
        with monkeypatch.context() as older:
            older.setattr("pentad.rooms.registers.objects.indexes.MOST_INDEXES", 1000)
            pair = await pair_of(registers, "wide", columns(MOST_INDEXES + 2, unique=True))
    with caplog.at_level(logging.WARNING):
        async with opened(stores) as registers:
            said = f"Schema {pair.schema.id} has {MOST_INDEXES + 2} indexes"
            assert said in caplog.text
            (warning,) = await store_warnings(registers.platform.database)
            assert warning.text.startswith(said)
            assert "'wide'" in warning.text
            pair = await registers.catalogue.pair(WRITER, "library", "wide")
            await registers.objects.create(WRITER, pair, {"p0": "a"})
            fewer = {"properties": {"p0": {"type": "string", "unique": False}}, "description": "less"}
            plan = await registers.catalogue.schemas.preflight(ADMIN, "wide", fewer, merge=True)
            await registers.catalogue.schemas.update(
                ADMIN, "wide", fewer, merge=True, confirm=plan.as_json().get("confirm")
            )
            assert len(await indexes(registers, pair.schema.id)) == MOST_INDEXES + 1
