"""Charts as PNG, light or dark, for clients that show images and no SVG. Pillow is imported with the first one."""

import io
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from pentad.kernel.charts import COLOURS, Plot, compact_number, label_text, no_values, plot, tick_labels, time_labels
from pentad.kernel.pages import Chart

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Font = FreeTypeFont | ImageFont

WIDTH, HEIGHT = 1280, 480
"""The size in pixels, without the legend."""
_TOP, _RIGHT, _BOTTOM = 56, 28, 52
_LEAST_LEFT: Final = 130
_LINE: Final = 26
_MOST_IN_LEGEND: Final = 12
_LONGEST_NAME: Final = 100
_FONTS: Final = ("LiberationSans-Regular.ttf", "Arial.ttf", "arial.ttf", "NotoSans-Regular.ttf", "DejaVuSans.ttf")
"""Fonts of common systems. The one that comes with Pillow has ASCII letters only."""


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


@cache
def _system_font() -> str | None:
    from PIL import ImageFont

    for name in _FONTS:
        with suppress(OSError):
            ImageFont.truetype(name, 20)
            return name
    return None


@cache
def chart_font(size: int) -> "Font":
    """A font of the system, or Pillow's own."""
    from PIL import ImageFont

    name = _system_font()
    return ImageFont.load_default(size) if name is None else ImageFont.truetype(name, size)


def printable(text: str) -> str:
    """The text, without accents if the font has none: `Müller` becomes `Muller`."""
    if _system_font() is not None or text.isascii():
        return text
    plain = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return plain.encode("ascii", "replace").decode()


def png_chart(chart: Chart, *, dark: bool = False) -> bytes:
    """The chart as a PNG: lines that break at gaps, shaded gaps, thresholds, and a legend below."""
    from PIL import Image, ImageDraw

    theme, colours = (DARK, DARK_COLOURS) if dark else (LIGHT, COLOURS)
    plotted = plot(chart)
    names = [name for name, _ in plotted.lines][:_MOST_IN_LEGEND] if plotted is not None else []
    legend = 0 if names == [chart.title] else len(names)
    image = Image.new("RGB", (WIDTH, HEIGHT + legend * _LINE), theme.background)
    draw, font = ImageDraw.Draw(image), chart_font(20)
    labels = [] if plotted is None else [printable(one) for one in tick_labels(plotted.ticks, chart.unit)]
    left = max([_LEAST_LEFT, *(font.getlength(label) + 20 for label in labels)])
    draw.text((left, 14), printable(one_line(chart.title)), fill=theme.text, font=chart_font(24))
    if plotted is None:
        draw.text((left, HEIGHT / 2), no_values(chart.gaps), fill=theme.text, font=font)
    else:
        _draw_axes(draw, plotted, labels, chart.unit, theme, left)
        _draw_lines(draw, plotted, colours, left)
        for place, name in enumerate(names[:legend]):
            y = HEIGHT + place * _LINE
            draw.line([(left, y + 12), (left + 36, y + 12)], fill=colours[place % len(colours)], width=5)
            draw.text((left + 48, y), printable(one_line(name)), fill=theme.text, font=font)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _draw_axes(
    draw: "ImageDraw", plotted: Plot, labels: Sequence[str], unit: str, theme: Theme, left: float
) -> None:  # fmt: skip
    font = chart_font(20)
    wide, tall = WIDTH - left - _RIGHT, HEIGHT - _TOP - _BOTTOM
    for start, stop, _ in plotted.gaps:
        begin, end = left + plotted.across(start, wide), left + plotted.across(stop, wide)
        draw.rectangle([begin, _TOP, max(end, begin + 2), _TOP + tall], fill=theme.gap)
    for tick, label in zip(plotted.ticks, labels, strict=True):
        y = _TOP + plotted.down(tick, tall)
        draw.line([(left, y), (WIDTH - _RIGHT, y)], fill=theme.grid, width=1)
        draw.text((left - 10, y), label, fill=theme.text, font=font, anchor="rm")
    for name, level in plotted.marks:
        y = _TOP + plotted.down(level, tall)
        for x in range(int(left), WIDTH - _RIGHT, 16):
            draw.line([(x, y), (min(x + 9, WIDTH - _RIGHT), y)], fill=theme.mark, width=2)
        text = printable(f"{name} {compact_number(level, unit)}")
        draw.text((WIDTH - _RIGHT, y - 4), text, fill=theme.mark, font=font, anchor="rb")
    first, last = time_labels(plotted.begin, plotted.end)
    draw.text((left, HEIGHT - _BOTTOM + 12), first, fill=theme.text, font=font)
    draw.text((WIDTH - _RIGHT, HEIGHT - _BOTTOM + 12), last, fill=theme.text, font=font, anchor="ra")
    if plotted.gaps:
        draw.text(
            (WIDTH / 2, HEIGHT - _BOTTOM + 12), f"shaded: no data ({_reasons(plotted)})", fill=theme.text, font=font,
            anchor="ma",
        )  # fmt: skip


def _draw_lines(draw: "ImageDraw", plotted: Plot, colours: Sequence[str], left: float) -> None:
    wide, tall = WIDTH - left - _RIGHT, HEIGHT - _TOP - _BOTTOM
    for number, (_, points) in enumerate(plotted.lines):
        colour = colours[number % len(colours)]
        for run in plotted.runs(points, wide, tall):
            dots = [(left + x, _TOP + y) for x, y in run]
            if len(dots) > 1:
                draw.line(dots, fill=colour, width=3, joint="curve")
            else:
                ((x, y),) = dots
                draw.ellipse([x - 4, y - 4, x + 4, y + 4], fill=colour)


def _reasons(plotted: Plot) -> str:
    return ", ".join(dict.fromkeys(why.replace("_", " ") for _, _, why in plotted.gaps))


def one_line(text: str, most: int = _LONGEST_NAME) -> str:
    """A text in a single line, cut to `most` characters."""
    plain = label_text(text)
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."
