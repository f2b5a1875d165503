"""Fake collectors: with any number of facts, any delay, and failures on demand."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from pentad.kernel.clock import Clock, SystemClock
from pentad.net.fetch import HttpFetcher
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.engine.query_engine import QueryEngine
from pentad.rooms.metrics.models import (
    Fact,
    Facts,
    FetchError,
    Info,
    Metric,
    Plan,
    Problem,
    Query,
    Sample,
    Snapshot,
    state_of,
)


class Toy:
    """A tree of groups: the fact `groups` names them, and each has a fact `size` of its own."""

    id = "toy"
    title = "Toy"
    aliases = ("plaything",)

    def __init__(
        self, groups: int = 3, *, ttl: float = 60.0, fetching: Callable[[Fact, Any], Any] | None = None
    ) -> None:
        self._groups = groups
        self._ttl = ttl
        self._fetching = fetching
        self.fetched: Counter[Fact] = Counter()
        self.plans = 0
        self.busy = 0
        self.peak = 0

    def info(self) -> Info:
        return Info(
            id=self.id,
            title=self.title,
            description="Made up.",
            catalogue=(
                Metric(key="size", description="Size of a group.", facts=("size",), labels=("id",), unit="1"),
                Metric(key="groups", description="Groups.", facts=("groups",), warn=90, alarm=100),
            ),
            ttl=self._ttl,
            structure=("groups",),
        )

    def plan(self, query: Query, known: Facts) -> Plan:
        self.plans += 1
        tree = Fact("groups")
        if tree not in known:
            return Plan((tree,))
        names = known.value(tree, []) if query.wants("size") else []
        return Plan(tuple(fact for name in names if (fact := Fact("size", (name,))) not in known))

    async def fetch(self, fact: Fact, upstream: Any) -> Any:
        self.fetched[fact] += 1
        self.busy += 1
        self.peak = max(self.peak, self.busy)
        try:
            await asyncio.sleep(0)
            if self._fetching is not None and (made := await self._fetching(fact, upstream)) is not None:
                return made
        finally:
            self.busy -= 1
        if fact.name == "groups":
            return [f"g{number}" for number in range(self._groups)]
        return len(fact.scope[0])

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        names = facts.value(Fact("groups"), [])
        sizes = {name: facts.value(Fact("size", (name,))) for name in names}
        samples = [
            Sample(
                key="size",
                labels=(("id", name),),
                value=size,
                state=state_of([problem] if (problem := facts.problem(Fact("size", (name,)))) else []),
            )
            for name, size in sizes.items()
            if query.wants("size")
        ]
        samples.append(Sample(key="groups", value=len(names)))
        tree = {"groups": len(names), "each": [{"id": name, "size": size} for name, size in sizes.items()]}
        return Snapshot(collector=self.id, scope="", as_of=query.now, tree=tree, samples=samples)


def engine_of(toy: Any, *, clock: Clock | None = None, limit: int = 64) -> QueryEngine:
    return QueryEngine(Catalogue([toy]), HttpFetcher(), clock or SystemClock(), limit=limit)


def refused(kind: Any = "permission") -> FetchError:
    return FetchError(Problem(scope="", call="toy", kind=kind, message="No."))
