"""Line charts as inline SVG. The lines stretch to the available width; the labels beside them are ordinary text, which
stays readable on a phone. Nothing needs a script or inline styles. With scripts, an interactive chart replaces the
picture; its figures are in `data-chart`."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from pentad.console.html import Html, element, joined
from pentad.kernel.charts import Plot, Points, compact_number, plot, tick_labels
from pentad.kernel.pages import Chart

WIDTH: Final = 1000
HEIGHT: Final = 250
COLOURS: Final = 12
_DASHES: Final = 3
"""Lines beyond the number of colours differ by their dashes."""
_GAPS_TOLD: Final = 3
_TRACK: Final = 100
_SHORTEST_BAR: Final = 1
_FORMATS: Final = ("%d %b", "%d %b %H:%M", "%d %b %H:%M:%S")
_FORMATS_OF_A_DAY: Final = ("%H:%M", "%H:%M:%S")


def chart(spec: Chart) -> Html:
    """A chart with its axes, its thresholds and gaps, and the latest figures."""
    plotted = plot(spec)
    if plotted is None:
        lines = [(one.name, ()) for one in spec.series]
        empty = element("p", "No figures yet.", class_="empty")
        return element("figure", _caption(spec, lines), empty, _gaps(spec.gaps), class_="chart")
    ticks = plotted.ticks
    looks = _looks(spec)
    picture = element(
        "svg",
        element("title", spec.title),
        *_gap_bands(plotted),
        *(_level(n / (len(ticks) - 1) * HEIGHT) for n in range(len(ticks))),
        *(
            _level(plotted.down(level, HEIGHT), f"{name} {compact_number(level, spec.unit)}")
            for name, level in plotted.marks
        ),
        *(
            element("path", d=_path(plotted, points), class_=_class(look))
            for look, (_, points) in zip(looks, plotted.lines, strict=True)
        ),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=spec.title,
    )
    rows = element(
        "ol", *(element("li", label) for label in reversed(tick_labels(ticks))), class_="y", aria_hidden="true"
    )
    labels = element("ol", *(element("li", text) for text in _x_labels(spec, plotted)), class_="x")
    drawn = element("div", rows, picture, labels, class_="plot")
    return element(
        "figure",
        _caption(spec, plotted.lines),
        drawn,
        _marks(spec),
        _gaps(plotted.gaps),
        *(element("p", note, class_="note") for note in spec.notes),
        class_="chart",
        data_chart=json.dumps(_figures(spec, plotted)),
    )


def bar(ends: tuple[float, float], kind: str = "") -> Html:
    """A bar on a track, such as a step of a trace. The text beside it has the figures."""
    begin = min(max(ends[0], 0.0), 1.0) * (_TRACK - _SHORTEST_BAR)
    width = max(min(ends[1], 1.0) * _TRACK - begin, _SHORTEST_BAR)
    return element(
        "svg",
        element("rect", width=str(_TRACK), height="1", class_="track"),
        element("rect", x=f"{begin:.2f}", width=f"{width:.2f}", height="1"),
        viewBox=f"0 0 {_TRACK} 1",
        preserveAspectRatio="none",
        aria_hidden="true",
        class_=f"bar {kind}".rstrip(),
    )


def _figures(spec: Chart, plotted: Plot) -> dict[str, object]:
    """The data for the script that draws the chart."""
    return {
        "unit": spec.unit,
        "time": spec.time,
        "span": [plotted.begin, plotted.end],
        "range": [plotted.ticks[0], plotted.ticks[-1]],
        "series": [
            {"name": name, "points": [list(point) for point in points], "colour": colour, "dash": dash}
            for (colour, dash), (name, points) in zip(_looks(spec), plotted.lines, strict=True)
        ],
        "marks": [[f"{name} {compact_number(level, spec.unit)}", level] for name, level in plotted.marks],
        "gaps": [[begin, end, _reason(why)] for begin, end, why in plotted.gaps],
    }


def _path(plotted: Plot, points: Points) -> str:
    """The line as an SVG path; `h0` draws a dot where a run has a single point."""
    runs = [[f"{x:.1f} {y:.1f}" for x, y in run] for run in plotted.runs(points, WIDTH, HEIGHT)]
    return "".join(f"M{run[0]}h0" + "".join(f"L{place}" for place in run[1:]) for run in runs)


def _level(down: float, mark: str = "") -> Html:
    y = f"{down:.1f}"
    title = element("title", mark) if mark else ""
    return element("line", title, x1="0", x2=str(WIDTH), y1=y, y2=y, class_="mark" if mark else None)


def _gap_bands(plotted: Plot) -> Iterator[Html]:
    for begin, end, why in plotted.gaps:
        left, right = plotted.across(begin, WIDTH), plotted.across(end, WIDTH)
        width = f"{max(right - left, 1):.1f}"
        title = element("title", _gap_text(begin, end, why))
        yield element("rect", title, x=f"{left:.1f}", y="0", width=width, height=str(HEIGHT))


def _caption(spec: Chart, lines: Sequence[tuple[str, Points]]) -> Html:
    """The title, and each series with its latest value."""
    named: list[Html] = []
    for look, (name, points) in zip(_looks(spec), lines, strict=True):
        last = next((y for _, y in reversed(points) if y is not None), None)
        figure = "" if last is None else compact_number(last, spec.unit)
        named.append(element("li", element("i", class_=_class(look)), name, " ", element("b", figure)))
    return element("figcaption", element("span", spec.title), element("ul", joined(named)))


def _marks(spec: Chart) -> Html:
    """Thresholds and limits by name, including those outside the chart."""
    named = [element("li", f"{name} {compact_number(level, spec.unit)}") for name, level in spec.marks]
    return element("ul", *named, class_="marks") if named else Html()


def _gaps(gaps: Sequence[tuple[float, float, str]]) -> Html:
    """When and why values are missing, for the latest gaps only."""
    told = [element("li", _gap_text(*gap)) for gap in gaps[-_GAPS_TOLD:]]
    if len(gaps) > _GAPS_TOLD:
        told.append(element("li", f"and {len(gaps) - _GAPS_TOLD} earlier gaps"))
    return element("ul", *told, class_="gaps") if told else Html()


def _gap_text(begin: float, end: float, why: str) -> str:
    first, last = _moments((begin, end))
    return f"No data from {first} to {last}: {_reason(why)}"


def _reason(state: str) -> str:
    """The state of a missing value, in words."""
    return state.replace("_", " ")


def _x_labels(spec: Chart, plotted: Plot) -> list[str]:
    begin, end = plotted.begin, plotted.end
    places = (begin, (begin + end) / 2, end)
    return _moments(places) if spec.time else [compact_number(x) for x in places]


def _moments(times: Sequence[float]) -> list[str]:
    """Times in UTC, as short as possible while still different."""
    try:
        moments = [datetime.fromtimestamp(seconds, UTC) for seconds in times]
    except (ValueError, OverflowError, OSError):
        return [compact_number(seconds) for seconds in times]
    is_one_day = len({one.date() for one in moments}) == 1
    labels: list[str] = []
    for form in _FORMATS_OF_A_DAY if is_one_day else _FORMATS:
        labels = [one.strftime(form) for one in moments]
        if len(set(labels)) == len(labels):
            break
    return [f"{label} UTC" if ":" in label else label for label in labels]


def _looks(spec: Chart) -> list[tuple[int, int]]:
    """The colour and the dashes of each line."""
    places = {one.name: n for n, one in enumerate(spec.series)}
    found: list[tuple[int, int]] = []
    for n, one in enumerate(spec.series):
        place = places.get(one.of, n) if one.of else n
        dash = place // COLOURS + (1 if one.of else 0)
        found.append((place % COLOURS, dash % _DASHES))
    return found


def _class(look: tuple[int, int]) -> str:
    colour, dash = look
    return f"line-{colour} dash-{dash}" if dash else f"line-{colour}"
