"""Charts that move: collect, draw, wait, again. On a terminal each drawing takes the place of the last."""

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
    """One figure over time; a counter as what it counts each second."""

    def __init__(self, metric: "Metric | None", sample: "Sample") -> None:
        self.counts = metric is not None and metric.kind == "counter"
        self.unit = sample.unit
        self.points: deque[tuple[float, float | None]] = deque(maxlen=_KEPT)
        self._before: tuple[float, float] | None = None
        self._last = -1.0

    def take(self, at: float, value: Any) -> None:
        """One more reading; what is no number is a gap. The same reading again is none: what looks more often than the
        source is asked would see a counter stand still."""
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


async def watched(
    look: "Callable[[], Awaitable[Answer]]",
    keys: Sequence[str],
    *,
    every: float,
    count: int | None,
    as_json: bool,
    plain: bool,
) -> None:
    """Look until the count is reached, or until it is interrupted."""
    gauges: dict[Name, Gauge] = {}
    looks = 0
    while True:
        began = time.monotonic()
        answer = await look()
        _take(gauges, answer, keys)
        if as_json:
            click.echo(_line(answer, keys))
        else:
            _draw(gauges, answer, plain=plain)
        looks += 1
        if count is not None and looks >= count:
            return
        await asyncio.sleep(max(0.0, every - (time.monotonic() - began)))


def _take(gauges: dict[Name, Gauge], answer: "Answer", keys: Sequence[str]) -> None:
    metrics: Mapping[str, Metric] = {metric.key: metric for metric in answer.info.catalogue}
    wanted = set(keys)
    for sample in answer.snapshot.samples:
        if sample.key not in wanted or isinstance(sample.value, str | list):
            continue
        name = (sample.key, sample.labels)
        if name not in gauges:
            gauges[name] = Gauge(metrics.get(sample.key), sample)
        gauges[name].take(sample.as_of, sample.value)


def _line(answer: "Answer", keys: Sequence[str]) -> str:
    from pentad.rooms.metrics.interface.presentation import answer_metadata, to_json

    wanted = set(keys)
    rows = [
        {"key": sample.key, "labels": dict(sample.labels), "value": sample.value, "state": sample.state}
        for sample in answer.snapshot.samples
        if sample.key in wanted
    ]
    return to_json({"asOf": answer_metadata(answer)["asOf"], "samples": rows})


def _draw(gauges: Mapping[Name, Gauge], answer: "Answer", *, plain: bool) -> None:
    from pentad.kernel.charts import text_chart
    from pentad.kernel.clock import iso

    parts = [f"{answer.info.title}  {iso(answer.snapshot.as_of)}"]
    for (key, labels), gauge in list(gauges.items())[:_MOST_CHARTS]:
        told = ", ".join(text for _, text in labels)
        title = visible(f"{key} ({told})" if told else key) + (", each second" if gauge.counts else "")
        parts.append(
            text_chart(title, list(gauge.points), width=chart_width(), height=HEIGHT, unit=gauge.unit, plain=plain)
        )
    if len(gauges) > _MOST_CHARTS:
        parts.append(f"{len(gauges) - _MOST_CHARTS} more figures are not drawn; name fewer keys.")
    click.echo((_CLEAR if sys.stdout.isatty() else "") + "\n\n".join(parts))
