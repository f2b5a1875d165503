"""From a question to the facts it needs: plan, fetch what is missing, plan again with what came, until nothing is.

A plan is asked for while earlier facts are still under way, so that a slow branch does not hold up the others; but not
while there is enough under way to keep the source busy, since a plan of a large tree takes a while itself. When the
deadline comes, what is not there yet is a problem like any other and the answer is made of the rest.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from pentad.rooms.metrics.collectors.contract import Collector
from pentad.rooms.metrics.engine.fetching import Question
from pentad.rooms.metrics.engine.flights import Flights, Known, Shelf
from pentad.rooms.metrics.model import Coverage, Fact, Facts, Info, Problem, Wanted

Progress = Callable[[float, float | None, str | None], Awaitable[None]]

PROGRESS_SECONDS: Final = 0.2
PLANNING_SHARE: Final = 4
"""Planning again may take a quarter of the time at most, unless there is nothing else to do."""

MOST_FACTS: Final = 200_000


class Gathering:
    """The facts of one question on their way."""

    def __init__(
        self,
        collector: Collector,
        wanted: Wanted,
        question: Question,
        shelf: Shelf,
        flights: Flights,
        *,
        who: str = "",
        width: int = 128,
        only: frozenset[str] | None = None,
    ) -> None:
        self._collector = collector
        self._info: Info = collector.info()
        self._wanted = wanted
        self._question = question
        self._shelf = shelf
        self._flights = flights
        self._who = who
        self._width = width
        self._waiting: deque[Fact] = deque()
        self._leave: dict[Fact, Callable[[], None]] = {}
        self._asked: set[Fact] = set()
        self._news = asyncio.Event()
        self._is_new = True
        self._next_plan = 0.0
        self._estimate = 0
        self._told = -1
        self._only = only
        self.left_out: list[Fact] = []
        """What a dry run would have fetched."""
        self.skipped: dict[Fact, str] = {}
        self.facts = Facts(now=wanted.now)

    async def run(self, progress: Progress | None = None) -> None:
        """Gather until nothing more is needed, or the deadline is there."""
        next_told = 0.0
        try:
            while True:
                self._plan_if_useful()
                self._set_off()
                if progress is not None and time.monotonic() >= next_told:
                    await self._tell(progress)
                    next_told = time.monotonic() + PROGRESS_SECONDS
                if self._is_new and self._may_plan():
                    continue
                if not self._leave and not self._waiting:
                    break
                if not await self._news_in_time():
                    self._give_up()
                    break
        finally:
            for leave in self._leave.values():
                leave()
        if progress is not None:
            await self._tell(progress)

    async def _tell(self, progress: Progress) -> None:
        """How far it is, if that is further than was told before."""
        done = len(self.facts)
        if done > self._told:
            self._told = done
            await progress(done, self.planned(), None)

    def planned(self) -> int:
        """How many facts this takes, as far as that is known by now."""
        return max(len(self._asked), self._estimate)

    @property
    def estimate(self) -> int | None:
        """How many requests the collector thinks all of it takes, where it can tell."""
        return self._estimate or None

    def coverage(self) -> Coverage:
        """How much of what was planned is there."""
        failed = len(self.facts.problems())
        cached = sum(1 for fact in self.facts if self.facts.was_cached(fact))
        return Coverage(
            planned=len(self._asked) + len(self.skipped),
            ok=len(self.facts) - failed,
            failed=failed,
            skipped=len(self.skipped),
            cached=cached,
        )

    def _plan_if_useful(self) -> None:
        """Plan again once there is news."""
        if not self._is_new or not self._may_plan():
            return
        began = time.monotonic()
        self._is_new = False
        plan = self._collector.plan(self._wanted, self.facts)
        self._estimate = max(self._estimate, plan.calls or 0)
        for fact in plan.facts:
            if fact not in self._asked and len(self._asked) < MOST_FACTS:
                self._asked.add(fact)
                if self._only is None or fact.name in self._only:
                    self._waiting.append(fact)
                else:
                    self.left_out.append(fact)
        for fact, why in plan.skipped:
            self.skipped[fact] = why
        ended = time.monotonic()
        self._next_plan = ended + (ended - began) * PLANNING_SHARE

    def _may_plan(self) -> bool:
        """Whether there is room for more work, and the last plan was not too recent for what it cost."""
        return self._has_room() and (not self._leave or time.monotonic() >= self._next_plan)

    def _has_room(self) -> bool:
        return len(self._leave) + len(self._waiting) < self._width

    def _set_off(self) -> None:
        """Take what is known from the shelf, and send for the rest as far as there is room."""
        while self._waiting and len(self._leave) < self._width:
            fact = self._waiting.popleft()
            key = (self._info.family or self._info.id, self._who, fact)
            if (known := self._shelf.good(key)) is not None:
                self._learn(fact, known, cached=True)
                continue
            ttl = self._info.ttls.get(fact.name, self._info.ttl)
            self._leave[fact] = self._flights.follow(
                key, ttl, self._question, lambda fact=fact: self._collector.fetch(fact, self._question), self._landed
            )

    def _landed(self, fact: Fact, known: Known) -> None:
        self._leave.pop(fact, None)
        self._learn(fact, known, cached=False)
        self._news.set()

    def _learn(self, fact: Fact, known: Known, *, cached: bool) -> None:
        self.facts.put(fact, known.value, at=known.at, cached=cached, stale=known.stale)
        if self._info.leads is None or fact.name in self._info.leads:
            self._is_new = True

    async def _news_in_time(self) -> bool:
        """Wait for the next fact, or for the moment to plan with what is known; False when the deadline comes first."""
        deadline = self._wanted.deadline
        left = math.inf if deadline is None else deadline - self._question.clock.monotonic()
        if left <= 0:
            return False
        has_room = len(self._leave) + len(self._waiting) < self._width
        pause = max(self._next_plan - time.monotonic(), 0.0) if self._is_new and has_room else math.inf
        soonest = min(left, pause)
        try:
            async with asyncio.timeout(None if soonest == math.inf else soonest):
                await self._news.wait()
        except TimeoutError:
            return pause < left
        self._news.clear()
        return True

    def _give_up(self) -> None:
        """What was planned and is not there is a problem; so is what would have been planned next."""
        missing = [*self._leave, *self._waiting]
        self._waiting.clear()
        for fact in missing:
            self._too_late(fact)
        for fact in self._collector.plan(self._wanted, self.facts).facts:
            if fact not in self._asked:
                self._asked.add(fact)
                self._too_late(fact)

    def _too_late(self, fact: Fact) -> None:
        problem = Problem(
            scope="/".join(fact.scope), call=fact.name, kind="timeout", message="Not fetched before the deadline."
        )
        self.facts.put(fact, problem, at=self._wanted.now)
