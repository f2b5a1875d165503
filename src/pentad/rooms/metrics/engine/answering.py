"""Questions to collectors, answered: gather the facts, reduce them, and say how good the answer is.

An answer always has its coverage, and for each fact that is missing the problem and the metrics that suffer from it.
Who brings credentials of their own shares facts with nobody else.
"""

import hashlib
import hmac
import math
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec
import msgspec.structs

from pentad.kernel.clock import Clock
from pentad.kernel.ports import Fetcher
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.engine.fetching import Question, Wires
from pentad.rooms.metrics.engine.flights import Flights, Shelf
from pentad.rooms.metrics.engine.planning import Gathering, Progress
from pentad.rooms.metrics.model import Fact, Facts, Info, Metric, Problem, Sample, Snapshot, Wanted

LIMIT: Final = 64


class Answer(msgspec.Struct, kw_only=True):
    """A snapshot, and how it came about."""

    snapshot: Snapshot
    info: Info
    facts: Facts
    calls: int
    seconds: float
    skipped: Mapping[Fact, str]
    source: Literal["live", "cache", "mixed"]

    @property
    def age(self) -> float:
        """How old the oldest fact is, in seconds."""
        return max((self.facts.now - self.facts.at(fact) for fact in self.facts), default=0.0)

    @property
    def is_partial(self) -> bool:
        """Whether something that was planned is missing."""
        return self.snapshot.coverage.failed > 0


class DryRun(msgspec.Struct, kw_only=True):
    """What an answer would take: how many facts of each name, of which so many are known already."""

    collector: str
    facts: dict[str, int]
    known: int
    to_fetch: int
    calls: int | None
    calls_made: int
    rounds_at_limit: int
    """How many round trips that is at least, with as many requests at once as may be under way."""
    later: list[str]
    """The names of facts that are asked for once those are there; how many of them is not known before."""


class Engine:
    """All collectors behind one door. `width` is how many facts one question has under way at most."""

    def __init__(
        self,
        catalogue: Catalogue,
        fetcher: Fetcher,
        clock: Clock,
        *,
        limit: int = LIMIT,
        trusted: set[tuple[str, str]] | None = None,
    ) -> None:
        self.catalogue = catalogue
        self.clock = clock
        self.wires = Wires(fetcher, clock, limit=limit, trusted=trusted)
        self.shelf = Shelf(clock)
        self.flights = Flights(self.shelf)
        self._width = 2 * limit
        self._mark = secrets.token_bytes(32)

    async def answer(self, collector: str, wanted: Wanted, progress: Progress | None = None) -> Answer:
        """Everything the question needs, reduced; what cannot be had is said, never made up."""
        chosen = self.catalogue.ready(collector, brings_credentials=wanted.credentials is not None)
        info = chosen.info()
        began = self.clock.monotonic()
        question = Question(self.wires, credentials=wanted.credentials, deadline=wanted.deadline)
        gathering = Gathering(
            chosen, wanted, question, self.shelf, self.flights, who=self._who(wanted.credentials), width=self._width
        )
        await gathering.run(progress)
        facts = gathering.facts
        snapshot = chosen.reduce(wanted, facts)
        snapshot.coverage = gathering.coverage()
        snapshot.problems = _all_problems(info, snapshot.problems, facts)
        snapshot.samples = _dated(info, snapshot, facts)
        return Answer(
            snapshot=snapshot,
            info=info,
            facts=facts,
            calls=question.calls,
            seconds=self.clock.monotonic() - began,
            skipped=gathering.skipped,
            source=_source(facts),
        )

    async def dry_run(self, collector: str, wanted: Wanted) -> DryRun:
        """The plan, with no more fetched than the plan itself needs."""
        chosen = self.catalogue.ready(collector, brings_credentials=wanted.credentials is not None)
        info = chosen.info()
        question = Question(self.wires, credentials=wanted.credentials, deadline=wanted.deadline)
        who = self._who(wanted.credentials)
        gathering = Gathering(
            chosen,
            wanted,
            question,
            self.shelf,
            self.flights,
            who=who,
            width=self._width,
            only=frozenset(info.structure),
        )
        await gathering.run()
        family = info.family or info.id
        known = sum(1 for fact in gathering.left_out if self.shelf.good((family, who, fact)) is not None)
        names = Counter(fact.name for fact in (*gathering.facts, *gathering.left_out))
        to_fetch = len(gathering.left_out) - known
        there = known + len(gathering.facts)
        calls = max(to_fetch, (gathering.estimate or 0) - there) if to_fetch else 0
        needed = {name for metric in info.catalogue if wanted.wants(metric.key) for name in metric.facts}
        left = {fact.name for fact in gathering.skipped}
        return DryRun(
            collector=info.id,
            facts=dict(sorted(names.items())),
            known=there,
            to_fetch=to_fetch,
            calls=calls,
            calls_made=question.calls,
            rounds_at_limit=math.ceil(calls / self.wires.gates.limit),
            later=sorted(needed - names.keys() - left),
        )

    def _who(self, credentials: Mapping[str, str] | None) -> str:
        """Tells credentials apart without keeping them."""
        if credentials is None:
            return ""
        text = msgspec.json.encode(sorted(credentials.items()))
        return hmac.new(self._mark, text, hashlib.sha256).hexdigest()


def _source(facts: Facts) -> Literal["live", "cache", "mixed"]:
    cached = sum(1 for fact in facts if facts.was_cached(fact))
    if not cached:
        return "live"
    return "cache" if cached == len(facts) else "mixed"


def _all_problems(info: Info, said: Iterable[Problem], facts: Facts) -> list[Problem]:
    """What the collector says and what the facts say, each once, with the metrics that suffer."""
    found: dict[tuple[str, str, str], Problem] = {}
    by_fact = [*facts.problems().items(), *facts.stale().items()]
    for fact, problem in by_fact:
        affects = problem.affects or tuple(metric.key for metric in info.catalogue if fact.name in metric.facts)
        scope = problem.scope or "/".join(fact.scope)
        found[scope, problem.call, problem.kind] = msgspec.structs.replace(problem, scope=scope, affects=affects)
    for problem in said:
        found.setdefault((problem.scope, problem.call, problem.kind), problem)
    return list(found.values())


def _dated(info: Info, snapshot: Snapshot, facts: Facts) -> list[Sample]:
    """Samples with the moment of their oldest fact, whether it was known already, and whether it is past its time."""
    ages = _ages(facts)
    stale = {fact.name for fact in facts.stale()}
    traits = {metric.key: _traits(metric, ages, stale) for metric in info.catalogue}
    dated: list[Sample] = []
    for sample in snapshot.samples:
        at, cached, is_stale = traits.get(sample.key, (0.0, False, False))
        dated.append(
            msgspec.structs.replace(
                sample,
                as_of=sample.as_of or at or snapshot.as_of,
                cached=sample.cached or cached,
                state="stale" if is_stale and sample.state == "ok" else sample.state,
            )
        )
    return dated


def _ages(facts: Facts) -> dict[str, tuple[float, bool]]:
    """By name when the oldest of those facts was fetched, and whether all of them were known already."""
    found: dict[str, tuple[float, bool]] = {}
    for fact in facts:
        at, cached = found.get(fact.name, (math.inf, True))
        found[fact.name] = (min(at, facts.at(fact)), cached and facts.was_cached(fact))
    return found


def _traits(metric: Metric, ages: Mapping[str, tuple[float, bool]], stale: set[str]) -> tuple[float, bool, bool]:
    needed = [ages[name] for name in metric.facts if name in ages]
    if not needed:
        return 0.0, False, False
    return min(at for at, _ in needed), all(cached for _, cached in needed), not stale.isdisjoint(metric.facts)
