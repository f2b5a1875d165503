"""Lines of a history: the points of one series in a period with gaps, rates, its limit and a forecast."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import msgspec.structs

from pentad.kernel.ports import Rows
from pentad.rooms.metrics import store
from pentad.rooms.metrics.history.changes import bucket_points, downsample, rates, total_rise
from pentad.rooms.metrics.history.forecast import Forecast, forecast
from pentad.rooms.metrics.models import Metric, Scalar
from pentad.rooms.metrics.store import Gap, Point, Series

_MOST_NAMES: Final = 10
_LIMIT_SECONDS: Final = 30 * 86_400
"""How old the last known value of a limit may be."""


class HistoryLine(msgspec.Struct, kw_only=True):
    """One series in a period."""

    series: Series
    points: list[Point] = msgspec.field(default_factory=list[Point])
    rates: list[tuple[float, float]] = msgspec.field(default_factory=list[tuple[float, float]])
    """For a counter: its increase per second."""
    rise: float | None = None
    texts: list[tuple[float, Scalar]] = msgspec.field(default_factory=list[tuple[float, Scalar]])
    forecast: Forecast | None = None
    gaps: list[Gap] = msgspec.field(default_factory=list[Gap])
    """When points are missing, and why."""
    since: float | None = None
    """When the first number was recorded, if that was within the period; the end of the period if none ever was."""
    earlier_gaps: int = 0
    """How many gaps before these were left out."""
    limit: float | None = None
    """The last known value of the metric that limits this one."""
    earlier: int = 0
    """How many earlier points of the period were left out to stay within the requested number."""


def with_fewer_points(line: HistoryLine, most: int) -> HistoryLine:
    """The line with at most `most` points; of a text series, the last values."""
    points = downsample(line.points, most)
    return msgspec.structs.replace(
        line,
        points=points,
        rates=rates(points, line.gaps) if line.rates else [],
        texts=line.texts[-most:],
        gaps=line.gaps[-most:],
        earlier_gaps=line.earlier_gaps + max(0, len(line.gaps) - most),
    )


class HistoryLines(msgspec.Struct, kw_only=True):
    """Lines of one period. `left_out` counts the lines that are not included; `notes` explain what is missing."""

    begin: float
    end: float
    lines: list[HistoryLine]
    left_out: int
    notes: list[str] = msgspec.field(default_factory=list[str])
    absence: str = ""
    """Why there are no lines, if not because nothing was recorded: the filters match nothing, or the history does not
    record these metrics."""


def read_line(rows: Rows, series: Series, begin: float, end: float, *, step: int | None, most: int) -> HistoryLine:
    """The recorded points of a series in a period."""
    if series.kind in ("text", "list"):
        texts = store.texts(rows, series.id, begin, end)
        return HistoryLine(series=series, texts=texts[-most:], earlier=max(0, len(texts) - most))
    found = store.points(rows, series.id, begin, end)
    is_counter = series.kind == "counter"
    points = downsample(found, most, step)
    earlier = 0 if step is None else len(bucket_points(found, step)) - len(points)
    gaps = store.gaps(rows, series.id, begin, end)
    return HistoryLine(
        series=series,
        points=points,
        rates=rates(points, gaps) if is_counter else [],
        rise=total_rise(found) if is_counter else None,
        gaps=gaps,
        since=_since(rows, series, points, begin, end),
        earlier=earlier,
    )


def _since(rows: Rows, series: Series, points: Sequence[Point], begin: float, end: float) -> float | None:
    if points and points[0].at <= begin:
        return None
    first = store.first_number(rows, series.id)
    if first is None:
        return end
    return None if first <= begin else min(first, end)


def absence_note(
    known: Sequence[Series], scope: str | None, labels: Mapping[str, str], metrics: Sequence[Metric]
) -> str:
    """Why no series is left: these filters exclude all recorded ones, or the metrics are never recorded."""
    if known:
        asked = [f"{name} {text[:80]!r}" for name, text in (("bg", scope or ""), *labels.items()) if text]
        names = {text for one in known for name, text in one.labels if name in labels}
        shown = [*(recorded_groups(known) if scope else []), *sorted(names)[:_MOST_NAMES]]
        recorded = f"The history has: {', '.join(shown)}." if shown else "The history does not distinguish these."
        return f"These metrics are recorded, but nothing matches {' and '.join(asked)}. {recorded}"
    if metrics and not any(metric.kept for metric in metrics):
        return "The history does not record these metrics, because their labels differ each time."
    return ""


def recorded_groups(known: Iterable[Series]) -> list[str]:
    """The names of some business groups in the history."""
    names = {dict(one.labels).get("businessGroup") or one.scope for one in known}
    return sorted(name for name in names if name)[:_MOST_NAMES]


def earlier_note(lines: Sequence[HistoryLine]) -> list[str]:
    """A note if lines begin later than the requested period."""
    most = max((line.earlier for line in lines), default=0)
    if not most:
        return []
    shown = max(len(line.points) + len(line.texts) for line in lines if line.earlier == most)
    return [f"Only the last {shown} of {shown + most} points; raise max_points or the step, or shorten the period."]


def last_limit(rows: Rows, series: Series, metric: Metric | None, now: float) -> float | None:
    """The last known value of the metric that limits this one."""
    if metric is None or metric.limit is None:
        return None
    others = store.find_series(rows, series.collector, scope=series.scope, keys=[metric.limit])
    limits = [one for one in others if one.labels == series.labels]
    last = store.points(rows, limits[0].id, now - _LIMIT_SECONDS, now + 1) if limits else []
    return last[-1].last if last else None


def line_forecast(points: Sequence[Point], line: HistoryLine, metric: Metric | None, now: float) -> Forecast | None:
    """When these points reach the limit or threshold of their line."""
    limit = line.limit
    if metric is not None and metric.limit is None:
        limit = metric.alarm if metric.alarm is not None else metric.warn
    is_floor = metric is not None and metric.better == "higher" and metric.limit is None
    return forecast([(point.last_at, point.last) for point in points], limit, now, is_floor=is_floor)
