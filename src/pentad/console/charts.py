"""Line charts as inline SVG. The lines stretch to the available width; the labels beside them are ordinary text, so
that they stay readable on a phone and need no script and no inline style. A script replaces the picture by one that
shows the figures under the pointer; it takes them from `data-chart`."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from pentad.console.html import Html, element, joined
from pentad.kernel.charts import Plot, Points, compact_number, plot, tick_labels
from pentad.kernel.pages import Chart

WIDTH: Final = 1000
HEIGHT: Final = 250
COLOURS: Final = 6
_DAY: Final = 86_400.0


def chart(spec: Chart) -> Html:
    """A chart with its axes and the latest figures."""
    plotted = plot(spec)
    if plotted is None:
        lines = [(one.name, ()) for one in spec.series]
        return element("figure", _caption(spec, lines), element("p", "No figures yet.", class_="empty"), class_="chart")
    ticks = plotted.ticks
    picture = element(
        "svg",
        element("title", spec.title),
        *(_level(n, len(ticks)) for n in range(len(ticks))),
        *(element("path", d=_path(plotted, points), class_=_colour(n)) for n, (_, points) in enumerate(plotted.lines)),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=spec.title,
    )
    rows = element(
        "ol", *(element("li", label) for label in reversed(tick_labels(ticks))), class_="y", aria_hidden="true"
    )
    labels = element("ol", *(element("li", text) for text in _x_labels(spec, plotted)), class_="x")
    caption = _caption(spec, plotted.lines)
    figures = {
        "unit": spec.unit,
        "time": spec.time,
        "series": [{"name": name, "points": [list(point) for point in points]} for name, points in plotted.lines],
    }
    drawn = element("div", rows, picture, labels, class_="plot")
    return element("figure", caption, drawn, class_="chart", data_chart=json.dumps(figures))


def _path(plotted: Plot, points: Points) -> str:
    """The line as an SVG path; `h0` draws a dot where a run has a single point."""
    runs = [[f"{x:.1f} {y:.1f}" for x, y in run] for run in plotted.runs(points, WIDTH, HEIGHT)]
    return "".join(f"M{run[0]}h0" + "".join(f"L{place}" for place in run[1:]) for run in runs)


def _level(n: int, of: int) -> Html:
    down = f"{n / (of - 1) * HEIGHT:.1f}"
    return element("line", x1="0", x2=str(WIDTH), y1=down, y2=down)


def _caption(spec: Chart, lines: Sequence[tuple[str, Points]]) -> Html:
    """The title, and each series with its last figure."""
    named: list[Html] = []
    for n, (name, points) in enumerate(lines):
        last = next((y for _, y in reversed(points) if y is not None), None)
        figure = "" if last is None else compact_number(last, spec.unit)
        named.append(element("li", element("i", class_=_colour(n)), name, " ", element("b", figure)))
    return element("figcaption", element("span", spec.title), element("ul", joined(named)))


def _x_labels(spec: Chart, plotted: Plot) -> list[str]:
    begin, end = plotted.begin, plotted.end
    return [_moment(x, end - begin) if spec.time else compact_number(x) for x in (begin, (begin + end) / 2, end)]


def _moment(seconds: float, span: float) -> str:
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return compact_number(seconds)
    return at.strftime("%d %b" if span > 2 * _DAY else "%H:%M UTC" if span > 600 else "%H:%M:%S UTC")


def _colour(n: int) -> str:
    return f"line-{n % COLOURS}"
