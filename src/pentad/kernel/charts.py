"""Line charts: scales, number labels, and drawings as SVG or as text. The console draws the same `Plot` as HTML.

A gap (a value of None) breaks the line; it is never drawn as zero. The x axis always covers the chart's whole span,
even where there are no points.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Final

from pentad.kernel.clock import iso, to_minute, to_second
from pentad.kernel.pages import Chart

Point = tuple[float, float | None]
Points = Sequence[Point]

COLOURS: Final = (
    "#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f", "#475569", "#b45309",
    "#0f766e", "#9333ea",
)  # fmt: skip
_DASHES: Final = ("", "6 3", "2 3")
"""Lines beyond the number of colours are told apart by their dashes."""
_MARK: Final = "#92400e"
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 30, 12, 26
_STEPS: Final = 4
_MOST_POINTS: Final = 1_000
_LARGEST: Final = 1e100
_SMALLEST: Final = 1e-100
_MARKS_REACH: Final = 3.0
"""A mark is drawn only if its distance from the values is at most this many times their size."""
_FLAT: Final = 1e-6
"""Values whose relative difference is below this are drawn as one."""
_SCALES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_WRITTEN_OUT: Final = 10_000
_GAPS_TOLD: Final = 3
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]+")
_SHOWS_SECONDS: Final = 600
"""A time axis shorter than this, in seconds, shows seconds."""


def label_text(text: str) -> str:
    """Untrusted text on one line, without control characters: XML forbids them, and some reverse the text."""
    return re.sub(" {2,}", " ", _CONTROL.sub(" ", text)).strip(" ")


def svg_text(text: str) -> str:
    """Untrusted text, escaped for an SVG document."""
    return escape(label_text(text))


def format_number(value: float, unit: str | None = None) -> str:
    """A number written out, with its unit: `1,234,567`, `50%`, `1.5 kB`."""
    if unit == "By":  # decimal, as on axes
        for name in ("B", "kB", "MB", "GB", "TB"):
            if abs(value) < 1000 or name == "TB":
                return f"{value:.0f} {name}" if name == "B" else f"{value:.1f} {name}"
            value /= 1000
    text = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
    return text + (unit if unit == "%" else f" {unit}" if unit else "")


def compact_number(value: float, unit: str = "") -> str:
    """A short number for axes: `1,234 ms`, `85%`, `12.5 k`, `5.39 GB`."""
    if abs(value) < _WRITTEN_OUT:
        text = f"{value:,.0f}" if value == int(value) else f"{value:.3g}"
        return f"{text}%" if unit == "%" else f"{text} {unit}".rstrip()
    size, mark = next(scale for scale in _SCALES if abs(value) >= scale[0])
    if abs(value) >= size * _WRITTEN_OUT:
        return f"{value:.3g} {unit}".rstrip()
    return f"{value / size:.4g} {mark}{unit}" if unit.startswith("B") else f"{value / size:.4g} {mark} {unit}".rstrip()


def tick_labels(ticks: Sequence[float], unit: str = "") -> list[str]:
    """The labels of an axis, with as many digits as it takes to tell them apart."""
    labels = [compact_number(tick, unit) for tick in ticks]
    if len(set(labels)) == len(labels):
        return labels
    step = ticks[1] - ticks[0]
    digits = max(0, math.ceil(-math.log10(step))) if 0 < step < _LARGEST else 0
    return [f"{tick:,.{min(digits, 12)}f} {unit}".rstrip() for tick in ticks]


def even_ticks(low: float, high: float) -> list[float]:
    """Round numbers in even steps from below the lowest to above the highest; starting at 0 if that is near."""
    if 0 <= low <= high / 2:
        low = 0.0
    if high - low <= max(abs(low), abs(high)) * _FLAT:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low < _SMALLEST:
        high = low + 1.0
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
    gaps: Sequence[tuple[float, float, str]] = ()
    marks: Sequence[tuple[str, float]] = ()

    def across(self, x: float, width: float) -> float:
        """The position of an x in a picture of this width."""
        return (x - self.begin) / (self.end - self.begin or 1.0) * width

    def down(self, y: float, height: float) -> float:
        """The position of a value in a picture of this height."""
        return (self.ticks[-1] - y) / (self.ticks[-1] - self.ticks[0] or 1.0) * height

    def runs(self, points: Points, width: float, height: float) -> list[list[tuple[float, float]]]:
        """The unbroken parts of a line, as positions in a picture of this size; (0, 0) is its top left corner."""
        runs: list[list[tuple[float, float]]] = [[]]
        for x, y in points:
            if y is not None:
                runs[-1].append((self.across(x, width), self.down(y, height)))
            elif runs[-1]:
                runs.append([])
        return [run for run in runs if run]


def plot(chart: Chart) -> Plot | None:
    """The plot of a chart; None if there is no value to draw. Marks far above the values do not flatten them."""
    lines = [(one.name, _drawable(one.points)) for one in chart.series]
    ys = [y for _, points in lines for _, y in points if y is not None]
    if not ys:
        return None
    xs = [x for _, points in lines for x, _ in points]
    begin, end = chart.span or (min(xs), max(xs))
    low, high = min(ys), max(ys)
    reach = max(high - low, abs(high), abs(low)) * _MARKS_REACH
    marks = [(name, y) for name, y in chart.marks if low - reach <= y <= high + reach]
    ticks = even_ticks(min(low, *(y for _, y in marks), low), max(high, *(y for _, y in marks), high))
    gaps = [(max(start, begin), min(stop, end), why) for start, stop, why in chart.gaps if stop > begin and start < end]
    return Plot(lines, begin, end, ticks, gaps, marks)


def no_values(gaps: Sequence[tuple[float, float, str]]) -> str:
    """The text of a chart without values, with the reasons of its gaps."""
    reasons = dict.fromkeys(why.replace("_", " ") for _, _, why in gaps)
    return f"No data: {', '.join(reasons)}." if reasons else "No values yet."


def svg_chart(chart: Chart, *, width: int = 640, height: int = 220) -> str:
    """The chart as an SVG document. All texts are escaped."""
    title = svg_text(chart.title)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif"',
        f' font-size="11"><title>{title}</title>',
        f'<text x="{_LEFT}" y="16" font-size="13" font-weight="bold">{title}</text>',
    ]
    plotted = plot(chart)
    if plotted is None:
        parts.append(f'<text x="{_LEFT}" y="{height / 2:g}">{svg_text(no_values(chart.gaps))}</text>')
    else:
        parts += _svg_axes(plotted, chart.unit, width, height)
        for number, (name, points) in enumerate(plotted.lines):
            colour = COLOURS[number % len(COLOURS)]
            dashes = _DASHES[number // len(COLOURS) % len(_DASHES)]
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            for run in plotted.runs(points, width - _LEFT - _RIGHT, height - _TOP - _BOTTOM):
                dots = run if len(run) > 1 else run * 2
                line = " ".join(f"{_LEFT + x:.1f},{_TOP + y:.1f}" for x, y in dots)
                parts.append(
                    f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"'
                    f'{dashed} stroke-linecap="round"><title>{svg_text(name)}</title></polyline>'
                )
    return "".join([*parts, "</svg>"])


def _svg_axes(plotted: Plot, unit: str, width: int, height: int) -> Iterator[str]:
    inner, tall = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    for start, stop, why in plotted.gaps:
        x, wide = _LEFT + plotted.across(start, inner), plotted.across(stop, inner) - plotted.across(start, inner)
        yield f'<rect x="{x:.1f}" y="{_TOP}" width="{max(wide, 1):.1f}" height="{tall}" fill="#888"'
        yield ' fill-opacity="0.18">'
        yield f"<title>{svg_text(f'No data: {why}, {to_minute(iso(start))} to {to_minute(iso(stop))}')}</title></rect>"
    for tick, label in zip(plotted.ticks, tick_labels(plotted.ticks, unit), strict=True):
        y = _TOP + plotted.down(tick, tall)
        yield f'<path d="M{_LEFT},{y:.1f}H{width - _RIGHT}" stroke="#ccc" stroke-width="0.5"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{svg_text(label)}</text>'
    for name, level in plotted.marks:
        y, text = _TOP + plotted.down(level, tall), svg_text(f"{name} {compact_number(level, unit)}")
        yield f'<path d="M{_LEFT},{y:.1f}H{width - _RIGHT}" stroke="{_MARK}" stroke-width="1" stroke-dasharray="4 3">'
        yield f'<title>{text}</title></path><text x="{width - _RIGHT}" y="{y - 3:.1f}" text-anchor="end"'
        yield f' fill="{_MARK}">{text}</text>'
    begin, end = time_labels(plotted.begin, plotted.end)
    for text, anchor, x in ((begin, "start", _LEFT), (end, "end", width - _RIGHT)):
        yield f'<text x="{x}" y="{height - 8}" text-anchor="{anchor}">{text}</text>'


def text_chart(
    title: str,
    points: Points,
    *,
    span: tuple[float, float] | None = None,
    gaps: Sequence[tuple[float, float, str]] = (),
    width: int = 60,
    height: int = 8,
    unit: str | None = None,
    plain: bool = False,
) -> str:
    """A chart for terminals: a title, rows of blocks with the scale on their left, and the time and the gaps below.

    Every column covers the same length of time; a column without a value is empty."""
    begin, end = span or ((points[0][0], points[-1][0]) if points else (0.0, 0.0))
    columns = _columns(points, begin, end, width)
    known = [value for value in columns if value is not None]
    if not known:
        return "\n".join([label_text(title), "  (no values yet)", *_gap_lines(gaps, 0)])
    low, high = min(known), max(known)
    if high == low:  # nothing to compare with but zero
        low, high = min(low, 0.0), max(high, 0.0) or (1.0 if low == 0 else 0.0)
    labels = [format_number(high, unit), format_number(low, unit)]
    margin = max(len(label) for label in labels)
    lines = [label_text(title)]
    for level in range(height - 1, -1, -1):
        label = labels[0] if level == height - 1 else labels[1] if level == 0 else ""
        cells = "".join(
            " " if value is None else _block((value - low) / (high - low) * (height - 1) + 1 - level, plain=plain)
            for value in columns
        )
        lines.append(f"{label:>{margin}} |{cells}".rstrip())
    first, last = time_labels(begin, end)
    lines.append(f"{'':>{margin}} +{'-' * len(columns)}")
    lines.append(f"{'':>{margin}}  {first}{last:>{max(len(columns) - len(first), len(last) + 1)}}")
    return "\n".join([*lines, *_gap_lines(gaps, margin)])


def _gap_lines(gaps: Sequence[tuple[float, float, str]], margin: int) -> Iterator[str]:
    for start, stop, why in gaps[-_GAPS_TOLD:]:
        yield f"{'':>{margin}}  no data: {to_minute(iso(start))} to {to_minute(iso(stop))}, {why}"
    if len(gaps) > _GAPS_TOLD:
        yield f"{'':>{margin}}  and {len(gaps) - _GAPS_TOLD} earlier gaps"


def _block(filled: float, *, plain: bool) -> str:
    """The character for a cell filled to this share."""
    if filled >= 1:
        return "#" if plain else "█"
    return " " if filled <= 0 or plain else _BLOCKS[min(len(_BLOCKS) - 1, int(filled * len(_BLOCKS)))]


def time_labels(begin: float, end: float) -> tuple[str, str]:
    """Both ends of a time axis, with seconds only if it is short."""
    shown = to_minute if end - begin >= _SHOWS_SECONDS else to_second
    return shown(iso(begin)), shown(iso(end))


def _columns(points: Points, begin: float, end: float, width: int) -> list[float | None]:
    """The mean value in each column of time. Columns between two points without a gap repeat the earlier one."""

    def column(at: float) -> int:
        return max(0, min(width - 1, int((at - begin) / (end - begin) * width))) if end > begin else 0

    values: list[list[float]] = [[] for _ in range(width)]
    columns: list[float | None] = [None] * width
    last: tuple[int, float] | None = None
    for at, value in points:
        here = column(at)
        if value is None:
            last = None
            continue
        if last is not None:
            columns[last[0] + 1 : here] = [last[1]] * (here - last[0] - 1)
        values[here].append(value)
        last = (here, value)
    return [sum(some) / len(some) if some else columns[n] for n, some in enumerate(values)]


def _drawable(given: Points) -> list[Point]:
    """The points that can be drawn. If there are too many, only the lowest and highest of each stretch. Keeps gaps."""
    points = [(x, y if y is not None and abs(y) < _LARGEST else None) for x, y in given if abs(x) < _LARGEST]
    if len(points) <= _MOST_POINTS:
        return points
    stretch = math.ceil(len(points) / (_MOST_POINTS // 2))
    kept: list[Point] = []
    for is_gap, some in groupby(points, key=lambda point: point[1] is None):
        run = list(some)
        if is_gap:
            kept.append(run[0])
            continue
        for start in range(0, len(run), stretch):
            part = run[start : start + stretch]
            ends = {min(part, key=lambda point: point[1] or 0.0), max(part, key=lambda point: point[1] or 0.0)}
            kept += sorted(ends, key=lambda point: point[0])
    return kept
