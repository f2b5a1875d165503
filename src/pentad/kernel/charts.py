"""Line charts: scales, number labels, and drawings as SVG or as text. The console draws the same `Plot` as HTML.

A gap (a value of None) breaks the line; it is never drawn as zero.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from pentad.kernel.clock import iso
from pentad.kernel.pages import Chart, Series

Point = tuple[float, float | None]
Points = Sequence[Point]

_COLOURS: Final = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 30, 12, 26
_STEPS: Final = 4
_MOST_POINTS: Final = 1_000
_LARGEST: Final = 1e100
_SMALLEST: Final = 1e-100
_FLAT: Final = 1e-6
"""Values that differ by less than this share of themselves are drawn as one."""
_SCALES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_WRITTEN_OUT: Final = 10_000
_SHOWS_SECONDS: Final = 600
"""A time axis shorter than this, in seconds, shows seconds."""


def format_number(value: float, unit: str | None = None) -> str:
    """A number written out, with its unit: `1,234,567`, `50%`, `1.5 KiB`."""
    if unit == "By":
        for name in ("B", "KiB", "MiB", "GiB", "TiB"):
            if abs(value) < 1024 or name == "TiB":
                return f"{value:.0f} {name}" if name == "B" else f"{value:.1f} {name}"
            value /= 1024
    text = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
    return text + (unit if unit == "%" else f" {unit}" if unit else "")


def compact_number(value: float, unit: str = "") -> str:
    """A short number for axes: `1,234 ms`, `12.5 k`, `5.39 GB`."""
    if abs(value) < _WRITTEN_OUT:
        text = f"{value:,.0f}" if value == int(value) else f"{value:.3g}"
        return f"{text} {unit}".rstrip()
    size, mark = next(scale for scale in _SCALES if abs(value) >= scale[0])
    if abs(value) >= size * _WRITTEN_OUT:
        return f"{value:.3g} {unit}".rstrip()
    return f"{value / size:.4g} {mark}{unit}" if unit.startswith("B") else f"{value / size:.4g} {mark} {unit}".rstrip()


def even_ticks(low: float, high: float) -> list[float]:
    """Round numbers in even steps from below the lowest to above the highest; from 0 on if that is near."""
    if 0 <= low <= high / 2:
        low = 0.0
    if high - low <= max(abs(low), abs(high)) * _FLAT:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low < _SMALLEST:
        low, high = -1.0, 1.0
    rough = (high - low) / _STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [n * step for n in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Plot:
    """The lines of a chart on their common scale."""

    lines: Sequence[tuple[str, Points]]
    begin: float
    end: float
    ticks: Sequence[float]

    def runs(self, points: Points, width: float, height: float) -> list[list[tuple[float, float]]]:
        """The unbroken parts of a line, as positions in a picture of this size; (0, 0) is its top left corner."""
        across, up = self.end - self.begin or 1.0, self.ticks[-1] - self.ticks[0] or 1.0
        runs: list[list[tuple[float, float]]] = [[]]
        for x, y in points:
            if y is not None:
                runs[-1].append(((x - self.begin) / across * width, (self.ticks[-1] - y) / up * height))
            elif runs[-1]:
                runs.append([])
        return [run for run in runs if run]


def plot(series: Sequence[Series]) -> Plot | None:
    """The plot of some series; None if there is no value to draw."""
    lines = [(one.name, _drawable(one.points)) for one in series]
    xs = [x for _, points in lines for x, _ in points]
    ys = [y for _, points in lines for _, y in points if y is not None]
    return Plot(lines, min(xs), max(xs), even_ticks(min(ys), max(ys))) if ys else None


def svg_chart(chart: Chart, *, width: int = 640, height: int = 220) -> str:
    """The chart as an SVG document. All texts are escaped."""
    title = escape(chart.title)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif"',
        f' font-size="11"><title>{title}</title>',
        f'<text x="{_LEFT}" y="16" font-size="13" font-weight="bold">{title}</text>',
    ]
    plotted = plot(chart.series)
    if plotted is None:
        parts.append(f'<text x="{_LEFT}" y="{height / 2:g}">No values yet.</text>')
    else:
        parts += _svg_axes(plotted, chart.unit, width, height)
        for number, (name, points) in enumerate(plotted.lines):
            colour = _COLOURS[number % len(_COLOURS)]
            for run in plotted.runs(points, width - _LEFT - _RIGHT, height - _TOP - _BOTTOM):
                dots = run if len(run) > 1 else run * 2
                line = " ".join(f"{_LEFT + x:.1f},{_TOP + y:.1f}" for x, y in dots)
                parts.append(
                    f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"'
                    f' stroke-linecap="round"><title>{escape(name)}</title></polyline>'
                )
    return "".join([*parts, "</svg>"])


def _svg_axes(plotted: Plot, unit: str, width: int, height: int) -> Iterator[str]:
    ticks = plotted.ticks
    for number, tick in enumerate(ticks):
        y = _TOP + (1 - number / (len(ticks) - 1)) * (height - _TOP - _BOTTOM)
        yield f'<path d="M{_LEFT},{y:.1f}H{width - _RIGHT}" stroke="#ccc" stroke-width="0.5"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(compact_number(tick, unit))}</text>'
    begin, end = _time_labels(plotted.begin, plotted.end)
    for text, anchor, x in ((begin, "start", _LEFT), (end, "end", width - _RIGHT)):
        yield f'<text x="{x}" y="{height - 8}" text-anchor="{anchor}">{text}</text>'


def text_chart(
    title: str, points: Points, *, width: int = 60, height: int = 8, unit: str | None = None, plain: bool = False
) -> str:
    """A chart for terminals: a title, rows of blocks with the scale at their left, and the time below."""
    columns = _columns(points, width)
    known = [value for value in columns if value is not None]
    if not known:
        return f"{title}\n  (no values yet)"
    low, high = min(known), max(known)
    if high == low:  # nothing to compare with but zero
        low, high = min(low, 0.0), max(high, 0.0) or (1.0 if low == 0 else 0.0)
    labels = [format_number(high, unit), format_number(low, unit)]
    margin = max(len(label) for label in labels)
    lines = [title]
    for level in range(height - 1, -1, -1):
        label = labels[0] if level == height - 1 else labels[1] if level == 0 else ""
        cells = "".join(
            " " if value is None else _block((value - low) / (high - low) * (height - 1) + 1 - level, plain=plain)
            for value in columns
        )
        lines.append(f"{label:>{margin}} |{cells}".rstrip())
    begin, end = _time_labels(points[0][0], points[-1][0])
    lines.append(f"{'':>{margin}} +{'-' * len(columns)}")
    lines.append(f"{'':>{margin}}  {begin}{end:>{max(len(columns) - len(begin), len(end) + 1)}}")
    return "\n".join(lines)


def _block(filled: float, *, plain: bool) -> str:
    """A character for a cell of which this share is filled."""
    if filled >= 1:
        return "#" if plain else "█"
    return " " if filled <= 0 or plain else _BLOCKS[min(len(_BLOCKS) - 1, int(filled * len(_BLOCKS)))]


def _time_labels(begin: float, end: float) -> tuple[str, str]:
    """Both ends of a time axis, with seconds only if it is short."""
    letters = 16 if end - begin >= _SHOWS_SECONDS else 19
    return iso(begin)[:letters].replace("T", " "), iso(end)[:letters].replace("T", " ")


def _columns(points: Points, width: int) -> list[float | None]:
    """The mean value in each column of time; as many columns as points if these are fewer."""
    if len(points) <= width:
        return [value for _, value in points]
    begin, end = points[0][0], points[-1][0]
    values: list[list[float]] = [[] for _ in range(width)]
    for at, value in points:
        if value is not None:
            values[min(width - 1, int((at - begin) / (end - begin) * width)) if end > begin else 0].append(value)
    return [sum(some) / len(some) if some else None for some in values]


def _drawable(given: Points) -> list[Point]:
    """The points that can be drawn; of very many, the lowest and highest of each stretch."""
    points = [(x, y if y is not None and abs(y) < _LARGEST else None) for x, y in given if abs(x) < _LARGEST]
    if len(points) <= _MOST_POINTS:
        return points
    stretch = math.ceil(len(points) / (_MOST_POINTS // 2))
    kept: list[Point] = []
    for start in range(0, len(points), stretch):
        part = points[start : start + stretch]
        known = [n for n, (_, y) in enumerate(part) if y is not None]
        ends = {min(known, key=lambda n: part[n][1] or 0), max(known, key=lambda n: part[n][1] or 0)} if known else {0}
        kept += [part[n] for n in sorted(ends)]
    return kept
