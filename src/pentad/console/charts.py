"""Line charts as inline SVG. The lines stretch to the available width; the labels beside them are ordinary text in even
steps, so they stay readable on a phone and need no script and no inline style."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from pentad.console.html import Html, element, joined
from pentad.kernel.pages import Chart, Series

WIDTH: Final = 1000
HEIGHT: Final = 250
COLOURS: Final = 6
_STEPS: Final = 4
_MOST_POINTS: Final = 1_000
_LARGEST: Final = 1e100
_SMALLEST: Final = 1e-100
_FLAT: Final = 1e-6
"""Values that differ by less than this fraction are drawn as one."""
_DAY: Final = 86_400.0
_SCALES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_WRITTEN_OUT: Final = 10_000

Point = tuple[float, float | None]


def chart(wanted: Chart) -> Html:
    """A chart with its axes and the latest figures."""
    lines = [(one.name, _points(one)) for one in wanted.series]
    xs = [x for _, points in lines for x, _ in points]
    ys = [y for _, points in lines for _, y in points if y is not None]
    if not ys:
        return element(
            "figure", _caption(wanted, lines), element("p", "No figures yet.", class_="empty"), class_="chart"
        )
    left, right = min(xs), max(xs)
    ticks = even_ticks(min(ys), max(ys))
    plot = element(
        "svg",
        element("title", wanted.title),
        *(_level(n, len(ticks)) for n in range(len(ticks))),
        *(
            element("path", d=_path(points, (left, right), (ticks[0], ticks[-1])), class_=_colour(n))
            for n, (_, points) in enumerate(lines)
        ),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=wanted.title,
    )
    rows = element("ol", *(element("li", figure(tick)) for tick in reversed(ticks)), class_="y", aria_hidden="true")
    feet = element("ol", *(element("li", text) for text in _feet(wanted, left, right)), class_="x")
    return element("figure", _caption(wanted, lines), element("div", rows, plot, feet, class_="plot"), class_="chart")


def even_ticks(low: float, high: float) -> list[float]:
    """Round numbers in even steps from below the lowest to above the highest; from 0 on where that is near."""
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


def figure(value: float, unit: str = "") -> str:
    """A number for people: `1,234 ms`, `12.5 k`, `5.39 GB`."""
    if abs(value) < _WRITTEN_OUT:
        shown = f"{value:,.0f}" if value == int(value) else f"{value:.3g}"
        return f"{shown} {unit}".rstrip()
    size, mark = next(scale for scale in _SCALES if abs(value) >= scale[0])
    if abs(value) >= size * _WRITTEN_OUT:
        return f"{value:.3g} {unit}".rstrip()
    return f"{value / size:.4g} {mark}{unit}" if unit.startswith("B") else f"{value / size:.4g} {mark} {unit}".rstrip()


def _points(series: Series) -> list[Point]:
    """The points that can be drawn; of very many, the lowest and highest of each stretch."""
    points = [(x, y if y is not None and abs(y) < _LARGEST else None) for x, y in series.points if abs(x) < _LARGEST]
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


def _path(points: Sequence[Point], across: tuple[float, float], up: tuple[float, float]) -> str:
    width, height = across[1] - across[0] or 1.0, up[1] - up[0] or 1.0
    steps: list[str] = []
    drawing = False
    for x, y in points:
        if y is None:
            drawing = False
            continue
        right, down = (x - across[0]) / width * WIDTH, (up[1] - y) / height * HEIGHT
        steps.append(f"{'L' if drawing else 'M'}{right:.1f} {down:.1f}" + ("" if drawing else "h0"))
        drawing = True
    return "".join(steps)


def _level(n: int, of: int) -> Html:
    down = f"{n / (of - 1) * HEIGHT:.1f}"
    return element("line", x1="0", x2=str(WIDTH), y1=down, y2=down)


def _caption(wanted: Chart, lines: Sequence[tuple[str, Sequence[Point]]]) -> Html:
    """The title, and a line for each series with its last figure."""
    named: list[Html] = []
    for n, (name, points) in enumerate(lines):
        last = next((y for _, y in reversed(points) if y is not None), None)
        shown = "" if last is None else figure(last, wanted.unit)
        named.append(element("li", element("i", class_=_colour(n)), name, " ", element("b", shown)))
    return element("figcaption", element("span", wanted.title), element("ul", joined(named)))


def _feet(wanted: Chart, left: float, right: float) -> list[str]:
    return [_moment(x, right - left) if wanted.time else figure(x) for x in (left, (left + right) / 2, right)]


def _moment(seconds: float, span: float) -> str:
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return figure(seconds)
    return at.strftime("%d %b" if span > 2 * _DAY else "%H:%M UTC" if span > 600 else "%H:%M:%S UTC")


def _colour(n: int) -> str:
    return f"line-{n % COLOURS}"
