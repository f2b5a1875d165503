"""Live charts: collect, draw, wait, repeat. On a terminal each drawing replaces the last."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.rooms.metrics.interface.cli.formatting import chart_width
from pentad.terminal.output import visible

if TYPE_CHECKING:
    from pentad.rooms.metrics.engine.query_engine import Answer
    from pentad.rooms.metrics.models import Labels

HEIGHT: Final = 6
_KEPT: Final = 500
_MOST_CHARTS: Final = 8
_CLEAR: Final = "\x1b[H\x1b[2J"

Name = tuple[str, "Labels"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One value of a figure."""

    key: str
    labels: "Labels"
    value: Any
    state: str
    unit: str | None
    counts: bool
    """Whether it is a counter."""
    as_of: float


@dataclass(frozen=True, slots=True)
class Round:
    """The figures of one round."""

    title: str
    as_of: str
    figures: Sequence[Figure]


def round_of_answer(answer: "Answer", keys: Sequence[str]) -> Round:
    """The figures with these keys in an answer of the room."""
    from pentad.kernel.clock import iso

    counters = {metric.key for metric in answer.info.catalogue if metric.kind == "counter"}
    figures = [
        Figure(one.key, one.labels, one.value, one.state, one.unit, one.key in counters, one.as_of)
        for one in answer.snapshot.samples
        if one.key in keys
    ]
    return Round(answer.info.title, iso(answer.snapshot.as_of), figures)


def round_of_explanations(title: str, answers: Sequence[Mapping[str, Any]]) -> Round:
    """The figures in answers of the tool explainMetric, one answer for each key."""
    from pentad.kernel.clock import parse_iso

    figures: dict[Name, Figure] = {}  # two of the keys may lead to the same figure
    for metric in (one for answer in answers for one in answer["explained"]):
        key, unit, counts = metric["key"], metric["unit"], metric["kind"] == "counter"
        for one in metric["values"]:
            given: Mapping[str, str] = one.get("labels") or {}
            labels, at = tuple(given.items()), parse_iso(one["as_of"]).timestamp()
            figures[key, labels] = Figure(key, labels, one["value"], one["state"], unit, counts, at)
    return Round(title, answers[0]["asOf"], list(figures.values()))


class Gauge:
    """One figure over time; a counter as its rate per second."""

    def __init__(self, *, counts: bool, unit: str | None = None) -> None:
        self.counts = counts
        self.unit = unit
        self.points: deque[tuple[float, float | None]] = deque(maxlen=_KEPT)
        self._before: tuple[float, float] | None = None
        self._last = -1.0

    def take(self, at: float, value: Any) -> None:
        """Add a reading; anything but a number is a gap. A repeated cached reading is ignored: it would make a
        counter look idle."""
        if at <= self._last:
            return
        self._last = at
        if not isinstance(value, int | float):
            self.points.append((at, None))
            return
        if not self.counts:
            self.points.append((at, float(value)))
            return
        if self._before is not None:
            risen = value - self._before[1] if value >= self._before[1] else value
            self.points.append((at, risen / (at - self._before[0])))
        self._before = (at, float(value))


async def watch_figures(
    collect: Callable[[], Awaitable[Round]], *, every: float, count: int | None, as_json: bool, plain: bool
) -> None:
    """Collect and draw until `count` rounds are done, or until interrupted."""
    gauges: dict[Name, Gauge] = {}
    rounds = 0
    while True:
        began = time.monotonic()
        collected = await collect()
        _add_round(gauges, collected)
        if as_json:
            click.echo(_line(collected))
        else:
            _draw(gauges, collected, plain=plain)
        rounds += 1
        if count is not None and rounds >= count:
            return
        await asyncio.sleep(max(0.0, every - (time.monotonic() - began)))


def _add_round(gauges: dict[Name, Gauge], collected: Round) -> None:
    for one in collected.figures:
        if isinstance(one.value, str | list):
            continue
        name = (one.key, one.labels)
        if name not in gauges:
            gauges[name] = Gauge(counts=one.counts, unit=one.unit)
        gauges[name].take(one.as_of, one.value)


def _line(collected: Round) -> str:
    from pentad.rooms.metrics.interface.presentation import to_json

    rows = [
        {"key": one.key, "labels": dict(one.labels), "value": one.value, "state": one.state}
        for one in collected.figures
    ]
    return to_json({"asOf": collected.as_of, "samples": rows})


def _draw(gauges: Mapping[Name, Gauge], collected: Round, *, plain: bool) -> None:
    from pentad.kernel.charts import text_chart

    parts = [f"{collected.title}  {collected.as_of}"]
    for (key, labels), gauge in list(gauges.items())[:_MOST_CHARTS]:
        label_text = ", ".join(text for _, text in labels)
        title = visible(f"{key} ({label_text})" if label_text else key) + (", each second" if gauge.counts else "")
        parts.append(
            text_chart(title, list(gauge.points), width=chart_width(), height=HEIGHT, unit=gauge.unit, plain=plain)
        )
    if len(gauges) > _MOST_CHARTS:
        parts.append(f"{len(gauges) - _MOST_CHARTS} more figures are not drawn; name fewer keys.")
    click.echo((_CLEAR if sys.stdout.isatty() else "") + "\n\n".join(parts))
