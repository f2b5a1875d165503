"""Forecasts of when a limit is reached."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.rooms.metrics.history.forecast import DAY, FARTHEST_DAYS, FARTHEST_SPANS, fit_line, forecast

NOW = 1_700_000_000.0
SLOPES = st.floats(-1e3, 1e3).filter(lambda slope: abs(slope) > 1e-3)


def line(slope_per_day: float, level: float, count: int) -> list[tuple[float, float]]:
    return [(NOW - DAY * back, level - slope_per_day * back) for back in range(count)][::-1]


@given(SLOPES, st.floats(-1e4, 1e4), st.integers(4, 60))
def test_an_exact_line_is_found_exactly(slope: float, level: float, count: int):
    found = fit_line(line(slope, level, count))
    assert found is not None
    assert found.slope * DAY == pytest.approx(slope, rel=1e-6, abs=1e-6)
    assert found.value(NOW) == pytest.approx(level, rel=1e-6, abs=1e-4)


@given(st.floats(0.1, 1e3), st.floats(0, 1e4), st.floats(1, min(FARTHEST_DAYS, 19 * FARTHEST_SPANS) - 1))
@pytest.mark.requirement("metrics:history:forecast")
def test_the_moment_an_exact_line_meets_its_limit_is_found(slope: float, level: float, days: float):
    said = forecast(line(slope, level, 20), level + slope * days, NOW)
    assert said is not None
    assert said.reached_at == pytest.approx(NOW + days * DAY, abs=DAY * max(1.0, days) * 1e-3)
    assert not said.is_reached


def test_wild_points_do_not_turn_the_line():
    points = line(2.0, 100.0, 20)
    for place in (3, 9, 15):
        points[place] = (points[place][0], 1e6)
    said = forecast(points, 200.0, NOW)
    assert said is not None
    assert said.per_day == pytest.approx(2.0, rel=0.05)
    assert said.reached_at == pytest.approx(NOW + 50 * DAY, rel=1e-3)


@pytest.mark.parametrize(("slope", "limit", "is_floor", "reached", "is_reached"), [
    (-1.0, 200.0, False, None, False),
    (0.0, 200.0, False, None, False),
    (1.0, 50.0, False, None, True),
    (-1.0, 50.0, False, None, True),
    (-10.0, 0.0, True, NOW + 10 * DAY, False),
    (10.0, 0.0, True, None, False),
    (1.0, None, False, None, False),
    (0.001, 1e6, False, None, False),
])  # fmt: skip
def test_what_leads_away_from_a_limit_never_reaches_it(
    slope: float, limit: float | None, is_floor: bool, reached: float | None, is_reached: bool
):
    said = forecast(line(slope, 100.0, 10), limit, NOW, is_floor=is_floor)
    assert said is not None
    assert said.is_reached == is_reached
    assert said.reached_at == (None if reached is None else pytest.approx(reached))


def test_too_little_gives_no_forecast():
    assert forecast(line(1.0, 5.0, 3), 10.0, NOW) is None
    assert forecast([(NOW, 1.0)] * 10, 10.0, NOW) is None


@pytest.mark.requirement("metrics:forecast:limits")
def test_minutes_of_data_say_nothing_about_days():
    hour = 3_600.0

    def hourly(count: int, step: float) -> list[tuple[float, float]]:
        return [(NOW - (count - 1 - number) * step, 10.0 + number) for number in range(count)]

    assert forecast(hourly(8, 60.0), 100.0, NOW) is None, "seven minutes"
    assert forecast(hourly(6, hour), 100.0, NOW) is None, "five hours"
    assert forecast(hourly(7, hour), 100.0, NOW) is not None, "six hours"


@pytest.mark.requirement("metrics:forecast:limits")
def test_a_forecast_looks_thirty_times_as_far_ahead_as_back():
    hour = 3_600.0
    points = [(NOW - (10 - number) * hour, 10.0 + number) for number in range(11)]
    near, far = forecast(points, 20.0 + 290, NOW), forecast(points, 20.0 + 310, NOW)
    assert near is not None
    assert near.reached_at == pytest.approx(NOW + 290 * hour)
    assert far is not None
    assert (far.reached_at, far.is_reached) == (None, False)


def test_many_points_are_thinned_to_the_same_line():
    said = forecast(line(3.0, 900.0, 1_000), 1_000.0, NOW)
    assert said is not None
    assert said.per_day == pytest.approx(3.0)
    assert said.points == 1_000
