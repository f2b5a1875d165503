"""Runs a query: plan, fetch the missing facts, plan again with what arrived, until nothing is missing.

Planning goes on while facts are being fetched, so that a slow branch does not hold up the others. It waits while enough
requests are under way to keep the source busy, because planning a large tree takes time too. At the deadline, missing
facts become problems and the answer is made from the rest.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from pentad.rooms.metrics.collectors.contract import Collector
from pentad.rooms.metrics.engine.request_coalescing import CachedFact, FactCache, RequestCoalescer
from pentad.rooms.metrics.engine.upstream import UpstreamSession
from pentad.rooms.metrics.models import Coverage, Fact, Facts, Info, Problem, Query

Progress = Callable[[float, float | None, str | None], Awaitable[None]]

PROGRESS_SECONDS: Final = 0.2
PLANNING_SHARE: Final = 4
"""After planning, wait this many times as long before planning again, unless nothing is being fetched."""

MOST_FACTS: Final = 200_000


def shared_progress(progress: Progress | None, count: int) -> list[Progress | None]:
    """Progress callbacks for queries that run concurrently; each reports the progress of all of them together."""
    if progress is None or count == 1:
        return [progress] * count
    reported = [(0.0, 0.0)] * count

    def part(place: int) -> Progress:
        async def report(done: float, planned: float | None, message: str | None) -> None:
            reported[place] = (done, planned or 0.0)
            if done:
                await progress(sum(done for done, _ in reported), sum(planned for _, planned in reported), message)

        return report

    return [part(place) for place in range(count)]


class QueryExecution:
    """One run of a query against one collector."""

    def __init__(
        self,
        collector: Collector,
        query: Query,
        session: UpstreamSession,
        cache: FactCache,
        coalescer: RequestCoalescer,
        *,
        credentials_key: str = "",
        width: int = 128,
        only: frozenset[str] | None = None,
    ) -> None:
        self._collector = collector
        self._info: Info = collector.info()
        self._query = query
        self._session = session
        self._cache = cache
        self._coalescer = coalescer
        self._credentials_key = credentials_key
        self._width = width
        self._waiting: deque[Fact] = deque()
        self._leave: dict[Fact, Callable[[], None]] = {}
        self._asked: set[Fact] = set()
        self._arrived = asyncio.Event()
        self._has_news = True
        self._next_plan = 0.0
        self._estimate = 0
        self._reported = -1
        self._only = only
        self.not_fetched: list[Fact] = []
        """What a dry run did not fetch."""
        self.skipped: dict[Fact, str] = {}
        self.facts = Facts(now=query.now)

    async def run(self, progress: Progress | None = None) -> None:
        """Fetch until nothing is missing or the deadline is reached."""
        next_report = 0.0
        try:
            while True:
                self._plan_if_useful()
                self._request_waiting()
                if progress is not None and time.monotonic() >= next_report:
                    await self._report(progress)
                    next_report = time.monotonic() + PROGRESS_SECONDS
                if self._has_news and self._may_plan():
                    continue
                if not self._leave and not self._waiting:
                    break
                if not await self._wait_for_facts():
                    self._mark_missing()
                    break
        finally:
            for leave in self._leave.values():
                leave()
        if progress is not None:
            await self._report(progress)

    async def _report(self, progress: Progress) -> None:
        """Report progress if there is any since the last report."""
        done = len(self.facts)
        if done > self._reported:
            self._reported = done
            await progress(done, self.planned(), None)

    def planned(self) -> int:
        """How many facts the query needs, as far as is known yet."""
        return max(len(self._asked), self._estimate)

    @property
    def estimate(self) -> int | None:
        """The collector's estimate of all requests, if it has one."""
        return self._estimate or None

    def coverage(self) -> Coverage:
        """How many of the planned facts arrived."""
        failed, stale = len(self.facts.problems()), len(self.facts.stale())
        cached = sum(1 for fact in self.facts if self.facts.was_cached(fact))
        return Coverage(
            planned=len(self._asked) + len(self.skipped),
            ok=len(self.facts) - failed - stale,
            stale=stale,
            failed=failed,
            skipped=len(self.skipped),
            cached=cached,
        )

    def _plan_if_useful(self) -> None:
        """Plan again if facts arrived that may lead to others."""
        if not self._has_news or not self._may_plan():
            return
        began = time.monotonic()
        self._has_news = False
        plan = self._collector.plan(self._query, self.facts)
        self._estimate = max(self._estimate, plan.calls or 0)
        for fact in plan.facts:
            if fact not in self._asked and len(self._asked) < MOST_FACTS:
                self._asked.add(fact)
                if self._only is None or fact.name in self._only:
                    self._waiting.append(fact)
                else:
                    self.not_fetched.append(fact)
        for fact, why in plan.skipped:
            self.skipped[fact] = why
        ended = time.monotonic()
        self._next_plan = ended + (ended - began) * PLANNING_SHARE

    def _may_plan(self) -> bool:
        """Whether slots are free, and planning would not take too large a share of the time."""
        return self._has_room() and (not self._leave or time.monotonic() >= self._next_plan)

    def _has_room(self) -> bool:
        return len(self._leave) + len(self._waiting) < self._width

    def _request_waiting(self) -> None:
        """Use cached facts, and request others while slots are free."""
        while self._waiting and len(self._leave) < self._width:
            fact = self._waiting.popleft()
            key = (self._info.family or self._info.id, self._credentials_key, fact)
            if not self._query.fresh and (known := self._cache.get_fresh(key)) is not None:
                self._learn(fact, known, cached=True)
                continue
            ttl = self._info.ttls.get(fact.name, self._info.ttl)
            self._leave[fact] = self._coalescer.join(
                key, ttl, self._session, lambda fact=fact: self._collector.fetch(fact, self._session), self._on_fact
            )

    def _on_fact(self, fact: Fact, known: CachedFact) -> None:
        self._leave.pop(fact, None)
        self._learn(fact, known, cached=False)
        self._arrived.set()

    def _learn(self, fact: Fact, known: CachedFact, *, cached: bool) -> None:
        self.facts.put(fact, known.value, at=known.at, cached=cached, stale=known.stale)
        if self._info.leads is None or fact.name in self._info.leads:
            self._has_news = True

    async def _wait_for_facts(self) -> bool:
        """Wait for the next fact, or for the time to plan again; False if the deadline comes first."""
        deadline = self._query.deadline
        left = math.inf if deadline is None else deadline - self._session.clock.monotonic()
        if left <= 0:
            return False
        pause = max(self._next_plan - time.monotonic(), 0.0) if self._has_news and self._has_room() else math.inf
        soonest = min(left, pause)
        try:
            async with asyncio.timeout(None if soonest == math.inf else soonest):
                await self._arrived.wait()
        except TimeoutError:
            return pause < left
        self._arrived.clear()
        return True

    def _mark_missing(self) -> None:
        """Mark every planned fact that has not arrived as too late."""
        missing = [*self._leave, *self._waiting]
        self._waiting.clear()
        for fact in missing:
            self._mark_too_late(fact)
        for fact in self._collector.plan(self._query, self.facts).facts:
            if fact not in self._asked:
                self._asked.add(fact)
                self._mark_too_late(fact)

    def _mark_too_late(self, fact: Fact) -> None:
        problem = Problem(
            scope="/".join(fact.scope), call=fact.name, kind="timeout", message="Not fetched before the deadline."
        )
        self.facts.put(fact, problem, at=self._query.now)
