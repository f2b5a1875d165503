"""Charts as PNG, light and dark, with lines that break at gaps."""

import io
import subprocess
import sys

import pytest
from PIL import Image

from pentad.kernel.pages import Chart
from pentad.kernel.pages import Series as ChartSeries
from pentad.rooms.metrics.history.history_lines import HistoryLine
from pentad.rooms.metrics.interface import chart_images
from pentad.rooms.metrics.interface.chart_images import DARK, HEIGHT, LIGHT, WIDTH, Theme, png_chart
from pentad.rooms.metrics.interface.presentation import history_chart
from pentad.rooms.metrics.store import Series, sample_point

BLUE = (0x25, 0x63, 0xEB)


def opened(png: bytes) -> Image.Image:
    assert png.startswith(b"\x89PNG\r\n")
    return Image.open(io.BytesIO(png)).convert("RGB")


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour.removeprefix("#")))


def chart(**more: object) -> Chart:
    points = [(0.0, 1.0), (100.0, 2.0), (200.0, None), (800.0, 2.0), (1000.0, 3.0)]
    return Chart("used <b>", [ChartSeries("used <b>", points)], "%", span=(0.0, 1000.0), **more)  # pyright: ignore[reportArgumentType]


@pytest.mark.requirement("metrics:pictures")
@pytest.mark.parametrize(("dark", "theme"), [(False, LIGHT), (True, DARK)], ids=["light", "dark"])
def test_a_picture_has_its_size_and_the_background_of_its_theme(dark: bool, theme: Theme) -> None:
    picture = opened(png_chart(chart(), dark=dark))
    assert picture.size == (WIDTH, HEIGHT)
    assert picture.getpixel((2, 2)) == rgb(theme.background)


@pytest.mark.requirement("metrics:pictures", "metrics:gaps")
def test_a_gap_is_shaded_and_no_line_crosses_it() -> None:
    picture = opened(png_chart(chart(gaps=[(200.0, 800.0, "failed")], marks=[("alarm", 2.5)])))
    middle = [picture.getpixel((x, y)) for x in range(450, 850, 7) for y in range(60, 420)]
    assert rgb(LIGHT.gap) in middle
    assert BLUE not in middle
    whole = picture.getcolors(1 << 20)
    assert whole is not None
    colours = {colour for _, colour in whole}
    assert {BLUE, rgb(LIGHT.mark)} <= colours


@pytest.mark.requirement("metrics:pictures")
def test_several_lines_have_a_legend_and_a_chart_without_values_says_so() -> None:
    lines = [ChartSeries(f"line {number}", [(0.0, number), (10.0, number + 1)]) for number in range(3)]
    assert (
        opened(png_chart(Chart("three", lines))).size[1] > opened(png_chart(Chart("one", lines[:1]))).size[1] > HEIGHT
    )
    assert opened(png_chart(Chart("none", []))).size == (WIDTH, HEIGHT)


@pytest.mark.requirement("metrics:pictures")
def test_lines_with_the_same_points_are_drawn_as_one_with_both_names() -> None:
    def line(value: float, **labels: str) -> HistoryLine:
        series = Series(0, "ch", "", "used", tuple(sorted(labels.items())), "gauge", None)
        return HistoryLine(series=series, points=[sample_point(at, value) for at in (0.0, 10.0)])

    lines = [line(2, businessGroup="A"), line(2, businessGroup="A", environmentName="Live"), line(3, businessGroup="B")]
    assert [one.name for one in history_chart("used", lines, 0.0, 10.0).series] == ["A = A, Live", "B"]


@pytest.mark.requirement("metrics:pictures")
def test_without_a_system_font_names_lose_their_accents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_images, "_system_font", lambda: "DejaVuSans.ttf")
    assert chart_images.printable("Müller & Søn") == "Müller & Søn"
    monkeypatch.setattr(chart_images, "_system_font", lambda: None)
    assert chart_images.printable("Müller & Søn") == "Muller & S?n"


@pytest.mark.requirement("metrics:pictures")
def test_without_a_picture_the_library_is_not_imported() -> None:
    code = "import sys, pentad.rooms.metrics.room, pentad.rooms.metrics.interface.tools; print('PIL' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.strip() == "False"
