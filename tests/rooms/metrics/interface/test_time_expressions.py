"""Times and durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.interface.arguments import UNITS, parse_duration, parse_time

NOW = 1_780_000_000.0


@pytest.mark.requirement("metrics:moments")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("now", NOW),
        ("", NOW),
        ("now-6h", NOW - 21_600),
        ("now - 6h", NOW - 21_600),
        ("2d", NOW - 172_800),
        ("-1w", NOW - 604_800),
        ("1780000000", NOW),
        ("1780000000000", NOW),
        ("2026-05-28", 1_779_926_400.0),
        ("2026-05-28T20:26:40Z", NOW),
        ("2026-05-28T22:26:40+02:00", NOW),
    ],
)
def test_a_moment_is_understood(text: str, seconds: float) -> None:
    assert parse_time(text, NOW) == seconds


@pytest.mark.requirement("metrics:moments")
@pytest.mark.parametrize("text", ["yesterday", "now+1h", "12", "1y", "2026-13-01", "nowhere", "٣d"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_time(text, NOW)


@given(st.integers(1, 10**6), st.sampled_from(sorted(UNITS)))
def test_so_long_ago_is_that_long_before_now(count: int, unit: str) -> None:
    assert parse_time(f"now-{count}{unit}", NOW) == NOW - count * UNITS[unit]
    assert parse_duration(f"{count}{unit}") == count * UNITS[unit]


@given(st.integers(10**9, 4 * 10**9))
def test_a_time_is_read_back_as_it_was_written(seconds: int) -> None:
    assert parse_time(iso(seconds), NOW) == seconds


@pytest.mark.parametrize("text", ["", "0", "0h", "1y", "h", "-5m"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_duration(text)
