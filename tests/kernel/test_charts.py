"""Charts as SVG and as text."""

import math
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.charts import even_ticks, format_number, svg_chart, text_chart, tick_labels
from pentad.kernel.pages import Chart, Series

VALUES = st.lists(st.none() | st.floats(-1e9, 1e9), min_size=1, max_size=200)


@pytest.mark.requirement("metrics:gaps")
def test_a_chart_without_values_still_says_why():
    gaps = [(0.0, 60.0, "not_collected")]
    assert text_chart("used", [], gaps=gaps).splitlines()[1:] == [
        "  (no values yet)", "  no data: 1970-01-01 00:00 to 1970-01-01 00:01, not_collected",
    ]  # fmt: skip
    assert "No data: not collected." in svg_chart(Chart("used", [], gaps=gaps))
    assert "No values yet." in svg_chart(Chart("used", []))


@pytest.mark.requirement("metrics:charts")
def test_control_characters_in_names_break_no_chart():
    points = [(0.0, 1.0), (60.0, 2.0)]
    svg = svg_chart(Chart("a\x00b", [Series("\x1b[31mred\u202e", points)], "\x08"))
    assert [one.text for one in ET.fromstring(svg).findall(".//{*}title")][:2] == ["a b", "[31mred"]
    assert text_chart("a\nb\x1b", points).startswith("a b\n")


@pytest.mark.requirement("metrics:charts")
def test_a_chart_for_terminals_has_its_scale_and_its_times():
    points = [(1_700_000_000 + 60 * number, float(number)) for number in range(40)]
    lines = text_chart("cpu", points, width=40, height=4, unit="%").splitlines()
    assert lines[0] == "cpu"
    assert lines[1].startswith("39% |")
    assert lines[4].startswith(" 0% |")
    assert lines[-1].split() == ["2023-11-14", "22:13", "2023-11-14", "22:52"]
    assert lines[4].count("█") == 40
    assert text_chart("x", [(0, None)]) == "x\n  (no values yet)"


@pytest.mark.parametrize(("value", "scale"), [(5.0, ("5 B", "0 B")), (0.0, ("1 B", "0 B")), (-3.0, ("0 B", "-3 B"))])
def test_a_value_that_does_not_change_is_drawn_beside_zero(value: float, scale: tuple[str, str]):
    lines = text_chart("x", [(1_700_000_000, value), (1_700_000_030, value)], height=3, unit="By").splitlines()
    assert (lines[1].split(" |")[0].strip(), lines[3].split(" |")[0].strip()) == scale
    assert lines[-1].split() == ["2023-11-14", "22:13:20", "2023-11-14", "22:13:50"]


@given(VALUES)
def test_a_chart_for_terminals_never_falls_over(values: list[float | None]):
    points = [(1_700_000_000.0 + number, value) for number, value in enumerate(values)]
    for plain in (True, False):
        text = text_chart("t", points, plain=plain)
        assert text.startswith("t\n")
        assert not plain or text.isascii()


def test_an_svg_breaks_its_line_at_a_gap_and_escapes_its_texts():
    points = [(0.0, 1.0), (60.0, 2.0), (120.0, None), (180.0, 3.0), (240.0, 1.0)]
    drawn = ET.fromstring(svg_chart(Chart("<b>&", [Series("a<b", points)], "%")))
    lines = [element for element in drawn.iter() if element.tag.endswith("polyline")]
    assert [len(line.get("points", "").split()) for line in lines] == [2, 2]
    assert drawn[0].text == "<b>&"


@pytest.mark.requirement("metrics:gaps")
def test_a_line_of_very_many_points_breaks_at_a_short_gap():
    points = [(60.0 * n, None if n == 2_005 else float(n % 7)) for n in range(5_000)]
    drawn = ET.fromstring(svg_chart(Chart("t", [Series("a", points)])))
    lines = [element for element in drawn.iter() if element.tag.endswith("polyline")]
    assert len(lines) == 2
    assert sum(len(line.get("points", "").split()) for line in lines) <= 1_010


@given(VALUES)
def test_an_svg_is_well_formed_and_stays_within_its_frame(values: list[float | None]):
    points = [(1_700_000_000.0 + number, value) for number, value in enumerate(values)]
    drawn = ET.fromstring(svg_chart(Chart("t", [Series("a", points)]), width=600, height=200))
    for element in drawn.iter():
        for pair in (element.get("points") or "").split():
            x, y = (float(part) for part in pair.split(","))
            assert 0 <= x <= 600
            assert 0 <= y <= 200
            assert math.isfinite(x + y)


@pytest.mark.parametrize(("value", "unit", "text"), [
    (1536, "By", "1.5 kB"), (12, "By", "12 B"), (0.12345, "s", "0.1235 s"), (1234567, None, "1,234,567"),
    (50, "%", "50%"),
])  # fmt: skip
def test_numbers_are_format_number(value: float, unit: str | None, text: str):
    assert format_number(value, unit) == text


@pytest.mark.requirement("metrics:charts")
@pytest.mark.parametrize(("low", "high"), [(99.991, 99.999), (12_345_670.0, 12_345_680.0), (0.0, 1.0), (0.0, 5e9)])
def test_no_two_labels_of_an_axis_are_the_same(low: float, high: float):
    labels = tick_labels(even_ticks(low, high), "%")
    assert len(set(labels)) == len(labels)


@pytest.mark.requirement("metrics:charts")
def test_levels_are_drawn_unless_they_would_flatten_the_lines():
    drawn = Chart("t", [Series("a", [(0, 50.0), (60, 60.0)])], "%", marks=[("alarm", 95.0), ("limit", 1e9)])
    text = svg_chart(drawn)
    assert ">alarm 95%<" in text
    assert "limit" not in text


@pytest.mark.requirement("metrics:charts")
def test_every_line_of_many_looks_different():
    lines = [Series(str(number), [(0, float(number)), (60, float(number))]) for number in range(20)]
    root = ET.fromstring(svg_chart(Chart("t", lines)))
    looks = [(one.get("stroke"), one.get("stroke-dasharray")) for one in root.iter() if one.tag.endswith("polyline")]
    assert len(set(looks)) == len(looks) == 20


@pytest.mark.requirement("metrics:charts")
def test_a_text_chart_gives_every_stretch_of_time_the_same_width():
    points = [(0.0, 1.0), (10.0, 1.0), (20.0, None), (90.0, 1.0)]
    row = text_chart("t", points, span=(0.0, 100.0), width=10, height=1).splitlines()[1].partition("|")[2]
    assert row == "██       █", "the hole is as wide as the time without values"
