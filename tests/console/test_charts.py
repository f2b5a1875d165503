"""Line charts: round ticks around the figures, gaps where figures are missing, and no figure that breaks a page."""

import itertools
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.console.charts import HEIGHT, WIDTH, chart
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
