"""Points as pictures: SVG for browsers and files, lines of characters for terminals. Needs nothing but the points.

A gap (a value of None) breaks the line; it is never drawn as zero.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from pentad.kernel.clock import iso

Points = Sequence[tuple[float, float | None]]

BLOCKS: Final = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS: Final = "_.-~=+*#"
COLOURS: Final = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 30, 12, 26
_MINUTES: Final = 600
"""Below so many seconds the time axis has seconds."""


def readable(value: float, unit: str | None = None) -> str:
    """A number as people read it, with its unit."""
    if unit == "By":
        for name in ("B", "KiB", "MiB", "GiB", "TiB"):
            if abs(value) < 1024 or name == "TiB":
                return f"{value:.0f} {name}" if name == "B" else f"{value:.1f} {name}"
            value /= 1024
    text = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
    return text + (unit if unit == "%" else f" {unit}" if unit else "")


def sparkline(points: Points, width: int = 40, *, plain: bool = False) -> str:
    """A line of characters; a blank where nothing is known."""
    marks = PLAIN_BLOCKS if plain else BLOCKS
    columns = _columns(points, width)
    known = [value for value in columns if value is not None]
    if not known:
        return " " * len(columns)
    low, high = min(known), max(known)
    span = high - low
    top = len(marks) - 1
    return "".join(
        " " if value is None else marks[round((value - low) / span * top) if span > 0 else top // 2]
        for value in columns
    )  # fmt: skip


def ascii_chart(
    title: str, points: Points, *, width: int = 60, height: int = 8, unit: str | None = None, plain: bool = False
) -> str:
    """A small chart for terminals: a heading, rows of blocks with the scale at their left, and the time below."""
    columns = _columns(points, width)
    known = [value for value in columns if value is not None]
    if not known:
        return f"{title}\n  (no values yet)"
    low, high = min(known), max(known)
    if high == low:  # nothing to compare with but zero
        low, high = min(low, 0.0), max(high, 0.0) or (1.0 if low == 0 else 0.0)
    full, part = ("#", "#") if plain else ("█", None)
    labels = [readable(high, unit), readable(low, unit)]
    margin = max(len(label) for label in labels)
    lines = [title]
    for level in range(height - 1, -1, -1):
        label = labels[0] if level == height - 1 else labels[1] if level == 0 else ""
        cells = "".join(_cell(value, low, high, level, height, full, part) for value in columns)
        lines.append(f"{label:>{margin}} |{cells}".rstrip())
    begin, end = _ends(points[0][0], points[-1][0])
    lines.append(f"{'':>{margin}} +{'-' * len(columns)}")
    lines.append(f"{'':>{margin}}  {begin}{end:>{max(len(columns) - len(begin), len(end) + 1)}}")
    return "\n".join(lines)


def svg_chart(
    title: str,
    series: Sequence[tuple[str, Points]],
    *,
    unit: str | None = None,
    width: int = 640,
    height: int = 220,
    threshold: float | None = None,
) -> str:
    """The lines as one SVG document. All texts are escaped."""
    values = [value for _, points in series for _, value in points if value is not None and math.isfinite(value)]
    heading = escape(title)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif"',
        f' font-size="11"><title>{heading}</title>',
        f'<text x="{_LEFT}" y="16" font-size="13" font-weight="bold">{heading}</text>',
    ]
    if not values:
        return "".join([*parts, f'<text x="{_LEFT}" y="{height / 2:g}">No values yet.</text></svg>'])
    moments = sorted(at for _, points in series for at, _ in points)
    frame = _Frame(
        width, height, moments[0], max(moments[-1], moments[0] + 1),
        *_scale([*values, threshold] if threshold is not None else values),
    )  # fmt: skip
    parts += frame.axes(unit)
    if threshold is not None:
        ends = f"{frame.place(frame.begin, threshold)} {frame.place(frame.end, threshold)}"
        parts.append(f'<polyline points="{ends}" stroke="#dc2626" stroke-dasharray="4 3" fill="none"/>')
    for number, (name, points) in enumerate(series):
        parts += frame.line(name, points, COLOURS[number % len(COLOURS)])
    return "".join([*parts, "</svg>"])


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where times and values stand in the picture."""

    width: int
    height: int
    begin: float
    end: float
    low: float
    high: float

    def place(self, at: float, value: float) -> str:
        x = _LEFT + (at - self.begin) / (self.end - self.begin) * (self.width - _LEFT - _RIGHT)
        y = _TOP + (self.high - value) / (self.high - self.low) * (self.height - _TOP - _BOTTOM)
        return f"{x:.1f},{y:.1f}"

    def axes(self, unit: str | None) -> Iterator[str]:
        for share in (0.0, 0.5, 1.0):
            y = _TOP + (1 - share) * (self.height - _TOP - _BOTTOM)
            label = escape(readable(self.low + share * (self.high - self.low), unit))
            yield f'<path d="M{_LEFT},{y:.1f}H{self.width - _RIGHT}" stroke="#ccc" stroke-width="0.5"/>'
            yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        begin, end = _ends(self.begin, self.end)
        for text, anchor, x in ((begin, "start", _LEFT), (end, "end", self.width - _RIGHT)):
            yield f'<text x="{x}" y="{self.height - 8}" text-anchor="{anchor}">{text}</text>'

    def line(self, name: str, points: Points, colour: str) -> Iterator[str]:
        for run in _runs(points):
            line = " ".join(self.place(at, value) for at, value in (run if len(run) > 1 else run * 2))
            yield (
                f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-linecap="round">'
                f"<title>{escape(name)}</title></polyline>"
            )


def _ends(begin: float, end: float) -> tuple[str, str]:
    """Both ends of the time that is drawn, as fine as it takes to tell them apart."""
    letters = 16 if end - begin >= _MINUTES else 19
    return iso(begin)[:letters].replace("T", " "), iso(end)[:letters].replace("T", " ")


def _columns(points: Points, width: int) -> list[float | None]:
    """The mean of what falls into each column of time; fewer columns than wanted when there are fewer points."""
    if len(points) <= width:
        return [value for _, value in points]
    begin, end = points[0][0], points[-1][0]
    sums: list[list[float]] = [[] for _ in range(width)]
    for at, value in points:
        if value is not None:
            sums[min(width - 1, int((at - begin) / (end - begin) * width)) if end > begin else 0].append(value)
    return [sum(some) / len(some) if some else None for some in sums]


def _cell(value: float | None, low: float, high: float, level: int, height: int, full: str, part: str | None) -> str:
    if value is None:
        return " "
    filled = (value - low) / (high - low) * (height - 1) + 1 - level
    if filled >= 1:
        return full
    if filled <= 0:
        return " "
    return BLOCKS[min(len(BLOCKS) - 1, int(filled * len(BLOCKS)))] if part is None else " "


def _scale(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis that leave a little room, and begin at zero when that is near."""
    low, high = min(values), max(values)
    if low == high:
        room = abs(low) * 0.5 or 0.5
        return low - room, high + room
    room = (high - low) * 0.05
    return (0.0 if 0 <= low < (high - low) else low - room), high + room


def _runs(points: Points) -> list[list[tuple[float, float]]]:
    """The points without gaps, as the stretches between them."""
    runs: list[list[tuple[float, float]]] = [[]]
    for at, value in points:
        if value is not None and math.isfinite(value):
            runs[-1].append((at, value))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]
