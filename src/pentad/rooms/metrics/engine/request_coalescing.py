"""A cache of fetched facts, and shared requests: two queries that need the same fact at the same time fetch it once.

Facts are kept in memory, each for as long as its collector says. An expired value stays for a while and is used, marked
stale, if the source fails. A forbidden fact is not requested again for a few minutes. Whatever a collector's `fetch`
returns is kept, so it has to remove what must not be.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.incidents import log_failure
from pentad.kernel.lru import LruCache
from pentad.rooms.metrics.engine.upstream import UpstreamSession
from pentad.rooms.metrics.models import Fact, FetchError, Problem

Key = tuple[str, str, Fact]
"""The family of collectors, whose credentials, and the fact."""

MOST_FACTS: Final = 50_000
SWEEP_EVERY: Final = 500
FORBIDDEN_SECONDS: Final = 300.0
STALE_SECONDS: Final = 86_400.0

Fetch = Callable[[], Coroutine[Any, Any, Any]]


class CachedFact(msgspec.Struct):
    """The value of a fact, or the problem with it, and when it was fetched."""

    value: Any
    at: float
    fresh_until: float
    stale: Problem | None = None


OnDone = Callable[[Fact, CachedFact], None]


class FactCache:
    """The fetched facts; the least recently used are dropped first."""

    def __init__(self, clock: Clock, most: int = MOST_FACTS) -> None:
        self._clock = clock
        self._facts = LruCache[Key, CachedFact](most)
        self._until_sweep = SWEEP_EVERY

    def __len__(self) -> int:
        return len(self._facts)

    def get_fresh(self, key: Key) -> CachedFact | None:
        """The fact, if it has not expired."""
        known = self._facts.peek(key)
        if known is None or known.fresh_until <= self._clock.monotonic():
            return None
        return self._facts.get(key)

    def put(self, key: Key, value: Any, ttl: float) -> CachedFact:
        """Keep the result of a fetch. If it is a problem that may pass, the answer is the older value, if any."""
        clock = self._clock
        self._until_sweep -= 1
        if self._until_sweep <= 0:
            self.sweep()
            self._until_sweep = max(SWEEP_EVERY, len(self._facts) // 4)  # sweeping a large cache takes a while
        if isinstance(value, Problem):
            older = self._facts.peek(key)
            if value.kind == "permission":
                ttl = FORBIDDEN_SECONDS
            elif older is None or isinstance(older.value, Problem) or older.at < clock.now() - STALE_SECONDS:
                return CachedFact(value, clock.now(), 0.0)
            elif value.kind != "unsupported":
                return CachedFact(older.value, older.at, 0.0, stale=value)
        known = CachedFact(value, clock.now(), clock.monotonic() + ttl)
        self._facts.put(key, known)
        return known

    def sweep(self) -> None:
        """Drop facts that no query will get any more. Facts fetched with a caller's own credentials are dropped as
        soon as they expire."""
        now, oldest = self._clock.monotonic(), self._clock.now() - STALE_SECONDS
        self._facts.drop_where(
            lambda key, known: (
                known.fresh_until <= now and bool(key[1] or known.at < oldest or isinstance(known.value, Problem))
            )
        )


class _SharedRequest:
    __slots__ = ("session", "task", "waiting")

    def __init__(self, task: "asyncio.Task[CachedFact]", session: UpstreamSession) -> None:
        self.task = task
        self.session = session
        self.waiting = 0


class RequestCoalescer:
    """Requests under way. Queries join them and may leave; when the last one leaves, the request is cancelled."""

    def __init__(self, cache: FactCache) -> None:
        self._cache = cache
        self._requests: dict[Key, _SharedRequest] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def join(self, key: Key, ttl: float, session: UpstreamSession, fetch: Fetch, on_done: OnDone) -> Callable[[], None]:
        """Call `on_done` with the result of the request for this fact; returns a function that leaves the request."""
        request = self._requests.get(key)
        if request is None:
            task = asyncio.create_task(self._fetch(key, ttl, fetch))
            request = self._requests[key] = _SharedRequest(task, session)
            task.add_done_callback(lambda _: self._forget(key, request))
        elif request.session.deadline is not None:
            # The new query may have more time, so the request may take that time.
            given = session.deadline
            request.session.deadline = None if given is None else max(request.session.deadline, given)
        request.waiting += 1

        def done(task: "asyncio.Task[CachedFact]") -> None:
            if not task.cancelled():
                on_done(key[2], task.result())

        request.task.add_done_callback(done)
        return lambda: self._leave(key, request, done)

    def _leave(self, key: Key, request: _SharedRequest, done: Callable[["asyncio.Task[CachedFact]"], None]) -> None:
        if request.task.remove_done_callback(done):
            request.waiting -= 1
            if not request.waiting:
                request.task.cancel()
                self._forget(key, request)  # now, not in the callback: the next query must not join a cancelled request

    def _forget(self, key: Key, request: _SharedRequest) -> None:
        if self._requests.get(key) is request:
            del self._requests[key]

    async def _fetch(self, key: Key, ttl: float, fetch: Fetch) -> CachedFact:
        try:
            value = await fetch()
        except FetchError as error:
            value = error.problem
        except Exception as error:  # noqa: BLE001  one unreadable fact must not fail the others
            log_failure(error, f"Reading {key[2].name}")
            value = Problem(
                scope="/".join(key[2].scope),
                call=key[2].name,
                kind="parse",
                message=f"The answer does not have the expected shape ({type(error).__name__}).",
            )
        return self._cache.put(key, value, ttl)
