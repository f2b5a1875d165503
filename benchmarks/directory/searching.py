"""Measures search as the directory grows: the same queries, with as many hits, in ever larger stores.

The store is filled directly, in large batches, and searched in this process, so a figure is the search itself. Queries
take turns, medians are shown, and every answer is checked. On a busy machine CPU time is the reliable figure: wall time
includes waiting.
"""

import asyncio
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.directory.workload import RARE, coined, name, rare_skill, record
from benchmarks.effort import Effort
from benchmarks.environment import say
from benchmarks.process import move_to, server_core
from benchmarks.table import Figure, Goal
from pentad.kernel.ports import Database, Transaction
from pentad.rooms.directory import store
from pentad.rooms.directory.records.service import draft_record
from pentad.rooms.directory.search.query import Query, build_query
from pentad.rooms.directory.search.service import RecordSearch
from pentad.storage.migrations import STORAGE, MigrationSet, apply
from pentad.storage.open import open_database

SETS: Final = (
    STORAGE,
    MigrationSet("jobs", "pentad.jobs.schema"),
    MigrationSet("events", "pentad.events.schema"),
    MigrationSet("directory", "pentad.rooms.directory.schema"),
)
_SMALL: Final = 10_000
_BATCH: Final = 5_000
_AHEAD: Final = 2
_TOLD: Final = 40
"""Batches between two lines of progress."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query repeated for other records each time, and the number of hits it must have."""

    title: str
    selective: bool
    least: int
    most: int

    def query(self, turn: int) -> Query:
        number = turn * 37 % _SMALL
        if self.title == "exact name":
            return build_query({"names": [name(number)]}, limit=20)
        if self.title == "rare skill and a domain":
            domain = record(turn % RARE)["domains"][0]["name"]
            return build_query({"skill_names": [rare_skill().name], "domain_names": [domain]}, limit=20)
        if self.title == "prefix wildcard":
            return build_query({"names": [name(number)[:-1] + "*"]}, limit=20)
        if self.title == "infix wildcard":
            return build_query({"names": [f"*{name(number)[12:-1]}?"]}, limit=20)
        if self.title == "infix wildcard within a word":
            return build_query({"names": [f"*{number:07d}".replace("*0", "*")]}, limit=20)
        if self.title == "version comparison":
            return build_query({"versions": [f">=90.0.{turn % RARE}"]}, limit=20)
        if self.title == "words, one of them rare":
            return build_query({}, words=f"an agent known as {coined(number)}", limit=20)
        if self.title == "two frequent classes":
            frequent = record(number)
            classes = [frequent[kind][0]["name"] for kind in ("skills", "domains")]
            return build_query({"skill_names": [classes[0]], "domain_names": [classes[1]]}, limit=20)
        return build_query({}, words="translates images of invoices", limit=20)


QUESTIONS: Final = (
    Question("exact name", True, 1, 1),
    Question("rare skill and a domain", True, 1, RARE),
    Question("prefix wildcard", True, 1, 1),
    Question("infix wildcard", True, 1, 1),
    Question("infix wildcard within a word", True, 1, 1),
    Question("version comparison", True, 1, RARE),
    Question("words, one of them rare", True, 1, 1),
    Question("two frequent classes", False, 1, 10**9),
    Question("words, all of them frequent", False, 1, 10**9),
)


@dataclass(slots=True)
class Lane:
    """A store of one size and its measurements by query: milliseconds, and microseconds of CPU."""

    size: int
    millis: dict[str, float] = field(default_factory=dict[str, float])
    cpu: dict[str, float] = field(default_factory=dict[str, float])


def drafts(numbers: range) -> list[store.Draft]:
    """Drafts of records."""
    return [draft_record(record(number)) for number in numbers]


async def fill(database: Database, first: int, last: int) -> None:
    """Write records in large batches, prepared by another process on the core that otherwise runs servers."""
    batches = [range(start, min(start + _BATCH, last)) for start in range(first, last, _BATCH)]
    with ProcessPoolExecutor(1, get_context("spawn"), move_to, (server_core(),)) as maker:
        coming: deque[Future[list[store.Draft]]] = deque()
        for number in range(len(batches) + _AHEAD):
            if number < len(batches):
                coming.append(maker.submit(drafts, batches[number]))
            if number >= _AHEAD:
                made = await asyncio.wrap_future(coming.popleft())
                await database.write(lambda tx, made=made: _write(tx, database, made))
            if number % _TOLD == _TOLD - 1:
                say(f"Directory: {batches[min(number, len(batches) - 1)].start:,} records ...")


def _write(tx: Transaction, database: Database, made: list[store.Draft]) -> None:
    store.lock_terms(tx, database.dialect)
    store.insert(tx, database.dialect, made, "benchmark", 0.0)


async def ask(search: RecordSearch, lane: Lane, rounds: int, turns: int) -> None:
    """Run every query in turn, round by round. Returns medians."""
    for question in QUESTIONS:
        times: list[float] = []
        cpu: list[float] = []
        for turn in range(rounds * turns):
            query = question.query(turn)
            spent, before = time.process_time(), time.perf_counter()
            found = await search.find(query)
            times.append((time.perf_counter() - before) * 1e3)
            cpu.append((time.process_time() - spent) * 1e6)
            if found.total is None or not question.least <= found.total <= question.most:
                raise AssertionError(f"{question.title}: {found.total} hits for {query}")
        lane.millis[question.title], lane.cpu[question.title] = median(times), median(cpu)


async def grown(sizes: tuple[int, ...], rounds: int, turns: int = 20) -> list[Lane]:
    """A store that grows from size to size, measured at each."""
    lanes: list[Lane] = []
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(None, Path(folder))
        try:
            await apply(database, SETS)
            filled = 0
            for size in sizes:
                say(f"Directory: writing records up to {size:,} ...")
                lane = Lane(size)
                await fill(database, filled, size)
                filled = size
                await ask(RecordSearch(database), lane, rounds, turns)
                lanes.append(lane)
        finally:
            await database.close()
    return lanes


def searching(effort: Effort) -> list[Figure]:
    """The figures of search, and how they grow: at 10,000 records, at `--objects`, and at ten times as many."""
    middle = max(_SMALL, effort.objects)
    sizes = tuple(sorted({_SMALL, middle, middle * 10}))
    lanes = asyncio.run(grown(sizes, effort.rounds))
    return [figure for lane in lanes[1:] for figure in _beside(lane, lanes[0])]


def _beside(large: Lane, small: Lane) -> Iterator[Figure]:
    against = f"{small.size:,}"
    group = f"Directory: finding among {large.size:,} records, beside {against}"
    for unit, ours, theirs in (("ms", large.millis, small.millis), ("us of CPU", large.cpu, small.cpu)):
        for question in QUESTIONS:
            goal = Goal("at most", 3.0) if question.selective else None
            yield Figure(
                group, question.title, unit, ours[question.title], theirs[question.title], goal, against=against
            )
