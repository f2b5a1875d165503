"""What keeping objects costs: Pentad beside a server written for the purpose, and beside Kinto.

One client asks one thing after the other over one connection, so a time is what a caller waits; only the load comes
over four connections at once (Kinto, which refuses that, over one), and for that a server has every core: whoever loads
wants to be done, and a server may check one request while it writes another. Servers take turns in short rounds,
medians are shown, and every answer is checked. CPU time is that of the server's process.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Final

from benchmarks.effort import Effort
from benchmarks.environment import say
from benchmarks.registers.contestants import FASTAPI, Contestant, fastapi, pentad
from benchmarks.registers.kinto import KINTO, kinto
from benchmarks.registers.relations import measure_relations
from benchmarks.registers.schema_changes import measure_schema_changes
from benchmarks.registers.workload import STATUSES, code, encoded
from benchmarks.table import Figure, Goal

_BATCH: Final = 200
_BATCHES: Final = 25
"""Batches made, then sent, before the next ones are made."""

_KINTO_SHARE: Final = 50
"""Kinto loads one object for this many of the others': it would take the better part of an hour to load them all."""

_GROWTH: Final = (10_000, 10)
"""The selective filter is measured in a store of so many objects, then in one of so many times --objects."""

_PER_ROUND: Final = {"create": 100, "get": 300, "selective": 300, "unselective": 100, "facets": 20}
_NAMES: Final = {
    "create": "create one object",
    "get": "get one object",
    "selective": "filter with 1 hit, and the total",
    "unselective": "filter with 20 % hits, 30 of them, and the total",
    "facets": "facets of two properties over all objects",
}


@dataclass(slots=True)
class Lane:
    """One server and what was measured on it."""

    name: str
    asked: Contestant
    objects: int
    loaded: int = 0
    load_seconds: float = 0.0
    load_cpu: float = 0.0
    created: list[str] = field(default_factory=list[str])
    millis: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    cpu: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def load(self, count: int) -> None:
        """Write objects in batches; making their JSON is not timed."""
        end = self.loaded + count
        for first in range(self.loaded, end, _BATCH * _BATCHES):
            last = min(first + _BATCH * _BATCHES, end)
            batches = [encoded(start, min(_BATCH, last - start)) for start in range(first, last, _BATCH)]
            before, start = self.asked.server.cpu_seconds(), perf_counter()
            with self.asked.server.everywhere():
                self.asked.bulk(batches)
            self.load_seconds += perf_counter() - start
            self.load_cpu += self.asked.server.cpu_seconds() - before
        self.loaded += count

    def round(self, number: int) -> None:
        for kind, count in _PER_ROUND.items():
            asking = self._asking(kind, number * count)
            if asking is None:
                continue
            before = self.asked.server.cpu_seconds()
            times: list[float] = []
            for turn in range(count):
                start = perf_counter()
                asking(turn)
                times.append((perf_counter() - start) * 1e3)
            spent = self.asked.server.cpu_seconds() - before
            self.millis.setdefault(kind, []).append(median(times))
            self.cpu.setdefault(kind, []).append(spent * 1e6 / count)

    def _asking(self, kind: str, done: int) -> "Callable[[int], None] | None":
        asked = self.asked
        if kind == "create":
            bodies = encoded(10_000_000 + done, _PER_ROUND["create"])
            return lambda turn: self.created.append(asked.create(bodies[turn]))
        if kind == "get":
            return lambda turn: _expect(asked.get(self.created[turn % len(self.created)]) > 100, "an object")
        if kind == "selective":
            return lambda turn: _expect(
                asked.find("code", code((done + turn) * 37 % self.objects)) == (1, 1), "one object"
            )
        if kind == "unselective":
            return lambda turn: _expect(asked.find("status", STATUSES[turn % 5])[1] == 30, "thirty objects")
        if asked.facets() is None:
            return None
        return lambda _turn: _expect(sum((asked.facets() or {}).values()) >= self.objects, "facets of all objects")


def measure(effort: Effort) -> list[Figure]:
    """Every figure of this part."""
    return [
        *_beside(effort),
        *_grown(effort),
        *measure_relations(effort),
        *measure_schema_changes(effort),
    ]


def _beside(effort: Effort) -> list[Figure]:
    with ExitStack() as stack:
        ours = Lane("Pentad", stack.enter_context(pentad()), effort.objects)
        written = Lane(FASTAPI, stack.enter_context(fastapi()), effort.objects)
        other = Lane(KINTO, stack.enter_context(kinto()), effort.objects // _KINTO_SHARE)
        lanes = (ours, written, other)
        for lane in lanes:
            say(f"{lane.name}: writing {lane.objects:,} objects in batches of {_BATCH} ...")
            lane.load(lane.objects)
        for number in range(effort.rounds):
            say(f"Registers, round {number + 1} of {effort.rounds} ...")
            for lane in lanes:
                lane.round(number)
        remark = f"({effort.objects // _KINTO_SHARE:,} objects)"
        return [*_figures(ours, written, 5.0, ""), *_figures(ours, other, None, remark)]


def _figures(ours: Lane, rival: Lane, bulk_goal: float | None, remark: str) -> Iterator[Figure]:
    group = f"Registers beside {rival.name}, {ours.objects:,} objects of 20 properties"
    yield Figure(
        group, f"bulk load, {_BATCH} a request", "objects/s", ours.loaded / ours.load_seconds,
        rival.loaded / rival.load_seconds, Goal("at least", bulk_goal or 1.0), remark, rival.name,
    )  # fmt: skip
    for kind, name in _NAMES.items():
        if kind in rival.millis:
            mine, theirs = median(ours.millis[kind]), median(rival.millis[kind])
            yield Figure(group, name, "ms", mine, theirs, Goal("at most", 1.0), remark, rival.name)
    group = f"CPU time of the server, beside {rival.name}"
    spent = ours.load_cpu * 1e6 / ours.loaded, rival.load_cpu * 1e6 / rival.loaded
    yield Figure(group, "bulk load, one object", "us", *spent, None, remark, rival.name)
    for kind, name in _NAMES.items():
        if kind in rival.cpu:
            yield Figure(group, name, "us", median(ours.cpu[kind]), median(rival.cpu[kind]), None, remark, rival.name)


def _grown(effort: Effort) -> list[Figure]:
    """The same selective filter in a small and in a large store."""
    small, times = _GROWTH
    large = effort.objects * times
    with pentad() as asked:
        lane = Lane("Pentad", asked, small)
        lane.load(small)
        first = _selective(lane, small, effort)
        say(f"Pentad: writing {large:,} objects ...")
        lane.load(large - small)
        last = _selective(lane, large, effort)
    group = f"A filter with 1 hit and the total, {large:,} objects beside {small:,}"
    goal = Goal("at most", 2.0)
    return [
        Figure(group, "time", "ms", last[0], first[0], goal, against=f"Pentad, {small:,}"),
        Figure(group, "CPU time of the server", "us", last[1], first[1], goal, against=f"Pentad, {small:,}"),
    ]


def _selective(lane: Lane, objects: int, effort: Effort) -> tuple[float, float]:
    times: list[float] = []
    count = _PER_ROUND["selective"] * effort.rounds
    codes: Sequence[str] = [code(turn * 7919 % objects) for turn in range(count)]
    before = lane.asked.server.cpu_seconds()
    for wanted in codes:
        start = perf_counter()
        _expect(lane.asked.find("code", wanted) == (1, 1), "one object")
        times.append((perf_counter() - start) * 1e3)
    return median(times), (lane.asked.server.cpu_seconds() - before) * 1e6 / count


def _expect(right: bool, what: str) -> None:
    if not right:
        raise SystemExit(f"A server under measurement did not answer with {what}.")
