"""Where a listing goes on when fewer rows are shown than were found: exactly behind the last one shown."""

from dataclasses import replace
from typing import Any

import pytest

from pentad.kernel.ports import Database
from pentad.rooms.registers.query.execution import aggregate, find
from pentad.rooms.registers.query.models import AggregateQuery, GroupKey, Metric, Query, Scope, Sort
from tests.rooms.registers.query.seeding import open_room, put, put_words, simple
from tests.stores import Stores

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("registers:tools:budget")]
PAIR = Scope(1, (1,))


@pytest.fixture
async def room(stores: Stores) -> Database:
    db = await open_room(stores)
    things = [simple(number, {"name": "abc"[number % 3]} if number % 4 else {}) for number in range(1, 21)]
    await db.write(lambda tx: put(tx, things))
    await db.write(
        lambda tx: put_words(tx, db.dialect, [(number, "oak " * (number % 5 + 1)) for number in range(1, 21)])
    )
    return db


async def asked(room: Database, query: Query) -> Any:
    return await room.read(lambda rows: find(rows, room.dialect, PAIR, query))


@pytest.mark.parametrize(
    "query",
    [Query(limit=12), Query(limit=12, sort=(Sort(("name",), "text", descending=True),)), Query(limit=12, search="oak")],
    ids=["plain", "sorted", "by relevance"],
)
async def test_every_cut_goes_on_with_the_next_row(room: Database, query: Query) -> None:
    whole = [row[0] for row in (await asked(room, replace(query, limit=100))).rows]
    page = await asked(room, replace(query, offset=2))
    for shown in range(1, 13):
        rest = await asked(room, replace(query, limit=100, cursor=page.cursor_after(shown)))
        assert [row[0] for row in rest.rows] == whole[2 + shown :], shown


async def test_what_others_take_away_meanwhile_skips_nothing(room: Database) -> None:
    query = Query(limit=10, sort=(Sort(("name",), "text"),))
    page = await asked(room, query)
    await room.write(lambda tx: tx.run("DELETE FROM objects WHERE id = ?", page.rows[0][0]))
    rest = await asked(room, replace(query, limit=100, cursor=page.cursor_after(4)))
    assert [row[0] for row in rest.rows[:6]] == [row[0] for row in page.rows[4:]]


async def test_groups_go_on_where_they_were_cut(room: Database) -> None:
    query = AggregateQuery((Metric("n", "count"),), group_by=(GroupKey("name", ("name",)),))

    async def groups(limit: int, offset: int) -> list[Any]:
        wanted = replace(query, limit=limit, offset=offset)
        return (await room.read(lambda rows: aggregate(rows, room.dialect, PAIR, wanted))).groups

    whole = await groups(100, 0)
    assert [group["name"] for group in whole] == ["a", "b", "c", None]
    assert [*await groups(2, 0), *await groups(1, 2), *await groups(5, 3)] == whole
