"""Lines of a history: the points of one series in a period with gaps, rates, its limit and a forecast."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec
import msgspec.structs

from pentad.kernel.ports import Rows
from pentad.rooms.metrics import store
from pentad.rooms.metrics.history.changes import downsample, rates, total_rise
from pentad.rooms.metrics.history.forecast import Forecast, forecast
from pentad.rooms.metrics.models import Metric, Scalar
from pentad.rooms.metrics.store import Gap, Point, Series

_LIMIT_SECONDS: Final = 30 * 86_400
"""How far back the last known value of a limit may be."""


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
    limit: float | None = None
    """The last known value of the metric that limits this one."""


def with_fewer_points(line: HistoryLine, most: int) -> HistoryLine:
    """The same line with at most so many points; the last ones of a text."""
    points = downsample(line.points, most)
    return msgspec.structs.replace(
        line,
        points=points,
        rates=rates(points, line.gaps) if line.rates else [],
        texts=line.texts[-most:],
        gaps=line.gaps[-most:],
    )


def merge_lines(recorded: Sequence[HistoryLine], remembered: Sequence[HistoryLine]) -> list[HistoryLine]:
    """Lines recorded here together with those a source remembers. Where the source has points, they count."""
    theirs = {(line.series.key, line.series.labels): line for line in remembered}
    merged = [_merged_line(line, theirs.pop((line.series.key, line.series.labels), None)) for line in recorded]
    return [*merged, *theirs.values()]


def _merged_line(ours: HistoryLine, theirs: HistoryLine | None) -> HistoryLine:
    if theirs is None or not theirs.points:
        return ours
    times = [point.at for point in theirs.points]
    step = min((later - earlier for earlier, later in pairwise(times)), default=0.0)
    own = [point for point in ours.points if not _is_near(point.last_at, times, step)]
    gaps = [gap for gap in ours.gaps if not any(_is_inside(at, gap) for at in times)]
    points = sorted([*theirs.points, *own], key=lambda point: point.at)
    return msgspec.structs.replace(ours, points=points, gaps=gaps, rates=rates(points, gaps) if ours.rates else [])


def _is_near(at: float, times: Sequence[float], step: float) -> bool:
    place = bisect_left(times, at)
    return any(abs(near - at) <= step for near in times[max(0, place - 1) : place + 1])


def _is_inside(at: float, gap: Gap) -> bool:
    return gap.begin < at and (gap.end is None or at < gap.end)


class HistoryLines(msgspec.Struct, kw_only=True):
    """Some lines of a period; `left_out` is how many more there are."""

    begin: float
    end: float
    lines: list[HistoryLine]
    left_out: int


def read_line(rows: Rows, series: Series, begin: float, end: float, *, step: int | None, most: int) -> HistoryLine:
    """A series in a period, as it was recorded."""
    if series.kind in ("text", "list"):
        return HistoryLine(series=series, texts=store.texts(rows, series.id, begin, end)[-most:])
    found = store.points(rows, series.id, begin, end)
    is_counter = series.kind == "counter"
    points = downsample(found, most, step)
    gaps = store.gaps(rows, series.id, begin, end)
    return HistoryLine(
        series=series,
        points=points,
        rates=rates(points, gaps) if is_counter else [],
        rise=total_rise(found) if is_counter else None,
        gaps=gaps,
    )


def last_limit(rows: Rows, series: Series, metric: Metric | None, now: float) -> float | None:
    """The last known value of the metric that limits this one."""
    if metric is None or metric.limit is None:
        return None
    others = store.find_series(rows, series.collector, scope=series.scope, keys=[metric.limit])
    limits = [one for one in others if one.labels == series.labels]
    last = store.points(rows, limits[0].id, now - _LIMIT_SECONDS, now + 1) if limits else []
    return last[-1].last if last else None


def line_forecast(
    rows: Rows, line: HistoryLine, metric: Metric | None, begin: float, end: float, now: float
) -> Forecast | None:
    """Where a line leads, towards its limit or threshold."""
    series, limit = line.series, line.limit
    if metric is not None and metric.limit is None:
        limit = metric.alarm if metric.alarm is not None else metric.warn
    is_floor = metric is not None and metric.better == "higher" and metric.limit is None
    points = store.points(rows, series.id, begin, end)
    return forecast([(point.last_at, point.last) for point in points], limit, now, is_floor=is_floor)
