"""Charts as PNG, light or dark, for clients that show images and no SVG. Pillow is imported with the first one."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pentad.kernel.charts import COLOURS, Plot, compact_number, plot, tick_labels, time_labels
from pentad.kernel.pages import Chart

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

WIDTH, HEIGHT = 1280, 480
"""The size in pixels, without the legend."""
_LEFT, _TOP, _RIGHT, _BOTTOM = 130, 56, 28, 52
_LINE: Final = 26
_MOST_IN_LEGEND: Final = 12
_LONGEST_NAME: Final = 110


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of everything but the lines."""

    background: str
    text: str
    grid: str
    gap: str
    mark: str


LIGHT: Final = Theme("#ffffff", "#1f2937", "#d1d5db", "#e5e7eb", "#92400e")
DARK: Final = Theme("#111827", "#e5e7eb", "#374151", "#1f2937", "#fbbf24")
DARK_COLOURS: Final = (
    "#60a5fa", "#f87171", "#34d399", "#fbbf24", "#a78bfa", "#22d3ee", "#f472b6", "#a3e635", "#94a3b8", "#fb923c",
    "#2dd4bf", "#c084fc",
)  # fmt: skip
"""The colours of lines on a dark background, in the order of those on a light one."""


def png_chart(chart: Chart, *, dark: bool = False) -> bytes:
    """The chart as a PNG: lines that break at gaps, shaded gaps, thresholds, and a legend below."""
    from PIL import Image, ImageDraw, ImageFont

    theme, colours = (DARK, DARK_COLOURS) if dark else (LIGHT, COLOURS)
    plotted = plot(chart)
    names = [name for name, _ in plotted.lines][:_MOST_IN_LEGEND] if plotted is not None else []
    legend = 0 if names == [chart.title] else len(names)
    image = Image.new("RGB", (WIDTH, HEIGHT + legend * _LINE), theme.background)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(20)
    draw.text((_LEFT, 14), one_line(chart.title), fill=theme.text, font=ImageFont.load_default(24))
    if plotted is None:
        draw.text((_LEFT, HEIGHT / 2), "No values yet.", fill=theme.text, font=font)
    else:
        _draw_axes(draw, plotted, chart.unit, theme, font)
        _draw_lines(draw, plotted, colours)
        for place, name in enumerate(names[:legend]):
            y = HEIGHT + place * _LINE
            draw.line([(_LEFT, y + 12), (_LEFT + 36, y + 12)], fill=colours[place % len(colours)], width=5)
            draw.text((_LEFT + 48, y), one_line(name), fill=theme.text, font=font)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _draw_axes(
    draw: "ImageDraw", plotted: Plot, unit: str, theme: Theme, font: "FreeTypeFont | ImageFont"
) -> None:  # fmt: skip
    wide, tall = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    for start, stop, _ in plotted.gaps:
        left, right = _LEFT + plotted.across(start, wide), _LEFT + plotted.across(stop, wide)
        draw.rectangle([left, _TOP, max(right, left + 2), _TOP + tall], fill=theme.gap)
    for tick, label in zip(plotted.ticks, tick_labels(plotted.ticks, unit), strict=True):
        y = _TOP + plotted.down(tick, tall)
        draw.line([(_LEFT, y), (WIDTH - _RIGHT, y)], fill=theme.grid, width=1)
        draw.text((_LEFT - 10, y), label, fill=theme.text, font=font, anchor="rm")
    for name, level in plotted.marks:
        y = _TOP + plotted.down(level, tall)
        for x in range(_LEFT, WIDTH - _RIGHT, 16):
            draw.line([(x, y), (min(x + 9, WIDTH - _RIGHT), y)], fill=theme.mark, width=2)
        text = f"{name} {compact_number(level, unit)}"
        draw.text((WIDTH - _RIGHT, y - 4), text, fill=theme.mark, font=font, anchor="rb")
    begin, end = time_labels(plotted.begin, plotted.end)
    draw.text((_LEFT, HEIGHT - _BOTTOM + 12), begin, fill=theme.text, font=font)
    draw.text((WIDTH - _RIGHT, HEIGHT - _BOTTOM + 12), end, fill=theme.text, font=font, anchor="ra")
    if plotted.gaps:
        draw.text(
            (WIDTH / 2, HEIGHT - _BOTTOM + 12), f"shaded: no data ({_reasons(plotted)})", fill=theme.text, font=font,
            anchor="ma",
        )  # fmt: skip


def _draw_lines(draw: "ImageDraw", plotted: Plot, colours: Sequence[str]) -> None:
    wide, tall = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    for number, (_, points) in enumerate(plotted.lines):
        colour = colours[number % len(colours)]
        for run in plotted.runs(points, wide, tall):
            dots = [(_LEFT + x, _TOP + y) for x, y in run]
            if len(dots) > 1:
                draw.line(dots, fill=colour, width=3, joint="curve")
            else:
                ((x, y),) = dots
                draw.ellipse([x - 4, y - 4, x + 4, y + 4], fill=colour)


def _reasons(plotted: Plot) -> str:
    return ", ".join(dict.fromkeys(why for _, _, why in plotted.gaps))


def one_line(text: str, most: int = _LONGEST_NAME) -> str:
    """A text in a single line, cut to `most` characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."
