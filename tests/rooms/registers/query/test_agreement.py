"""SQLite, PostgreSQL and the plain evaluator give one answer to every question that can be made up.

Here each store is asked some three hundred; `test_dialects.py` asks both the same, and thousands with `make faults`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pentad.kernel.ports import Database, Transaction
from pentad.rooms.registers.query.execution import aggregate, find
from pentad.rooms.registers.query.models import AggregateQuery, Having, Kind, Path, Query, Scope
from tests.rooms.registers.query import asking, oracle
from tests.rooms.registers.query.oracle import Thing
from tests.rooms.registers.query.seeding import open_room, put, put_indexes
from tests.stores import Stores

pytestmark = pytest.mark.anyio
ASKED = settings(
    max_examples=40,
    deadline=None,
    # shrinking asks a real store thousands of times; without it a failure is printed as it was found
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture
async def room(stores: Stores) -> Database:
    db = await open_room(stores)
    indexes: Sequence[tuple[Path, Kind]] = (
    (("name",), "text"), (("n",), "number"), (("flag",), "boolean"), (("when",), "moment"), (("ref",), "text"),
)  # fmt: skip
    await db.write(lambda tx: put_indexes(tx, db.dialect, 1, indexes))
    return db


def filled(tx: Transaction, things: list[Thing]) -> None:
    tx.run("DELETE FROM objects")
    put(tx, things)


@ASKED
@given(
    things=asking.things(),
    asked=st.lists(st.tuples(asking.scopes, asking.queries), min_size=1, max_size=4),
)
async def test_rows_order_totals_and_facets_are_what_the_evaluator_says(
    room: Database, things: list[Thing], asked: list[tuple[Scope, Query]]
) -> None:
    def work(tx: Transaction) -> list[Any]:
        filled(tx, things)
        return [find(tx, room.dialect, scope, query) for scope, query in asked]

    for (scope, query), got in zip(asked, await room.write(work), strict=True):
        wanted = oracle.found(things, scope, query)
        page = wanted[query.offset : query.offset + query.limit]
        assert [row[0] for row in got.rows] == [thing.id for thing in page]
        assert got.total == len(wanted)
        assert (got.cursor is not None) == (0 < query.limit < len(wanted) - query.offset)
        assert got.facets == {one.name: oracle.facet(wanted, one, things) for one in query.facets}
        assert [row[1:5] for row in got.rows] == [(t.uuid, t.register, t.schema, t.version) for t in page]


@ASKED
@given(things=asking.things(), scope=asking.scopes, query=asking.queries, size=st.integers(1, 4))
async def test_following_cursors_visits_every_row_once_and_in_order(
    room: Database, things: list[Thing], scope: Scope, query: Query, size: int
) -> None:
    def work(tx: Transaction) -> list[int]:
        filled(tx, things)
        seen: list[int] = []
        asked = replace(query, limit=size, offset=0, facets=(), count=False)
        while True:
            page = find(tx, room.dialect, scope, asked)
            seen += [row[0] for row in page.rows]
            if page.cursor is None:
                return seen
            asked = replace(asked, cursor=page.cursor)

    wanted = oracle.found(things, scope, query)
    assert await room.write(work) == [thing.id for thing in wanted]


@ASKED
@given(things=asking.things(), asked=st.lists(st.tuples(asking.scopes, asking.aggregations()), min_size=1, max_size=4))
async def test_groups_and_figures_are_what_the_evaluator_says(
    room: Database, things: list[Thing], asked: list[tuple[Scope, AggregateQuery]]
) -> None:
    def work(tx: Transaction) -> list[Any]:
        filled(tx, things)
        return [aggregate(tx, room.dialect, scope, query).groups for scope, query in asked]

    for (scope, query), got in zip(asked, await room.write(work), strict=True):
        wanted = oracle.groups(oracle.found(things, scope, Query(filter=query.filter)), query, things)
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert list(one) == list(other)
            assert all(oracle.close(one[name], other[name]) for name in one), (one, other)


@ASKED
@given(things=asking.things(), scope=asking.scopes, wanted=asking.filters)
async def test_counting_and_listing_ids_agree_with_the_filter_and_its_opposite(
    room: Database, things: list[Thing], scope: Scope, wanted: Any
) -> None:
    def work(tx: Transaction) -> tuple[int | None, list[int], int | None]:
        filled(tx, things)
        all_of_them = find(tx, room.dialect, scope, Query(filter=wanted, limit=1000, count=False))
        total = find(tx, room.dialect, scope, Query(filter=wanted, limit=0)).total
        rest = find(tx, room.dialect, scope, Query(filter=asking.Not(wanted), limit=0)).total
        return total, [row[0] for row in all_of_them.rows], rest

    total, ids, rest = await room.write(work)
    visible = oracle.within(things, scope)
    assert ids == [thing.id for thing in visible if oracle.holds(wanted, thing, things)]
    assert (total, rest) == (len(ids), len(visible) - len(ids))


async def test_groups_are_bounded_sorted_and_cut(room: Database) -> None:
    things = [oracle_thing(number, "abc"[number % 3], number) for number in range(1, 9)]
    query = AggregateQuery(
        (asking.Metric("n", "count"), asking.Metric("worth", "sum", ("n",))),
        group_by=(asking.GroupKey("name", ("name",)),),
        having=(Having("worth", "gt", 9),),
        sort=(("worth", True),),
    )

    def work(tx: Transaction) -> tuple[Any, Any]:
        filled(tx, things)
        return aggregate(tx, room.dialect, Scope(1, (1,)), query), aggregate(
            tx, room.dialect, Scope(1, (1,)), replace(query, limit=1)
        )

    whole, cut = await room.write(work)
    assert whole.groups == [{"name": "c", "n": 3, "worth": 15}, {"name": "b", "n": 3, "worth": 12}]
    assert not whole.more
    assert cut.groups == whole.groups[:1]
    assert cut.more


def oracle_thing(number: int, name: str, n: int) -> Thing:
    return asking.simple(number, {"name": name, "n": n})
