"""Metrics for pages of the console and for MCP App views: charts, coverage, gaps, figures.

Both use the same blocks. A link to a page also has a tool call, for views.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from pentad.kernel.charts import format_number
from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.kernel.page_values import filled_table
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    Chart,
    Column,
    Facet,
    Facets,
    Facts,
    Form,
    Hint,
    Links,
    Note,
    Option,
    Place,
    Section,
    Series,
    Sheet,
    Table,
    TextField,
    ToolCall,
    Visit,
    when,
)
from pentad.rooms.metrics.history.history_lines import HistoryLine, HistoryLines
from pentad.rooms.metrics.interface.arguments import parse_time
from pentad.rooms.metrics.interface.presentation import (
    history_chart,
    label_text,
    legend_labels,
    metric_name,
    metric_names,
    plot_points,
    series_label,
)
from pentad.rooms.metrics.models import Info, Labels, Metric, Sample, Scalar
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.store import Gap, Latest

HISTORY: Final = "getMetricHistory"
FIGURES: Final = "getPlatformMetricsByCollector"
MOST_ROWS: Final = 500
_MOST_CHARTS: Final = 6
_CHART_POINTS: Final = 120
_MOST_LIMITS: Final = 3
_SOURCE_SECONDS: Final = 4.0
"""How long a page waits for a source that has its own history."""
_DAY: Final = 86_400.0
_DEFAULT: Final = "24h"
_SHORTER: Final = {3_600: "1h", 21_600: "6h"}
"""The span to show of a younger history."""
_SPANS: Final = {
    "1h": "The last hour",
    "6h": "The last 6 hours",
    "24h": "The last 24 hours",
    "7d": "The last 7 days",
    "14d": "The last 14 days",
    "90d": "The last 90 days",
}
_COLUMNS: Final = ("Metric", "Of", Column("Value", True), Column("State", short=True), Column("At", short=True))
_UNIT_NAMES: Final = {"By": "bytes", "s": "seconds", "ms": "milliseconds"}
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))

Row = tuple[Cell, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Period:
    """A chosen period. `asked` is the query that chooses it again, `span` its name, if any, `problem` why it is not the
    one that was asked for."""

    begin: float
    end: float
    title: str
    span: str = ""
    asked: Mapping[str, str] = field(default_factory=dict[str, str])
    problem: str = ""

    @property
    def seconds(self) -> float:
        return self.end - self.begin


def period_of(visit: Visit, now: float) -> Period:
    """The period in a page's URL: a span up to now, or two dates. The last 24 hours if it makes no sense."""
    first, last = visit.asked("from", 60), visit.asked("to", 60)
    asked = {"from": first, "to": last}
    try:
        if not first and not last:
            return last_span(visit.asked("span", 20) or _DEFAULT, now)
        begin, end = parse_time(first or "now-24h", now), _day_end(last, now)
        if begin >= end:
            raise InvalidInput("The period ends before it begins.", hint="Choose an earlier first day.")
    except InvalidInput as error:
        return replace(last_span(_DEFAULT, now), asked=asked, problem=error.sentence())
    return period_between(begin, end, asked)


async def dashboard_period(metrics: Metrics, visit: Visit, collector: str) -> Period:
    """The period in a page's URL; without one, the usual period of the collector."""
    if any(visit.asked(name) for name in ("from", "to", "span")):
        return period_of(visit, metrics.now())
    return await usual_period(metrics, collector)


async def usual_period(metrics: Metrics, collector: str) -> Period:
    """The last 24 hours, or less if all records are younger."""
    now = metrics.now()
    if await metrics.history.has_record_of(now, collector):
        for shorter, span in _SHORTER.items():
            if not await metrics.history.has_record_of(now - shorter, collector):
                return last_span(span, now)
    return last_span(_DEFAULT, now)


def last_span(span: str, now: float) -> Period:
    """The time up to now."""
    title = _SPANS.get(span) or f"The last {span}"
    return Period(parse_time(f"now-{span}", now), now + 1, title, span, {"span": span})


def period_between(begin: float, end: float, asked: Mapping[str, str]) -> Period:
    return Period(begin, end, f"{when(begin)} to {when(end)} UTC", asked=asked)


def _day_end(text: str, now: float) -> float:
    """The end of a period. A date without a time includes that whole day."""
    at = parse_time(text, now)
    return at + _DAY if len(text) == len("2026-01-01") and text.count("-") == 2 else at


def time_picker(
    period: Period, parts: tuple[str, ...], call: Callable[[str], ToolCall] | None = None
) -> list[Block]:  # fmt: skip
    """The usual spans, and a form for two dates. `parts` are those of the page's path."""
    spans = [
        Option(Cell(span), chosen=True)
        if span == period.span
        else Option(Cell(span, Place(parts, {"span": span}), None if call is None else call(span)))
        for span in _SPANS
    ]
    fields = [
        TextField("from", "From", period.asked.get("from", ""), kind="date", required=False),
        TextField("to", "To", period.asked.get("to", ""), kind="date", required=False),
    ]
    problem = [Note(period.problem, "bad")] if period.problem else []
    return [Facets([Facet("Period", spans)]), Form(fields, [Button("Show", kind="plain")], method="get"), *problem]


# One metric


async def page_lines(metrics: Metrics, collector: str, key: str, begin: float, end: float) -> HistoryLines:
    """The history of a metric for a page, without the source's own history if that takes too long."""
    try:
        return await metrics.lines(collector, [key], begin, end, with_forecast=True, seconds=_SOURCE_SECONDS)
    except Unavailable as error:  # nothing is recorded here either
        return HistoryLines(begin=begin, end=end, lines=[], left_out=0, notes=[error.sentence()])


def metric_call(collector: str, key: str, span: str = _DEFAULT) -> ToolCall:
    """The call that shows the history of a metric."""
    return ToolCall(HISTORY, {"collector": collector, "metricKey": key, "from": f"now-{span}"})


def metric_blocks(
    metrics: Metrics, info: Info, keys: Sequence[str], found: HistoryLines, period: Period
) -> list[Block]:
    """The history of metrics in a period: charts, coverage, gaps, texts and forecasts."""
    blocks: list[Block] = []
    for key in dict.fromkeys(line.series.key for line in found.lines):
        some = HistoryLines(
            begin=found.begin, end=found.end, lines=[one for one in found.lines if one.series.key == key], left_out=0
        )
        title = period.title if len(keys) == 1 else f"{metric_name(info, key)}. {period.title}"
        blocks += charts(metrics, title, some) or _too_few(some)
    drawn = next((at for at, one in enumerate(blocks) if isinstance(one, Chart)), None)
    if drawn is None:
        blocks += [Note(note) for note in found.notes]
    else:
        blocks[drawn] = replace(cast("Chart", blocks[drawn]), notes=found.notes)
    if not found.lines:
        blocks.append(Note(found.absence) if found.absence else nothing_recorded(info.id))
    if found.left_out:
        blocks.append(Note(f"{found.left_out:,} more lines are not drawn."))
    blocks += [
        Section(series_label(line.series), [Facts([(when(at), value_text(value)) for at, value in line.texts])])
        for line in found.lines
        if line.texts
    ]
    numeric = [line for line in found.lines if line.points or line.gaps]
    if numeric:
        blocks.append(Section("Coverage", [_coverage_table(numeric, found.begin, found.end)]))
    gaps = [(line, gap) for line in numeric for gap in line.gaps]
    if gaps:
        blocks.append(Section("Gaps", [_gap_table(gaps, found.end), *_rest(len(gaps), "gaps")], folded=True))
    named = zip(legend_labels(found.lines), found.lines, strict=True)
    ahead = [(name, _forecast_text(line)) for name, line in named if line.forecast is not None]
    if ahead:
        blocks.append(Section("Forecast", [Facts(ahead)]))
    for metric in info.catalogue:
        if metric.key in keys:
            about = "About this metric" if len(keys) == 1 else f"About {metric.key}"
            blocks.append(Section(about, [Facts(_metric_facts(metric))]))
    return blocks


def history_sheet(metrics: Metrics, info: Info, keys: Sequence[str], found: HistoryLines, period: Period) -> Sheet:
    """The history of metrics, for a view."""
    key = ",".join(keys)
    picker = time_picker(period, (info.id, key), lambda span: metric_call(info.id, key, span))
    dashboard = Cell(f"All of {info.title}", Place((info.id,)), ToolCall(FIGURES, {"collector": info.id}))
    blocks = [*picker, *metric_blocks(metrics, info, keys, found, period), Links([dashboard])]
    title = metric_name(info, key) if len(keys) == 1 else key
    return Sheet(title, blocks, lead=f"{info.title}. {period.title}.")


def charts(metrics: Metrics, title: str, found: HistoryLines) -> list[Block]:
    """A chart of the lines, if they have points."""
    if not any(plot_points(line) for line in found.lines):
        return []
    marks = [*metrics.history.marks(found.lines), *_own_limits(found.lines)]
    return [history_chart(title, found.lines, found.begin, found.end, marks)]


def _own_limits(lines: Sequence[HistoryLine]) -> list[tuple[str, float]]:
    """The limit of each line, if the lines have a few different ones. A common limit is among the chart's marks."""
    named = zip(legend_labels(lines), lines, strict=True)
    limits = {line.limit: name for name, line in named if line.limit is not None}
    return [(f"limit of {name}", limit) for limit, name in limits.items()] if 1 < len(limits) <= _MOST_LIMITS else []


def _too_few(found: HistoryLines) -> list[Block]:
    """Why there is no chart of a counter that was recorded once."""
    if not any(line.points for line in found.lines):
        return []
    last = max((point for line in found.lines for point in line.points), key=lambda point: point.last_at)
    value = format_number(last.last, found.lines[0].series.unit)
    return [Note(f"{value} at {when(last.last_at)} UTC. A counter is charted as a rate, which needs two values.")]


async def with_earlier(metrics: Metrics, collector: str, key: str, chart: Chart, period: Period) -> Chart:
    """The chart with the lines of the previous period, dashed."""
    begin = period.begin - period.seconds
    earlier = await page_lines(metrics, collector, key, begin, period.begin)
    lines = [line for line in earlier.lines if line.points]
    drawn = history_chart(chart.title, lines, begin, period.begin).series if lines else ()
    moved = [
        Series(f"{one.name}, previous", [(x + period.seconds, y) for x, y in one.points], of=one.name) for one in drawn
    ]
    return replace(chart, series=[*chart.series, *moved])


def _coverage_table(lines: Sequence[HistoryLine], begin: float, end: float) -> Table:
    """How much of the period each line covers, and its latest, lowest, mean and highest value."""
    rows: list[tuple[str, ...]] = []
    for name, line in zip(legend_labels(lines), lines, strict=True):
        unit, known = line.series.unit, [y for _, y in plot_points(line) if y is not None]
        spread = (
            [format_number(value, unit) for value in (known[-1], min(known), sum(known) / len(known), max(known))]
            if known
            else [""] * 4
        )
        rows.append((name, covered_share(line, begin, end), _first_record(line, end), *spread))
    names = ("Last", "Lowest", "Mean", "Highest")
    first = Column("First record", short=True)
    return filled_table(("Line", Column("Covered", True), first, *(Column(name, True) for name in names)), sorted(rows))


def covered_share(line: HistoryLine, begin: float, end: float) -> str:
    """The share of the period after the first record and outside gaps, rounded down."""
    since = begin if line.since is None else max(begin, line.since)
    missing = sum(max(0.0, min(end, end if gap.end is None else gap.end) - max(since, gap.begin)) for gap in line.gaps)
    share = max(0.0, (end - since - missing) / (end - begin))
    return "<1%" if 0 < share < 0.01 else f"{math.floor(share * 100)}%"


def _first_record(line: HistoryLine, end: float) -> str:
    """When the records begin, if that is within the period."""
    if line.since is None:
        return ""
    return "none" if line.since >= end else when(line.since)


def _gap_table(gaps: Sequence[tuple[HistoryLine, Gap]], end: float) -> Table:
    rows = [
        (
            when(gap.begin),
            "ongoing" if gap.end is None else when(gap.end),
            duration((end if gap.end is None else gap.end) - gap.begin),
            gap.reason.replace("_", " "),
            series_label(line.series),
        )
        for line, gap in sorted(gaps, key=lambda one: -one[1].begin)[:MOST_ROWS]
    ]
    columns = (Column("From", short=True), Column("To", short=True), Column("Length", True), "Reason", "Line")
    return Table(columns, rows)


def duration(seconds: float) -> str:
    """A duration in its largest unit: `3 hours`."""
    size, name = next((one for one in _UNITS if seconds >= one[0]), _UNITS[-1])
    count = round(seconds / size)
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


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
    unit = metric.unit or ""
    fields = (
        ("Description", metric.description), ("Key", metric.key), ("Unit", _UNIT_NAMES.get(unit, unit)),
        ("Kind", metric.kind),
        ("Formula", metric.formula), ("Limit", metric.limit),
    )  # fmt: skip
    found = [(name, text) for name, text in fields if text]
    for name, threshold in (("Warns at", metric.warn), ("Alarms at", metric.alarm)):
        if threshold is not None:
            found.append((name, format_number(threshold, metric.unit)))
    return found


# One collector


async def collector_charts(metrics: Metrics, info: Info, period: Period) -> list[Block]:
    """Charts of the metrics that have thresholds or limits."""
    judged = [one.key for one in info.catalogue if one.warn is not None or one.alarm is not None or one.limit]
    drawn: list[Block] = []
    for key in judged[:_MOST_CHARTS]:
        found = await metrics.history.lines(info.id, [key], period.begin, period.end, most=_CHART_POINTS)
        drawn += charts(metrics, metric_name(info, key), found)
    return [Section(period.title, drawn)] if drawn else []


async def collector_sheet(metrics: Metrics, info: Info, rows: Sequence[Row]) -> Sheet:
    """The figures of a collector, for a view."""
    period = await usual_period(metrics, info.id)
    blocks = [*await collector_charts(metrics, info, period), *figure_blocks(rows, nothing_recorded(info.id))]
    return Sheet(info.title, blocks, lead=info.description)


def figure_blocks(rows: Sequence[Row], empty: str | Hint) -> list[Block]:
    """The first rows as a table, and how many more there are."""
    return [filled_table(_COLUMNS, rows[:MOST_ROWS], empty), *_rest(len(rows), "figures")]


def _rest(count: int, name: str) -> list[Block]:
    return [Note(f"{count - MOST_ROWS:,} more {name} are not shown.")] if count > MOST_ROWS else []


def sample_rows(info: Info, samples: Sequence[Sample]) -> list[Row]:
    """Figures that were fetched just now."""
    names = metric_names(info)
    return [_row(info, names, one.key, one.labels, one.value, one.unit, one.state, one.as_of) for one in samples]


def latest_rows(info: Info, values: Sequence[Latest]) -> list[Row]:
    """Figures of the last poll."""
    names = metric_names(info)
    return [
        _row(info, names, one.series.key, one.series.labels, one.value, one.series.unit, one.state, one.at)
        for one in values
    ]


def _row(
    info: Info,
    names: Mapping[str, str],
    key: str,
    labels: Labels,
    value: Scalar,
    unit: str | None,
    state: str,
    at: float,
) -> Row:
    name = Cell(names.get(key, key), Place((info.id, key)), metric_call(info.id, key))
    return name, label_text(labels), value_text(value, unit), "" if state == "ok" else state.replace("_", " "), when(at)


def nothing_recorded(collector: str) -> Hint:
    return Hint("Nothing is recorded yet. Record now with", f"pentad metrics poll {collector}")


def value_text(value: Scalar, unit: str | None = None) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(value)
    return value if isinstance(value, str) else format_number(value, unit)
