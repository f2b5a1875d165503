"""Merges the history that Pentad recorded with the history a source keeps itself.

Prometheus, for example, has figures from before Pentad polled it and from while Pentad was down. Points of the source
take precedence. Where neither has points, there is a gap.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, TypedDict, Unpack

import msgspec.structs

from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.rooms.metrics.engine.query_engine import HISTORY_SECONDS, QueryEngine, source_step
from pentad.rooms.metrics.history.changes import rates
from pentad.rooms.metrics.history.history_lines import HistoryLine, HistoryLines
from pentad.rooms.metrics.history.metric_history import MOST_SERIES, MetricHistory, has_labels
from pentad.rooms.metrics.history.recording import NOT_COLLECTED
from pentad.rooms.metrics.metric_keys import resolve_keys
from pentad.rooms.metrics.store import Gap, Point

MOST_POINTS: Final = 200
_HOLE_STEPS: Final = 1.5
"""Points of a source that are farther apart than this many steps have a gap between them."""


class LineOptions(TypedDict, total=False):
    """Which lines to read, with one point per `step` seconds, or at most `most` points. `seconds` limits how long the
    source may take."""

    scope: str | None
    labels: Mapping[str, str] | None
    step: int | None
    most: int
    with_forecast: bool
    seconds: float


async def read_history(
    history: MetricHistory,
    engine: QueryEngine,
    collector: str,
    keys: Sequence[str],
    begin: float,
    end: float,
    **options: Unpack[LineOptions],
) -> HistoryLines:
    """The series of some keys from `begin` until `end`. If the source does not answer in time, a note says so; if
    nothing was recorded here either, that is an error."""
    labels, step, most = options.get("labels"), options.get("step"), options.get("most", MOST_POINTS)
    with_forecast = options.get("with_forecast", False)
    recorded = await history.lines(
        collector, keys, begin, end,
        scope=options.get("scope"), labels=labels, step=step, most=most, with_forecast=with_forecast,
    )  # fmt: skip
    info = engine.catalogue.find(collector).info()
    try:
        names = resolve_keys(info, keys)
    except InvalidInput:  # `collector.up`, which no source has
        return recorded
    width = source_step(begin, end, step, most)
    try:
        found, notes = await engine.source_history(
            info.id, names, begin, end, step=width, seconds=options.get("seconds", HISTORY_SECONDS)
        )
    except Unavailable as error:
        if not recorded.lines:
            raise
        note = f"{error.message} Only what was recorded here is shown."
        return msgspec.structs.replace(recorded, notes=[*recorded.notes, note])
    if not found and not notes:
        return recorded
    remembered = [
        HistoryLine(series=series, points=points, gaps=find_gaps(points, width), since=_since(points, begin, width))
        for series, points in found
        if has_labels(series.labels, labels or {})
    ]
    lines = merge_lines(recorded.lines, remembered, width, end)
    if with_forecast:
        for line in lines:
            line.forecast = history.forecast(line)
    left_out = recorded.left_out + max(0, len(lines) - MOST_SERIES)
    return msgspec.structs.replace(
        recorded, lines=lines[:MOST_SERIES], left_out=left_out, notes=[*recorded.notes, *notes]
    )


def find_gaps(points: Sequence[Point], step: float) -> list[Gap]:
    """The gaps between points that should come every `step` seconds."""
    return [
        Gap(before.at, after.at, NOT_COLLECTED)
        for before, after in pairwise(points)
        if after.at - before.at > _HOLE_STEPS * step
    ]


def _since(points: Sequence[Point], begin: float, step: float) -> float | None:
    """When the points of a source begin, if they are missing at the start of the period."""
    return points[0].at if points and points[0].at - begin > _HOLE_STEPS * step else None


def merge_lines(
    recorded: Sequence[HistoryLine], remembered: Sequence[HistoryLine], step: float, end: float
) -> list[HistoryLine]:
    """Merge recorded lines with those of a source, which has a point every `step` seconds."""
    theirs = {(line.series.key, line.series.labels): line for line in remembered}
    merged = [
        _merged_line(line, theirs.pop((line.series.key, line.series.labels), None), step, end) for line in recorded
    ]
    return [*merged, *theirs.values()]


def _merged_line(ours: HistoryLine, theirs: HistoryLine | None, step: float, end: float) -> HistoryLine:
    if theirs is None or not theirs.points:
        return ours
    times = [point.at for point in theirs.points]
    own = [point for point in ours.points if not _is_near(point.last_at, times, step)]
    points = sorted([*theirs.points, *own], key=lambda point: point.at)
    explained = [part for gap in ours.gaps for part in _uncovered(gap, times, step, end)]
    unexplained = [
        gap
        for gap in theirs.gaps
        if not any(_overlap(gap, part) for part in explained)
        and not any(_is_inside(point.last_at, gap) for point in own)
    ]
    gaps = sorted([*explained, *unexplained], key=lambda gap: gap.begin)
    since = None if ours.since is None or theirs.since is None else min(ours.since, theirs.since)
    return msgspec.structs.replace(
        ours, points=points, gaps=gaps, since=since, rates=rates(points, gaps) if ours.rates else []
    )  # fmt: skip


def _is_near(at: float, times: Sequence[float], step: float) -> bool:
    place = bisect_left(times, at)
    return any(abs(near - at) <= step for near in times[max(0, place - 1) : place + 1])


def _uncovered(gap: Gap, times: Sequence[float], step: float, end: float) -> list[Gap]:
    """The parts of a recorded gap that the source does not fill."""
    last = end if gap.end is None else gap.end
    inside = [at for at in times if _is_inside(at, gap)]
    if not inside:
        return [gap]
    edges = [gap.begin, *inside, last]
    left = [
        Gap(begin, until, gap.reason) for begin, until in pairwise(edges) if until - begin > _HOLE_STEPS * step
    ]  # fmt: skip
    if gap.end is None and left and left[-1].end == last:
        left[-1] = Gap(left[-1].begin, None, gap.reason)
    return left


def _is_inside(at: float, gap: Gap) -> bool:
    return gap.begin < at and (gap.end is None or at < gap.end)


def _overlap(one: Gap, other: Gap) -> bool:
    return (other.end is None or one.begin < other.end) and (one.end is None or other.begin < one.end)
