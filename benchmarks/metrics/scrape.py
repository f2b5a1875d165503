"""`python -m benchmarks.metrics.scrape URL ORG LIMIT ROUNDS`: a scrape of a whole organisation, right after its polls.

All collectors are polled once and recorded in a SQLite store. Then `/metrics/collectors` is rendered without a
cache: the samples are read from the store each time. prometheus-client renders the very same samples from memory.
Prints CPU times as JSON, the best of all rounds.
"""

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

import uvloop
from prometheus_client.core import CollectorRegistry, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from pentad.cli.garbage_collection import collect_new_objects
from pentad.kernel.clock import SystemClock
from pentad.net.fetch import HttpFetcher
from pentad.rooms.metrics.engine.query_engine import build_query
from pentad.rooms.metrics.history.collector_health import PollOutcome
from pentad.rooms.metrics.history.metric_history import MetricHistory
from pentad.rooms.metrics.history.scrape import ScrapePage
from pentad.storage.migrations import apply
from pentad.storage.open import open_database
from tests.anypoint.engine import APP, engine_for
from tests.rooms.metrics.history.samples import SETS


class _Given(Collector):
    """Families from memory."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


async def main(url: str, org: str, limit: int, rounds: int, folder: Path) -> None:
    fetcher, clock = HttpFetcher(), SystemClock()
    engine = engine_for({"anypoint_url": url, "anypoint_org": org, **APP}, fetcher, limit)
    names = engine.catalogue.ids()
    answers = await asyncio.gather(
        *(engine.answer(name, build_query(engine.catalogue.find(name).info(), clock)) for name in names)
    )
    await fetcher.close()
    database = await open_database(None, folder)
    await apply(database, SETS)
    history = MetricHistory(database, clock, engine.catalogue, {}, dict.fromkeys(names, 3_600.0))
    for answer in answers:
        done = PollOutcome(scope="", state="ok", at=answer.snapshot.taken_at)
        await history.record_poll(answer.info, answer.snapshot, done)

    async def scrape() -> str:
        return await ScrapePage(database, engine.catalogue).text(await history.health())

    page = await scrape()
    families = [_as_given(family) for family in text_string_to_metric_families(page)]
    registry = CollectorRegistry()
    registry.register(_Given(families))
    samples = sum(len(family.samples) for family in families)
    rendered = generate_latest(registry).decode()
    same = sum(not line.startswith("#") for line in rendered.splitlines()) == samples
    collect_new_objects()
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        begun = time.process_time()
        await scrape()
        ours.append(time.process_time() - begun)
        begun = time.process_time()
        generate_latest(registry)
        theirs.append(time.process_time() - begun)
    await database.close()
    failed = 0 if same else 1
    print(json.dumps({"samples": samples, "ours": min(ours), "theirs": min(theirs), "failed": failed}))


def _as_given(family: Metric) -> Metric:
    """A family as an exporter keeps it: created once, with samples and plain labels."""
    made = GaugeMetricFamily(family.name, family.documentation)
    made.type, made.unit, made.samples = family.type, family.unit, list(family.samples)
    return made


if __name__ == "__main__":
    given = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as store:
        uvloop.run(main(given[0], given[1], int(given[2]), int(given[3]), Path(store)))
