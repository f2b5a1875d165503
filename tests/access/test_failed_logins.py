"""Guessing closes a name at one address, or an address, for all processes; it never closes a name."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from pentad.access.failed_logins import (
    ADDRESS_ALLOWED,
    COUNTS_MOST,
    LONGEST_WAIT,
    NAME_ALLOWED,
    PAIR_ALLOWED,
    TURN_SECONDS,
    WINDOW,
    FailedLogins,
)
from pentad.kernel.errors import RateLimited, Unavailable
from pentad.kernel.ports import Database, Transaction
from tests.access.clocks import TurnedClock

pytestmark = pytest.mark.anyio

HERE, THERE = "192.0.2.1", "192.0.2.2"


async def fail(failed: FailedLogins, name: str, address: str, times: int = 1) -> None:
    for _ in range(times):
        failed.failed(await failed.begin(name, address))
    await failed.flush()


async def rows(db: Database) -> dict[str, int]:
    found = await db.read(lambda rows: rows.all("SELECT subject, failures FROM failed_logins"))
    return dict(found)


@pytest.mark.requirement("access:passwords:guessing")
async def test_the_eleventh_attempt_within_a_minute_is_refused_with_the_time_to_wait(db: Database) -> None:
    clock = TurnedClock()
    failed = FailedLogins(db, clock=clock)
    for _ in range(PAIR_ALLOWED):
        await fail(failed, "ada", HERE)
        clock.advance(1)
    with pytest.raises(RateLimited) as caught:
        await failed.begin("Ada", HERE)
    assert caught.value.retry_after == pytest.approx(WINDOW - PAIR_ALLOWED)
    await failed.begin("bob", HERE)
    clock.advance(caught.value.retry_after)
    await failed.begin("ada", HERE)


@pytest.mark.requirement("access:failed-logins:no-lockout")
async def test_an_attacker_elsewhere_does_not_lock_a_user_out(db: Database) -> None:
    clock = TurnedClock()
    failed = FailedLogins(db, clock=clock)
    await fail(failed, "ada", HERE, PAIR_ALLOWED)
    with pytest.raises(RateLimited):
        await failed.begin("ada", HERE)
    failed.succeeded(await failed.begin("ada", THERE))


@pytest.mark.requirement("access:failed-logins:shared")
async def test_failures_in_one_process_close_the_pair_in_all(db: Database, other: Database) -> None:
    clock = TurnedClock()
    one, two = FailedLogins(db, clock=clock), FailedLogins(other, clock=clock)
    await fail(one, "ada", HERE, PAIR_ALLOWED // 2)
    await fail(two, "ada", HERE, PAIR_ALLOWED - PAIR_ALLOWED // 2)
    for process in (one, two, FailedLogins(other, clock=clock)):
        with pytest.raises(RateLimited):
            await process.begin("ada", HERE)
    clock.advance(WINDOW)
    for process in (one, two):
        process.withdraw(await process.begin("ada", HERE))


@pytest.mark.requirement("access:failed-logins:shared")
async def test_many_names_from_one_address_close_the_address_in_all_processes(db: Database, other: Database) -> None:
    clock = TurnedClock()
    one = FailedLogins(db, clock=clock)
    for number in range(ADDRESS_ALLOWED):
        one.failed(await one.begin(f"name{number}", HERE))
    await one.flush()
    two = FailedLogins(other, clock=clock)
    with pytest.raises(RateLimited):
        await two.begin("ada", HERE)
    await two.begin("ada", THERE)


@pytest.mark.parametrize("own", ["127.0.0.1", "::1", None])
@pytest.mark.requirement("access:failed-logins:no-lockout")
async def test_strangers_behind_a_proxy_on_this_machine_do_not_lock_everybody_out(own: str | None) -> None:
    failed = FailedLogins(clock=TurnedClock())
    for number in range(2 * ADDRESS_ALLOWED):
        failed.failed(await failed.begin(f"name{number}", own))
    failed.succeeded(await failed.begin("ada", own))


@pytest.mark.requirement("access:failed-logins:no-lockout")
async def test_a_name_under_attack_from_everywhere_is_slow_and_stays_open(db: Database) -> None:
    clock, waits = TurnedClock(), list[float]()

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    failed = FailedLogins(db, clock=clock, pause=pause)
    friend = await failed.begin("ada", "203.0.113.1")
    failed.succeeded(friend)
    for number in range(NAME_ALLOWED):
        failed.failed(await failed.begin("ada", f"198.51.100.{number}"))
    await failed.flush()
    assert waits == []
    for turns in range(3):
        await failed.begin("ada", f"203.0.113.{turns + 2}")
    assert waits == [pytest.approx(TURN_SECONDS), pytest.approx(2 * TURN_SECONDS)]
    await failed.begin("ada", "203.0.113.1")
    assert len(waits) == 2, "whoever logged in from there before does not queue"
    crowd = (failed.begin("ada", f"203.0.113.{100 + number}") for number in range(100))
    refused = [one for one in await asyncio.gather(*crowd, return_exceptions=True) if isinstance(one, RateLimited)]
    assert refused
    assert refused[0].retry_after <= LONGEST_WAIT + TURN_SECONDS
    assert max(waits) <= LONGEST_WAIT


@pytest.mark.requirement("access:passwords:guessing")
async def test_guesses_sent_at_once_do_not_slip_through_together(db: Database) -> None:
    failed = FailedLogins(db, clock=TurnedClock())
    begun = await asyncio.gather(*(failed.begin("ada", HERE) for _ in range(PAIR_ALLOWED + 5)), return_exceptions=True)
    assert [type(one) for one in begun].count(RateLimited) == 5


async def test_a_success_wipes_the_slate_of_its_pair_and_of_nothing_else(db: Database, other: Database) -> None:
    clock = TurnedClock()
    failed = FailedLogins(db, clock=clock)
    await fail(failed, "ada", HERE, PAIR_ALLOWED - 1)
    failed.succeeded(await failed.begin("ada", HERE))
    await failed.flush()
    left = {f"address {HERE}": PAIR_ALLOWED - 1, "name ada": PAIR_ALLOWED - 1}
    assert await rows(db) == left, "an account of his own must not help an attacker to go on"
    await fail(FailedLogins(other, clock=clock), "ada", HERE, PAIR_ALLOWED - 1)


async def test_an_undecided_attempt_is_not_held_against_the_name(db: Database) -> None:
    failed = FailedLogins(db, clock=TurnedClock())
    for _ in range(PAIR_ALLOWED * 2):
        failed.withdraw(await failed.begin("ada", HERE))
    await failed.flush()
    assert await rows(db) == {}


async def test_a_login_without_failures_writes_nothing(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async def write(work: object, *, brief: bool = False) -> Any:
        pytest.fail("a successful login must not depend on a write")

    monkeypatch.setattr(db, "write", write)
    failed = FailedLogins(db, clock=TurnedClock())
    failed.succeeded(await failed.begin("ada", HERE))
    await failed.flush()


@pytest.mark.requirement("access:failed-logins:full-disk")
async def test_a_store_that_takes_no_write_leaves_this_process_counting(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(work: Callable[[Transaction], object], *, brief: bool = False) -> Any:
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(db, "write", full)
    failed = FailedLogins(db, clock=TurnedClock())
    with caplog.at_level(logging.WARNING):
        await fail(failed, "ada", HERE, PAIR_ALLOWED)
    assert len([line for line in caplog.messages if "this process only" in line]) == 1
    with pytest.raises(RateLimited):
        await failed.begin("ada", HERE)
    failed.succeeded(await failed.begin("ada", THERE))
    await failed.flush()


@pytest.mark.requirement("access:failed-logins:full-disk")
async def test_a_store_that_cannot_be_read_leaves_this_process_counting(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(work: object) -> Any:
        raise Unavailable("The store is away.")

    monkeypatch.setattr(db, "read", away)
    failed = FailedLogins(db, clock=TurnedClock())
    await fail(failed, "ada", HERE, PAIR_ALLOWED)
    with pytest.raises(RateLimited):
        await failed.begin("ada", HERE)


@pytest.mark.requirement("access:failed-logins:bounded")
async def test_what_is_over_leaves_the_table(db: Database) -> None:
    clock = TurnedClock()
    failed = FailedLogins(db, clock=clock)
    for number in range(20):
        await fail(failed, f"name{number}", f"192.0.2.{number}")
    assert len(await rows(db)) == 60
    clock.advance(WINDOW + 1)
    await fail(failed, "ada", HERE)
    assert await rows(db) == {f"pair ada {HERE}": 1, f"address {HERE}": 1, "name ada": 1}


@pytest.mark.requirement("access:failed-logins:bounded")
async def test_endless_invented_names_do_not_fill_the_memory() -> None:
    failed = FailedLogins(clock=TurnedClock())
    for number in range(COUNTS_MOST // 2):
        failed.failed(await failed.begin(f"name{number}", f"10.0.{number // 250}.{number % 250}"))
    assert len(failed._counts) == COUNTS_MOST


async def test_a_minute_of_a_clock_set_back_is_over(db: Database) -> None:
    clock = TurnedClock()
    await fail(FailedLogins(db, clock=clock), "ada", HERE, PAIR_ALLOWED)
    behind = FailedLogins(db, clock=TurnedClock(clock.now() - 3600))
    await fail(behind, "ada", HERE)
    assert (await rows(db))[f"pair ada {HERE}"] == 1
