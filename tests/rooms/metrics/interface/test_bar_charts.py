"""The rows of a query as bars: what is drawn, what is not, and what is shown instead."""

import io
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.engine.row_query import RowQuery, parse_query
from pentad.rooms.metrics.interface.bar_charts import BarChart, bar_chart, png_bars, svg_bars, text_bars
from pentad.rooms.metrics.interface.chart_images import DARK, LIGHT, Theme

BLUE = (0x25, 0x63, 0xEB)
LIGHT_BLUE = (0x60, 0xA5, 0xFA)
FIGURES = {
    "rows": [
        {"businessGroup": "North", "value": 8, "limit": 10, "percent": 80.0},
        {"businessGroup": "South", "value": 2, "limit": 10, "percent": 20.0},
        {"businessGroup": "West <b>", "value": None, "state": "no_permission"},
    ],
    "total": 5,
    "common": {"metric": "applications.vcoresUsed", "unit": "vCores"},
    "asOf": "2026-05-28T20:26:40.000Z",
    "source": "stale",
    "undecided": {"failed": 1},
}


def query(**given: Any) -> RowQuery:
    return parse_query([], given.get("group_by", ()), given.get("aggregate", ()), given.get("sort", ()), "sum")


def drawn(**more: Any) -> BarChart:
    return bar_chart({**FIGURES, **more}, query(), ["vcoresUsed"])


def colours_of(png: bytes) -> set[tuple[int, ...]]:
    found = Image.open(io.BytesIO(png)).convert("RGB").getcolors(1 << 20)
    assert found is not None
    return {colour for _, colour in found}  # pyright: ignore[reportReturnType]


@pytest.mark.requirement("metrics:pictures:rows")
def test_a_missing_value_has_its_state_and_no_bar() -> None:
    chart = drawn()
    assert [bar.value for bar in chart.bars] == [8, 2, None]
    assert [bar.name for bar in chart.bars] == ["North", "South", "West <b>"]
    assert [chart.value_text(bar) for bar in chart.bars] == ["8 vCores of 10", "2 vCores of 10", "no permission"]
    lines = text_bars(chart).splitlines()
    assert lines[0] == "applications.vcoresUsed"
    assert [line.count("█") for line in lines[1:4]] == [32, 8, 0]
    assert len(ET.fromstring(svg_bars(chart)).findall("{*}rect")) == 2


@pytest.mark.requirement("metrics:pictures:rows")
def test_the_picture_says_of_when_it_is_and_what_is_not_in_it() -> None:
    assert drawn().note == ("as of 2026-05-28 20:26 UTC; stale: the source is failing; undecided rows: 1; 3 of 5 rows")
    assert "West &lt;b&gt;" in svg_bars(drawn())


@pytest.mark.requirement("metrics:pictures:rows")
def test_control_characters_in_names_break_no_picture() -> None:
    hostile = "a\x1b[31m\x00\u202eb\nc"
    chart = drawn(rows=[{"businessGroup": hostile, "value": 1}, {"businessGroup": "B", "value": 2}], total=2)
    texts = [one.text for one in ET.fromstring(svg_bars(chart)).findall(".//{*}text")]
    assert "a [31m b c" in texts
    assert not any(one in text_bars(chart) for one in "\x1b\x00\u202e")
    assert len(text_bars(chart).splitlines()) == 4
    assert png_bars(chart).startswith(b"\x89PNG")


@pytest.mark.requirement("metrics:pictures:rows")
@pytest.mark.parametrize(
    ("dark", "theme", "bar"), [(False, LIGHT, BLUE), (True, DARK, LIGHT_BLUE)], ids=["light", "dark"]
)
def test_pictures_are_light_or_dark_and_show_limits(dark: bool, theme: Theme, bar: tuple[int, ...]) -> None:
    png = png_bars(drawn(), dark=dark)
    marks = {tuple(bytes.fromhex(colour.removeprefix("#"))) for colour in (theme.background, theme.mark)}
    assert marks | {bar} <= colours_of(png)
    assert png_bars(drawn(rows=[], total=0)).startswith(b"\x89PNG")


@pytest.mark.requirement("metrics:pictures:rows")
def test_an_aggregate_is_drawn_by_group_and_items_by_the_column_that_sorts_them() -> None:
    view = {"rows": [{"runtime": "4.4", "count": 3}, {"runtime": None, "count": 1}], "total": 2}
    chart = bar_chart(view, query(group_by=("runtime",), aggregate=("count",)), ["applicationsTotal"])
    assert [(bar.name, bar.value) for bar in chart.bars] == [("4.4", 3), ("no runtime", 1)]
    assert chart.title == "count: applicationsTotal"
    view = {"rows": [{"name": "orders", "requests": 9}, {"name": "bills", "requests": 4}], "total": 2}
    chart = bar_chart(view, query(sort=("-requests",)), ["transactions"])
    assert [(bar.name, bar.value) for bar in chart.bars] == [("orders", 9), ("bills", 4)]


@pytest.mark.requirement("metrics:pictures:rows")
def test_negative_values_go_the_other_way_from_zero() -> None:
    chart = drawn(rows=[{"businessGroup": "A", "value": -4}, {"businessGroup": "B", "value": 4}], total=2)
    first, second = (line.partition("|")[2][:40] for line in text_bars(chart).splitlines()[1:3])
    assert first.strip() == second.strip() == "█" * 20
    assert second.startswith(" " * 20)


@pytest.mark.requirement("metrics:pictures:rows")
def test_figures_of_different_units_and_rows_without_numbers_are_not_drawn() -> None:
    mixed = [{"value": 1, "unit": "%"}, {"value": 2, "unit": "By"}]
    with pytest.raises(InvalidInput, match="different units"):
        bar_chart({"rows": mixed, "total": 2}, query(), ["x"])
    with pytest.raises(InvalidInput, match="no number"):
        bar_chart({"rows": [{"name": "one"}, {"name": "two"}], "total": 2}, query(), ["x"])
