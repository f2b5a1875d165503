"""Answers queries to collectors: fetches the facts, reduces them, and reports how complete the answer is.

An answer always has its coverage and, for each missing fact, the problem and the affected metrics. Facts fetched with a
caller's own credentials are never shared with other callers.
"""

import hashlib
import hmac
import math
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypedDict, Unpack

import msgspec
import msgspec.structs

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.kernel.ports import Fetcher
from pentad.rooms.metrics.collectors.contract import Collector, KeepsHistory
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.engine.query_execution import Progress, QueryExecution
from pentad.rooms.metrics.engine.request_coalescing import FactCache, RequestCoalescer
from pentad.rooms.metrics.engine.upstream import UpstreamPool, UpstreamSession
from pentad.rooms.metrics.metric_keys import resolve_keys, split_list
from pentad.rooms.metrics.models import Fact, Facts, FetchError, Info, Metric, Problem, Query, Sample, Snapshot, State
from pentad.rooms.metrics.store import Point, Series, sample_point

LONGEST_SECONDS: Final = 600.0


class QueryOptions(TypedDict, total=False):
    """The options of a query. Without `seconds` there is no deadline."""

    keys: str | Iterable[str]
    bg: str | None
    recursive: bool
    environments: str | Iterable[str]
    regions: str | Iterable[str]
    raw: bool
    compat: Literal["legacy"] | None
    credentials: Mapping[str, str] | None
    seconds: float | None
    fresh: bool


def build_query(info: Info, clock: Clock, **options: Unpack[QueryOptions]) -> Query:
    """Build the query for one collector. Unsupported filters are refused before any request is sent."""
    seconds = options.get("seconds")
    if seconds is not None and not 0 < seconds <= LONGEST_SECONDS:
        raise InvalidInput(f"The time for an answer is {seconds:g} s.", hint=f"Use up to {LONGEST_SECONDS:g} s.")
    _refuse_unsupported(info, options)
    keys = split_list(options.get("keys", ()))
    return Query(
        keys=resolve_keys(info, keys) if keys else None,
        bg=(options.get("bg") or "").strip() or None,
        recursive=options.get("recursive", True),
        environments=split_list(options.get("environments", ())),
        regions=split_list(options.get("regions", ())),
        raw=options.get("raw", False),
        compat=options.get("compat"),
        credentials=options.get("credentials"),
        deadline=None if seconds is None else clock.monotonic() + seconds,
        fresh=options.get("fresh", False),
        now=clock.now(),
    )


def _refuse_unsupported(info: Info, options: QueryOptions) -> None:
    """Refuse filters the collector does not support: ignoring one would answer a different question."""
    given = {
        "bg": options.get("bg"), "environment": options.get("environments"), "region": options.get("regions"),
        "raw": options.get("raw"), "compat": options.get("compat"),
    }  # fmt: skip
    for name, value in given.items():
        if value and info.takes is not None and name not in info.takes:
            raise InvalidInput(
                f"The collector {info.id!r} does not support {name!r}.",
                hint=f"Leave {name} out.",
            )


LIMIT: Final = 64
FINEST_STEP: Final = 15
"""The shortest step, in seconds, in which a source is asked for its own history."""

HISTORY_SECONDS: Final = 25.0


def source_step(begin: float, end: float, step: int | None, most: int) -> float:
    """The step, in seconds, for the points of a source's own history."""
    return max(FINEST_STEP, math.ceil((end - begin) / most), step or 0)


Source = Literal["live", "cache", "mixed", "stale"]
"""Where the facts came from. A single stale fact makes the whole answer stale: its source is failing."""


class Answer(msgspec.Struct, kw_only=True):
    """A snapshot, with the calls, facts and problems behind it."""

    snapshot: Snapshot
    info: Info
    facts: Facts
    calls: int
    throttled: int
    """How many requests were refused because there were too many."""
    seconds: float
    skipped: Mapping[Fact, str]
    source: Source

    @property
    def age(self) -> float:
        """The age of the oldest figure, in seconds."""
        return max(0.0, self.snapshot.computed_at - self.snapshot.as_of)

    @property
    def is_partial(self) -> bool:
        """Whether planned facts are missing."""
        return self.snapshot.coverage.failed > 0

    @property
    def has_failed(self) -> bool:
        """Whether nothing came from the source: every fact has a problem, or every request of this answer failed, and
        not only for lack of permission or support."""
        troubles = self.facts.troubles()
        if all(fact in troubles for fact in self.facts):
            return bool(troubles)
        requested = [fact for fact in self.facts if not self.facts.was_cached(fact)]
        return all(fact in troubles for fact in requested) and any(
            troubles[fact].kind not in ("permission", "unsupported") for fact in requested
        )

    @property
    def states(self) -> Counter[State]:
        """How many figures have each state but `ok`."""
        return Counter(sample.state for sample in self.snapshot.samples if sample.state != "ok")


class DryRun(msgspec.Struct, kw_only=True):
    """The cost of an answer: facts by name, and how many of them are cached already."""

    collector: str
    facts: dict[str, int]
    known: int
    to_fetch: int
    calls: int | None
    calls_made: int
    rounds_at_limit: int
    """The minimum number of round trips at the concurrency limit."""
    later: list[str]
    """Names of facts that depend on these; their number is not known yet."""


class QueryEngine:
    """Answers queries to all collectors."""

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
        self.pool = UpstreamPool(fetcher, clock, limit=limit, trusted=trusted)
        self.cache = FactCache(clock)
        self.coalescer = RequestCoalescer(self.cache)
        self._width = 2 * limit
        self._credentials_salt = secrets.token_bytes(32)

    async def answer(self, collector: str, query: Query, progress: Progress | None = None) -> Answer:
        """Fetch everything the query needs and compute the answer. Missing values are reported, never invented."""
        chosen = self.catalogue.ready(collector, brings_credentials=query.credentials is not None)
        info = chosen.info()
        began = self.clock.monotonic()
        session, execution = self._execution(chosen, query)
        await execution.run(progress)
        facts = execution.facts
        snapshot = chosen.reduce(query, facts)
        snapshot.coverage = execution.coverage()
        snapshot.problems = _all_problems(info, snapshot.problems, facts)
        snapshot.computed_at = query.now
        snapshot.samples = _with_times(info, snapshot, facts)
        snapshot.as_of = min(
            (one.as_of for one in snapshot.samples if one.value is not None), default=facts.oldest(info.ageless)
        )
        return Answer(
            snapshot=snapshot,
            info=info,
            facts=facts,
            calls=session.calls,
            throttled=session.throttled,
            seconds=self.clock.monotonic() - began,
            skipped=execution.skipped,
            source=_source(facts),
        )

    async def dry_run(self, collector: str, query: Query) -> DryRun:
        """Plan without fetching more than the planning needs."""
        chosen = self.catalogue.ready(collector, brings_credentials=query.credentials is not None)
        info = chosen.info()
        session, execution = self._execution(chosen, query, only=frozenset(info.structure))
        await execution.run()
        family, credentials = info.family or info.id, self._credentials_key(query.credentials)
        cached = sum(
            1 for fact in execution.not_fetched if self.cache.get_fresh((family, credentials, fact)) is not None
        )
        names = Counter(fact.name for fact in (*execution.facts, *execution.not_fetched))
        to_fetch = len(execution.not_fetched) - cached
        known = cached + len(execution.facts)
        calls = max(to_fetch, (execution.estimate or 0) - known) if to_fetch else 0
        needed = {name for metric in info.catalogue if query.wants(metric.key) for name in metric.facts}
        skipped = {fact.name for fact in execution.skipped}
        return DryRun(
            collector=info.id,
            facts=dict(sorted(names.items())),
            known=known,
            to_fetch=to_fetch,
            calls=calls,
            calls_made=session.calls,
            rounds_at_limit=math.ceil(calls / self.pool.host_limits.limit),
            later=sorted(needed - names.keys() - skipped),
        )

    async def source_history(
        self, collector: str, keys: Sequence[str], begin: float, end: float, *, step: float,
        seconds: float = HISTORY_SECONDS,
    ) -> tuple[list[tuple[Series, list[Point]]], list[str]]:  # fmt: skip
        """The history that the source itself keeps, as Prometheus does, and notes about it; empty if it keeps none."""
        chosen = self.catalogue.find(collector)
        if not isinstance(chosen, KeepsHistory) or not chosen.info().ready:
            return [], []
        session = self.session(seconds)
        found: list[tuple[Series, list[Point]]] = []
        notes: dict[str, None] = {}
        for key in keys:
            try:
                kept = await chosen.history(key, begin, end, step, session)
            except FetchError as error:
                raise Unavailable(
                    f"{chosen.title} did not return the history of {key!r}: {error.problem.message}"
                ) from None
            notes |= dict.fromkeys(kept.notes)
            for labels, points in kept.points.items():
                series = Series(0, chosen.id, "", key, labels, "gauge", None)
                found.append((series, [sample_point(at, value) for at, value in points if value is not None]))
        return found, list(notes)

    def session(self, seconds: float) -> UpstreamSession:
        """A session for requests outside a query; all of them end after this many seconds."""
        return UpstreamSession(self.pool, deadline=self.clock.monotonic() + seconds)

    def _execution(
        self, chosen: Collector, query: Query, only: frozenset[str] | None = None
    ) -> tuple[UpstreamSession, QueryExecution]:
        session = UpstreamSession(self.pool, credentials=query.credentials, deadline=query.deadline)
        return session, QueryExecution(
            chosen,
            query,
            session,
            self.cache,
            self.coalescer,
            credentials_key=self._credentials_key(query.credentials),
            width=self._width,
            only=only,
        )

    def _credentials_key(self, credentials: Mapping[str, str] | None) -> str:
        """A keyed hash that identifies credentials without storing them."""
        if credentials is None:
            return ""
        text = msgspec.json.encode(sorted(credentials.items()))
        return hmac.new(self._credentials_salt, text, hashlib.sha256).hexdigest()


def _source(facts: Facts) -> Source:
    if facts.stale():
        return "stale"
    cached = sum(1 for fact in facts if facts.was_cached(fact))
    if not cached:
        return "live"
    return "cache" if cached == len(facts) else "mixed"


def _all_problems(info: Info, reported: Iterable[Problem], facts: Facts) -> list[Problem]:
    """The problems of the collector and of its facts, without duplicates, with the affected metrics."""
    found: dict[tuple[str, str, str], Problem] = {}
    for fact, problem in facts.troubles().items():
        affects = problem.affects or tuple(metric.key for metric in info.catalogue if fact.name in metric.facts)
        scope = problem.scope or "/".join(fact.scope)
        needs = info.permissions.get(fact.name) if problem.kind == "permission" else None
        found[scope, problem.call, problem.kind] = msgspec.structs.replace(
            problem, scope=scope, affects=affects, needs=problem.needs or needs, fact=fact.name
        )
    for problem in reported:
        found.setdefault((problem.scope, problem.call, problem.kind), problem)
    return list(found.values())


def _with_times(info: Info, snapshot: Snapshot, facts: Facts) -> list[Sample]:
    """Samples with the time of their oldest fact, and whether it was cached or stale."""
    ages = _ages(facts)
    stale: set[str] = set() if info.marks_stale else {fact.name for fact in facts.stale()}
    ageless = info.ageless - {fact.name for fact in facts.stale()}
    traits = {metric.key: _fact_traits(metric, ages, stale, ageless) for metric in info.catalogue}
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
    """By fact name: when the oldest was fetched, and whether all came from the cache."""
    found: dict[str, tuple[float, bool]] = {}
    for fact in facts:
        at, cached = found.get(fact.name, (math.inf, True))
        found[fact.name] = (min(at, facts.at(fact)), cached and facts.was_cached(fact))
    return found


def _fact_traits(
    metric: Metric, ages: Mapping[str, tuple[float, bool]], stale: set[str], ageless: frozenset[str]
) -> tuple[float, bool, bool]:
    known = [name for name in metric.facts if name in ages]
    needed = [ages[name] for name in [name for name in known if name not in ageless] or known]
    if not needed:
        return 0.0, False, False
    return min(at for at, _ in needed), all(cached for _, cached in needed), not stale.isdisjoint(metric.facts)
