"""What finding records costs as the directory grows: the same questions, with as many hits, in ever larger stores.

The store is filled directly, in large batches, and asked in this process, so that a figure is the search itself. The
questions are asked in turn, medians are shown, and every answer is checked. CPU time is the honest figure on a busy
machine: wall time contains the waiting.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final

from benchmarks.effort import Effort
from benchmarks.environment import say
from benchmarks.table import Figure, Goal
from pentad.kernel.ports import Database, Transaction
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.records import store
from pentad.rooms.directory.records.records import drafted
from pentad.rooms.directory.search.query import Query, asked
from pentad.rooms.directory.search.service import RecordSearch
from pentad.storage.migration_files import STORAGE, MigrationSet
from pentad.storage.migrations import apply
from pentad.storage.open import open_database

_SETS: Final = (STORAGE, MigrationSet("directory", "pentad.rooms.directory.schema"))
_SMALL: Final = 10_000
_BATCH: Final = 5_000
_RARE: Final = 60
"""Records that have the rare skill and the rare versions, however large the store is."""

_FIRST: Final = ("quiet", "amber", "swift", "copper", "silent", "northern", "gentle", "bright", "hollow", "scarlet")
_SECOND: Final = ("heron", "ledger", "falcon", "harbor", "lantern", "meadow", "comet", "anvil", "orchid", "compass")
_ACTS: Final = ("summarises", "translates", "classifies", "plans", "monitors", "reviews", "answers", "extracts")
_THINGS: Final = ("contracts", "invoices", "support tickets", "images", "logs", "clinical notes", "source code", "maps")
_SYLLABLES: Final = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo", "xe", "ju")


def coined(number: int) -> str:
    """A word that only this record has."""
    return "".join(_SYLLABLES[(number >> shift) & 15] for shift in (20, 16, 12, 8, 4, 0))


def name(number: int) -> str:
    return f"example.org/{_FIRST[number % 10]}-{_SECOND[number // 10 % 10]}-{number:07d}"


def record(number: int) -> dict[str, Any]:
    """A believable record, always the same for a number."""
    chance = Random(number)
    skills, domains = (taxonomy("1.1.0", family).all for family in ("skill", "domain"))
    fit = [entry for entry in skills if not entry.grouping][:-1]
    chosen = [fit[int(len(fit) * chance.random() ** 3)] for _ in range(chance.randint(1, 3))]
    if number < _RARE:
        chosen.append(skills[-1])
    places = [entry for entry in domains if not entry.grouping]
    act, thing = chance.choice(_ACTS), chance.choice(_THINGS)
    return {
        "schema_version": "1.1.0",
        "name": name(number),
        "version": f"90.0.{number}"
        if number < _RARE
        else f"{number % 5}.{chance.randint(0, 9)}.{chance.randint(0, 9)}",
        "description": f"An agent that {act} {thing} for teams of any size; known inside as {coined(number)}.",
        "authors": [f"Team {chance.randint(1, 400)} <team@example.org>"],
        "created_at": f"2026-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}T08:30:{chance.randint(10, 59)}Z",
        "skills": [{"id": entry.id, "name": entry.name} for entry in dict.fromkeys(chosen)],
        "domains": [{"id": entry.id, "name": entry.name} for entry in chance.sample(places, 2)],
        "locators": [{"type": "container_image", "urls": [f"https://images.example.org/{number}"]}],
        "annotations": {"tier": chance.choice(("gold", "silver", "bronze")), "region": f"r{chance.randint(1, 30)}"},
    }


@dataclass(frozen=True, slots=True)
class Question:
    """Something asked again and again, of other records each time, and how many hits it must have."""

    title: str
    selective: bool
    least: int
    most: int

    def query(self, turn: int) -> Query:
        number = turn * 37 % _SMALL
        if self.title == "exact name":
            return asked({"names": [name(number)]}, limit=20)
        if self.title == "rare skill and a domain":
            skill = taxonomy("1.1.0", "skill").all[-1]
            domain = record(turn % _RARE)["domains"][0]["name"]
            return asked({"skill_names": [skill.name], "domain_names": [domain]}, limit=20)
        if self.title == "prefix wildcard":
            return asked({"names": [name(number)[:-1] + "*"]}, limit=20)
        if self.title == "infix wildcard":
            return asked({"names": [f"*{name(number)[12:-1]}?"]}, limit=20)
        if self.title == "infix wildcard within a word":
            return asked({"names": [f"*{number:07d}".replace("*0", "*")]}, limit=20)
        if self.title == "version comparison":
            return asked({"versions": [f">=90.0.{turn % _RARE}"]}, limit=20)
        if self.title == "words, one of them rare":
            return asked({}, words=f"an agent known as {coined(number)}", limit=20)
        if self.title == "two frequent classes":
            frequent = record(number)
            classes = [frequent[kind][0]["name"] for kind in ("skills", "domains")]
            return asked({"skill_names": [classes[0]], "domain_names": [classes[1]]}, limit=20)
        return asked({}, words="translates images of invoices", limit=20)


QUESTIONS: Final = (
    Question("exact name", True, 1, 1),
    Question("rare skill and a domain", True, 1, _RARE),
    Question("prefix wildcard", True, 1, 1),
    Question("infix wildcard", True, 1, 1),
    Question("infix wildcard within a word", True, 1, 1),
    Question("version comparison", True, 1, _RARE),
    Question("words, one of them rare", True, 1, 1),
    Question("two frequent classes", False, 1, 10**9),
    Question("words, all of them frequent", False, 1, 10**9),
)


@dataclass(slots=True)
class Lane:
    """A store of one size and what was measured on it: milliseconds and microseconds of CPU, by question."""

    size: int
    load_seconds: float = 0.0
    millis: dict[str, float] = field(default_factory=dict[str, float])
    cpu: dict[str, float] = field(default_factory=dict[str, float])


async def fill(database: Database, first: int, count: int) -> float:
    """Write records in large batches; the seconds the store took, without making the records."""
    spent = 0.0
    for start in range(first, first + count, _BATCH):
        drafts = [drafted(record(number)) for number in range(start, min(start + _BATCH, first + count))]

        def work(tx: Transaction, drafts: list[store.Draft] = drafts) -> None:
            store.take_turn(tx, database.dialect)
            store.insert(tx, database.dialect, drafts, "benchmark", 0.0)

        before = time.perf_counter()
        await database.write(work)
        spent += time.perf_counter() - before
    return spent


async def ask(search: RecordSearch, lane: Lane, rounds: int, turns: int) -> None:
    """Ask every question in turn, round by round; medians over all of them."""
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
    """One store that grows from size to size, asked at each."""
    lanes: list[Lane] = []
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(None, Path(folder))
        try:
            await apply(database, _SETS)
            filled = 0
            for size in sizes:
                say(f"Directory: writing records up to {size:,} ...")
                lane = Lane(size)
                lane.load_seconds = await fill(database, filled, size - filled)
                filled = size
                await ask(RecordSearch(database), lane, rounds, turns)
                lanes.append(lane)
        finally:
            await database.close()
    return lanes


def searching(effort: Effort) -> list[Figure]:
    """The figures of search, and how they grow: at 10,000 records, at `--objects`, and at ten times as many."""
    sizes = tuple(sorted({_SMALL, effort.objects, effort.objects * 10}))
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
