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
