"""The console pages: collectors and alerts, the figures of one collector, the history of one metric.

A page reads the recorded history. Only local collectors, which cost nothing, are asked for current figures; those of
platforms are from the last poll.
"""

from collections.abc import Sequence
from typing import Final

from pentad.kernel.charts import format_number
from pentad.kernel.errors import PentadError
from pentad.kernel.pages import (
    Block,
    Card,
    Cards,
    Cell,
    Column,
    Facts,
    Hint,
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
from pentad.rooms.metrics.history.alerts import Alert
from pentad.rooms.metrics.history.collector_health import CollectorHealth
from pentad.rooms.metrics.history.metric_history import HistoryLine, HistoryLines
from pentad.rooms.metrics.interface.arguments import parse_time
from pentad.rooms.metrics.interface.needs import needs
from pentad.rooms.metrics.interface.presentation import history_chart, label_text, plot_points, series_label
from pentad.rooms.metrics.models import Info, Labels, Metric, Scalar
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.verbs import FIRST_CONTENT

REFRESH: Final = 5.0
LOCAL: Final = ("host", "pentad")
_MOST_ROWS: Final = 500
_MOST_CHARTS: Final = 6
_SPANS: Final = ("1h", "6h", "24h", "7d", "14d", "90d")


async def overview(metrics: Metrics, _visit: Visit) -> Sheet:
    """All collectors and alerts."""
    alerts, health = await metrics.history.alerts(), await metrics.history.health()
    cards = [
        Card(
            Cell(info.title, Place((info.id,))),
            info.description if info.ready else f"Not set up. {info.missing}",
            [("metrics", f"{len(info.catalogue):,}"), *_alert_count(info.id, alerts), *_poll_state(info.id, health)],
        )
        for info in sorted(metrics.infos(), key=lambda info: not info.ready)
    ]
    nothing: str | Hint = (
        Hint("Nothing is recorded yet. Record the figures of this machine with", FIRST_CONTENT)
        if await metrics.history.is_empty()
        else "Everything is within its thresholds."
    )
    blocks: list[Block] = [Section("Alerts", [_alert_table(alerts, nothing)]), Section("Collectors", [Cards(cards)])]
    return Sheet("Metrics", blocks, lead="Everything measured here, with its history.", refresh=REFRESH)


async def one_collector(metrics: Metrics, visit: Visit) -> Sheet:
    """A collector: charts of the metrics with thresholds, then every figure."""
    info = metrics.info(visit.path["collector"])
    if not info.ready:
        return Sheet(info.title, [Note(f"Not set up. {info.missing}")], lead=info.description)
    words = visit.asked().casefold()
    blocks: list[Block] = []
    charts = [] if words else await _charts(metrics, info)
    if charts:
        blocks.append(Section("The last 24 hours", charts))
    try:
        rows = await _figure_rows(metrics, info)
    except PentadError as error:
        rows = []
        blocks.append(Note(error.sentence(), "bad"))
    rows = [row for row in rows if words in str(row[0].text).casefold() or words in str(row[1]).casefold()]
    columns = ("Metric", "Of", Column("Value", True), Column("State", short=True), Column("At", short=True))
    empty = "No metric matches." if words else _nothing_recorded(info.id)
    blocks += [SearchBox("Find a metric", visit.asked(), "Find"), Table(columns, rows[:_MOST_ROWS], empty)]
    return Sheet(info.title, blocks, lead=info.description, refresh=None if words else REFRESH)


async def one_metric(metrics: Metrics, visit: Visit) -> Sheet:
    """A metric: a chart of its history, a forecast, and what it means."""
    info = metrics.info(visit.path["collector"])
    key, chosen = visit.path["key"], visit.asked("span") or "24h"
    now = metrics.now()
    found = await metrics.history.lines(info.id, [key], parse_time(f"now-{chosen}", now), now + 1, with_forecast=True)
    blocks: list[Block] = [
        Links([Cell(span, Place((info.id, key), {"span": span})) if span != chosen else span for span in _SPANS]),
        *_history_charts(metrics, f"{key}, last {chosen}", found),
    ]
    if not found.lines:
        blocks.append(_nothing_recorded(info.id))
    if found.left_out:
        blocks.append(Note(f"{found.left_out:,} more lines are not drawn."))
    blocks += [
        Section(series_label(line.series), [Facts([(when(at), _value_text(value)) for at, value in line.texts])])
        for line in found.lines
        if line.texts
    ]
    ahead = [(series_label(line.series), _forecast_text(line)) for line in found.lines if line.forecast is not None]
    if ahead:
        blocks.append(Section("Forecast", [Facts(ahead)]))
    metric = next((one for one in info.catalogue if one.key == key), None)
    if metric is not None:
        blocks.append(Section("About", [Facts(_metric_facts(metric))]))
    lead = metric.description if metric is not None else ""
    return Sheet(key, blocks, lead=lead, trail=[Cell(info.title, Place((info.id,)))], refresh=REFRESH)


async def figures(metrics: Metrics, _visit: Visit) -> Sequence[tuple[str, str]]:
    ready = [info for info in metrics.infos() if info.ready]
    alerts = await metrics.history.alerts()
    return [("collectors", f"{len(ready):,}"), ("alert" if len(alerts) == 1 else "alerts", f"{len(alerts):,}")]


def _nothing_recorded(collector: str) -> Hint:
    return Hint("Nothing is recorded yet. Record now with", f"pentad metrics poll {collector}")


PAGES: Final[Pages[Metrics]] = Pages(
    [Page("", overview), Page("{collector}", one_collector), Page("{collector}/{key}", one_metric)],
    figures,
    needs=needs,
)

Row = tuple[Cell, str, str, str, str]


async def _figure_rows(metrics: Metrics, info: Info) -> list[Row]:
    """Current figures of a local collector, else those of the last poll."""
    if info.id in LOCAL:
        answer = await metrics.collect(info.id, metrics.query(info.id))
        return [
            _row(info, one.key, one.labels, one.value, one.unit, one.state, one.as_of)
            for one in answer.snapshot.samples
        ]
    return [
        _row(info, one.series.key, one.series.labels, one.value, one.series.unit, one.state, one.at)
        for one in await metrics.history.latest(info.id)
    ]


def _row(info: Info, key: str, labels: Labels, value: Scalar, unit: str | None, state: str, at: float) -> Row:
    of = label_text(labels)
    return Cell(key, Place((info.id, key))), of, _value_text(value, unit), "" if state == "ok" else state, when(at)


async def _charts(metrics: Metrics, info: Info) -> list[Block]:
    judged = [one.key for one in info.catalogue if one.warn is not None or one.alarm is not None or one.limit]
    now = metrics.now()
    drawn: list[Block] = []
    for key in judged[:_MOST_CHARTS]:
        found = await metrics.history.lines(info.id, [key], now - 86_400, now + 1, most=120)
        drawn += _history_charts(metrics, key, found)
    return drawn


def _history_charts(metrics: Metrics, title: str, found: HistoryLines) -> list[Block]:
    """The chart of some lines, if there is anything to draw."""
    if not any(plot_points(line) for line in found.lines):
        return []
    return [history_chart(title, found.lines, found.begin, found.end, metrics.history.marks(found.lines))]


def _forecast_text(line: HistoryLine) -> str:
    forecast, unit = line.forecast, line.series.unit
    if forecast is None:
        return ""
    pace = f"{format_number(forecast.per_day, unit)} a day"
    if forecast.limit is None:
        return pace
    if forecast.is_reached:
        since = f" since {when(forecast.reached_at)}" if forecast.reached_at is not None else ""
        return f"{pace}; beyond {format_number(forecast.limit, unit)}{since}"
    if forecast.reached_at is None:
        return f"{pace}; the limit of {format_number(forecast.limit, unit)} is not reached"
    return f"{pace}; {format_number(forecast.limit, unit)} is reached on {when(forecast.reached_at)[:10]}"


def _metric_facts(metric: Metric) -> list[tuple[str, str]]:
    fields = (("Unit", metric.unit), ("Kind", metric.kind), ("Formula", metric.formula), ("Limit", metric.limit))
    found = [(name, text) for name, text in fields if text]
    for name, threshold in (("Warns at", metric.warn), ("Alarms at", metric.alarm)):
        if threshold is not None:
            found.append((name, format_number(threshold, metric.unit)))
    return found


def _alert_count(collector: str, alerts: Sequence[Alert]) -> list[tuple[str, str]]:
    mine = sum(alert.collector == collector for alert in alerts)
    return [("alerts" if mine > 1 else "alert", str(mine))] if mine else []


def _poll_state(collector: str, health: Sequence[CollectorHealth]) -> list[tuple[str, str]]:
    return [("polls", f"{one.state} since {when(one.since)}") for one in health if one.collector == collector][:1]


def _alert_table(alerts: Sequence[Alert], empty: str | Hint) -> Table:
    rows = [
        (
            alert.level,
            Cell(f"{alert.collector} {alert.key}", Place((alert.collector, alert.key))),
            label_text(alert.labels),
            _value_text(alert.value, alert.unit),
            _value_text(alert.threshold, alert.unit),
            when(alert.since),
        )
        for alert in alerts
    ]
    columns = ("Level", "Metric", "Of", Column("Value", True), Column("Threshold", True), Column("Since", short=True))
    return Table(columns, rows, empty)


def _value_text(value: Scalar, unit: str | None = None) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(value)
    return value if isinstance(value, str) else format_number(value, unit)
