"""The tools that read the recorded history: history, comparison, alerts."""

from collections.abc import Sequence
from typing import Any, Final

from pentad.kernel.charts import svg_chart, text_chart
from pentad.kernel.clock import iso
from pentad.mcp.call import Call
from pentad.mcp.content import Content, Image, Text
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.metrics.history.metric_history import HistoryLine
from pentad.rooms.metrics.interface.arguments import AlertsArguments, CompareArguments, HistoryArguments
from pentad.rooms.metrics.interface.presentation import (
    ALERTS,
    COMPARED,
    HISTORY,
    alert_change_view,
    alert_view,
    change_view,
    history_chart,
    line_view,
    plot_points,
    series_label,
    to_json,
)
from pentad.rooms.metrics.interface.time_expressions import parse_duration, parse_time
from pentad.rooms.metrics.metric_keys import split_list
from pentad.rooms.metrics.service import Metrics

_MOST_CHANGES: Final = 100
_MOST_CHARTS: Final = 6


@tool("getMetricHistory", title="History of a metric", read_only=True, output_schema=HISTORY)
async def get_metric_history(arguments: HistoryArguments, call: Call[Metrics]) -> ToolResult:
    """The recorded points of metrics in a period, rates of counters, and a forecast of when a limit is reached."""
    metrics, now = call.service, call.service.now()
    begin, end = parse_time(arguments.begin, now), parse_time(arguments.end, now)
    collector, keys = arguments.one_collector(), split_list(arguments.metric_key)
    step = None if arguments.step is None else parse_duration(arguments.step)
    found = await metrics.history.lines(
        collector,
        keys,
        begin,
        end,
        scope=arguments.bg,
        labels={"environmentName": arguments.environment} if arguments.environment else None,
        step=step,
        most=arguments.max_points,
        with_forecast=arguments.forecast,
    )
    if not found.lines:
        found = await metrics.source_history(collector, keys, begin, end, step=step, most=arguments.max_points)
    view: dict[str, Any] = {"from": iso(begin), "to": iso(end), "series": [line_view(line) for line in found.lines]}
    if found.left_out:
        view["notes"] = [f"{found.left_out} more lines were left out; name an environment or a narrower key."]
    if not found.lines:
        view["notes"] = ["Nothing was recorded yet. Polls record; set their interval in `[rooms.metrics.poll]`."]
    blocks: list[Content] = [Text(text=to_json(view))]
    if arguments.chart is not None and found.lines:
        blocks.append(_chart(found.lines[:_MOST_CHARTS], arguments.chart))
    return ToolResult(content=blocks, structured=view)


@tool("compareMetrics", title="What changed", read_only=True, output_schema=COMPARED)
async def compare_metrics(arguments: CompareArguments, call: Call[Metrics]) -> ToolResult:
    """The differences between two times of the history: changed values, new ones, and ones that are gone."""
    now = call.service.now()
    before, after = parse_time(arguments.since, now), parse_time(arguments.until, now)
    found = await call.service.history.changes(
        arguments.one_collector(), before, after, scope=arguments.bg, keys=split_list(arguments.metric_key)
    )
    changes = [change_view(change) for change in found[: arguments.limit]]
    return ToolResult(structured={"before": iso(before), "after": iso(after), "changes": changes, "total": len(found)})


@tool("listAlerts", title="Alerts", read_only=True, output_schema=ALERTS)
async def list_alerts(arguments: AlertsArguments, call: Call[Metrics]) -> ToolResult:
    """Metrics beyond their thresholds, the worst first; with `since` also alerts raised and cleared since then."""
    metrics = call.service
    chosen = None if arguments.collector is None else metrics.info(arguments.collector).id
    alerts = await metrics.history.alerts((arguments.level,) if arguments.level else ("warn", "alarm"))
    view: dict[str, Any] = {"alerts": [alert_view(one) for one in alerts if chosen in (None, one.collector)]}
    if arguments.since is not None:
        changes = await metrics.history.alert_changes(parse_time(arguments.since, metrics.now()), _MOST_CHANGES)
        view["changes"] = [alert_change_view(one) for one in changes if chosen in (None, one.collector)]
    return ToolResult(structured=view)


def _chart(lines: Sequence[HistoryLine], kind: str) -> Content:
    if kind == "ascii":
        charts = [text_chart(series_label(line.series), plot_points(line), unit=line.series.unit) for line in lines]
        return Text(text="\n\n".join(charts))
    title = ", ".join(dict.fromkeys(line.series.key for line in lines))
    return Image.of(svg_chart(history_chart(title, lines)).encode(), "image/svg+xml")
