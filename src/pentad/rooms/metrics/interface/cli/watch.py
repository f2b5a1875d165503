"""Live charts: collect, draw, wait, repeat. On a terminal each drawing replaces the last."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.rooms.metrics.interface.cli.formatting import chart_width
from pentad.terminal.output import visible

if TYPE_CHECKING:
    from pentad.rooms.metrics.engine.query_engine import Answer
    from pentad.rooms.metrics.models import Labels, Metric, Sample

HEIGHT: Final = 6
_KEPT: Final = 500
_MOST_CHARTS: Final = 8
_CLEAR: Final = "\x1b[H\x1b[2J"

Name = tuple[str, "Labels"]


class Gauge:
    """One figure over time; a counter as its rate per second."""

    def __init__(self, metric: "Metric | None", sample: "Sample") -> None:
        self.counts = metric is not None and metric.kind == "counter"
        self.unit = sample.unit
        self.points: deque[tuple[float, float | None]] = deque(maxlen=_KEPT)
        self._before: tuple[float, float] | None = None
        self._last = -1.0

    def take(self, at: float, value: Any) -> None:
        """Add a reading; anything but a number is a gap. A cached reading that comes again is ignored: it would make a
        counter seem to stand still."""
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
    collect: "Callable[[], Awaitable[Answer]]",
    keys: Sequence[str],
    *,
    every: float,
    count: int | None,
    as_json: bool,
    plain: bool,
) -> None:
    """Collect and draw until `count` rounds are done, or until interrupted."""
    gauges: dict[Name, Gauge] = {}
    rounds = 0
    while True:
        began = time.monotonic()
        answer = await collect()
        _take(gauges, answer, keys)
        if as_json:
            click.echo(_line(answer, keys))
        else:
            _draw(gauges, answer, plain=plain)
        rounds += 1
        if count is not None and rounds >= count:
            return
        await asyncio.sleep(max(0.0, every - (time.monotonic() - began)))


def _take(gauges: dict[Name, Gauge], answer: "Answer", keys: Sequence[str]) -> None:
    metrics: Mapping[str, Metric] = {metric.key: metric for metric in answer.info.catalogue}
    chosen = set(keys)
    for sample in answer.snapshot.samples:
        if sample.key not in chosen or isinstance(sample.value, str | list):
            continue
        name = (sample.key, sample.labels)
        if name not in gauges:
            gauges[name] = Gauge(metrics.get(sample.key), sample)
        gauges[name].take(sample.as_of, sample.value)


def _line(answer: "Answer", keys: Sequence[str]) -> str:
    from pentad.rooms.metrics.interface.presentation import answer_metadata, to_json

    chosen = set(keys)
    rows = [
        {"key": sample.key, "labels": dict(sample.labels), "value": sample.value, "state": sample.state}
        for sample in answer.snapshot.samples
        if sample.key in chosen
    ]
    return to_json({"asOf": answer_metadata(answer)["asOf"], "samples": rows})


def _draw(gauges: Mapping[Name, Gauge], answer: "Answer", *, plain: bool) -> None:
    from pentad.kernel.charts import text_chart
    from pentad.kernel.clock import iso

    parts = [f"{answer.info.title}  {iso(answer.snapshot.as_of)}"]
    for (key, labels), gauge in list(gauges.items())[:_MOST_CHARTS]:
        label_text = ", ".join(text for _, text in labels)
        title = visible(f"{key} ({label_text})" if label_text else key) + (", each second" if gauge.counts else "")
        parts.append(
            text_chart(title, list(gauge.points), width=chart_width(), height=HEIGHT, unit=gauge.unit, plain=plain)
        )
    if len(gauges) > _MOST_CHARTS:
        parts.append(f"{len(gauges) - _MOST_CHARTS} more figures are not drawn; name fewer keys.")
    click.echo((_CLEAR if sys.stdout.isatty() else "") + "\n\n".join(parts))
