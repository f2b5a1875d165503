"""All tools of the room, and `getCapabilities`, which describes them."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.charts import svg_chart
from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput
from pentad.mcp.app_views import AppView
from pentad.mcp.call import Call
from pentad.mcp.content import Content, Image, Text
from pentad.mcp.declarations import Tool, ToolResult, tool
from pentad.rooms.metrics.engine.response_budget import CHARACTERS_PER_TOKEN, FRAME, fit_entries, json_size
from pentad.rooms.metrics.history.history_lines import HistoryLine, HistoryLines, with_fewer_points
from pentad.rooms.metrics.history.silences import silence_of
from pentad.rooms.metrics.interface.arguments import (
    RARE_HISTORY,
    RARE_PAGING,
    AlertsArguments,
    HistoryArguments,
    SilenceArguments,
    parse_duration,
    parse_time,
)
from pentad.rooms.metrics.interface.chart_images import png_chart
from pentad.rooms.metrics.interface.current_tools import (
    explain_metric,
    export_metrics,
    get_available_collectors,
    get_platform_benefits,
    get_platform_metric_by_key,
    get_platform_metrics_by_collector,
    get_sdlc_metrics,
    load_metrics,
)
from pentad.rooms.metrics.interface.presentation import (
    alert_change_view,
    alert_view,
    collector_views,
    history_chart,
    line_chart,
    line_view,
    silence_view,
    to_json,
)
from pentad.rooms.metrics.interface.promql_tools import list_prometheus_metrics, query_prometheus
from pentad.rooms.metrics.interface.questions import list_metric_keys, query_metrics, what_changed
from pentad.rooms.metrics.interface.result_schemas import ALERTS, CAPABILITIES, HISTORY, SILENCED
from pentad.rooms.metrics.metric_keys import split_list
from pentad.rooms.metrics.service import Metrics

if TYPE_CHECKING:
    from pentad.kernel.pages import Sheet

_MOST_CHANGES: Final = 1_000
_MOST_CHARTS: Final = 12
_FEWEST_POINTS: Final = 5
_LONGEST_SILENCE: Final = 90 * 86_400
_NOTHING: Final = "Nothing has been recorded yet. Polls record figures; set their interval in `[rooms.metrics.poll]`."
_SAFETY: Final = 0.8
"""Leaves room, because merged points are larger than single samples."""


async def _show_history(call: Call[Metrics], arguments: HistoryArguments, _found: Mapping[str, Any]) -> "Sheet":
    """The view of a history. Its lines are not cut to the token limit of the answer."""
    from pentad.rooms.metrics.interface.dashboards import history_sheet, last_span, period_between

    metrics, keys = call.service, split_list(arguments.metric_key)
    found = await _lines(metrics, arguments)
    is_span = arguments.end == "now" and arguments.begin.startswith("now-")
    asked = {"from": arguments.begin, "to": arguments.end}
    period = (
        last_span(arguments.begin.removeprefix("now-"), metrics.now())
        if is_span
        else period_between(found.begin, found.end, asked)
    )
    return history_sheet(metrics, metrics.info(arguments.one_collector()), keys, found, period)


async def _lines(metrics: Metrics, arguments: HistoryArguments) -> HistoryLines:
    """The requested lines."""
    now = metrics.now()
    return await metrics.lines(
        arguments.one_collector(),
        split_list(arguments.metric_key),
        parse_time(arguments.begin, now),
        parse_time(arguments.end, now),
        scope=arguments.bg,
        labels={"environmentName": arguments.environment} if arguments.environment else None,
        step=None if arguments.step is None else parse_duration(arguments.step),
        most=arguments.max_points,
        with_forecast=arguments.forecast,
    )


@tool(
    "getMetricHistory",
    title="History of a metric",
    read_only=True,
    output_schema=HISTORY,
    rare=RARE_HISTORY,
    view=AppView("chart", "History of a metric", _show_history),
)
async def get_metric_history(arguments: HistoryArguments, call: Call[Metrics]) -> ToolResult:
    """Recorded points of metrics, with rates of counters; optionally a forecast or a chart."""
    metrics = call.service
    found = await _lines(metrics, arguments)
    notes = list(found.notes)
    shown = _fitting_lines(found.lines, arguments.max_tokens, notes)
    if arguments.chart and len(found.lines) > _MOST_CHARTS:
        notes.append(f"The chart has the first {_MOST_CHARTS} of {len(found.lines)} lines; name a narrower key.")
    view: dict[str, Any] = {"from": iso(found.begin), "to": iso(found.end), "series": shown}
    if arguments.forecast and any(line.forecast is None and line.points for line in found.lines):
        notes.append("A forecast needs at least 4 points and 6 hours of data.")
    if found.left_out:
        notes += [f"{found.left_out} more lines were left out; name an environment or a narrower key."]
    if not found.lines:
        notes.append(found.absence or _NOTHING)
    if notes:
        view["notes"] = notes
    blocks: list[Content] = [Text(text=to_json(view))]
    if arguments.chart and found.lines:
        blocks.append(await _chart(metrics, found, "png" if arguments.chart is True else arguments.chart))
    return ToolResult(content=blocks, structured=view)


@tool("listAlerts", title="Alerts", read_only=True, output_schema=ALERTS, rare=RARE_PAGING)
async def list_alerts(arguments: AlertsArguments, call: Call[Metrics]) -> ToolResult:
    """List metrics beyond their thresholds, the worst first."""
    metrics = call.service
    chosen = None if arguments.collector is None else metrics.info(arguments.collector).id
    alerts = await metrics.history.alerts((arguments.level,) if arguments.level else ("warn", "alarm"))
    silences = await metrics.silences()
    parts: dict[str, list[dict[str, Any]]] = {
        "alerts": [
            alert_view(one) | ({"silence": found.id} if (found := silence_of(one, silences)) is not None else {})
            for one in alerts
            if chosen in (None, one.collector)
        ]
    }
    if silences:
        parts["silences"] = [silence_view(one) for one in silences]
    if arguments.since is not None:
        changes = await metrics.history.alert_changes(parse_time(arguments.since, metrics.now()), _MOST_CHANGES)
        parts["changes"] = [alert_change_view(one) for one in changes if chosen in (None, one.collector)]
    return ToolResult(structured=_fitting_parts(parts, arguments.max_tokens))


@tool(
    "silenceAlerts",
    title="Silence alerts",
    destructive=False,
    listed="room",
    output_schema=SILENCED,
)
async def silence_alerts(arguments: SilenceArguments, call: Call[Metrics]) -> ToolResult:
    """Stop sending alerts to receivers for a while, or end a silence. listAlerts still lists them."""
    metrics = call.service
    if arguments.end is not None:
        await metrics.end_silence(arguments.end)
        return ToolResult(structured={"ended": arguments.end})
    seconds = parse_duration(arguments.duration)
    if seconds > _LONGEST_SILENCE:
        raise InvalidInput("A silence lasts at most 90 days.", hint="Change the threshold instead.")
    made = await metrics.silence(
        call.principal.id,
        collector=arguments.collector,
        key=arguments.metric_key,
        scope=arguments.bg,
        labels=arguments.labels,
        seconds=seconds,
        reason=arguments.reason,
    )
    return ToolResult(structured={"silence": silence_view(made)})


def _fitting_parts(parts: Mapping[str, list[dict[str, Any]]], max_tokens: int) -> dict[str, Any]:
    """Fit several lists into the token limit, in this order, with notes about what was cut."""
    view: dict[str, Any] = {}
    notes: list[str] = []
    for name, entries in parts.items():
        left = max_tokens - json_size(view) // CHARACTERS_PER_TOKEN
        view[name] = fit_entries(entries, left) if left * CHARACTERS_PER_TOKEN > FRAME or not view else []
        if len(view[name]) < len(entries):
            notes.append(
                f"{len(view[name])} of {len(entries)} {name}; name a collector or a level, or raise max_tokens."
            )
    return view | {"notes": notes} if notes else view


def _fitting_lines(lines: Sequence[HistoryLine], max_tokens: int, notes: list[str]) -> list[dict[str, Any]]:
    """Fit the lines into the token limit: first with fewer points, then fewer lines."""
    views = [line_view(line) for line in lines]
    room = max_tokens * CHARACTERS_PER_TOKEN - FRAME
    size = json_size(views)
    if size <= room:
        return views
    points = max((len(line.points) for line in lines), default=0)
    fewer = max(_FEWEST_POINTS, int(points * room / size * _SAFETY))
    if fewer < points:
        views = [line_view(with_fewer_points(line, fewer)) for line in lines]
        notes.append(
            f"At most {fewer} points of each line, to stay within {max_tokens} tokens; shorten the period or raise"
            " max_tokens for more."
        )
    kept = fit_entries(views, max_tokens)
    if len(kept) < len(views):
        notes.append(f"{len(kept)} of {len(views)} lines fit; name an environment or a narrower key for the others.")
    return kept


async def _chart(metrics: Metrics, found: HistoryLines, kind: str) -> Content:
    lines = found.lines[:_MOST_CHARTS]
    if kind == "ascii":
        charts = [line_chart(line, found.begin, found.end) for line in lines]
        return Text(text="\n\n".join(charts))
    title = ", ".join(dict.fromkeys(line.series.key for line in lines))
    marks = metrics.history.marks(lines)
    drawn = history_chart(title, lines, found.begin, found.end, marks)
    if kind == "svg":
        return Image.of(svg_chart(drawn).encode(), "image/svg+xml")
    return Image.of(await asyncio.to_thread(png_chart, drawn, dark=kind == "dark"), "image/png")


DESCRIPTION: Final = (
    "What this server can measure, and how to ask. Each tool has a name, a description and an input schema. Call it"
    " with `tools/call` (JSON-RPC 2.0, over stdio or as POST to the MCP endpoint). `aliases` are other names of the"
    " same tool."
)
FIRST: Final = ("getAvailableCollectors", "getPlatformMetricsByCollector", "getPlatformMetricByKey")
"""The Metrics Toolkit's tools; the manifest lists them first."""

FAQ: Final = (
    (
        "How do I find out what can be measured?",
        "getAvailableCollectors lists the collectors, listMetricKeys their metrics with unit and formula.",
    ),
    (
        "How do I read one figure quickly?",
        "getPlatformMetricByKey with a metricKey fetches only what that figure needs; dry_run shows the plan.",
    ),
    ("What does a null mean?", "The value is missing: `problems` says why. A zero is a real zero."),
    (
        "How do I see changes over time?",
        "whatChanged and getMetricHistory read the recorded history; listAlerts lists metrics beyond a threshold.",
    ),
    (
        "How do I ask which, how many, or which has the most?",
        "queryMetrics filters, groups and ranks figures; with `of: items` it lists what a figure counts.",
    ),
    ("Where does a figure come from?", "explainMetric gives its formula, its facts and when they were fetched."),
)


@tool(
    "getCapabilities",
    title="What can be measured here",
    read_only=True,
    aliases=("getAgentCapabilities",),
    output_schema=CAPABILITIES,
)
async def get_capabilities(call: Call[Metrics]) -> ToolResult:
    """Describe the metrics tools, their input schemas, the collectors and common questions. Read this first."""
    order = {name: place for place, name in enumerate(FIRST)}
    health = await call.service.history.health()
    described = sorted(TOOLS[1:], key=lambda one: order.get(one.name, len(FIRST)))
    return ToolResult(
        structured={
            "description": DESCRIPTION,
            "tools": [_tool_view(one) for one in described],
            "collectors": collector_views(call.service.infos(), health),
            "faq": [{"question": question, "answer": answer} for question, answer in FAQ],
        }
    )


def _tool_view(one: Tool) -> dict[str, Any]:
    schema = dict(one.input_schema) if one.name in FIRST else _short_schema(one.input_schema, one.rare)
    view: dict[str, Any] = {"name": one.name, "description": one.description, "inputSchema": schema}
    return view | {"aliases": list(one.aliases)} if one.aliases else view


def _short_schema(schema: Mapping[str, Any], rare: Collection[str]) -> dict[str, Any]:
    """The names of the common arguments, and which are required; `tools/list` has the full schema."""
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    short: dict[str, Any] = {"type": "object", "properties": {name: {} for name in properties if name not in rare}}
    return short | {"required": schema["required"]} if schema.get("required") else short


TOOLS: Final = (
    get_capabilities,
    get_available_collectors,
    get_platform_metrics_by_collector,
    get_platform_metric_by_key,
    list_metric_keys,
    get_metric_history,
    query_metrics,
    what_changed,
    list_alerts,
    silence_alerts,
    explain_metric,
    get_platform_benefits,
    get_sdlc_metrics,
    export_metrics,
    load_metrics,
    query_prometheus,
    list_prometheus_metrics,
)
