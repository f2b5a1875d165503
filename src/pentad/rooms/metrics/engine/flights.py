"""Facts that are known, and facts that are on their way: nobody asks a source for what somebody else already asks.

Kept in memory only, each for as long as its collector says. An older value stays for a while and stands in when the
source fails. A fact that was forbidden is not asked for again for a few minutes. What a collector's `fetch` returns is
what is kept, so it has to have cut out what must not be kept.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.incidents import put_off
from pentad.rooms.metrics.engine.fetching import Question
from pentad.rooms.metrics.model import Fact, Failed, Problem

Key = tuple[str, str, Fact]
"""The family of collectors, whose credentials, and the fact."""

MOST_FACTS: Final = 50_000
SWEEP_EVERY: Final = 500
FORBIDDEN_SECONDS: Final = 300.0
STALE_SECONDS: Final = 86_400.0


class Known(msgspec.Struct):
    """A fact, or the problem with it, and since when it is known."""

    value: Any
    at: float
    good_until: float
    stale: Problem | None = None


class Shelf:
    """The facts that are known, those used longest ago given up first."""

    def __init__(self, clock: Clock, most: int = MOST_FACTS) -> None:
        self._clock = clock
        self._most = most
        self._known: OrderedDict[Key, Known] = OrderedDict()
        self._until_sweep = SWEEP_EVERY

    def __len__(self) -> int:
        return len(self._known)

    def good(self, key: Key) -> Known | None:
        """The fact if it is still good."""
        known = self._known.get(key)
        if known is None or known.good_until <= self._clock.monotonic():
            return None
        self._known.move_to_end(key)
        return known

    def landed(self, key: Key, value: Any, ttl: float) -> Known:
        """What became of a fetch: the new value, or an older one where there is only a problem that may pass."""
        clock = self._clock
        self._until_sweep -= 1
        if self._until_sweep <= 0:
            self.sweep()
            self._until_sweep = max(SWEEP_EVERY, len(self._known) // 4)  # a large shelf takes a while to look through
        if isinstance(value, Problem):
            older = self._known.get(key)
            if value.kind == "permission":
                ttl = FORBIDDEN_SECONDS
            elif older is None or isinstance(older.value, Problem) or older.at < clock.now() - STALE_SECONDS:
                return Known(value, clock.now(), 0.0)
            elif value.kind != "unsupported":
                return Known(older.value, older.at, 0.0, stale=value)
        known = Known(value, clock.now(), clock.monotonic() + ttl)
        self._known[key] = known
        self._known.move_to_end(key)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return known

    def sweep(self) -> None:
        """Drop what nobody will be given any more. What was fetched with a caller's own credentials is kept no longer
        than it is good."""
        now, oldest = self._clock.monotonic(), self._clock.now() - STALE_SECONDS
        over = [
            key
            for key, known in self._known.items()
            if known.good_until <= now and (key[1] or known.at < oldest or isinstance(known.value, Problem))
        ]
        for key in over:
            del self._known[key]


class _Flight:
    __slots__ = ("followers", "question", "task")

    def __init__(self, task: "asyncio.Task[Known]", question: Question) -> None:
        self.task = task
        self.question = question
        self.followers = 0


Landed = Callable[[Fact, Known], None]


class Flights:
    """Facts on their way. Whoever follows one is told when it is there, and may leave; the last to leave ends it."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._flights: dict[Key, _Flight] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def follow(
        self, key: Key, ttl: float, question: Question, fetch: Callable[[], Coroutine[Any, Any, Any]], landed: Landed
    ) -> Callable[[], None]:
        """Have `landed` called with what becomes of it; returns what to call to leave before."""
        flight = self._flights.get(key)
        if flight is None:
            task = asyncio.create_task(self._fetched(key, ttl, fetch))
            flight = self._flights[key] = _Flight(task, question)
            task.add_done_callback(lambda _: self._over(key, flight))
        elif flight.question.deadline is not None:
            # Somebody with more time waits for it now, so it may take that time.
            given = question.deadline
            flight.question.deadline = None if given is None else max(flight.question.deadline, given)
        flight.followers += 1

        def done(task: "asyncio.Task[Known]") -> None:
            if not task.cancelled():
                landed(key[2], task.result())

        flight.task.add_done_callback(done)
        return lambda: self._leave(key, flight, done)

    def _leave(self, key: Key, flight: _Flight, done: Callable[["asyncio.Task[Known]"], None]) -> None:
        if flight.task.remove_done_callback(done):
            flight.followers -= 1
            if not flight.followers:
                flight.task.cancel()
                self._over(key, flight)  # at once: whoever asks next must not join what is being ended

    def _over(self, key: Key, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    async def _fetched(self, key: Key, ttl: float, fetch: Callable[[], Coroutine[Any, Any, Any]]) -> Known:
        try:
            value = await fetch()
        except Failed as failed:
            value = failed.problem
        except Exception as error:  # noqa: BLE001  one fact that cannot be read must not take its siblings along
            put_off(error, f"Reading {key[2].name}")
            value = Problem(
                scope="/".join(key[2].scope),
                call=key[2].name,
                kind="parse",
                message=f"The answer is not of the shape that was expected ({type(error).__name__}).",
            )
        return self._shelf.landed(key, value, ttl)
