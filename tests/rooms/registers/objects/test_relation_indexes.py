"""Queries through references read indexes on both stores; no statement reads a whole table of objects or references."""

from collections.abc import Callable
from typing import Any

import pytest

from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN

pytestmark = pytest.mark.anyio

TEXT: dict[str, Any] = {"type": "string"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "person": {"bsn": {**TEXT, "unique": True}, "city": {**TEXT, "facetable": True}},
    "permit": {"status": {**TEXT, "facetable": True}, "applicant": {**TEXT, "$ref": "person"}},
}
QUERIES: list[tuple[str, dict[str, Any]]] = [
    ("permit", {"filter": {"applicant.bsn": "000007"}}),
    ("permit", {"filter": {"applicant.city": "city 7"}, "limit": 5}),
    ("person", {"filter": {"permits.status": "lost"}}),
]
"""Each finds few objects of many."""


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


@pytest.fixture
async def pairs(registers: Registers) -> dict[str, Pair]:
    """Two thousand permits of a thousand people; one permit is lost."""
    catalogue = registers.catalogue
    for slug, properties in SCHEMAS.items():
        await catalogue.schemas.create(ADMIN, {"title": slug, "slug": slug, "properties": properties})
    await catalogue.registers.create(ADMIN, {"title": "City", "slug": "city", "schemas": list(SCHEMAS)})
    pairs = {slug: await catalogue.pair(ADMIN, "city", slug) for slug in SCHEMAS}
    people = [{"bsn": f"{number:06}", "city": f"city {number % 100}"} for number in range(1_000)]
    made = await registers.objects.bulk(ADMIN, pairs["person"], [Operation("create", one) for one in people])
    permits = [
        {"status": "open" if number else "lost", "applicant": made[number % 1_000].uuid} for number in range(2_000)
    ]
    await registers.objects.bulk(ADMIN, pairs["permit"], [Operation("create", one) for one in permits])
    if registers.platform.database.dialect == "postgres":
        await registers.platform.database.write(_analyze)
    return pairs


def _analyze(tx: Transaction) -> None:
    for table in ("objects", "object_references"):
        tx.run(f"ANALYZE {table}")


@pytest.mark.requirement("registers:relations:indexes")
@pytest.mark.parametrize(("schema", "query"), QUERIES)
async def test_a_filter_through_a_reference_reads_no_whole_table(
    registers: Registers, pairs: dict[str, Pair], schema: str, query: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    objects, database = registers.objects, registers.platform.database
    hearing = Hearing(database)
    monkeypatch.setattr(objects, "_database", hearing)
    found = await objects.find(ADMIN, pairs[schema], await objects.query_of(ADMIN, pairs[schema], query))
    assert 0 < len(found.rows) <= 20
    asked = [one for one in hearing.heard if "object_references" in one[0] or "FROM objects" in one[0]]
    assert asked, "the query was heard"
    whole = "SCAN" if database.dialect == "sqlite" else "Seq Scan"
    explain = "EXPLAIN QUERY PLAN " if database.dialect == "sqlite" else "EXPLAIN "

    def plans(rows: Rows) -> list[str]:
        return ["\n".join(str(line) for line in rows.all(explain + sql, *params)) for sql, params in asked]

    for plan in await database.read(plans):
        assert whole not in plan, plan
