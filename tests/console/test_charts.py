"""Line charts: round ticks around the figures, gaps where figures are missing, and no figure that breaks a page."""

import itertools
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.console.charts import COLOURS, HEIGHT, WIDTH, bar, chart
from pentad.console.scripts import STYLE
from pentad.kernel.charts import compact_number, even_ticks
from pentad.kernel.pages import Chart, Series
from tests.console.reading import read

numbers = st.floats(allow_nan=True, allow_infinity=True)


def lines_of(wanted: Chart) -> list[list[tuple[float, float]]]:
    """The points of each line, in the picture's own units."""
    return [
        [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path)]
        for path in read(chart(wanted)).values("path", "d")
    ]


def test_the_lowest_and_highest_figures_stand_where_the_ticks_say() -> None:
    wanted = Chart("Load", [Series("one", [(0, 0.0), (50, 5.0), (100, 10.0)])], "ms")
    assert lines_of(wanted) == [[(0, HEIGHT), (WIDTH / 2, HEIGHT / 2), (WIDTH, 0)]]
    page = read(chart(wanted))
    assert page.text.startswith("Loadone 10 ms")
    assert page.texts[3:8] == ["10", "7.5", "5", "2.5", "0"]


def test_a_missing_figure_breaks_the_line() -> None:
    points = [(0, 1.0), (1, None), (2, math.nan), (3, 2.0), (4, 3.0)]
    [path] = read(chart(Chart("x", [Series("s", points)]))).values("path", "d")
    assert path.count("M") == 2


def test_a_chart_without_figures_says_so() -> None:
    for series in ([], [Series("s", [])], [Series("s", [(0, None), (1, math.inf)])]):
        page = read(chart(Chart("Load", series)))
        assert "No figures yet." in page.text
        assert page.count("svg") == 0


def test_very_many_points_are_thinned_and_their_extremes_kept() -> None:
    points = [(float(n), 1000.0 if n == 31_337 else float(n % 7)) for n in range(100_000)]
    [line] = lines_of(Chart("x", [Series("s", points)]))
    assert len(line) <= 1_000
    assert min(y for _, y in line) == 0, "the highest figure is at the top"


@given(st.lists(st.tuples(numbers, st.none() | numbers), max_size=20), st.booleans())
def test_no_figures_break_a_chart(points: list[tuple[float, float | None]], time: bool) -> None:
    for line in lines_of(Chart("x", [Series("a", points), Series("b", points)], time=time)):
        for x, y in line:
            assert 0 <= x <= WIDTH
            assert -1 <= y <= HEIGHT + 1


@given(st.floats(-1e15, 1e15), st.floats(-1e15, 1e15))
def test_ticks_are_few_even_and_around_the_figures(one: float, other: float) -> None:
    low, high = sorted((one, other))
    ticks = even_ticks(low, high)
    slack = max(1e-9, (ticks[-1] - ticks[0]) * 1e-6)
    assert 2 <= len(ticks) <= 8
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    steps = [after - before for before, after in itertools.pairwise(ticks)]
    assert max(steps) - min(steps) <= slack


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (7, "7"), (1234, "1,234"), (0.25, "0.25"), (12_500, "12.5 k"), (3.2e9, "3.2 G"), (-2e6, "-2 M"),
     (1e99, "1e+99")],
)  # fmt: skip
def test_figures_are_written_for_people(value: float, shown: str) -> None:
    assert compact_number(value) == shown


def test_a_figure_has_its_unit() -> None:
    assert [compact_number(value, "B") for value in (512, 5.39e9, 1e99)] == ["512 B", "5.39 GB", "1e+99 B"]
    assert [compact_number(value, "ms") for value in (1234, 12_500)] == ["1,234 ms", "12.5 k ms"]


def test_times_are_told_as_finely_as_the_span_needs() -> None:
    def feet(span: float) -> str:
        return read(chart(Chart("x", [Series("s", [(1_800_000_000.0, 1.0), (1_800_000_000.0 + span, 2.0)])]))).texts[-1]

    assert feet(60) == "08:01:00 UTC"
    assert feet(7_200) == "10:00 UTC"
    assert feet(864_000) == "25 Jan"


@pytest.mark.parametrize("span", [0.5, 5, 60, 600, 3_600, 43_200, 86_400, 2 * 86_400, 604_800, 90 * 86_400])
@pytest.mark.requirement("console:charts")
def test_no_two_labels_of_an_axis_are_the_same(span: float) -> None:
    begin = 1_800_000_000.0
    points = [(begin + span * part, 0.7001 + part / 10_000) for part in (0.0, 0.4, 1.0)]
    drawn = chart(Chart("x", [Series("s", points)], "s", span=(begin, begin + span)))
    for axis in ("x", "y"):
        [listed] = re.findall(rf'<ol class="{axis}"[^>]*>(.*?)</ol>', drawn)
        labels = re.findall(r"<li>(.*?)</li>", listed)
        assert len(set(labels)) == len(labels) or span < 1, labels


@pytest.mark.parametrize("ends", [(0.0, 0.0), (0.0, 1.0), (-1.0, 2.0), (0.999, 1.0), (0.5, 0.4), (1.0, 1.0)])
@pytest.mark.requirement("console:charts")
def test_a_bar_is_seen_and_stays_on_its_track(ends: tuple[float, float]) -> None:
    drawn = read(bar(ends, "bad"))
    whole, width = map(float, drawn.values("rect", "width"))
    (begin,) = map(float, drawn.values("rect", "x"))
    assert begin >= 0
    assert width >= 1
    assert begin + width <= whole
    assert drawn.values("svg", "class") == ["bar bad"]


@pytest.mark.requirement("console:charts")
def test_the_axis_is_the_span_and_gaps_thresholds_and_limits_are_drawn_and_told() -> None:
    points: list[tuple[float, float | None]] = [(100.0, 1.0), (200.0, None), (300.0, 2.0)]
    wanted = Chart(
        "Load",
        [Series("s", points)],
        "%",
        span=(0, 1000),
        gaps=[(200, 300, "not_collected")],
        marks=[("warn", 3), ("limit", 900)],
    )
    html = chart(wanted)
    page = read(html)
    assert lines_of(wanted)[0][0][0] == WIDTH / 10
    assert page.values("rect", "x") == ["200.0"]
    assert "No data from 00:03 UTC to 00:05 UTC: not collected" in page.text
    assert [one for one in page.texts if one.startswith(("warn", "limit"))].count("warn 3%") >= 1
    assert "limit 900%" in page.text, "a limit too far away to be drawn is told"
    [figures] = page.values("figure", "data-chart")
    drawn = json.loads(figures)
    assert drawn["span"] == [0, 1000]
    assert drawn["gaps"] == [[200, 300, "not collected"]]
    assert [name for name, _ in drawn["marks"]] == ["warn 3%"]


def colours() -> list[list[str]]:
    """The colours of lines in the style sheet: light, and dark."""
    style = STYLE.content().decode()
    pairs = [re.search(rf"--line-{n}: light-dark\((#\w{{6}}), (#\w{{6}})\)", style) for n in range(COLOURS)]
    return [[pair[side] for pair in pairs if pair is not None] for side in (1, 2)]


def lab(colour: str) -> tuple[float, float, float]:
    """CIE L*a*b* of a colour."""
    r, g, b = (linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    x, y, z = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        luminance(colour),
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def luminance(colour: str) -> float:
    r, g, b = (linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize(("side", "ground"), [(0, "#fbfbfa"), (1, "#15181c")], ids=["light", "dark"])
@pytest.mark.requirement("console:charts")
def test_twelve_lines_can_be_told_apart_and_from_the_ground(side: int, ground: str) -> None:
    found = colours()[side]
    assert len(found) == COLOURS == 12
    for one, other in itertools.combinations(found, 2):
        assert math.dist(lab(one), lab(other)) > 18, (one, other)
    for one in found:
        light, dark = sorted((luminance(one), luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, one


@pytest.mark.requirement("console:charts")
def test_more_lines_than_colours_differ_by_their_dashes() -> None:
    series = [Series(f"s{n}", [(0, float(n)), (1, float(n))]) for n in range(36)]
    classes = read(chart(Chart("x", series))).values("path", "class")
    assert len(set(classes)) == 36


@pytest.mark.requirement("console:charts")
def test_a_line_of_another_time_is_dashed_in_the_colour_of_its_line() -> None:
    points: list[tuple[float, float | None]] = [(0, 1.0), (1, 2.0)]
    series = [Series("a", points), Series("b", points), Series("b, previous", points, of="b")]
    page = read(chart(Chart("x", series)))
    assert page.values("path", "class") == ["line-0", "line-1", "line-1 dash-1"]
    assert page.values("i", "class") == page.values("path", "class")
    [figures] = page.values("figure", "data-chart")
    assert [(one["colour"], one["dash"]) for one in json.loads(figures)["series"]] == [(0, 0), (1, 0), (1, 1)]
