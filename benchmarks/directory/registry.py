"""Measures the registry as it grows: pages, one server, and changes since a time."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.directory.searching import SETS, Lane
from benchmarks.directory.workload import name, record
from benchmarks.effort import Effort
from benchmarks.environment import say
from benchmarks.table import Figure, Goal
from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Database, Transaction
from pentad.rooms.directory import store
from pentad.rooms.directory.records.service import draft_record
from pentad.rooms.directory.records.states import States
from pentad.rooms.directory.registry.entries import ServerEntries
from pentad.rooms.directory.registry.service import Registry, ServerPage, ServerQuery
from pentad.storage.migrations import apply
from pentad.storage.open import open_database

_SMALL: Final = 5_000
_BATCH: Final = 2_500
_CHANGED: Final = 50
"""The number of servers changed after the time in the request, regardless of the store's size."""
_BEFORE, _SINCE, _AFTER = 1_000.0, 2_000.0, 3_000.0
_PAGE: Final = 50


def server(number: int) -> dict[str, Any]:
    """A record of an MCP server."""
    connection = {"type": "streamable-http", "url": f"https://servers.example.org/{number}/mcp"}
    data = {"name": name(number), "description": f"Server number {number}.", "connections": [connection]}
    return {**record(number), "modules": [{"name": "integration/mcp", "id": 202, "data": data}]}


async def grown(sizes: tuple[int, ...], rounds: int, turns: int = 20) -> list[Lane]:
    """A registry that grows from size to size, measured at each."""
    lanes: list[Lane] = []
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(None, Path(folder))
        try:
            await apply(database, SETS)
            filled = 0
            for size in sizes:
                say(f"Registry: writing servers up to {size:,} ...")
                for start in range(filled, size, _BATCH):
                    await _fill(database, range(start, min(start + _BATCH, size)))
                filled = size
                lanes.append(await _asked(database, size, rounds * turns))
        finally:
            await database.close()
    return lanes


async def _fill(database: Database, numbers: range) -> None:
    drafts = [draft_record(server(number)) for number in numbers]

    def work(tx: Transaction) -> None:
        store.lock_terms(tx, database.dialect)
        for chosen, now in ((slice(0, _CHANGED), _AFTER), (slice(_CHANGED, None), _BEFORE)):
            moment = _BEFORE if numbers.start else now
            made = store.insert(tx, database.dialect, drafts[chosen], "benchmark", moment)
            ServerEntries().added(tx, made, "approved", moment)

    await database.write(work)


async def _asked(database: Database, size: int, turns: int) -> Lane:
    clock, entries = SystemClock(), ServerEntries()
    registry = Registry(database, clock, entries, States(database, clock, entries))
    lane = Lane(size)
    places = sorted(name(number) for number in range(_SMALL))[:-_PAGE]
    """Names with a full page behind them, at every size."""

    async def changes(_turn: int) -> ServerPage:
        return await registry.page(ServerQuery(updated_since=_SINCE), _PAGE)

    async def page(turn: int) -> ServerPage:
        return await registry.page(ServerQuery(version="latest"), _PAGE, (places[turn * 37 % len(places)], ""))

    async def one(turn: int) -> ServerPage:
        return ServerPage([await registry.get(name(turn * 37 % _SMALL), "latest")])

    questions: dict[str, tuple[Callable[[int], Awaitable[ServerPage]], int]] = {
        "changes since a moment": (changes, _CHANGED),
        "a page of the latest versions": (page, _PAGE),
        "the latest version of a server": (one, 1),
    }
    for title, (ask, expected) in questions.items():
        times: list[float] = []
        cpu: list[float] = []
        for turn in range(turns):
            spent, before = time.process_time(), time.perf_counter()
            found = await ask(turn)
            times.append((time.perf_counter() - before) * 1e3)
            cpu.append((time.process_time() - spent) * 1e6)
            if len(found.entries) != expected:
                raise AssertionError(f"{title}: {len(found.entries)} servers, not {expected}")
        lane.millis[title], lane.cpu[title] = median(times), median(cpu)
    return lane


def listing(effort: Effort) -> list[Figure]:
    """The figures of the registry, and how they grow: at 5,000 servers and at `--objects`."""
    small, large = asyncio.run(grown((_SMALL, max(10 * _SMALL, effort.objects)), effort.rounds))
    return list(_beside(large, small))


def _beside(large: Lane, small: Lane) -> Iterator[Figure]:
    against = f"{small.size:,}"
    group = f"Directory: a registry of {large.size:,} servers, beside {against}"
    for unit, ours, theirs in (("ms", large.millis, small.millis), ("us of CPU", large.cpu, small.cpu)):
        for title, value in ours.items():
            yield Figure(group, title, unit, value, theirs[title], Goal("at most", 3.0), against=against)
