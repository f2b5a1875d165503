"""What people see of the metrics: the collectors with what is wrong, one collector's figures, and lines that move.

A page reads what was recorded, and asks a source only where that costs nothing: this machine and Pentad itself. The
figures of platforms are those of the last poll.
"""

from collections.abc import Sequence
from typing import Final

from pentad.kernel.errors import PentadError
from pentad.kernel.pages import (
    Block,
    Card,
    Cards,
    Cell,
    Chart,
    Column,
    Facts,
    Links,
    Note,
    Page,
    Pages,
    Place,
    SearchBox,
    Section,
    Sheet,
    Table,
    Visit,
    when,
)
from pentad.kernel.pages import Series as Drawn
from pentad.rooms.metrics.arguments import Scoped
from pentad.rooms.metrics.charts import readable
from pentad.rooms.metrics.history.alerts import Alert
from pentad.rooms.metrics.model import Info, Labels, Metric, Scalar
from pentad.rooms.metrics.moments import moment
from pentad.rooms.metrics.past import Line
from pentad.rooms.metrics.past_tools import named, plotted
from pentad.rooms.metrics.service import Metrics

REFRESH: Final = 5.0
LOCAL: Final = ("host", "pentad")
_MOST_ROWS: Final = 500
_MOST_CHARTS: Final = 6
_SPANS: Final = ("1h", "6h", "24h", "7d", "14d", "90d")
_PARENTS: Final = ("businessGroupId", "environmentType")


async def overview(metrics: Metrics, _visit: Visit) -> Sheet:
    """All collectors, and what is beyond its threshold."""
    alerts = await metrics.past.alerts()
    cards = [
        Card(
            Cell(info.title, Place((info.id,))),
            info.description if info.ready else f"Not set up. {info.missing}",
            [("metrics", f"{len(info.catalogue):,}"), *_alerting(info.id, alerts)],
        )
        for info in sorted(metrics.infos(), key=lambda info: not info.ready)
    ]
    blocks: list[Block] = [Section("Alerts", [_alerts(alerts)]), Section("Collectors", [Cards(cards)])]
    return Sheet("Metrics", blocks, lead="What is measured here, with its history.", refresh=REFRESH)


async def one_collector(metrics: Metrics, visit: Visit) -> Sheet:
    """A collector: charts of what has thresholds, then every figure."""
    info = metrics.info(visit.path["collector"])
    if not info.ready:
        return Sheet(info.title, [Note(f"Not set up. {info.missing}")], lead=info.description)
    words = visit.asked().casefold()
    blocks: list[Block] = []
    charts = [] if words else await _charts(metrics, info)
    if charts:
        blocks.append(Section("The last 24 hours", charts))
    try:
        rows = await _figures(metrics, info)
    except PentadError as error:
        rows = []
        blocks.append(Note(error.sentence(), "bad"))
    rows = [row for row in rows if words in str(row[0].text).casefold() or words in str(row[1]).casefold()]
    columns = ("Metric", "Of", Column("Value", True), Column("State", short=True), Column("At", short=True))
    empty = "Nothing was recorded yet." if not words else "Nothing fits."
    blocks += [SearchBox("Find a metric", visit.asked(), "Find"), Table(columns, rows[:_MOST_ROWS], empty)]
    return Sheet(info.title, blocks, lead=info.description, refresh=None if words else REFRESH)


async def one_metric(metrics: Metrics, visit: Visit) -> Sheet:
    """A metric: what it is, its lines over time, where they lead."""
    info = metrics.info(visit.path["collector"])
    key, chosen = visit.path["key"], visit.asked("span") or "24h"
    now = metrics.now()
    found = await metrics.past.lines(info.id, [key], moment(f"now-{chosen}", now), now + 1, foresee=True)
    blocks: list[Block] = [
        Links([Cell(span, Place((info.id, key), {"span": span})) if span != chosen else span for span in _SPANS]),
        *([_chart(key, found.lines)] if any(plotted(line) for line in found.lines) else []),
    ]
    if not found.lines:
        blocks.append(Note("Nothing was recorded yet."))
    if found.left_out:
        blocks.append(Note(f"{found.left_out:,} more lines are not drawn."))
    blocks += [
        Section(named(line.series), [Facts([(when(at), _text(value)) for at, value in line.words])])
        for line in found.lines
        if line.words
    ]
    ahead = [(named(line.series), _ahead(line)) for line in found.lines if line.forecast is not None]
    if ahead:
        blocks.append(Section("If it goes on like this", [Facts(ahead)]))
    metric = next((one for one in info.catalogue if one.key == key), None)
    if metric is not None:
        blocks.append(Section("About", [Facts(_about(metric))]))
    lead = metric.description if metric is not None else ""
    return Sheet(key, blocks, lead=lead, trail=[Cell(info.title, Place((info.id,)))], refresh=REFRESH)


async def figures(metrics: Metrics, _visit: Visit) -> Sequence[tuple[str, str]]:
    ready = [info for info in metrics.infos() if info.ready]
    alerts = await metrics.past.alerts()
    return [("collectors", f"{len(ready):,}"), ("alert" if len(alerts) == 1 else "alerts", f"{len(alerts):,}")]


PAGES: Final[Pages[Metrics]] = Pages(
    [Page("", overview), Page("{collector}", one_collector), Page("{collector}/{key}", one_metric)], figures
)

Row = tuple[Cell, str, str, str, str]


async def _figures(metrics: Metrics, info: Info) -> list[Row]:
    """Those of this moment where they are at hand, else those of the last poll."""
    if info.id in LOCAL:
        answer = await metrics.collect(info.id, metrics.wanted(info.id, Scoped()))
        return [
            _row(info, one.key, one.labels, one.value, one.unit, one.state, one.as_of)
            for one in answer.snapshot.samples
        ]
    return [
        _row(info, one.series.key, one.series.labels, one.value, one.series.unit, one.state, one.at)
        for one in await metrics.past.latest(info.id)
    ]


def _row(info: Info, key: str, labels: Labels, value: Scalar, unit: str | None, state: str, at: float) -> Row:
    of = ", ".join(text for name, text in labels if name not in _PARENTS)
    return Cell(key, Place((info.id, key))), of, _text(value, unit), "" if state == "ok" else state, when(at)


async def _charts(metrics: Metrics, info: Info) -> list[Block]:
    judged = [one.key for one in info.catalogue if one.warn is not None or one.alarm is not None or one.limit]
    now = metrics.now()
    drawn: list[Block] = []
    for key in judged[:_MOST_CHARTS]:
        found = await metrics.past.lines(info.id, [key], now - 86_400, now + 1, most=120)
        if any(plotted(line) for line in found.lines):
            drawn.append(_chart(key, found.lines))
    return drawn


def _chart(key: str, lines: Sequence[Line]) -> Chart:
    counts = lines[0].series.kind == "counter"
    unit = (lines[0].series.unit or "").replace("By", "B") + ("/s" if counts else "")
    return Chart(key, [Drawn(named(line.series), plotted(line)) for line in lines if plotted(line)], unit)


def _ahead(line: Line) -> str:
    said, unit = line.forecast, line.series.unit
    if said is None:
        return ""
    pace = f"{readable(said.per_day, unit)} a day"
    if said.limit is None:
        return pace
    if said.is_reached:
        return f"{pace}; the limit of {readable(said.limit, unit)} is reached"
    if said.reached_at is None:
        return f"{pace}; the limit of {readable(said.limit, unit)} is not reached"
    return f"{pace}; {readable(said.limit, unit)} is reached on {when(said.reached_at)[:10]}"


def _about(metric: Metric) -> list[tuple[str, str]]:
    told = (("Unit", metric.unit), ("Kind", metric.kind), ("Formula", metric.formula), ("Limit", metric.limit))
    found = [(name, text) for name, text in told if text]
    for name, threshold in (("Warns at", metric.warn), ("Alarms at", metric.alarm)):
        if threshold is not None:
            found.append((name, readable(threshold, metric.unit)))
    return found


def _alerting(collector: str, alerts: Sequence[Alert]) -> list[tuple[str, str]]:
    mine = sum(alert.collector == collector for alert in alerts)
    return [("alerts" if mine > 1 else "alert", str(mine))] if mine else []


def _alerts(alerts: Sequence[Alert]) -> Table:
    rows = [
        (
            alert.level,
            Cell(f"{alert.collector} {alert.key}", Place((alert.collector, alert.key))),
            ", ".join(text for name, text in alert.labels if name not in _PARENTS),
            _text(alert.value, alert.unit),
            _text(alert.threshold, alert.unit),
            when(alert.since),
        )
        for alert in alerts
    ]
    columns = ("Level", "Metric", "Of", Column("Value", True), Column("Threshold", True), Column("Since", short=True))
    return Table(columns, rows, "Everything is within its thresholds.")


def _text(value: Scalar, unit: str | None = None) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(value)
    return value if isinstance(value, str) else readable(value, unit)
