"""Filters and groups through a reference, beside the same SQL written by hand on the same store.

Permits refer to applicants, ten to each. Both ask through the same connection in turn, and have an index on the
reference and on the applicant's properties; by hand there are no names to resolve, no rights to apply and no rows to
make objects of. The answers must agree.
"""

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any, Final

from benchmarks.effort import Effort
from benchmarks.environment import say
from benchmarks.process import spread_out
from benchmarks.table import Figure, Goal
from pentad.access.scopes import role_scopes
from pentad.app import open_app
from pentad.kernel.ports import Database, Dialect
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.service import Registers
from pentad.settings.model import Settings
from tests.stores import PostgresServer

_BY_HAND: Final = "SQL by hand"
_CITIES: Final = 50
_PAGE: Final = 30
_PORTION: Final = 5_000
_PERMITS_EACH: Final = 10
_BESIDE_SQL: Final = Goal("at most", 1.5)
_ONE_HIT: Final[dict[Dialect, Goal]] = {
    "sqlite": Goal("at most", 2.0, "figure"),
    "postgres": Goal("at most", 5.0, "figure"),
}
"""For one hit the statements take a tenth of a millisecond: what counts is that it does not grow with the store. On
PostgreSQL every statement also travels to another process and back."""
_BENCH: Final = Caller(Principal("user:bench", "bench", role_scopes("admin")))
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_PERSON: Final[dict[str, Any]] = {
    "name": _TEXT,
    "bsn": {**_TEXT, "unique": True},
    "city": {**_TEXT, "facetable": True},
}
_PERMIT: Final[dict[str, Any]] = {
    "number": _TEXT,
    "status": {**_TEXT, "facetable": True},
    "fee": {"type": "number"},
    "applicant": {**_TEXT, "$ref": "person"},
}


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked, as a query and as statements. The first statement has the rows that are compared by number."""

    name: str
    raw: dict[str, Any]
    by_hand: tuple[str, ...]
    groups: bool = False
    goal: Goal = _BESIDE_SQL


def measure_relations(effort: Effort) -> list[Figure]:
    """The figures on both stores. They have all cores: PostgreSQL starts workers even if it has only one."""
    with ProcessPoolExecutor(1, get_context("spawn"), spread_out) as apart:
        return apart.submit(_measure_stores, effort).result()


def _measure_stores(effort: Effort) -> list[Figure]:
    sizes = (effort.objects, effort.objects * 10) if effort.large else (effort.objects,)
    figures: list[Figure] = []
    for size in sizes:
        if "sqlite" in effort.stores:
            figures += asyncio.run(_measure(None, "SQLite", size, effort.rounds))
        if "postgres" in effort.stores:
            figures += _measure_postgres(size, effort.rounds)
    return figures


def _measure_postgres(size: int, rounds: int) -> list[Figure]:
    server = PostgresServer()
    try:
        return asyncio.run(_measure(server.fresh_database(), "PostgreSQL", size, rounds))
    finally:
        server.remove()


async def _measure(url: str | None, store: str, size: int, rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
        settings = Settings(data=Path(folder), database=url, rooms=("registers",), auth="none")
        async with open_app(settings) as app:
            registers: Registers = app.rooms[0].service
            say(f"{store}: writing {size:,} permits and their applicants ...")
            person, permit = await _fill(registers, size)
            await _index(app.database, person, permit)
            group = f"Registers through a reference, {size:,} objects in {store}"
            figures: list[Figure] = []
            for question in _questions(app.database.dialect, person, permit):
                mine, theirs = await _compare(registers, app.database, permit, question, rounds)
                figures.append(Figure(group, question.name, "ms", mine, theirs, question.goal, "", _BY_HAND))
            return figures


async def _fill(registers: Registers, size: int) -> tuple[Pair, Pair]:
    catalogue = registers.catalogue
    for slug, properties in (("person", _PERSON), ("permit", _PERMIT)):
        await catalogue.schemas.create(_BENCH, {"title": slug, "slug": slug, "properties": properties})
    await catalogue.registers.create(_BENCH, {"title": "City", "slug": "city", "schemas": ["person", "permit"]})
    person, permit = [await catalogue.pair(_BENCH, "city", slug) for slug in ("person", "permit")]
    people = await _write(registers, person, size // _PERMITS_EACH, _person)
    chance = Random(size)

    def one(number: int) -> dict[str, Any]:
        status = ("open", "closed", "new")[number % 3]
        applicant = people[chance.randrange(len(people))]
        return {"number": f"P-{number:07}", "status": status, "fee": number % 97, "applicant": applicant}

    await _write(registers, permit, size, one)
    return person, permit


def _person(number: int) -> dict[str, Any]:
    return {"name": f"Person {number}", "bsn": f"{number:09}", "city": f"city {number % _CITIES}"}


async def _write(registers: Registers, pair: Pair, count: int, made: Callable[[int], dict[str, Any]]) -> list[str]:
    uuids: list[str] = []
    for first in range(0, count, _PORTION):
        rows = [Operation("create", made(number)) for number in range(first, min(first + _PORTION, count))]
        outcomes = await registers.objects.bulk(_BENCH, pair, rows, atomic=True)
        uuids += [str(one.uuid) for one in outcomes]
    return uuids


async def _index(database: Database, person: Pair, permit: Pair) -> None:
    """The indexes somebody would make for these statements, and statistics where the store has them."""
    indexed = ((permit, "applicant"), (person, "city"), (person, "bsn"))
    statements = [
        f"CREATE INDEX by_hand_{name} ON objects (({_value(database.dialect, '', name)}))"
        f" WHERE schema = {pair.schema.id} AND deleted IS NULL"
        for pair, name in indexed
    ]
    await database.write(lambda tx: [tx.run(one) for one in statements])
    if database.dialect == "postgres":
        await database.write(lambda tx: tx.run("ANALYZE objects"))


def _value(dialect: Dialect, table: str, name: str) -> str:
    here = f"{table}." if table else ""
    return f"json_extract({here}data, '$.{name}')" if dialect == "sqlite" else f"{here}doc ->> '{name}'"


def _questions(dialect: Dialect, person: Pair, permit: Pair) -> Sequence[_Question]:
    def value(table: str, name: str) -> str:
        return _value(dialect, table, name)

    # the order of the tables is the one that is best in SQLite, which keeps it
    far_first = (
        f"objects AS a CROSS JOIN objects AS p WHERE a.schema = {person.schema.id} AND a.deleted IS NULL"
        f" AND {value('p', 'applicant')} = {'+' if dialect == 'sqlite' else ''}a.uuid"
        f" AND p.schema = {permit.schema.id} AND p.deleted IS NULL"
    )
    near_first = (
        f"objects AS p LEFT JOIN objects AS a ON a.uuid = {value('p', 'applicant')} AND a.deleted IS NULL"
        f" AND a.schema = {person.schema.id} WHERE p.register = {permit.register.id}"
        f" AND p.schema = {permit.schema.id} AND p.deleted IS NULL"
    )

    def filtered(name: str, wanted: str) -> tuple[str, ...]:
        where = f"{far_first} AND {value('a', name)} = '{wanted}'"
        return (
            f"SELECT p.uuid, p.data, p.version FROM {where} ORDER BY p.id LIMIT {_PAGE}",
            f"SELECT count(*) FROM {where}",
        )

    some, one = "city 7", f"{77:09}"
    by_city = f"SELECT {value('a', 'city')}, count(*) FROM {near_first} GROUP BY 1 ORDER BY 1"
    return (
        _Question(
            f"filter by the city of the applicant, {_PAGE} of 2 % and the total",
            {"filter": {"applicant.city": some}, "limit": _PAGE},
            filtered("city", some),
        ),
        _Question(
            "filter by the number of the applicant, 1 of them, and the total",
            {"filter": {"applicant.bsn": one}, "limit": _PAGE},
            filtered("bsn", one),
            goal=_ONE_HIT[dialect],
        ),
        _Question("count by city of the applicant", {"group_by": ["applicant.city"]}, (by_city,), groups=True),
    )


async def _compare(
    registers: Registers, database: Database, permit: Pair, question: _Question, rounds: int
) -> tuple[float, float]:
    async def asked() -> int:
        objects = registers.objects
        if question.groups:
            found = await objects.aggregate(_BENCH, permit, await objects.aggregate_of(_BENCH, permit, question.raw))
            return len(found.groups)
        return len((await objects.find(_BENCH, permit, await objects.query_of(_BENCH, permit, question.raw))).rows)

    async def by_hand() -> int:
        answers = await database.read(lambda rows: [rows.all(one) for one in question.by_hand])
        if not question.groups:
            [json.loads(row[1]) for row in answers[0]]
        return len(answers[0])

    mine, theirs, expected = list[float](), list[float](), 0
    for turn in range(rounds + 1):
        for ask, times in ((asked, mine), (by_hand, theirs)):
            spent, found = await _timed(ask)
            if turn:  # the first round fills caches
                times.append(spent)
            elif times is mine:
                expected = found
            elif found != expected:
                raise SystemExit(f"{question.name}: {expected} rows, and {found} by hand.")
    return median(mine), median(theirs)


async def _timed(ask: Callable[[], Awaitable[int]]) -> tuple[float, int]:
    start = perf_counter()
    found = await ask()
    return (perf_counter() - start) * 1e3, found
