"""PromQL passed to the Prometheus server of the settings: queries, and which metrics and labels it has.

Answers are bounded: the step of a range is widened until the points fit, and only the series with the greatest last
values are kept. The answer says which step was used and what was cut.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pentad.rooms.metrics.collectors.contract import Upstream
from pentad.rooms.metrics.collectors.prometheus import Prometheus
from pentad.rooms.metrics.models import FetchError

FINEST_STEP: Final = 1.0
MOST_VALUES: Final = 20
"""How many values of each label the listing of a metric includes."""
_SERIES_READ: Final = 1_000


@dataclass(slots=True)
class PromSeries:
    """One series of an answer: points in time with their values as Prometheus writes them."""

    labels: dict[str, str]
    points: list[tuple[float, str]]


@dataclass(slots=True)
class PromAnswer:
    """An answer of Prometheus, within its limits. `total` counts the series before the cut."""

    kind: str
    series: list[PromSeries]
    total: int
    step: float | None = None
    notes: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class PromMetric:
    """A metric that Prometheus knows."""

    name: str
    kind: str
    about: str


async def instant_query(
    source: Prometheus, upstream: Upstream, query: str, at: float, *, max_series: int
) -> PromAnswer:  # fmt: skip
    """The values of an expression at a moment."""
    data, warnings = await source.ask("query", {"query": query, "time": f"{at:.3f}"}, upstream)
    kind, result = str(data["resultType"]), data["result"]
    if kind in ("scalar", "string"):
        return PromAnswer(kind, [PromSeries({}, [_point(result)])], 1, notes=warnings)
    is_matrix = kind == "matrix"
    found = [
        PromSeries(_labels(one), [_point(point) for point in (one["values"] if is_matrix else [one["value"]])])
        for one in cast("Sequence[Mapping[str, Any]]", result)
    ]
    return _cut(PromAnswer(kind, found, len(found), notes=warnings), max_series)


async def range_query(
    source: Prometheus,
    upstream: Upstream,
    query: str,
    begin: float,
    end: float,
    *,
    step: float | None,
    max_points: int,
    max_series: int,
) -> PromAnswer:
    """The values of an expression over a period, one per step."""
    least = max(FINEST_STEP, math.ceil((end - begin) / max(1, max_points - 1)))
    used = max(step or 0.0, least)
    params = {"query": query, "start": f"{begin:.3f}", "end": f"{end:.3f}", "step": f"{used:g}"}
    data, warnings = await source.ask("query_range", params, upstream)
    found = [
        PromSeries(_labels(one), [_point(point) for point in one["values"]])
        for one in cast("Sequence[Mapping[str, Any]]", data["result"])
    ]
    answer = PromAnswer(str(data["resultType"]), found, len(found), step=used, notes=warnings)
    answer = _cut(answer, max_series)
    if step is not None and used > step:
        answer.notes.append(
            f"The step is {used:g} s instead of {step:g} s, for at most {max_points} points of each series. Each point"
            " is the value at its moment; avg_over_time and max_over_time sum up what lies between."
        )
    return answer


async def find_metrics(source: Prometheus, upstream: Upstream, words: Sequence[str]) -> list[PromMetric]:
    """The metrics whose name or description has all the words."""
    names: list[str] = (await source.ask("label/__name__/values", {}, upstream))[0]
    known: dict[str, list[dict[str, str]]] = (await source.ask("metadata", {}, upstream))[0]
    found: list[PromMetric] = []
    for name in names:
        metadata = known.get(name) or known.get(name.removesuffix("_total")) or [{}]
        metric = PromMetric(name, metadata[0].get("type", "unknown"), metadata[0].get("help", ""))
        text = f"{metric.name} {metric.about}".casefold()
        if all(word.casefold() in text for word in words):
            found.append(metric)
    return found


async def label_values(source: Prometheus, upstream: Upstream, label: str) -> list[str]:
    """The values of a label in all series."""
    return [str(one) for one in (await source.ask(f"label/{label}/values", {}, upstream))[0]]


async def metric_labels(
    source: Prometheus, upstream: Upstream, metric: str, begin: float, end: float
) -> tuple[int, dict[str, list[str]]]:
    """How many series a metric has, and its labels with their values."""
    params = {"match[]": metric, "start": f"{begin:.3f}", "end": f"{end:.3f}"}
    found: list[dict[str, str]] = (await source.ask("series", params, upstream))[0]
    labels: dict[str, dict[str, None]] = {}
    for one in found[:_SERIES_READ]:
        for name, value in one.items():
            if name != "__name__":
                labels.setdefault(name, {})[value] = None
    return len(found), {name: sorted(values) for name, values in sorted(labels.items())}


def _cut(answer: PromAnswer, most: int) -> PromAnswer:
    if len(answer.series) > most:
        answer.series = sorted(answer.series, key=_last_value, reverse=True)[:most]
        answer.notes.append(
            f"{most} of {answer.total} series, those with the greatest last values. Aggregate in the query, as in"
            " `sum by (label) (...)` or `topk(5, ...)`, or raise max_series."
        )
    return answer


def _last_value(series: PromSeries) -> float:
    value = float(series.points[-1][1]) if series.points else -math.inf
    return -math.inf if math.isnan(value) else value


def _labels(series: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in series["metric"].items()}


def _point(pair: Any) -> tuple[float, str]:
    try:
        at, value = pair
        return float(at), str(value)
    except (TypeError, ValueError):
        raise FetchError.of("parse", "Prometheus' answer has an unknown form.", call="query") from None
