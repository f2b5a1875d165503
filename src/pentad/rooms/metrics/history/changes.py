"""Calculations over recorded points: merging, downsampling, rates, differences. All functions are pure.

A counter that is smaller than before was reset, so its current value is the increase since then.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Literal

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.loaders.prometheus_text import level_of
from pentad.rooms.metrics.models import Kind, Labels, Scalar, State
from pentad.rooms.metrics.store import Gap, Latest, Point

MOST_POINTS: Final = 5_000
STEPS: Final = (60, 300, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800)


def merge_points(points: Sequence[Point], *, at: float, span: int) -> Point:
    """Consecutive points merged into one."""
    rise = points[0].rise
    for before, after in pairwise(points):
        rise += after.rise + counter_increase(before.last, after.first)
    return Point(
        at=at,
        samples=sum(point.samples for point in points),
        lowest=min(point.lowest for point in points),
        highest=max(point.highest for point in points),
        total=math.fsum(point.total for point in points),
        first=points[0].first,
        last=points[-1].last,
        rise=rise,
        last_at=points[-1].last_at,
        span=span,
    )


def counter_increase(before: float, after: float) -> float:
    """The increase of a counter between two readings."""
    return after - before if after >= before else after


def bucket_points(points: Sequence[Point], step: int) -> list[Point]:
    """One point per span of `step` seconds that has any; spans begin at multiples of it."""
    buckets: dict[int, list[Point]] = {}
    for point in points:
        buckets.setdefault(math.floor(point.at / step), []).append(point)
    return [merge_points(some, at=float(number * step), span=step) for number, some in sorted(buckets.items())]


def downsample(points: Sequence[Point], most: int, step: int | None = None) -> list[Point]:
    """At most `most` points, in the finest usual step that gives so few."""
    if not 1 <= most <= MOST_POINTS:
        raise InvalidInput(f"max_points is {most}.", hint=f"Use 1 to {MOST_POINTS}.")
    if step is not None:
        if step < 1:
            raise InvalidInput(f"The step is {step} s.", hint="Use a second or more.")
        return bucket_points(points, step)[-most:]
    if len(points) <= most:
        return list(points)
    for wider in STEPS:
        found = bucket_points(points, wider)
        if len(found) <= most:
            return found
    width = math.ceil((points[-1].at - points[0].at + 1) / most)
    return bucket_points(points, max(width, 1))[-most:]


def rates(points: Sequence[Point], gaps: Sequence[Gap] = ()) -> list[tuple[float, float]]:
    """The increase of a counter per second, between the ends of consecutive points.

    There is no rate where a gap covers most of that time: the increase is known, but not when it happened."""
    found: list[tuple[float, float]] = []
    for before, after in pairwise(points):
        seconds = after.last_at - before.last_at
        if seconds > 0 and _missing_seconds(before.last_at, after.last_at, gaps) < seconds / 2:
            found.append((after.last_at, (counter_increase(before.last, after.first) + after.rise) / seconds))
    return found


def _missing_seconds(begin: float, end: float, gaps: Sequence[Gap]) -> float:
    """How much of a span is in gaps. A gap that begins within it lasts from the point before."""
    missing = 0.0
    for gap in gaps:
        until = end if gap.end is None else min(gap.end, end)
        if gap.begin < end and until > begin:
            missing += until - max(gap.begin, begin)
    return missing


def total_rise(points: Sequence[Point]) -> float:
    """The whole increase of a counter over the points."""
    return merge_points(points, at=0.0, span=0).rise if points else 0.0


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value that differs between two times."""

    collector: str = ""
    key: str
    labels: Labels
    what: Literal["changed", "new", "gone", "missing", "back"]
    """`missing`: the value is gone, for the reason in `state`. `back`: a missing value has returned."""
    before: Scalar = None
    after: Scalar = None
    delta: float | None = None
    percent: float | None = None
    added: list[str] | None = None
    removed: list[str] | None = None
    unit: str | None = None
    state: State = "ok"
    kind: Kind = "gauge"

    @property
    def size(self) -> float:
        """The difference relative to the larger of both values, so that units do not matter: 0 to 1, or up to 2 if the
        sign changed."""
        before, after = self.before, self.after
        if isinstance(before, list) or isinstance(after, list):
            every = {*_listed(before), *_listed(after)}
            return len(set(_listed(before)) ^ set(_listed(after))) / len(every) if every else 0.0
        if self.delta is None or not isinstance(before, int | float) or not isinstance(after, int | float):
            return 1.0
        return abs(self.delta) / max(abs(before), abs(after))


def _listed(value: Scalar) -> list[str]:
    return value if isinstance(value, list) else []


Values = Mapping[tuple[str, Labels], tuple[Scalar, State, str | None, Kind]]
"""By key and labels: value, state, unit and kind."""


def values_of(found: Iterable[Latest]) -> dict[tuple[str, Labels], tuple[Scalar, State, str | None, Kind]]:
    """Latest values by key and labels, for `compare_values`. If two scopes have the same figure, the newest wins."""
    return {
        (one.series.key, one.series.labels): (one.value, one.state, one.series.unit, one.series.kind)
        for one in sorted(found, key=lambda one: one.at)
    }


def compare_values(before: Values, after: Values) -> list[Change]:
    """All differences, the largest first. Two missing values are equal."""
    names = before.keys() | after.keys()
    changes = [change for name in names if (change := _change(name, before.get(name), after.get(name))) is not None]
    return largest_first(changes)


def largest_first(changes: Iterable[Change]) -> list[Change]:
    """The largest first; counters, which only grow, last."""
    return sorted(
        changes,
        key=lambda one: (one.kind == "counter", -one.size, -abs(one.delta or 0.0), one.collector, one.key, one.labels),
    )


def without_explained(changes: Sequence[Change]) -> list[Change]:
    """Drop changes of a group's total that changes in its environments explain."""
    parts: dict[tuple[str, str | None], list[Change]] = {}
    for change in changes:
        if level_of(change.labels) == "environment":
            parts.setdefault((change.key, dict(change.labels).get("businessGroupId")), []).append(change)

    def is_explained(change: Change) -> bool:
        some = parts.get((change.key, dict(change.labels).get("businessGroupId")), [])
        if not some or level_of(change.labels) != "group":
            return False
        if change.delta is None:
            return True
        return abs(change.delta - sum(one.delta or 0.0 for one in some)) < 1e-6

    return [change for change in changes if not is_explained(change)]


def _change(
    name: tuple[str, Labels],
    old: tuple[Scalar, State, str | None, Kind] | None,
    new: tuple[Scalar, State, str | None, Kind] | None,
) -> Change | None:
    key, labels = name
    if old is None or new is None:
        known = new if old is None else old
        if known is None or known[0] is None:
            return None
        what: Literal["new", "gone"] = "new" if old is None else "gone"
        return Change(
            key=key, labels=labels, what=what, unit=known[2], state=known[1], kind=known[3],
            before=None if old is None else old[0], after=None if new is None else new[0],
        )  # fmt: skip
    if old[0] == new[0]:
        return None
    more: dict[str, Any] = {}
    if isinstance(old[0], (int, float)) and isinstance(new[0], (int, float)):
        delta = new[0] - old[0]
        more["delta"] = round(delta, 9)
        more["percent"] = round(100 * delta / abs(old[0]), 2) if old[0] else None
    elif isinstance(old[0], list) and isinstance(new[0], list):
        more["added"] = [entry for entry in new[0] if entry not in old[0]]
        more["removed"] = [entry for entry in old[0] if entry not in new[0]]
    return Change(
        key=key, labels=labels, what="missing" if new[0] is None else "back" if old[0] is None else "changed",
        before=old[0], after=new[0], unit=new[2], state=new[1], kind=new[3], **more,
    )  # fmt: skip
