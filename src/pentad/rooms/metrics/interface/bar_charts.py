"""Draws the rows of a query as bars: a PNG, light or dark, an SVG, or text for terminals.

A row without a value shows its state instead of a bar, so nothing missing looks like a zero. Figures with different
units have no common scale and are not drawn together.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.charts import COLOURS, even_ticks, format_number, label_text, svg_text, tick_labels
from pentad.kernel.clock import to_minute
from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.engine.row_query import STATE, UNIT, VALUE, Row, RowQuery
from pentad.rooms.metrics.interface.chart_images import (
    DARK,
    DARK_COLOURS,
    LIGHT,
    WIDTH,
    chart_font,
    one_line,
    printable,
)

_MOST_BARS: Final = 40
_TOP, _BOTTOM, _BAR = 96, 52, 34
_MARGIN: Final = 40
_LONGEST_NAME: Final = 40
_TEXT_WIDTH: Final = 40
_NOT_NAMES: Final = frozenset({STATE, UNIT, VALUE, "limit", "percent", "missing", "level", "key", "businessGroupId"})


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: its name, number, limit, and state if that is not ok."""

    name: str
    value: float | None
    limit: float | None = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars on a common scale that includes zero. `note` has the time of the figures and what is not drawn."""

    title: str
    bars: Sequence[Bar]
    unit: str = ""
    note: str = ""

    def scale(self) -> list[float]:
        """The marks of the axis."""
        known = [value for bar in self.bars for value in (bar.value, bar.limit) if value is not None]
        return even_ticks(min([0.0, *known]), max([0.0, *known]))

    def labels(self, ticks: Sequence[float]) -> list[str]:
        """The labels of the axis."""
        return tick_labels(ticks, self.unit.replace("By", "B"))

    def value_text(self, bar: Bar) -> str:
        """The number of a bar, its limit, and its state if that is not ok."""
        number = "" if bar.value is None else format_number(bar.value, self.unit)
        if number and bar.limit is not None:
            number = f"{number} of {format_number(bar.limit, self.unit if self.unit == 'By' else '')}"
        return ", ".join(part for part in (number, bar.state.replace("_", " ")) if part) or "no value"


def bar_chart(view: Mapping[str, Any], query: RowQuery, keys: Sequence[str]) -> BarChart:
    """The rows of an answer as bars."""
    rows: list[Row] = [{**view.get("common", {}), **row} for row in view["rows"]]
    column = _number_column(rows, query)
    units = {_unit(row, column) for row in rows}
    if len(units) > 1:
        named = ", ".join(sorted(one or "none" for one in units))
        raise InvalidInput(f"Figures of different units have no common scale: {named}.", hint="Name one metricKey.")
    drawn = rows[:_MOST_BARS]
    names = _name_columns(drawn, {column, *(one.name for one in query.aggregates)})
    bars = [
        Bar(
            _bar_name(row, names),
            _number(row.get(column)),
            _number(row.get("limit")) if column == VALUE else None,
            str(row.get(STATE, "")),
        )
        for row in drawn
    ]
    metrics = list(dict.fromkeys(str(row["metric"]) for row in rows if "metric" in row)) or list(keys)
    what = ", ".join(metrics) if column == VALUE else f"{column}: {', '.join(metrics)}"
    return BarChart(what, bars, next(iter(units), ""), _note(view, len(bars)))


def _number_column(rows: Sequence[Row], query: RowQuery) -> str:
    """The column to draw: the first aggregate, the value, or the first sort column with numbers."""
    names = [*(one.name for one in query.aggregates), VALUE, *(name for name, _ in query.sort)]
    for name in names:
        if any(_number(row.get(name)) is not None for row in rows):
            return name
    if not rows or any(VALUE in row for row in rows):
        return VALUE
    raise InvalidInput(
        "These rows have no number to draw.", hint="Add `aggregate` or `group_by`, or `sort` by a column of numbers."
    )


def _unit(row: Row, column: str) -> str:
    """The unit of the drawn numbers; counts have none."""
    if column in (VALUE, "sum", "mean", "min", "max"):
        return str(row.get(UNIT, ""))
    return "%" if column == "percent" else ""


def _name_columns(rows: Sequence[Row], numbers: set[str]) -> list[str]:
    """The columns that distinguish the rows; `name` alone if it is unique."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    if "name" in names and len({row.get("name") for row in rows}) == len(rows):
        return ["name"]
    texts = [name for name in names if name not in numbers | _NOT_NAMES]
    if len(rows) == 1:
        return [name for name in texts if name != "metric"]
    return [name for name in texts if len({str(row.get(name)) for row in rows}) > 1]


def _bar_name(row: Row, columns: Sequence[str]) -> str:
    """The values that distinguish a row. A row without any is named after the first column."""
    if known := [str(row[name]) for name in columns if row.get(name) is not None]:
        return ", ".join(known)
    return f"no {columns[0]}" if columns else str(row.get("metric", "all"))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _note(view: Mapping[str, Any], drawn: int) -> str:
    answers: Sequence[Mapping[str, Any]] = view.get("answers") or [view]
    times = sorted(str(answer["asOf"]) for answer in answers if "asOf" in answer)
    parts = [f"as of {to_minute(times[0])} UTC"] if times else []
    if any(answer.get("source") == "stale" for answer in answers):
        parts.append("stale: the source is failing")
    undecided = sum(view.get("undecided", {}).values())
    if undecided:
        parts.append(f"undecided rows: {undecided}")
    if view["total"] > drawn:
        parts.append(f"{drawn} of {view['total']} rows")
    return "; ".join(parts)


def png_bars(chart: BarChart, *, dark: bool = False) -> bytes:
    """The bars as a PNG. A limit is a line across its bar."""
    from PIL import Image, ImageDraw

    theme, colour = (DARK, DARK_COLOURS[0]) if dark else (LIGHT, COLOURS[0])
    font = chart_font(20)
    names = [printable(one_line(bar.name, _LONGEST_NAME)) for bar in chart.bars]
    values = [printable(chart.value_text(bar)) for bar in chart.bars]
    left = _MARGIN + max((font.getlength(name) for name in names), default=0.0)
    right = _MARGIN + max((font.getlength(value) for value in values), default=0.0)
    tall, wide = _BAR * max(1, len(chart.bars)), WIDTH - left - right
    image = Image.new("RGB", (WIDTH, _TOP + tall + _BOTTOM), theme.background)
    draw, ticks = ImageDraw.Draw(image), chart.scale()
    draw.text((28, 14), printable(one_line(chart.title)), fill=theme.text, font=chart_font(24))
    draw.text((28, 52), printable(one_line(chart.note)), fill=theme.text, font=font)
    for tick, label in zip(ticks, chart.labels(ticks), strict=True):
        x = left + _share(tick, ticks) * wide
        draw.line([(x, _TOP), (x, _TOP + tall)], fill=theme.grid, width=1)
        draw.text((x, _TOP + tall + 10), label, fill=theme.text, font=font, anchor="ma")
    for place, (bar, name, value) in enumerate(zip(chart.bars, names, values, strict=True)):
        top = _TOP + place * _BAR
        middle, text_at = top + _BAR / 2, left + _share(0.0, ticks) * wide
        draw.text((left - 12, middle), name, fill=theme.text, font=font, anchor="rm")
        if bar.value is not None:
            begin, end = sorted((text_at, left + _share(bar.value, ticks) * wide))
            draw.rectangle([begin, top + 5, max(end, begin + 1), top + _BAR - 5], fill=colour)
            text_at = end
        if bar.limit is not None:
            x = left + _share(bar.limit, ticks) * wide
            draw.line([(x, top + 1), (x, top + _BAR - 1)], fill=theme.mark, width=3)
            text_at = max(text_at, x)
        draw.text((text_at + 8, middle), value, fill=theme.text, font=font, anchor="lm")
    if not chart.bars:
        draw.text((left, _TOP), "No rows.", fill=theme.text, font=font)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def svg_bars(chart: BarChart) -> str:
    """The bars as an SVG document. All texts are escaped."""
    left, row, top = 220, 18, 44
    height, wide, ticks = top + row * max(1, len(chart.bars)) + 26, 640 - left - 80, chart.scale()
    bottom = height - 22
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" role="img" font-family="sans-serif"',
        f' font-size="11"><title>{svg_text(chart.title)}</title>',
        f'<text x="12" y="16" font-size="13" font-weight="bold">{svg_text(chart.title)}</text>',
        f'<text x="12" y="32">{svg_text(chart.note)}</text>',
    ]
    for tick, label in zip(ticks, chart.labels(ticks), strict=True):
        x = left + _share(tick, ticks) * wide
        parts.append(f'<path d="M{x:.1f},{top}V{bottom}" stroke="#ccc" stroke-width="0.5"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{svg_text(label)}</text>')
    zero = left + _share(0.0, ticks) * wide
    for place, bar in enumerate(chart.bars):
        y, end = top + place * row, zero
        name = svg_text(one_line(bar.name, _LONGEST_NAME))
        parts.append(f'<text x="{left - 6}" y="{y + 13}" text-anchor="end">{name}</text>')
        if bar.value is not None:
            low, end = sorted((zero, left + _share(bar.value, ticks) * wide))
            size = f'width="{max(end - low, 1):.1f}" height="{row - 6}"'
            parts.append(f'<rect x="{low:.1f}" y="{y + 3}" {size} fill="{COLOURS[0]}"/>')
        if bar.limit is not None:
            x = left + _share(bar.limit, ticks) * wide
            parts.append(f'<path d="M{x:.1f},{y + 1}v{row - 2}" stroke="{LIGHT.mark}" stroke-width="2"/>')
            end = max(end, x)
        parts.append(f'<text x="{end + 5:.1f}" y="{y + 13}">{svg_text(chart.value_text(bar))}</text>')
    return "".join([*parts, "</svg>"])


def text_bars(chart: BarChart) -> str:
    """The bars for terminals, one on each line."""
    ticks = chart.scale()
    names = [one_line(bar.name, _LONGEST_NAME) for bar in chart.bars]
    margin = max((len(name) for name in names), default=0)
    lines = [label_text(chart.title)]
    for name, bar in zip(names, chart.bars, strict=True):
        ends = sorted(round(_share(value, ticks) * _TEXT_WIDTH) for value in (0.0, bar.value or 0.0))
        drawn = " " * ends[0] + "█" * (ends[1] - ends[0])
        lines.append(f"{name:>{margin}} |{drawn:<{_TEXT_WIDTH}} {chart.value_text(bar)}")
    if not chart.bars:
        lines.append("  (no rows)")
    return "\n".join([*lines, *([chart.note] if chart.note else [])])


def _share(value: float, ticks: Sequence[float]) -> float:
    """Where a value is on the axis, from 0 at its left to 1 at its right."""
    return (value - ticks[0]) / (ticks[-1] - ticks[0])
