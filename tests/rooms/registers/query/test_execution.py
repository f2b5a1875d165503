"""Listing: cursors while others write, cursors that do not fit, the past, words, and which index is used."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers.query.count_cache import CountCache
from pentad.rooms.registers.query.datetimes import parse_instant
from pentad.rooms.registers.query.dialects import sql_dialect
from pentad.rooms.registers.query.execution import aggregate, find
from pentad.rooms.registers.query.from_clause import row_source
from pentad.rooms.registers.query.models import (
    AggregateQuery,
    And,
    AsOf,
    Compare,
    Contains,
    Filter,
    In,
    Metric,
    Path,
    Query,
    Scope,
    Sort,
    Terms,
)
from pentad.rooms.registers.query.text_search import WINDOW
from tests.rooms.registers.query.seeding import open_room, put, put_indexes, put_words, simple
from tests.stores import Stores

pytestmark = pytest.mark.anyio
PAIR = Scope(1, (1,))


@pytest.fixture
async def room(stores: Stores) -> Database:
    return await open_room(stores)


@pytest.fixture
async def new_room(stores: Stores) -> Database:
    """A room on new tables: PostgreSQL may not use an index at once that it made over rows of earlier tests."""
    _ = stores.url
    return await open_room(stores)


def ids(found: Any) -> list[int]:
    return [row[0] for row in found.rows]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.requirement("registers:query:paging")
async def test_paging_visits_what_was_there_once_while_others_insert(room: Database, descending: bool) -> None:
    first = [simple(number * 10, {"name": "abc"[number % 3]} if number % 4 else {}) for number in range(1, 31)]
    await room.write(lambda tx: put(tx, first))
    query = Query(sort=(Sort(("name",), "text", descending),), limit=4, count=False)
    seen: list[int] = []
    number = 0
    while True:
        page = await room.read(lambda rows, query=query: find(rows, room.dialect, PAIR, query))
        seen += ids(page)
        if page.cursor is None:
            break
        number += 1
        late = [simple(number * 10 + 1 + spare, {"name": "abc"[spare]} if spare < 3 else {}) for spare in range(4)]
        await room.write(lambda tx, late=late: put(tx, late))
        query = replace(query, cursor=page.cursor)
    assert len(seen) == len(set(seen))
    assert {thing.id for thing in first} <= set(seen)


async def test_a_cursor_of_another_question_or_a_changed_one_is_refused(room: Database) -> None:
    await room.write(lambda tx: put(tx, [simple(number, {"n": number}) for number in range(1, 9)]))
    query = Query(limit=2, sort=(Sort(("n",), "number"),))
    cursor = (await room.read(lambda rows: find(rows, room.dialect, PAIR, query))).cursor
    assert cursor is not None
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    forged = base64.urlsafe_b64encode(raw[:-2] + b"9]").decode().rstrip("=")
    other = replace(query, filter=Compare(("n",), "gt", 1))
    for asked in (
        replace(other, cursor=cursor),
        replace(query, sort=(), cursor=cursor),
        *(replace(query, cursor=odd) for odd in (forged, cursor[:-4], "", "x", "é", "a" * 30_000, cursor + "AAAA")),
    ):
        with pytest.raises(InvalidInput, match="does not belong to this question"):
            await room.read(lambda rows, asked=asked: find(rows, room.dialect, PAIR, asked))
    with pytest.raises(InvalidInput):
        await room.read(lambda rows: find(rows, room.dialect, Scope(1, (2,)), replace(query, cursor=cursor)))
    assert ids(await room.read(lambda rows: find(rows, room.dialect, PAIR, replace(query, cursor=cursor)))) == [3, 4]


async def test_the_past_is_found_as_it_was(room: Database) -> None:
    """Object 1 is made at 10, changed at 20, deleted at 30, restored at 40; 2 is made at 25; 3 is locked at 27."""
    await room.write(_history)

    def work(rows: Rows) -> dict[float, list[tuple[int, int, str]]]:
        found: dict[float, list[tuple[int, int, str]]] = {}
        for time in (5.0, 10.0, 15.0, 20.0, 26.0, 30.0, 35.0, 40.0, 50.0):
            page = find(rows, room.dialect, PAIR, Query(as_of=AsOf(at=time), sort=(Sort(("name",), "text"),)))
            assert page.total == len(page.rows)
            found[time] = [(row[0], row[4], row[5]) for row in page.rows]
        return found

    one, two = '{"name":"one"}', '{"name":"two"}'
    third, later = (3, 1, '{"name":"third"}'), (2, 1, '{"name":"later"}')
    assert await room.read(work) == {
        5.0: [third],
        10.0: [(1, 1, one), third],
        15.0: [(1, 1, one), third],
        20.0: [third, (1, 2, two)],
        26.0: [later, third, (1, 2, two)],
        30.0: [later, third],
        35.0: [later, third],
        40.0: [later, third, (1, 4, two)],
        50.0: [later, third, (1, 4, two)],
    }


async def test_the_state_right_after_a_change_is_found(room: Database) -> None:
    await room.write(_history)

    def work(rows: Rows) -> list[list[tuple[int, int]]]:
        return [
            [(row[0], row[4]) for row in find(rows, room.dialect, PAIR, Query(as_of=AsOf(change=seq))).rows]
            for seq in range(7)
        ]

    assert await room.read(work) == [
        [],
        [(3, 1)],
        [(1, 1), (3, 1)],
        [(1, 2), (3, 1)],
        [(1, 2), (2, 1), (3, 1)],
        [(1, 2), (2, 1), (3, 1)],
        [(2, 1), (3, 1)],
    ]


async def test_the_past_can_be_filtered_counted_and_added_up_but_not_searched(room: Database) -> None:
    await room.write(_history)
    query = AggregateQuery((Metric("n", "count"),), Compare(("name",), "eq", "one"), as_of=AsOf(at=15.0))
    found = await room.read(lambda rows: aggregate(rows, room.dialect, PAIR, query))
    assert found.groups == [{"n": 1}]
    asked = Query(filter=Contains(("name",), "ON"), as_of=AsOf(at=15.0), facets=(Terms("f", ("name",), "text"),))
    page = await room.read(lambda rows: find(rows, room.dialect, PAIR, asked))
    assert (page.total, page.facets["f"]["buckets"]) == (1, [{"key": "one", "count": 1}])
    with pytest.raises(InvalidInput, match="cannot be searched"):
        await room.read(lambda rows: find(rows, room.dialect, PAIR, Query(search="one", as_of=AsOf(at=1.0))))


def _history(tx: Transaction) -> None:
    two = {"name": "two"}
    put(
        tx,
        [
            simple(1, two, version=4, created=10.0, updated=40.0),
            simple(2, {"name": "later"}, created=25.0, updated=25.0),
            simple(3, {"name": "third"}, created=1.0, updated=1.0),
        ],
    )
    for number, version, action, at, since, before, gone in (
        (3, 1, "create", 1.0, None, None, 0),
        (1, 1, "create", 10.0, None, None, 0),
        (1, 2, "update", 20.0, 10.0, '{"name":"one"}', 0),
        (2, 1, "create", 25.0, None, None, 0),
        (3, 1, "lock", 27.0, None, None, 0),
        (1, 3, "delete", 30.0, 20.0, '{"name":"two"}', 0),
        (1, 4, "restore", 40.0, 30.0, '{"name":"two"}', 1),
    ):
        tx.run(
            "INSERT INTO object_changes (uuid, register, schema, version, action, at, since, before, before_deleted,"
            " principal, hash) VALUES (?, 1, 1, ?, ?, ?, ?, ?, ?, 'user:ada', ?)",
            simple(number, {}).uuid, version, action, at, since, before, gone, b"",
        )  # fmt: skip


TEXTS = {
    1: "The quick brown fox",
    2: "A brown bear; brown all over, brown inside",
    3: "ada@example.org writes about state-of-the-art foxes",
    4: "Crème brûlée à la carte",
    5: "Straße 3.14 _under_score",
    6: "日本語 テスト",
}


SEARCHES: dict[str, list[int]] = {
    "brown": [1, 2],
    "BROW": [1, 2],
    "brown fox": [1],
    "fox": [1, 3],
    "example": [3],
    "art state": [3],
    "creme brulee": [4],
    "CRÈME": [4],
    "strasse": [5],
    "14 under": [5],
    "日本": [6],
    '"fox" OR NEAR(a b) *^:-&|!<->\'': [],
    "fox' & 'quick": [1],
    "nothing": [],
    "!!!": [],
}


@pytest.mark.requirement("registers:query:search")
async def test_words_are_found_alike_in_both_dialects(room: Database) -> None:
    facet = (Terms("f", ("text",), "text"),)

    def work(tx: Transaction) -> dict[str, Any]:
        put(tx, [simple(number, {"text": text}) for number, text in TEXTS.items()])
        put_words(tx, room.dialect, TEXTS.items())
        return {text: find(tx, room.dialect, PAIR, Query(search=text, facets=facet)) for text in SEARCHES}

    pages = await room.write(work)
    assert {text: sorted(ids(page)) for text, page in pages.items()} == SEARCHES
    for page in pages.values():
        assert page.total == len(page.rows) == len(page.facets["f"]["buckets"])
        assert page.relevance == sorted(page.relevance, reverse=True)


async def test_the_most_relevant_comes_first_and_pages_go_on(room: Database) -> None:
    def work(tx: Transaction) -> list[list[int]]:
        put(tx, [simple(number, {"text": text}) for number, text in TEXTS.items()])
        put_words(tx, room.dialect, TEXTS.items())
        first = find(tx, room.dialect, PAIR, Query(search="brown", limit=1))
        second = find(tx, room.dialect, PAIR, Query(search="brown", limit=1, cursor=first.cursor))
        by_name = find(tx, room.dialect, PAIR, Query(search="brown", sort=(Sort(("text",), "text", True),)))
        assert second.cursor is None
        return [ids(first), ids(second), ids(by_name)]

    assert await room.write(work) == [[2], [1], [1, 2]]


class Hearing(Rows):
    """Keeps the statements that read many rows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.heard: list[tuple[str, tuple[Any, ...]]] = []

    def one(self, sql: str, *params: Any) -> Any:
        return self._rows.one(sql, *params)

    def all(self, sql: str, *params: Any) -> list[Any]:
        self.heard.append((sql, params))
        return self._rows.all(sql, *params)

    def value(self, sql: str, *params: Any) -> Any:
        return self._rows.value(sql, *params)


@pytest.mark.parametrize("stores", ["postgres"], indirect=True)
@pytest.mark.requirement("registers:query:growth")
async def test_a_page_of_a_word_in_every_object_looks_up_only_the_best(new_room: Database) -> None:
    """SQLite looks up rows in the same process, which costs less than the words."""
    texts = {number: "oak " * (number % 3 + 1) for number in range(1, 2_001)}

    def prepare(tx: Transaction) -> None:
        put(tx, [simple(number, {"text": text}) for number, text in texts.items()])
        put_words(tx, new_room.dialect, texts.items())

    def work(rows: Rows) -> tuple[list[int], list[int]]:
        hearing = Hearing(rows)
        found = ids(find(hearing, new_room.dialect, PAIR, Query(search="oak", limit=5, count=False)))
        read = [rows.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", *params) for sql, params in hearing.heard]
        return found, [_objects_read(one) for one in read]

    await new_room.write(prepare)
    found, read = await new_room.read(work)
    assert all(number % 3 == 2 for number in found)
    assert read == [WINDOW]


@pytest.mark.parametrize("stores", ["postgres"], indirect=True)
@pytest.mark.requirement("registers:query:growth")
async def test_postgres_looks_up_a_unique_value_even_without_statistics(new_room: Database) -> None:
    """For PostgreSQL an unknown value is in 0.5 % of all objects: a page of those would come first in order of ids."""

    def prepare(tx: Transaction) -> None:
        put(tx, [simple(1, {"code": "c1"})])
        columns = "register, schema, version, owner, organisation, created_at, updated_at, hash"
        tx.run(
            f"INSERT INTO objects (id, uuid, data, {columns}) SELECT n, 'u' || n,"
            f" json_build_object('code', 'c' || n), {columns} FROM objects, generate_series(2, 30000) AS n"
        )
        put_indexes(tx, "postgres", 1, [(("code",), "text")])

    def work(rows: Rows) -> int:
        hearing = Hearing(rows)
        path = ("code",)
        scope = replace(PAIR, indexed=frozenset([path]), unique=frozenset([path]))
        assert ids(find(hearing, "postgres", scope, Query(filter=Compare(path, "eq", "c29999"), limit=25))) == [29_999]
        [(sql, params)] = hearing.heard
        return _objects_read(rows.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", *params))

    await new_room.write(prepare)
    assert await new_room.read(work) == 1


def _objects_read(explained: Any) -> int:
    """How many rows of `objects` a statement read, and looked at, by what EXPLAIN says."""
    (plan,) = json.loads(explained) if isinstance(explained, str) else explained
    return _rows_of(plan["Plan"])


def _rows_of(step: dict[str, Any]) -> int:
    inner = sum(map(_rows_of, step.get("Plans", ())))
    if step.get("Relation Name") != "objects":
        return inner
    return inner + round((step["Actual Rows"] + step.get("Rows Removed by Filter", 0)) * step["Actual Loops"])


INDEXED: tuple[Path, ...] = (("code",), ("score",), ("status",), ("open",), ("due",))


LOOK_UPS: tuple[tuple[Filter | None, tuple[Sort, ...]], ...] = (
    (Compare(("code",), "eq", "c77"), ()),
    (Compare(("score",), "eq", 77), ()),
    (Compare(("score",), "eq", 77.5), ()),
    (In(("code",), ("c77", "c78")), ()),
    (In(("score",), (77, 78.5)), ()),
    (Compare(("score",), "lt", 2), ()),
    (And((Compare(("code",), "eq", "c77"), Compare(("other",), "eq", "x"))), ()),
    (Compare(("due",), "eq", parse_instant("2026-01-01T02:07:07+01:00", "due")), ()),
    (Compare(("due",), "lt", parse_instant("2026-01-01T00:00:09Z", "due")), ()),
    (In(("due",), (parse_instant("2026-01-01T00:07:07Z", "due"), parse_instant("2026-01-01T00:08:08Z", "due"))), ()),
    (None, (Sort(("due",), "moment", True),)),
    (None, (Sort(("code",), "text", True),)),
    (None, (Sort(("score",), "number"),)),
)


async def test_a_selective_filter_or_a_sort_uses_the_propertys_own_index(new_room: Database) -> None:
    for wanted, sort in LOOK_UPS:
        for scope in (PAIR, replace(PAIR, rule=In(("@self", "organisation"), ("home",)))):
            plan = await _plan(new_room, scope, Query(filter=wanted, sort=sort, count=False))
            assert "ox_1_" in plan, (wanted, sort, plan)


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
async def test_sqlite_sorts_no_hits_that_are_all_of_one_organisation(new_room: Database) -> None:
    plan = await _plan(new_room, PAIR, Query(filter=Compare(("status",), "eq", "a"), count=False))
    assert "TEMP B-TREE" not in plan, plan


async def test_listing_a_pair_walks_the_index_over_pairs(new_room: Database) -> None:
    for scope in (PAIR, replace(PAIR, rule=In(("@self", "organisation"), ("home",)))):
        plan = await _plan(new_room, scope, Query(filter=Compare(("other",), "eq", "x"), count=False))
        assert "ox_1_" not in plan, plan


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
async def test_sqlite_counts_a_facet_in_the_propertys_own_index(new_room: Database) -> None:
    """PostgreSQL does not answer from an index on an expression alone."""
    for scope in (PAIR, replace(PAIR, rule=In(("@self", "organisation"), ("home",)))):
        facet = await _plan(new_room, scope, Query(limit=0, count=False, facets=(Terms("s", ("status",), "text"),)))
        assert "ox_1_2" in facet, facet


async def _plan(room: Database, scope: Scope, query: Query) -> str:
    """How the store would run the first statement of a query, on a thousand objects."""

    def prepare(tx: Transaction) -> None:
        if tx.value("SELECT count(*) FROM objects"):
            return
        put(tx, [simple(number, _full(number)) for number in range(1, 1_001)])
        kinds: tuple[Any, ...] = ("text", "number", "text", "boolean", "moment")
        put_indexes(tx, room.dialect, 1, list(zip(INDEXED, kinds, strict=True)))
        if room.dialect == "postgres":
            tx.run("ANALYZE objects")

    def work(tx: Transaction) -> str:
        hearing = Hearing(tx)
        find(hearing, room.dialect, replace(scope, indexed=frozenset(INDEXED)), query)
        sql, params = hearing.heard[0]
        explain = "EXPLAIN QUERY PLAN " if room.dialect == "sqlite" else "EXPLAIN "
        return "\n".join(str(row) for row in tx.all(explain + sql, *params))

    await room.write(prepare)
    return await room.write(work)


def _full(number: int) -> dict[str, Any]:
    return {
        "code": f"c{number}",
        "score": number,
        "status": "abcde"[number % 5],
        "open": number % 2 == 0,
        "due": f"2026-01-01T{number // 60:02d}:{number % 60:02d}:{number % 60:02d}Z",
        "pad": "x" * 300,
    }


async def test_nothing_asked_for_is_counted_without_reading_rows(room: Database) -> None:
    await room.write(lambda tx: put(tx, [simple(number, {"n": number % 2}) for number in range(1, 6)]))
    query = Query(limit=0, facets=(Terms("n", ("n",), "number"),))
    page = await room.read(lambda rows: find(rows, room.dialect, PAIR, query))
    assert (page.rows, page.total, page.cursor) == ([], 5, None)
    assert page.facets["n"]["buckets"] == [{"key": 1, "count": 3}, {"key": 0, "count": 2}]


def test_a_source_without_bounds_reads_everything() -> None:
    assert row_source(sql_dialect("sqlite"), Scope(), None, include_deleted=True).where.text == "TRUE"


@pytest.mark.requirement("console:growth")
async def test_counting_stops_at_the_limit_unless_counts_are_cached(room: Database) -> None:
    await room.write(lambda tx: put(tx, [simple(number, {"name": "abc"[number % 3]}) for number in range(1, 31)]))

    async def total(query: Query, cache: CountCache | None = None) -> int | None:
        return (await room.read(lambda rows: find(rows, room.dialect, PAIR, query, cache))).total

    some = Query(limit=2, filter=Compare(("name",), "eq", "a"))
    assert [await total(replace(Query(limit=2), count_to=most)) for most in (None, 7, 40)] == [30, 7, 30]
    assert [await total(replace(some, count_to=most)) for most in (4, 40)] == [4, 10]
    cached = await total(replace(Query(limit=2), count_to=7), CountCache(few=1))
    assert cached == (30 if room.dialect == "sqlite" else 7)
