"""Counts that are kept: whatever was written, by whichever process, they are what counting anew gives."""

from random import Random
from typing import Any

import pytest

from pentad.kernel.ports import Database, Rows
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.query.count_cache import CountCache
from pentad.rooms.registers.query.execution import find
from pentad.rooms.registers.query.models import And, Compare, Exists, Filter, In, Not, Query, QueryResult, Scope, Terms
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER, opened
from tests.stores import Stores

pytestmark = pytest.mark.anyio

KINDS = ("lime", "plane", "oak")
INDEXED = frozenset({("kind",), ("number",)})
WANTED: tuple[Filter | None, ...] = (
    None,
    Compare(("kind",), "eq", "oak"),
    In(("kind",), ("oak", "lime")),
    Not(Exists(("kind",))),
    And((Compare(("kind",), "eq", "lime"), Compare(("count",), "gt", 4))),
    Compare(("@self", "organisation"), "eq", "default"),
    Compare(("@self", "version"), "gt", 1),
)


class Hearing:
    """Rows that remember what was asked."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.heard: list[str] = []

    def all(self, sql: str, *params: Any) -> list[Any]:
        self.heard.append(sql)
        return self._rows.all(sql, *params)

    def one(self, sql: str, *params: Any) -> Any:
        self.heard.append(sql)
        return self._rows.one(sql, *params)

    def value(self, sql: str, *params: Any) -> Any:
        self.heard.append(sql)
        return self._rows.value(sql, *params)


def asked(wanted: Filter | None) -> Query:
    return Query(filter=wanted, limit=1, facets=(Terms("kind", ("kind",), "text", size=2),))


async def agree(database: Database, scope: Scope, tallies: CountCache) -> None:
    def both(rows: Rows) -> list[tuple[QueryResult, QueryResult]]:
        return [
            (find(rows, database.dialect, scope, asked(one), tallies), find(rows, database.dialect, scope, asked(one)))
            for one in WANTED
        ]

    for kept, counted in await database.read(both):
        assert (kept.total, kept.facets, kept.rows) == (counted.total, counted.facets, counted.rows)


async def change(
    registers: Registers, trees: Pair, chance: Random, alive: list[str], gone: list[str], new: int
) -> None:
    """One random change of one random object."""
    objects = registers.objects
    step = chance.randrange(10)
    data: dict[str, Any] = {"number": f"T-{new}", "count": chance.randrange(9)}
    if chance.random() < 0.8:
        data["kind"] = chance.choice(KINDS)
    if step < 4 or not alive:
        caller = chance.choice((ADMIN, WRITER, OTHER))
        alive.append((await objects.create(caller, trees, data)).uuid)
        return
    uuid = chance.choice(alive)
    if step < 6:
        await objects.replace(ADMIN, trees, uuid, data)
    elif step == 6:
        await objects.lock(ADMIN, trees, uuid)
    elif step == 7:
        alive.remove(uuid)
        gone.append(uuid)
        await objects.delete(ADMIN, trees, uuid)
    elif gone:
        back = gone.pop()
        if step == 8:
            await objects.restore(ADMIN, trees, back)
            alive.append(back)
        else:
            await objects.purge(ADMIN, trees, back)


async def test_kept_counts_are_what_counting_anew_gives(registers: Registers, trees: Pair, stores: Stores) -> None:
    """Kept from the first object on; sometimes one change is followed, sometimes several, from two processes."""
    chance = Random(7)
    database = registers.platform.database
    scope = Scope(trees.register.id, (trees.schema.id,), indexed=INDEXED)
    tallies = CountCache(few=0, each=1)
    alive: list[str] = []
    gone: list[str] = []
    async with opened(stores) as elsewhere:
        for number in range(150):
            await change(chance.choice((registers, elsewhere)), trees, chance, alive, gone, number)
            if chance.random() < 0.6:
                await agree(database, scope, tallies)
    await agree(database, scope, tallies)


async def test_a_facet_with_more_values_than_are_kept_is_counted_by_the_store(
    registers: Registers, trees: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pentad.rooms.registers.query.count_cache.MOST_VALUES", 2)
    for number in range(9):
        await registers.objects.create(ADMIN, trees, {"number": f"T-{number}", "kind": KINDS[number % 3]})
    scope = Scope(trees.register.id, (trees.schema.id,), indexed=INDEXED)
    await agree(registers.platform.database, scope, CountCache(few=0, each=1))


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
async def test_one_change_is_followed_and_not_counted_anew(registers: Registers, trees: Pair) -> None:
    scope = Scope(trees.register.id, (trees.schema.id,), indexed=INDEXED)
    tallies = CountCache(few=0, each=1)

    async def statements() -> tuple[int | None, list[str]]:
        def read(rows: Rows) -> tuple[int | None, list[str]]:
            hearing = Hearing(rows)
            query = Query(filter=Compare(("kind",), "eq", "oak"), limit=1)
            found = find(hearing, "sqlite", scope, query, tallies)
            return found.total, [sql for sql in hearing.heard if sql.startswith("SELECT NULL, count(*) FROM objects ")]

        return await registers.platform.database.read(read)

    made = [
        await registers.objects.create(ADMIN, trees, {"number": f"T-{number}", "kind": "oak"}) for number in range(5)
    ]
    total, counting = await statements()
    assert (total, len(counting)) == (5, 1)
    assert await statements() == (5, [])
    await registers.objects.write(ADMIN, trees, Operation("patch", {"kind": "lime"}, made[0].uuid))
    assert await statements() == (4, [])
    await registers.objects.delete(ADMIN, trees, made[1].uuid)
    assert await statements() == (3, [])
    await registers.objects.purge(ADMIN, trees, made[1].uuid)
    total, counting = await statements()
    assert (total, len(counting)) == (3, 1)
