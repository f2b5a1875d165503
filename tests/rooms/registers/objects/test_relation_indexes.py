"""Queries through references read what they find and little more, by indexes, on both stores."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN
from tests.stores import Stores

pytestmark = pytest.mark.anyio

TEXT: dict[str, Any] = {"type": "string"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "person": {"bsn": {**TEXT, "unique": True}, "city": {**TEXT, "facetable": True}},
    "permit": {"status": {**TEXT, "facetable": True}, "applicant": {**TEXT, "$ref": "person"}},
}
QUERIES: list[tuple[str, dict[str, Any], int]] = [
    ("permit", {"filter": {"applicant.bsn": "000007"}}, 2),
    ("permit", {"filter": {"applicant.city": "city 7"}, "limit": 5}, 20),
    ("person", {"filter": {"permits.status": "lost"}}, 1),
]
"""Each finds few objects of many; the last member says how many."""
FEW = 200
"""Rows that a statement may read, of 3,000 objects."""


class Hearing:
    """A database that remembers the statements it is asked to read with."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.heard: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def read(self, work: Callable[[Rows], Any]) -> Any:
        heard = self.heard

        class Heard(Rows):
            def __init__(self, rows: Rows) -> None:
                self._rows = rows

            def one(self, sql: str, *params: Any) -> Any:
                heard.append((sql, params))
                return self._rows.one(sql, *params)

            def all(self, sql: str, *params: Any) -> list[Any]:
                heard.append((sql, params))
                return self._rows.all(sql, *params)

            def value(self, sql: str, *params: Any) -> Any:
                heard.append((sql, params))
                return self._rows.value(sql, *params)

        return await self._database.read(lambda rows: work(Heard(rows)))


@pytest.fixture(autouse=True)
def new_tables(stores: Stores) -> None:
    """PostgreSQL may not use an index at once that it made over rows which earlier tests changed."""
    _ = stores.url


@pytest.fixture
async def pairs(registers: Registers) -> dict[str, Pair]:
    """Two thousand permits of a thousand people; one permit is lost."""
    catalogue = registers.catalogue
    for slug, properties in SCHEMAS.items():
        await catalogue.schemas.create(ADMIN, {"title": slug, "slug": slug, "properties": properties})
    await catalogue.registers.create(ADMIN, {"title": "City", "slug": "city", "schemas": list(SCHEMAS)})
    pairs = {slug: await catalogue.pair(ADMIN, "city", slug) for slug in SCHEMAS}
    people = [{"bsn": f"{number:06}", "city": f"city {number % 100}"} for number in range(1_000)]
    made = await _write(registers, pairs["person"], people)
    permits = [{"status": "open" if number else "lost", "applicant": made[number % 1_000]} for number in range(2_000)]
    await _write(registers, pairs["permit"], permits)
    if registers.platform.database.dialect == "postgres":
        await registers.platform.database.write(_analyze)
    return pairs


async def _write(registers: Registers, pair: Pair, rows: list[dict[str, Any]]) -> list[str | None]:
    outcomes = await registers.objects.bulk(ADMIN, pair, [Operation("create", one) for one in rows], atomic=True)
    return [one.uuid for one in outcomes]


def _analyze(tx: Transaction) -> None:
    for table in ("objects", "object_references"):
        tx.run(f"ANALYZE {table}")


def whole_tables(rows: Rows, sql: str, params: tuple[Any, ...]) -> list[str]:
    """The steps of a statement in SQLite that read a table, or all objects of a schema and not only the first."""
    steps = [str(line[-1]) for line in rows.all(f"EXPLAIN QUERY PLAN {sql}", *params)]
    reads_one = sql.endswith("ORDER BY register, schema, id LIMIT 1")
    return [
        one
        for one in steps
        if ("SCAN" in one and "VIRTUAL TABLE" not in one) or ("objects_by_pair" in one and not reads_one)
    ]


def rows_read(rows: Rows, sql: str, params: tuple[Any, ...]) -> int:
    """How many rows PostgreSQL reads for a statement, with those it throws away."""
    found = rows.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", *params)
    return _read_by((json.loads(found) if isinstance(found, str) else found)[0]["Plan"])


def _read_by(step: dict[str, Any]) -> int:
    inner = sum(_read_by(one) for one in step.get("Plans", ()))
    if "Scan" not in step["Node Type"]:
        return inner
    removed = step.get("Rows Removed by Filter", 0) + step.get("Rows Removed by Index Recheck", 0)
    return inner + round((step["Actual Rows"] + removed) * step["Actual Loops"])


@pytest.mark.requirement("registers:relations:indexes")
async def test_a_filter_through_a_reference_reads_few_rows_of_many(
    registers: Registers, pairs: dict[str, Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    objects, database = registers.objects, registers.platform.database
    for schema, query, hits in QUERIES:
        hearing = Hearing(database)
        with monkeypatch.context() as patch:
            patch.setattr(objects, "_database", hearing)
            found = await objects.find(ADMIN, pairs[schema], await objects.query_of(ADMIN, pairs[schema], query))
        assert (len(found.rows), found.total) == (min(hits, query.get("limit", hits)), hits)
        asked = [one for one in hearing.heard if "FROM object" in one[0] or "JOIN object" in one[0]]
        assert asked, "the query was heard"
        for sql, params in asked:
            if database.dialect == "sqlite":
                assert await database.read(partial(whole_tables, sql=sql, params=params)) == [], sql
            else:
                assert await database.read(partial(rows_read, sql=sql, params=params)) <= FEW, sql
