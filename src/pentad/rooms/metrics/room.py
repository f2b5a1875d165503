"""Declares the metrics room. Pages and the demo are imported on demand."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pentad.jobs.job import Job, JobRun, Schedule
from pentad.kernel.clock import iso
from pentad.kernel.principal import Principal
from pentad.platform import MetricFamily, Mount, MountContext, Room
from pentad.rooms.metrics.engine.key_search import KEYS
from pentad.rooms.metrics.interface.prompts import PROMPTS
from pentad.rooms.metrics.interface.resources import RESOURCES, listing
from pentad.rooms.metrics.interface.search_source import METRICS
from pentad.rooms.metrics.interface.tools import TOOLS
from pentad.rooms.metrics.notifications.notifier import JOB as NOTIFY
from pentad.rooms.metrics.service import LOAD, Metrics, open_metrics
from pentad.rooms.metrics.settings import MetricsSettings
from pentad.rooms.metrics.verbs import FIRST_CONTENT, VERBS

if TYPE_CHECKING:
    from pentad.kernel.pages import Pages
    from pentad.kernel.provenance import Origin

RETENTION_SECONDS: Final = 3_600.0


async def lineage(metrics: Metrics, _principal: Principal, uri: str) -> "Origin | None":
    """Where a resource of the room comes from."""
    from pentad.rooms.metrics.interface.lineage import lineage as lineage_of

    return await lineage_of(metrics, uri)


def pages() -> "Pages[Metrics]":
    from pentad.rooms.metrics.interface.pages import PAGES

    return PAGES


async def fill(metrics: Metrics) -> None:
    from pentad.rooms.metrics.interface.demo import fill_demo

    await fill_demo(metrics)


async def health(metrics: Metrics) -> Mapping[str, Any]:
    """The numbers of collectors and of those that are set up; failing or late collectors; failed deliveries to loaders
    and receivers."""
    infos = metrics.infos()
    unwell = [one for one in await metrics.history.health() if one.state in ("failing", "late")]
    found: dict[str, Any] = {
        "collectors": len(infos), "ready": sum(info.ready for info in infos), "failing": len(unwell),
    }  # fmt: skip
    if failed := await metrics.failed_deliveries():
        found |= {"status": "deliveries_failing", "failing_deliveries": failed}
    if unwell:
        named = [{"collector": one.name, "state": one.state, "since": iso(one.since)} for one in unwell]
        found |= {"status": "collectors_failing", "failing_collectors": named}
    return found


async def telemetry(metrics: Metrics) -> Sequence[MetricFamily]:
    """The health of each collector, for `/metrics`."""
    from pentad.rooms.metrics.interface.collector_telemetry import collector_families

    return collector_families(await metrics.history.health(), metrics.now())


def mounts(metrics: Metrics, context: MountContext) -> Sequence[Mount]:
    """The page to scrape, and the routes for programs."""
    del context
    from pentad.rooms.metrics.interface.rest import routes

    return [Mount(routes=routes(metrics))]


def tools_as_methods(metrics: Metrics) -> Sequence[str]:
    """The Metrics Toolkit also answers tools as JSON-RPC methods; Pentad does if `plain_methods` is set."""
    if not metrics.platform.settings.plain_methods:
        return ()
    return [name for tool in TOOLS for name in (tool.name, *tool.aliases)]


async def poll(metrics: Metrics, run: JobRun) -> None:
    """Poll a collector and record the figures."""
    collector, _, scope = (run.key or "").partition("/")
    await metrics.poll(collector, scope or None)


async def load(metrics: Metrics, run: JobRun) -> None:
    """Run a scheduled loader."""
    await metrics.load_scheduled(run.key or "")


async def notify(metrics: Metrics, run: JobRun) -> None:
    """Send new notices to a receiver of alerts."""
    await metrics.notifier.notify(metrics.history, run)


async def roll_up(metrics: Metrics, run: JobRun) -> None:
    await metrics.roll_up()


JOBS = (
    Job("metrics.poll", poll, lambda metrics: metrics.polls(), concurrency=64),
    Job(LOAD, load, lambda metrics: metrics.loads(), concurrency=16, timeout=None),
    Job(NOTIFY, notify, lambda metrics: metrics.notifier.schedules(), concurrency=16),
    Job("metrics.retention", roll_up, lambda metrics: [Schedule(RETENTION_SECONDS)] if metrics.polls() else []),
)
"""Each poll is a job with its own deadline, so a slow source does not delay the others."""

ROOM = Room(
    name="metrics",
    title="Metrics",
    instructions=(
        "Metrics of platforms, of this machine and of Pentad itself, by collector and by key, with their history."
        " getAvailableCollectors lists the collectors, listMetricKeys their metrics. getPlatformMetricByKey reads one"
        " figure; queryMetrics filters, groups and ranks figures, or lists the items behind them. Missing values"
        " include a reason; they are never zeros."
    ),
    open=open_metrics,
    tools=TOOLS,
    resources=RESOURCES,
    prompts=PROMPTS,
    listing=listing,
    jobs=JOBS,
    searchable=(KEYS,),
    search_sources=(METRICS,),
    lineage=lineage,
    event_kinds={"alert.changed": "A figure has crossed a threshold, or is back to normal."},
    schema="pentad.rooms.metrics.schema",
    pages=pages,
    mounts=mounts,
    tools_as_methods=tools_as_methods,
    health=health,
    telemetry=telemetry,
    demo=fill,
    first_content=FIRST_CONTENT,
    settings=MetricsSettings,
    cli=VERBS,
)
