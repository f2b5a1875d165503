"""SQLite and PostgreSQL, filled with the same objects, answer every question alike, and as the plain evaluator does.

Some hundred questions here; more than five thousand with `make faults`.
"""

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pentad.kernel.ports import Database, Dialect, Rows, Transaction
from pentad.rooms.registers.query.execution import aggregate, find
from pentad.rooms.registers.query.models import (
    AggregateQuery,
    And,
    AnyElement,
    Filter,
    Kind,
    Not,
    Or,
    Query,
    Related,
    Scope,
)
from tests.health_checks import ALL_HEALTH_CHECKS
from tests.rooms.registers.query import asking, oracle
from tests.rooms.registers.query.oracle import Thing
from tests.rooms.registers.query.seeding import open_room, put, put_indexes
from tests.stores import PostgresServer, Stores

INDEXES: Sequence[tuple[tuple[str, ...], Kind]] = (
    (("name",), "text"), (("n",), "number"), (("flag",), "boolean"), (("when",), "moment"),
)  # fmt: skip


class Both:
    """One store of each dialect, asked the same."""

    def __init__(self, runner: asyncio.Runner, sqlite: Database, postgres: Database) -> None:
        self.runner = runner
        self.stores = (sqlite, postgres)
        self.asked: Counter[str] = Counter()

    def fill(self, things: list[Thing]) -> None:
        def work(tx: Transaction) -> None:
            tx.run("DELETE FROM objects")
            put(tx, things)

        for store in self.stores:
            self.runner.run(store.write(work))

    def answers(self, ask: Any) -> Any:
        """The answer of both; they must be one. `ask` is a function of rows and dialect."""
        first, second = (
            self.runner.run(store.read(lambda rows, s=store: ask(rows, s.dialect))) for store in self.stores
        )
        assert near(first, second), (first, second)
        return first


def near(one: Any, other: Any) -> bool:
    """Equal, but for the last digits of averages, which are rounded in other places."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(near(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(near(a, b) for a, b in zip(one, other, strict=True))
    return oracle.close(one, other)


@pytest.fixture
def both(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Both]:
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(postgres_server.empty_database())
        runner = stack.enter_context(asyncio.Runner())
        opened: list[Database] = []
        for stores in (Stores(None, tmp_path), Stores(url, tmp_path)):
            stack.callback(lambda stores=stores: runner.run(stores.close()))
            db = runner.run(open_room(stores))
            runner.run(db.write(lambda tx, dialect=db.dialect: put_indexes(tx, dialect, 1, INDEXES)))
            opened.append(db)
        yield Both(runner, *opened)


def page(rows: Rows, dialect: Dialect, scope: Scope, query: Query) -> Any:
    """What a caller sees; a cursor is its store's own (1e300 is spelled out in one), so only that there is one."""
    found = find(rows, dialect, scope, query)
    return [row[:5] for row in found.rows], found.total, found.cursor is not None, found.facets


def walked(rows: Rows, dialect: Dialect, scope: Scope, query: Query) -> list[int]:
    """All rows along the cursors, three at a time."""
    asked, seen = replace(query, limit=3, offset=0, facets=(), count=False), list[int]()
    while True:
        found = find(rows, dialect, scope, asked)
        seen += [row[0] for row in found.rows]
        if found.cursor is None:
            return seen
        asked = replace(asked, cursor=found.cursor)


def ask_for_rows(both: Both, things: list[Thing], scope: Scope, query: Query) -> None:
    rows, total, _, facets = both.answers(lambda rows, dialect: page(rows, dialect, scope, query))
    wanted = oracle.found(things, scope, query)
    assert [row[0] for row in rows] == [thing.id for thing in wanted[query.offset : query.offset + query.limit]]
    assert total == len(wanted)
    assert facets == {one.name: oracle.facet(wanted, one, things) for one in query.facets}
    assert both.answers(lambda rows, dialect: walked(rows, dialect, scope, query)) == [thing.id for thing in wanted]
    both.asked.update(["list", "cursor"])
    both.asked.update(type(facet).__name__.lower() for facet in query.facets)
    both.asked.update(["sort"] * bool(query.sort))
    both.asked.update(kinds(query.filter))


def ask_for_figures(both: Both, things: list[Thing], scope: Scope, query: AggregateQuery) -> None:
    groups = both.answers(lambda rows, dialect: aggregate(rows, dialect, scope, query).groups)
    wanted = oracle.groups(oracle.found(things, scope, Query(filter=query.filter)), query, things)
    assert len(groups) == len(wanted)
    for one, other in zip(groups, wanted, strict=True):
        assert list(one) == list(other)
        assert all(oracle.close(one[name], other[name]) for name in one), (one, other)
    both.asked.update(["aggregate", *kinds(query.filter)])


def ask_for_a_count(both: Both, things: list[Thing], scope: Scope, wanted: Filter) -> None:
    total = both.answers(lambda rows, dialect: find(rows, dialect, scope, Query(filter=wanted, limit=0)).total)
    assert total == sum(oracle.holds(wanted, thing, things) for thing in oracle.within(things, scope))
    both.asked.update(["count", *kinds(wanted)])


def kinds(wanted: Filter | None) -> set[str]:
    """What a filter is made of, each once."""
    match wanted:
        case None:
            return set()
        case And() | Or():
            return {type(wanted).__name__.lower()}.union(*(kinds(part) for part in wanted.parts))
        case Not() | AnyElement() | Related():
            return {type(wanted).__name__.lower()} | kinds(wanted.part)
        case _:
            return {type(wanted).__name__.lower()}


def ask_both(both: Both, examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=ALL_HEALTH_CHECKS,
    )
    @given(
        things=asking.things(),
        lists=st.lists(st.tuples(asking.scopes, asking.queries), min_size=1, max_size=4),
        figures=st.lists(st.tuples(asking.scopes, asking.aggregations()), min_size=1, max_size=3),
        counts=st.lists(st.tuples(asking.scopes, asking.filters), min_size=1, max_size=3),
    )
    def ask(things: list[Thing], lists: Any, figures: Any, counts: Any) -> None:
        both.fill(things)
        for scope, query in lists:
            ask_for_rows(both, things, scope, query)
        for scope, query in figures:
            ask_for_figures(both, things, scope, query)
        for scope, wanted in counts:
            ask_for_a_count(both, things, scope, wanted)

    ask()


def questions(both: Both) -> int:
    return both.asked["list"] + both.asked["cursor"] + both.asked["aggregate"] + both.asked["count"]


@pytest.mark.requirement("registers:query:dialects")
def test_both_dialects_give_one_answer(both: Both) -> None:
    ask_both(both, 30)
    assert questions(both) >= 100, both.asked


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.requirement("registers:query:dialects")
def test_both_dialects_give_one_answer_to_five_thousand_questions(
    both: Both, capsys: pytest.CaptureFixture[str]
) -> None:
    ask_both(both, 1_000)
    with capsys.disabled():
        sys.stdout.write(f"\n{questions(both)} questions, answered alike: {dict(both.asked.most_common())}\n")
    assert questions(both) >= 5_000, both.asked
    made = (
        "and",
        "or",
        "not",
        "like",
        "contains",
        "compare",
        "in",
        "exists",
        "sort",
        "terms",
        "ranges",
        "histogram",
        "related",
    )
    assert min(both.asked[name] for name in made) >= 100, both.asked
