"""Forecasts when a limit is reached, with a Theil-Sen line: the median slope between all pairs of points.

Unlike least squares it tolerates up to 29 % outliers. The spread of the slopes gives the earliest and latest time.
"""

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Final

import msgspec
import msgspec.structs

DAY: Final = 86_400
FEWEST_POINTS: Final = 4
MOST_POINTS: Final = 200
FARTHEST_DAYS: Final = 3_650
FEWEST_SECONDS: Final = 6 * 3_600
"""Points of a shorter time say nothing about the days to come."""
FARTHEST_SPANS: Final = 30
"""How far ahead a forecast may look, in multiples of the time that its points cover."""


class TrendLine(msgspec.Struct, frozen=True):
    """value = level + slope x (time - at)."""

    at: float
    level: float
    slope: float
    low: float
    high: float
    """The quartiles of the slopes."""

    def value(self, at: float) -> float:
        return self.level + self.slope * (at - self.at)


class Forecast(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When the line reaches the limit. `reached_at` is None if it never does, or too far ahead to tell.

    If the last value is beyond the limit already, `is_reached` is true, and `reached_at` is when that began, if it
    began within the points."""

    points: int
    per_day: float
    value: float
    limit: float | None = None
    reached_at: float | None = None
    earliest: float | None = None
    latest: float | None = None
    is_reached: bool = False


def fit_line(points: Sequence[tuple[float, float]]) -> TrendLine | None:
    """The line through points of time and value; None with fewer than four points, or if all have the same time."""
    used = _spread(points)
    if len(used) < FEWEST_POINTS:
        return None
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for number, earlier in enumerate(used)
        for later in used[number + 1 :]
        if later[0] > earlier[0]
    ]
    if len(slopes) < FEWEST_POINTS:
        return None
    slope = median(slopes)
    end = used[-1][0]
    level = median(value - slope * (at - end) for at, value in used)
    low, _, high = quantiles(slopes, n=4, method="inclusive")
    return TrendLine(end, level, slope, low, high)


def forecast(
    points: Sequence[tuple[float, float]], limit: float | None, now: float, *, is_floor: bool = False
) -> Forecast | None:
    """The forecast of some points; None if they give no line or cover less than six hours. A limit that is a floor is
    reached from above."""
    ordered = sorted(points)
    if not ordered or ordered[-1][0] - ordered[0][0] < FEWEST_SECONDS:
        return None
    line = fit_line(ordered)
    if line is None:
        return None
    value = line.value(now)
    result = Forecast(points=len(points), per_day=line.slope * DAY, value=value, limit=limit)
    if limit is None:
        return result
    if _is_beyond(ordered[-1][1], limit, is_floor=is_floor):
        return msgspec.structs.replace(result, is_reached=True, reached_at=_crossed(ordered, limit, is_floor=is_floor))
    farthest = min(FARTHEST_DAYS * DAY, FARTHEST_SPANS * (ordered[-1][0] - ordered[0][0]))
    reached, *others = (_meets(value, slope, limit, now, farthest) for slope in (line.slope, line.low, line.high))
    if reached is None:
        return result
    early = min([reached, *(moment for moment in others if moment is not None)])
    late = None if None in others else max(moment for moment in others if moment is not None)
    return msgspec.structs.replace(result, reached_at=reached, earliest=early, latest=late)


def _is_beyond(value: float, limit: float, *, is_floor: bool) -> bool:
    return value <= limit if is_floor else value >= limit


def _crossed(points: Sequence[tuple[float, float]], limit: float, *, is_floor: bool) -> float | None:
    """When the values went beyond the limit for the last time; None if all of them are."""
    since = None
    for at, value in reversed(points):
        if not _is_beyond(value, limit, is_floor=is_floor):
            return since
        since = at
    return None


def _meets(value: float, slope: float, limit: float, now: float, farthest: float) -> float | None:
    if slope == 0 or (limit - value) / slope < 0:
        return None
    seconds = (limit - value) / slope
    return now + seconds if seconds <= farthest else None


def _spread(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most 200 points, evenly chosen, with the first and the last."""
    if len(points) <= MOST_POINTS:
        return sorted(points)
    ordered = sorted(points)
    last = len(ordered) - 1
    return [ordered[round(place * last / (MOST_POINTS - 1))] for place in range(MOST_POINTS)]
