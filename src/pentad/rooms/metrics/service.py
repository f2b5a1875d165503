"""The metrics room as one object: questions in, answers out. Tools, pages, prompts and the command line all use this.

It adds nothing to an answer and takes nothing from it; what is shown of it is `shown.py`'s business.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from pentad.jobs.job import Schedule
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.platform import Platform
from pentad.rooms.metrics.arguments import Scoped
from pentad.rooms.metrics.collectors.contract import Source
from pentad.rooms.metrics.collectors.finding import find_collectors
from pentad.rooms.metrics.engine.answering import Answer, DryRun, Engine
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.engine.keys import resolved
from pentad.rooms.metrics.engine.planning import Progress
from pentad.rooms.metrics.engine.remembering import remembered
from pentad.rooms.metrics.engine.wanted import asked
from pentad.rooms.metrics.history.retention import Retention, tidy
from pentad.rooms.metrics.loaders.formats import Told, Words, told
from pentad.rooms.metrics.loaders.sending import Destinations
from pentad.rooms.metrics.model import Info, Metric, Wanted
from pentad.rooms.metrics.past import MOST_SERIES, Found, Line, Past
from pentad.rooms.metrics.schedule import judged, polls_of
from pentad.rooms.metrics.settings import MetricsSettings

SECONDS: Final = 25.0
"""For how long an answer is gathered unless the caller says otherwise: a little less than a tool may take."""

ALL: Final = "all"
POLL_SECONDS: Final = 300.0


class Metrics:
    """Everything that can be asked here."""

    def __init__(
        self, platform: Platform, engine: Engine, destinations: Destinations, past: Past, retention: Retention
    ) -> None:
        self.platform = platform
        self.retention = retention
        self.engine = engine
        self.destinations = destinations
        self.past = past
        self.catalogue: Catalogue = engine.catalogue

    def now(self) -> float:
        """The present moment."""
        return self.platform.clock.now()

    def infos(self) -> list[Info]:
        """What each collector says of itself, those of the promise first."""
        return [collector.info() for collector in self.catalogue.collectors.values()]

    def info(self, collector: str) -> Info:
        """The same of one collector, by any of its names."""
        return self.catalogue.find(collector).info()

    def chosen(
        self, names: Sequence[str], *, allow_all: bool = False, taking: frozenset[str] = frozenset()
    ) -> list[str]:
        """The ids of the collectors meant; `all` are those that are set up and take what is asked by, and have to be
        allowed."""
        if any(name.casefold() == ALL for name in names):
            if not allow_all:
                raise InvalidInput(
                    "All collectors at once can take long.",
                    hint=f"Name one of {', '.join(self.catalogue.ids())}, or set allow_all.",
                )
            return [info.id for info in self.infos() if info.ready and (info.takes is None or taking <= info.takes)]
        return list(dict.fromkeys(self.info(name).id for name in names))

    def keys(self, query: str, collectors: Iterable[str] = ()) -> list[tuple[str, Metric]]:
        """Metrics by words, of some collectors or of all."""
        names = list(collectors)
        if not names:
            return self.catalogue.search(query)
        return [found for name in names for found in self.catalogue.search(query, name)]

    def wanted(
        self,
        collector: str,
        given: Scoped,
        *,
        keys: Iterable[str] = (),
        raw: bool = False,
        credentials: Mapping[str, str] | None = None,
    ) -> Wanted:
        """The arguments of a tool as a question to one collector; keys that mean nothing are refused."""
        return asked(
            self.info(collector),
            self.platform.clock,
            keys=tuple(keys) or None,
            bg=given.bg,
            recursive=given.recursive,
            environments=given.environments(),
            regions=given.regions(),
            raw=raw,
            compat=given.compat,
            credentials=credentials,
            seconds=given.timeout_seconds or SECONDS,
        )

    async def collect(self, collector: str, wanted: Wanted, progress: Progress | None = None) -> Answer:
        """One collector's answer."""
        return await self.engine.answer(collector, wanted, progress)

    async def collect_all(
        self, questions: Sequence[tuple[str, Wanted]], progress: Progress | None = None
    ) -> list[Answer | PentadError]:
        """Several collectors at once, or what each of them refuses; progress is that of all of them together."""
        told = [(0.0, 0.0)] * len(questions)

        async def one(place: int, name: str, wanted: Wanted) -> Answer | PentadError:
            async def tell(done: float, planned: float | None, message: str | None) -> None:
                told[place] = (done, planned or 0.0)
                if progress is not None and done:
                    await progress(sum(done for done, _ in told), sum(planned for _, planned in told), message)

            try:
                return await self.collect(name, wanted, tell)
            except PentadError as error:
                return error

        return list(await asyncio.gather(*(one(place, *question) for place, question in enumerate(questions))))

    async def plan(self, collector: str, wanted: Wanted) -> DryRun:
        """What an answer would take."""
        return await self.engine.dry_run(collector, wanted)

    async def poll(self, collector: str, bg: str | None = None) -> int:
        """Collect everything of a collector and keep it; how many samples were kept."""
        wanted = asked(self.info(collector), self.platform.clock, bg=bg, seconds=POLL_SECONDS)
        answer = await self.collect(collector, wanted)
        return await self.past.record(answer.info, answer.snapshot)

    def polls(self) -> list[Schedule]:
        """How often each collector is polled."""
        return polls_of(self.infos(), self.platform.settings.poll)

    async def roll_up(self) -> None:
        """Roll up old samples, and drop those that are too old."""
        await tidy(self.platform.database, self.retention, self.now())

    async def remembered(
        self, collector: str, keys: Sequence[str], begin: float, end: float, *, step: int | None, most: int
    ) -> Found:
        """What the source itself kept of the past, for when nothing was recorded here."""
        info = self.info(collector)
        kept = await remembered(self.engine, info.id, resolved(info, keys), begin, end, step=step, most=most)
        lines = [
            Line(series=series, metric=None, points=points, rates=[], rise=None, words=[], forecast=None)
            for series, points in kept[:MOST_SERIES]
        ]
        return Found(lines=lines, left_out=len(kept) - len(lines))

    async def export(
        self, collector: str, wanted: Wanted, form: str, progress: Progress | None = None
    ) -> tuple[Told, Answer]:
        """An answer in another system's words."""
        answer = await self.collect(collector, wanted, progress)
        return told(form, answer.snapshot, answer.info, Words(legacy=wanted.compat == "legacy")), answer

    async def load(
        self, collector: str, wanted: Wanted, destination: str, progress: Progress | None = None
    ) -> tuple[Told, Answer]:
        """Send an answer to a destination of the settings."""
        answer = await self.collect(collector, wanted, progress)
        legacy = wanted.compat == "legacy"
        return await self.destinations.send(destination, answer.snapshot, answer.info, legacy=legacy), answer


@asynccontextmanager
async def open_metrics(platform: Platform) -> AsyncGenerator[Metrics]:
    """The room with every collector the settings allow."""
    settings: MetricsSettings = platform.settings
    source = Source(platform, settings)
    catalogue = Catalogue(find_collectors(source))
    engine = Engine(catalogue, platform.fetcher, platform.clock, limit=settings.concurrency, trusted=source.trusted)
    past = Past(platform.database, platform.clock, catalogue, judged(catalogue, settings.thresholds))
    destinations = Destinations(settings.loaders, platform.fetcher)
    retention = Retention(settings.raw_days, settings.hour_days, settings.day_days)
    metrics = Metrics(platform, engine, destinations, past, retention)
    try:
        yield metrics
    finally:
        for close in reversed(source.closing):
            await close()
