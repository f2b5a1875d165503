"""Names and values nobody should choose, stored and asked for all the same."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database, Dialect, Transaction
from pentad.rooms.registers.query.execution import aggregate, find
from pentad.rooms.registers.query.json_sql import index_columns, text_value
from pentad.rooms.registers.query.models import (
    AggregateQuery,
    Compare,
    Contains,
    GroupKey,
    Like,
    Metric,
    Query,
    Scope,
    Sort,
    Terms,
)
from tests.rooms.registers.query.seeding import open_room, put, simple
from tests.stores import Stores

PAIR = Scope(1, (1,))
NAMES = (
    "", " ", "'", '"', "\\", "\\'", '\\"', "a'b", 'a"b', "a.b", "$", "$.x", "[0]", "#", "*", "?", "??", "%", "%s", "%%",
    "--", "/* */", ";", "'; DROP TABLE objects; --", "' OR '1'='1", "\n", "\t", "\x01", "\x7f", "\u2028", "é",
    "e\u0301", "日本", "😀",
    "0", "-1", "@self", "data", "doc", "null", "true", "__proto__", "register", "schema", "uuid",
    "id",    ":name", "$1", "$$", "E'x'", "U&'x'", "{}", "{a,b}", '"}', "a" * 300, "strict $", "x\\u0041",
)  # fmt: skip
names = st.sampled_from(NAMES) | st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
values = st.sampled_from(NAMES) | st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8
)


@pytest.fixture
async def room(stores: Stores) -> Database:
    return await open_room(stores)


def _asked(tx: Transaction, dialect: Dialect, path: tuple[str, ...], value: str) -> list[Any]:
    def count(query: Query) -> int | None:
        return find(tx, dialect, PAIR, query).total

    groups = aggregate(tx, dialect, PAIR, AggregateQuery((Metric("n", "count"),), group_by=(GroupKey("k", path),)))
    facet = find(tx, dialect, PAIR, Query(limit=0, facets=(Terms("f", path, "text"),))).facets["f"]
    sort = find(tx, dialect, PAIR, Query(sort=(Sort(path, "text", True),)))
    return [
        count(Query(filter=Compare(path, "eq", value))),
        count(Query(filter=Contains(path, value))),
        count(Query(filter=Like(path, "".join(f"\\{character}" for character in value)))),
        [group["k"] for group in groups.groups],
        [bucket["key"] for bucket in facet["buckets"]],
        [row[0] for row in sort.rows],
    ]


@pytest.mark.anyio
@settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(outer=names, inner=names, value=values)
async def test_any_name_and_any_value_is_found_and_nothing_else_is(
    room: Database, outer: str, inner: str, value: str
) -> None:
    def work(tx: Transaction) -> tuple[list[Any], list[Any]]:
        tx.run("DELETE FROM objects")
        put(tx, [simple(1, {outer: value}), simple(2, {outer: {inner: value}}), simple(3, {})])
        return _asked(tx, room.dialect, (outer,), value), _asked(tx, room.dialect, (outer, inner), value)

    shallow, deep = await room.write(work)
    if outer == "@self":
        return  # a lone path step, which the parser never makes; it must only not break anything
    assert shallow == [1, 1, 1, [value, None], [value], [1, 3, 2]]
    assert deep == [1, 1, 1, [value, None], [value], [2, 3, 1]]


@pytest.mark.anyio
async def test_an_index_on_any_name_can_be_made_and_finds(room: Database) -> None:
    def work(tx: Transaction) -> list[str]:
        put(tx, [simple(number, {name: [{name: "x"}]}) for number, name in enumerate(NAMES, 1)])
        missed: list[str] = []
        for number, name in enumerate(NAMES, 1):
            tx.run(f"CREATE INDEX odd ON objects ({index_columns(room.dialect, (name, 0, name), 'text')})")
            found = find(tx, room.dialect, PAIR, Query(filter=Compare((name, 0, name), "eq", "x")))
            missed += [] if [row[0] for row in found.rows] == [number] else [name]
            tx.run("DROP INDEX odd")
        return missed

    assert await room.write(work) == []


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x\udfff"])
def test_a_name_that_cannot_be_stored_is_refused(dialect: Dialect, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be stored"):
        text_value(dialect, (name,))


@pytest.mark.anyio
async def test_numbers_at_the_edges_are_compared_exactly(room: Database) -> None:
    edges = [
        -(2**63),
        -(2**53) - 1,
        -(2**53),
        -0.5,
        0,
        5e-324,
        0.1,
        0.30000000000000004,
        0.3,
        2**53,
        2**53 + 1,
        2**63 - 1,
        1e300,
    ]

    def work(tx: Transaction) -> list[list[int | None]]:
        put(tx, [simple(number, {"n": value}) for number, value in enumerate(edges, 1)])
        return [
            [find(tx, room.dialect, PAIR, Query(filter=Compare(("n",), op, value))).total for op in ("eq", "lt", "gte")]
            for value in edges
        ]

    wanted = [[1, sum(one < value for one in edges), sum(one >= value for one in edges)] for value in edges]
    assert await room.write(work) == wanted


@pytest.mark.anyio
async def test_a_number_larger_than_the_store_holds_finds_nothing_and_breaks_nothing(room: Database) -> None:
    def work(tx: Transaction) -> list[int | None]:
        put(tx, [simple(1, {"n": 5, "list": [5]})])
        return [
            find(tx, room.dialect, PAIR, Query(filter=wanted)).total
            for wanted in (
                Compare(("n",), "lt", 10**30),
                Compare(("n",), "gt", 10**30),
                Compare(("n",), "lt", 10**400),
                Contains(("list",), 10**30),
            )
        ]

    assert await room.write(work) == [1, 0, 1, 0]


@pytest.mark.anyio
async def test_a_text_with_nul_is_refused_in_words(room: Database) -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        await room.read(lambda rows: find(rows, room.dialect, PAIR, Query(filter=Compare(("n",), "eq", "a\0"))))


def test_the_json_of_the_tests_is_what_the_store_keeps() -> None:
    assert msgspec.json.encode({"é": 1e22, "b": 2**63 - 1}) == '{"é":1e22,"b":9223372036854775807}'.encode()
