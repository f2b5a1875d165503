"""Retry-After: one reader for webhooks, metrics platforms, language models, embeddings and remote agents."""

import pytest

from pentad.kernel.clock import SystemClock
from pentad.kernel.retry_after import retry_after


class FixedClock(SystemClock):
    """Stands still."""

    def now(self) -> float:
        return 1_700_000_000.0


@pytest.mark.parametrize(
    ("value", "pause"),
    [
        ("7", 7.0), (" 7 ", 7.0), ("0", 0.0), ("0.3", 0.3),
        ("Tue, 14 Nov 2023 22:13:30 GMT", 10.0), ("Tue, 14 Nov 2023 22:00:00 GMT", 0.0),
        ("1700000012", 12.0), ("1600000000", 0.0), ("2023-11-14T22:14Z", 40.0),
        ("Sat, 01 Jan 2000 00:00:00 GMT", 0.0), ("Thu, 01 Jan 1970 00:10:00 GMT", 0.0), ("2000-01-01", 0.0),
    ],
)  # fmt: skip
def test_seconds_dates_and_unix_times_give_the_seconds_left(value: str, pause: float) -> None:
    assert retry_after(value, FixedClock()) == pause


@pytest.mark.parametrize("value", [None, "", "soon", "-5", "nan", "inf", "1e999", "Tue, 99 Nov 2023 22:13:30 GMT"])
def test_a_missing_negative_or_unreadable_value_asks_for_no_pause(value: str | None) -> None:
    assert retry_after(value, FixedClock()) is None
