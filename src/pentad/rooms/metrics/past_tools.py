"""The tools that look back: history, comparison, alerts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pentad.kernel.clock import iso
from pentad.mcp.call import Call
from pentad.mcp.content import Content, Image, Text
from pentad.mcp.declare import ToolResult, tool
from pentad.rooms.metrics.arguments import AlertsAsked, Compared, HistoryAsked, listed
from pentad.rooms.metrics.charts import ascii_chart, svg_chart
from pentad.rooms.metrics.history.alerts import Alert, AlertChange
from pentad.rooms.metrics.history.changes import Change
from pentad.rooms.metrics.history.forecast import Forecast
from pentad.rooms.metrics.history.store import Point, Series
from pentad.rooms.metrics.moments import moment, span
from pentad.rooms.metrics.past import Line
from pentad.rooms.metrics.schemas import ALERTS, COMPARED, HISTORY
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.shown import as_text

_MOST_CHANGES: Final = 100
_MOST_DRAWN: Final = 6
_MOST_GAPS: Final = 100
_PARENTS: Final = frozenset({"businessGroupId", "environmentType"})


@tool("getMetricHistory", title="History of a metric", read_only=True, output_schema=HISTORY)
async def get_metric_history(arguments: HistoryAsked, call: Call[Metrics]) -> ToolResult:
    """What was recorded of metrics between two moments: points, for counters rates, and when a limit is reached."""
    metrics, now = call.service, call.service.now()
    begin, end = moment(arguments.begin, now), moment(arguments.end, now)
    collector, keys = arguments.one_collector(), listed(arguments.metric_key)
    step = None if arguments.step is None else span(arguments.step)
    found = await metrics.past.lines(
        collector,
        keys,
        begin,
        end,
        scope=arguments.bg,
        labels={"environmentName": arguments.environment} if arguments.environment else None,
        step=step,
        most=arguments.max_points,
        foresee=arguments.forecast,
    )
    if not found.lines:
        found = await metrics.remembered(collector, keys, begin, end, step=step, most=arguments.max_points)
    shown: dict[str, Any] = {"from": iso(begin), "to": iso(end), "series": [line_shown(line) for line in found.lines]}
    if found.left_out:
        shown["notes"] = [f"{found.left_out} more lines were left out; name an environment or a narrower key."]
    if not found.lines:
        shown["notes"] = ["Nothing was recorded yet. A poll records; `[rooms.metrics.poll]` says how often."]
    blocks: list[Content] = [Text(text=as_text(shown))]
    if arguments.chart is not None and found.lines:
        blocks.append(_drawn(found.lines[:_MOST_DRAWN], arguments.chart))
    return ToolResult(content=blocks, structured=shown)


@tool("compareMetrics", title="What changed", read_only=True, output_schema=COMPARED)
async def compare_metrics(arguments: Compared, call: Call[Metrics]) -> ToolResult:
    """What differs between two moments of the history: values with their difference, what is new, what is gone."""
    now = call.service.now()
    before, after = moment(arguments.since, now), moment(arguments.until, now)
    found = await call.service.past.changes(
        arguments.one_collector(), before, after, scope=arguments.bg, keys=listed(arguments.metric_key)
    )
    shown: dict[str, Any] = {
        "before": iso(before),
        "after": iso(after),
        "changes": [change_shown(change) for change in found[: arguments.limit]],
        "total": len(found),
    }
    return ToolResult(structured=shown)


@tool("listAlerts", title="Alerts", read_only=True, output_schema=ALERTS)
async def list_alerts(arguments: AlertsAsked, call: Call[Metrics]) -> ToolResult:
    """Metrics beyond their thresholds, the worst first; with `since` also what rose and fell."""
    metrics = call.service
    chosen = None if arguments.collector is None else metrics.info(arguments.collector).id
    alerts = await metrics.past.alerts((arguments.level,) if arguments.level else ("warn", "alarm"))
    shown: dict[str, Any] = {"alerts": [alert_shown(one) for one in alerts if chosen in (None, one.collector)]}
    if arguments.since is not None:
        changes = await metrics.past.risen_and_fallen(moment(arguments.since, metrics.now()), _MOST_CHANGES)
        shown["changes"] = [alert_change_shown(one) for one in changes if chosen in (None, one.collector)]
    return ToolResult(structured=shown)


def _drawn(lines: Sequence[Line], kind: str) -> Content:
    """The lines as a picture, or as text for a terminal."""
    if kind == "ascii":
        charts = [ascii_chart(named(line.series), plotted(line), unit=line.series.unit) for line in lines]
        return Text(text="\n\n".join(charts))
    title = ", ".join(dict.fromkeys(line.series.key for line in lines))
    picture = svg_chart(title, [(named(line.series), plotted(line)) for line in lines], unit=lines[0].series.unit)
    return Image.of(picture.encode(), "image/svg+xml")


def named(series: Series) -> str:
    """A line's name: its key, and what tells it from its neighbours."""
    told = ", ".join(text for name, text in series.labels if name not in _PARENTS)
    return f"{series.key} ({told})" if told else series.key


def plotted(line: Line) -> list[tuple[float, float | None]]:
    """A line to be drawn: values, for a counter what it counts each second; it breaks off where there was none."""
    counts = line.series.kind == "counter"
    known = line.rates if counts else [(point.last_at, point.mean) for point in line.points]
    broken: list[tuple[float, float | None]] = [*known, *((at, None) for at, _ in line.gaps)]
    return sorted(broken, key=lambda point: point[0])


def line_shown(line: Line) -> dict[str, Any]:
    """A series as data: what it is, then its points."""
    series = line.series
    shown: dict[str, Any] = {"collector": series.collector, "key": series.key, "kind": series.kind}
    shown |= {"scope": series.scope} if series.scope else {}
    shown |= {"labels": dict(series.labels)} if series.labels else {}
    shown |= {"unit": series.unit} if series.unit else {}
    if line.words:
        return shown | {"values": [{"at": iso(at), "value": value} for at, value in line.words]}
    shown["points"] = [point_shown(point) for point in line.points]
    if line.rates:
        shown["perSecond"] = [{"at": iso(at), "value": _rounded(value)} for at, value in line.rates]
    if line.rise is not None:
        shown["rise"] = _rounded(line.rise)
    if line.gaps:
        shown["gaps"] = [{"at": iso(at), "state": state} for at, state in line.gaps[-_MOST_GAPS:]]
    if line.forecast is not None:
        shown["forecast"] = forecast_shown(line.forecast)
    return shown


def point_shown(point: Point) -> dict[str, Any]:
    """One sample is its value; several are their least, mean, greatest and last."""
    if point.samples == 1:
        return {"at": iso(point.at), "value": _rounded(point.last)}
    return {
        "at": iso(point.at),
        "min": _rounded(point.lowest),
        "avg": _rounded(point.mean),
        "max": _rounded(point.highest),
        "last": _rounded(point.last),
        "samples": point.samples,
    }


def forecast_shown(said: Forecast) -> dict[str, Any]:
    """Where a line leads."""
    shown: dict[str, Any] = {"perDay": _rounded(said.per_day), "now": _rounded(said.value), "points": said.points}
    if said.limit is not None:
        shown |= {"limit": _rounded(said.limit), "isReached": said.is_reached}
    for name, at in (("reachedAt", said.reached_at), ("earliest", said.earliest), ("latest", said.latest)):
        if at is not None:
            shown[name] = iso(at)
    return shown


def change_shown(change: Change) -> dict[str, Any]:
    """A difference as data."""
    told: dict[str, Any] = msgspec.to_builtins(change)
    shown = {name: _rounded(value) if isinstance(value, float) else value for name, value in told.items()}
    return {**shown, "labels": dict(change.labels)} if change.labels else _without(shown, "labels")


def alert_shown(alert: Alert) -> dict[str, Any]:
    """An alert as data."""
    told: dict[str, Any] = msgspec.to_builtins(alert)
    figures = {name: _rounded(told[name]) for name in ("value", "threshold") if told[name] is not None}
    times = {"since": iso(alert.since), "checked": iso(alert.checked)}
    shown = {**told, **figures, **times, "labels": dict(alert.labels)}
    return {name: value for name, value in shown.items() if value not in (None, "", {})}


def alert_change_shown(change: AlertChange) -> dict[str, Any]:
    """A moment an alert rose or fell, as data."""
    told: dict[str, Any] = msgspec.to_builtins(change)
    shown = {**told, "labels": dict(change.labels), "at": iso(change.at)}
    return {name: value for name, value in shown.items() if value not in (None, "", {})}


def _without(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key != name}


def _rounded(value: float) -> float | int:
    """As many digits as anybody reads."""
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(f"{value:.6g}")
