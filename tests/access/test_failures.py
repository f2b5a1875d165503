"""Ten failures within a minute close a name, and only that name."""

import pytest

from pentad.access.failures import ALLOWED, NAMES_MOST, WINDOW, FailedLogins
from pentad.kernel.errors import RateLimited
from tests.access.clocks import TurnedClock


@pytest.mark.requirement("access:passwords:guessing")
def test_the_eleventh_attempt_within_a_minute_is_refused_with_the_time_to_wait() -> None:
    clock = TurnedClock()
    failed = FailedLogins(clock=clock)
    for _ in range(ALLOWED):
        failed.attempt("ada")
        clock.advance(1)
    with pytest.raises(RateLimited) as caught:
        failed.attempt("ada")
    assert caught.value.retry_after == pytest.approx(WINDOW - ALLOWED)
    failed.attempt("bob")
    clock.advance(caught.value.retry_after)
    failed.attempt("ada")


def test_a_success_wipes_the_slate() -> None:
    failed = FailedLogins(clock=TurnedClock())
    for _ in range(ALLOWED):
        failed.attempt("ada")
    failed.succeeded("ada")
    failed.attempt("ada")


def test_an_undecided_attempt_is_not_held_against_the_name() -> None:
    failed = FailedLogins(clock=TurnedClock())
    for _ in range(ALLOWED * 2):
        failed.withdraw("ada", failed.attempt("ada"))


def test_endless_invented_names_do_not_fill_the_memory() -> None:
    failed = FailedLogins(clock=TurnedClock())
    for number in range(NAMES_MOST + 50):
        failed.attempt(f"name{number}")
    assert len(failed._attempts) == NAMES_MOST
