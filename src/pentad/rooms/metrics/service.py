"""The metrics room's use cases. Tools, routes, pages, prompts and the command line all call them.

They return plain answers; `interface/presentation.py` turns these into JSON.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Literal, NamedTuple, Unpack

import msgspec.structs

from pentad.jobs.job import Schedule
from pentad.kernel.errors import InvalidInput, NotFound, PentadError, Unavailable
from pentad.kernel.ids import uuid7_text
from pentad.kernel.ports import Transaction
from pentad.mcp.changes import resource_updated
from pentad.platform import Platform
from pentad.rooms.metrics.collectors.contract import CollectorContext, ListsItems
from pentad.rooms.metrics.configuration import check_loaders, checked_thresholds, poll_intervals
from pentad.rooms.metrics.engine.catalogue import Catalogue, find_collectors
from pentad.rooms.metrics.engine.key_search import KeySearch
from pentad.rooms.metrics.engine.metric_rows import figure_rows, item_rows, with_limits
from pentad.rooms.metrics.engine.query_engine import Answer, DryRun, QueryEngine, QueryOptions, build_query
from pentad.rooms.metrics.engine.query_execution import Progress, shared_progress
from pentad.rooms.metrics.engine.row_query import Row
from pentad.rooms.metrics.history.collector_health import PollOutcome
from pentad.rooms.metrics.history.history_lines import HistoryLines
from pentad.rooms.metrics.history.metric_history import ALERTS_URI, MetricHistory
from pentad.rooms.metrics.history.recording import MOST_SAMPLES
from pentad.rooms.metrics.history.retention import Retention, roll_up_all
from pentad.rooms.metrics.history.scrape import ScrapePage
from pentad.rooms.metrics.history.silences import Silence, active_silences, add_silence, end_silence
from pentad.rooms.metrics.history.source_history import LineOptions, read_history
from pentad.rooms.metrics.loaders.destinations import Destinations
from pentad.rooms.metrics.loaders.formats import Export, ExportOptions, export_snapshot
from pentad.rooms.metrics.metric_keys import resolve_keys
from pentad.rooms.metrics.models import Info, Metric, Query
from pentad.rooms.metrics.notifications.notifier import JOB as NOTIFY
from pentad.rooms.metrics.notifications.notifier import Notifier
from pentad.rooms.metrics.notifications.receivers import Messenger, read_receivers
from pentad.rooms.metrics.settings import MetricsSettings

SECONDS: Final = 25.0
"""The default time limit of a query: a little less than that of a tool call."""

MOST_KEYS: Final = 100
"""The maximum number of results of a key search."""

ALL: Final = "all"
LOAD: Final = "metrics.load"
"""The job of a scheduled loader; the key is the loader's name."""
POLL_SECONDS: Final = 300.0


class Metrics:
    """The use cases of the room."""

    def __init__(
        self,
        platform: Platform,
        engine: QueryEngine,
        destinations: Destinations,
        history: MetricHistory,
        retention: Retention,
        notifier: Notifier,
    ) -> None:
        self.platform = platform
        self.notifier = notifier
        self.retention = retention
        self.engine = engine
        self.destinations = destinations
        self.history = history
        self.catalogue: Catalogue = engine.catalogue
        self.key_search = KeySearch(self.catalogue, platform.search)
        self._scrape_page = ScrapePage(platform.database, self.catalogue)

    def now(self) -> float:
        """The current time."""
        return self.platform.clock.now()

    def infos(self) -> list[Info]:
        """The descriptions of all collectors, the toolkit's first."""
        return [collector.info() for collector in self.catalogue.collectors.values()]

    def info(self, collector: str) -> Info:
        """The description of one collector, by id or alias."""
        return self.catalogue.find(collector).info()

    def compat(
        self, collector: str, given: Literal["legacy", "current"] | None = None, endpoint: str | None = None
    ) -> Literal["legacy"] | None:
        """Whether a call gets the Metrics Toolkit's numbers: if it asks for them, or if it does not choose and the
        setting `compat` covers its endpoint. Verbs and loaders have no endpoint; the setting covers them only if it
        covers every endpoint."""
        settings: MetricsSettings = self.platform.settings
        if given is not None:
            return "legacy" if given == "legacy" else None
        if settings.compat != "legacy" or (settings.compat_endpoints and endpoint not in settings.compat_endpoints):
            return None
        takes = self.info(collector).takes
        return "legacy" if takes is not None and "compat" in takes else None

    def select_collectors(
        self, names: Sequence[str], *, allow_all: bool = False, filters: frozenset[str] = frozenset()
    ) -> list[str]:
        """The ids of the named collectors. `all` has to be allowed; it selects every collector that is set up and
        supports the filters."""
        if any(name.casefold() == ALL for name in names):
            if not allow_all:
                raise InvalidInput(
                    "All collectors at once can take long.",
                    hint=f"Name one of {', '.join(self.catalogue.ids())}, or set allow_all.",
                )
            return [info.id for info in self.infos() if info.ready and (info.takes is None or filters <= info.takes)]
        return list(dict.fromkeys(self.info(name).id for name in names))

    async def keys(self, words: str, collectors: Iterable[str] = ()) -> list[tuple[str, Metric]]:
        """Metrics that match these words, the best first; without words, the whole catalogue. Of these collectors, or
        of all."""
        names = [self.info(name).id for name in collectors]
        if words.strip():
            _, hits = await self.key_search.find(words, MOST_KEYS, names)
            return [(owner, metric) for owner, metric, _, _ in hits]
        return [found for name in names or [None] for found in self.catalogue.metrics(name)]

    def collectors_with(self, keys: Sequence[str]) -> list[str]:
        """The ids of the collectors that are set up and have one of these metrics."""
        return [info.id for info in self.infos() if info.ready and _has_keys(info, keys)]

    async def figure_rows(self, collector: str, query: Query, progress: Progress | None = None) -> "RowSource":
        """The figures of the query's keys as rows."""
        answer = await self.collect(collector, with_limits(self.info(collector), query), progress)
        return RowSource(answer, figure_rows(answer, frozenset(query.keys or ())))

    async def item_rows(self, collector: str, query: Query, progress: Progress | None = None) -> "RowSource":
        """The items behind the figures of the query's keys as rows."""
        chosen = self.catalogue.find(collector)
        asked = [key for key in query.keys or () if isinstance(chosen, ListsItems) and key in chosen.item_keys()]
        if not isinstance(chosen, ListsItems) or not asked:
            named = ", ".join(chosen.item_keys()[:8]) if isinstance(chosen, ListsItems) else ""
            raise InvalidInput(
                f"The collector {chosen.id!r} cannot list the items behind {', '.join((query.keys or ())[:3])!r}.",
                hint=f"It can for: {named} ..." if named else "Ask for its figures, with `group_by` or `where`.",
            )
        query = msgspec.structs.replace(query, keys=tuple(asked), items=True)
        answer = await self.collect(collector, query, progress)
        return RowSource(answer, item_rows(answer.info, chosen.items(query, answer.facts)))

    def query(self, collector: str, **options: Unpack[QueryOptions]) -> Query:
        """A query for one collector; unknown keys and unsupported filters are refused."""
        options["seconds"] = options.get("seconds") or SECONDS
        return build_query(self.info(collector), self.platform.clock, **options)

    async def collect(self, collector: str, query: Query, progress: Progress | None = None) -> Answer:
        """One collector's answer."""
        return await self.engine.answer(collector, query, progress)

    async def collect_all(
        self, queries: Sequence[tuple[str, Query]], progress: Progress | None = None
    ) -> list[Answer | PentadError]:
        """The answers, or errors, of several collectors, queried concurrently. Progress covers all of them."""
        reports = shared_progress(progress, len(queries))

        async def one(place: int, name: str, query: Query) -> Answer | PentadError:
            try:
                return await self.collect(name, query, reports[place])
            except PentadError as error:
                return error

        return list(await asyncio.gather(*(one(place, *query) for place, query in enumerate(queries))))

    async def plan(self, collector: str, query: Query) -> DryRun:
        """What an answer would cost."""
        return await self.engine.dry_run(collector, query)

    async def poll(self, collector: str, bg: str | None = None) -> int:
        """Collect all figures of a collector from its source, never from the cache, and record them and the outcome;
        returns the number of samples."""
        info, began, at = self.info(collector), self.platform.clock.monotonic(), self.now()
        before = {one.name: one.state for one in await self.history.health()}
        try:
            answer = await self.collect(info.id, self.query(info.id, bg=bg, seconds=POLL_SECONDS, fresh=True))
        except Exception as error:
            message = error.sentence() if isinstance(error, PentadError) else type(error).__name__
            seconds = self.platform.clock.monotonic() - began
            done = PollOutcome(scope=bg or "", state="failing", at=at, seconds=seconds, problem=message)
            await self.history.record_failure(info, done)
            _log_outcome(info, done, before)
            raise
        done = _outcome(answer, bg or "")
        count = await self.history.record_poll(answer.info, answer.snapshot, done)
        _log_outcome(info, done, before)
        return count

    def polls(self) -> list[Schedule]:
        """The schedules of polls."""
        return [Schedule(seconds, key=name) for name, seconds in self.history.intervals.items()]

    async def roll_up(self) -> None:
        """Roll up old samples, and drop those that are too old."""
        await roll_up_all(self.platform.database, self.retention, self.now())

    async def lines(
        self, collector: str, keys: Sequence[str], begin: float, end: float, **options: Unpack[LineOptions]
    ) -> HistoryLines:
        """The history recorded here, merged with the history the source keeps."""
        return await read_history(self.history, self.engine, collector, keys, begin, end, **options)

    async def export(
        self, collector: str, query: Query, form: str, progress: Progress | None = None
    ) -> tuple[Export, Answer]:
        """An answer in another system's format."""
        answer = await self.collect(collector, query, progress)
        options = ExportOptions(legacy=query.compat == "legacy")
        return export_snapshot(form, answer.snapshot, answer.info, options), answer

    async def load(
        self, collector: str, query: Query, destination: str, progress: Progress | None = None
    ) -> tuple[Export, Answer]:
        """Send an answer to a destination of the settings."""
        answer = await self.collect(collector, query, progress)
        legacy = query.compat == "legacy"
        return await self.destinations.send(destination, answer.snapshot, answer.info, legacy=legacy), answer

    def loads(self) -> list[Schedule]:
        """The schedules of loaders."""
        return [Schedule(one.every, key=name) for name, one in self.destinations.scheduled().items()]

    async def load_scheduled(self, destination: str) -> None:
        """Send every collector of a scheduled loader. One failure does not stop the others; the error names all."""
        loader = self.destinations.scheduled().get(destination)
        if loader is None:  # no longer in the settings
            return
        troubles: list[str] = []
        for name in loader.collectors:
            collector, _, bg = name.partition("/")
            try:
                query = self.query(collector, bg=bg or None, compat=self.compat(collector), seconds=POLL_SECONDS)
                await self.load(collector, query, destination)
            except PentadError as error:
                troubles.append(f"{name}: {error.sentence()}")
        if troubles:
            raise Unavailable(f"The loader {destination!r} did not send everything. {' '.join(troubles)}")

    async def failed_deliveries(self) -> list[dict[str, str]]:
        """The loaders and receivers whose last job failed."""
        wanted = {LOAD: {one.key for one in self.loads()}, NOTIFY: {one.key for one in self.notifier.schedules()}}
        return [
            {"loader" if name == LOAD else "receiver": job.key or "", "problem": job.error}
            for name, keys in wanted.items()
            if keys
            for job in await self.platform.jobs.stored(name=name)
            if job.error and job.key in keys
        ]

    async def silences(self) -> list[Silence]:
        """The active silences."""
        now = self.now()
        return await self.platform.database.read(lambda rows: active_silences(rows, now))

    async def silence(
        self,
        who: str,
        *,
        collector: str | None = None,
        key: str | None = None,
        scope: str | None = None,
        labels: Mapping[str, str] | None = None,
        seconds: float,
        reason: str,
    ) -> Silence:
        """Stop sending these alerts to receivers for a while."""
        if not (collector or key or scope or labels):
            raise InvalidInput("The silence selects no alerts.", hint="Name a collector, a metricKey, a bg or labels.")
        now = self.now()
        made = Silence(
            id=uuid7_text(self.platform.clock),
            collector=self.info(collector).id if collector else "",
            key=key or "",
            scope=scope or "",
            labels=dict(labels or {}),
            ends=now + seconds,
            reason=reason,
            created_by=who,
            created_at=now,
        )

        def work(tx: Transaction) -> None:
            add_silence(tx, made)
            resource_updated(tx, ALERTS_URI)

        await self.platform.database.write(work)
        return made

    async def end_silence(self, silence_id: str) -> None:
        """End a silence now; alerts that still fire are sent."""
        now = self.now()

        def work(tx: Transaction) -> None:
            if not end_silence(tx, silence_id, now):
                raise NotFound(f"There is no active silence {silence_id[:80]!r}.", hint="listAlerts lists them.")
            self.notifier.wake(tx)
            resource_updated(tx, ALERTS_URI)

        await self.platform.database.write(work)

    async def scrape(
        self, collectors: Sequence[str] = (), bg: str | None = None, *, openmetrics: bool = True
    ) -> str:  # fmt: skip
        """The samples of the last poll of each collector, as text for Prometheus. Never asks a source."""
        chosen = {self.info(name).id for name in collectors}
        health = await self.history.health()
        return await self._scrape_page.text(health, collectors=chosen, bg=bg, openmetrics=openmetrics)


class RowSource(NamedTuple):
    """An answer, and its rows."""

    answer: Answer
    rows: list[Row]


def _has_keys(info: Info, keys: Sequence[str]) -> bool:
    try:
        return bool(resolve_keys(info, keys))
    except InvalidInput:
        return False


@asynccontextmanager
async def open_metrics(platform: Platform) -> AsyncGenerator[Metrics]:
    """Open the room with all installed collectors."""
    settings: MetricsSettings = platform.settings
    context = CollectorContext(platform, settings)
    catalogue = Catalogue(find_collectors(context))
    engine = QueryEngine(
        catalogue, platform.fetcher, platform.clock, limit=settings.concurrency, trusted=context.trusted
    )
    messenger = Messenger(platform.fetcher, platform.clock, platform.neighbours, platform.public_url or platform.site)
    receivers = read_receivers(settings.receivers)
    notifier = Notifier(platform.database, platform.clock, platform.jobs, catalogue, receivers, messenger)
    history = MetricHistory(
        platform.database,
        platform.clock,
        catalogue,
        checked_thresholds(catalogue, settings.thresholds),
        poll_intervals((one.info() for one in catalogue.collectors.values()), settings.poll),
        notifier.wake,
    )
    destinations = Destinations(settings.loaders, platform.fetcher)
    check_loaders(catalogue, destinations)
    retention = Retention(settings.raw_days, settings.hour_days, settings.day_days)
    metrics = Metrics(platform, engine, destinations, history, retention, notifier)
    try:
        yield metrics
    finally:
        for close in reversed(context.closing):
            await close()


_log = logging.getLogger(__name__)


def _outcome(answer: Answer, scope: str) -> PollOutcome:
    """The outcome of a poll. A figure that the source does not have is not a failure."""
    coverage = answer.snapshot.coverage
    problems = [problem for problem in answer.facts.troubles().values() if problem.kind != "unsupported"]
    messages = [f"{problem.call}: {problem.message}" for problem in problems]
    if (count := len(answer.snapshot.samples)) >= MOST_SAMPLES:  # one more is the outcome itself
        messages.append(
            f"{count} figures are too many for one poll; the rest is not recorded. Poll its scopes one by one."
        )
    state = "ok" if not messages else "failing" if answer.has_failed else "partial"
    return PollOutcome(
        scope=scope,
        state=state,
        at=answer.snapshot.taken_at,
        seconds=answer.seconds,
        facts_ok=coverage.ok,
        facts_stale=coverage.stale,
        facts_failed=len(problems) - coverage.stale,
        calls=answer.calls,
        throttled=answer.throttled,
        problem=messages[0] if messages else None,
    )


def _log_outcome(info: Info, done: PollOutcome, before: Mapping[str, str]) -> None:
    """Log a change of a collector's state; an unchanged state is not logged again."""
    name = f"{info.id}/{done.scope}" if done.scope else info.id
    was = before.get(name, "ok")
    if done.state == was or (done.state == "ok" and was == "late"):
        return
    if done.state == "ok":
        _log.info("The collector %s has recovered.", name)
    else:
        facts = f"{done.facts_ok} facts ok, {done.facts_stale} stale, {done.facts_failed} failed"
        _log.warning("The collector %s is %s (%s): %s", name, done.state, facts, done.problem)
