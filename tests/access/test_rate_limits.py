"""The allowance holds over any schedule and any number of processes, and comes back after rest."""

import asyncio
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.access.rate_limits import CLOCK_SKEW, LEASE_SECONDS, Allowance, RateLimits, refilled
from pentad.kernel.errors import RateLimited
from pentad.kernel.ports import Database
from pentad.kernel.principal import LOCAL
from pentad.storage.migrations import apply
from pentad.storage.open import open_database
from tests.access.clocks import TurnedClock
from tests.access.conftest import SETS
from tests.refusing import read_only

TEN = Allowance(rate=100, burst=40)  # leases of ten


async def calls_granted(limits: RateLimits, principal_id: str, tries: int) -> int:
    granted = 0
    for _ in range(tries):
        try:
            await limits.spend(principal_id)
        except RateLimited:
            break
        granted += 1
    return granted


@pytest.mark.anyio
@pytest.mark.requirement("access:limits:rate")
async def test_the_burst_is_granted_and_then_refused_with_the_time_to_wait(db: Database) -> None:
    clock = TurnedClock()
    limits = RateLimits(db, TEN, clock=clock)
    assert await calls_granted(limits, "a", 100) == 40
    with pytest.raises(RateLimited) as caught:
        await limits.spend("a")
    assert caught.value.retry_after == pytest.approx(0.1)
    clock.advance(caught.value.retry_after)
    assert await calls_granted(limits, "a", 100) == 10
    assert await calls_granted(limits, "b", 100) == 40


@pytest.mark.anyio
async def test_a_lease_is_spent_without_the_store(db: Database) -> None:
    limits = RateLimits(db, TEN, clock=TurnedClock())
    assert not limits.try_spend("a")
    await limits.spend("a")
    assert [limits.try_spend("a") for _ in range(10)] == [True] * 9 + [False]


@pytest.mark.anyio
async def test_an_unspent_lease_lapses(db: Database) -> None:
    clock = TurnedClock()
    limits = RateLimits(db, TEN, clock=clock)
    await limits.spend("a")
    clock.advance(LEASE_SECONDS)
    assert not limits.try_spend("a")


@pytest.mark.anyio
async def test_refusals_cost_the_store_nothing(db: Database) -> None:
    limits = RateLimits(db, TEN, clock=TurnedClock())
    await calls_granted(limits, "a", 100)
    await db.write(lambda tx: tx.run("DELETE FROM rate_allowances"))
    assert await calls_granted(limits, "a", 5) == 0, "the store would have granted a full bucket"


@pytest.mark.anyio
@pytest.mark.requirement("access:limits:rate-shared")
async def test_processes_share_one_allowance(db: Database, other: Database) -> None:
    clock = TurnedClock()
    both = RateLimits(db, TEN, clock=clock), RateLimits(other, TEN, clock=clock)
    granted = await asyncio.gather(*(calls_granted(limits, "a", 100) for limits in both))
    assert sum(granted) == 40


@pytest.mark.anyio
async def test_callers_at_once_are_each_granted_one_token(db: Database) -> None:
    limits = RateLimits(db, TEN, clock=TurnedClock())
    outcomes = await asyncio.gather(*(limits.spend("a") for _ in range(60)), return_exceptions=True)
    assert outcomes.count(None) == 40
    assert sum(isinstance(outcome, RateLimited) for outcome in outcomes) == 20


@pytest.mark.anyio
async def test_a_rate_of_zero_switches_the_limit_off(db: Database) -> None:
    limits = RateLimits(db, Allowance(rate=0, burst=0))
    assert all(limits.try_spend("a") for _ in range(1000))
    assert await limits.prune() == 0


@pytest.mark.anyio
async def test_the_local_principal_is_exempt(db: Database) -> None:
    limits = RateLimits(db, Allowance(rate=1, burst=1), clock=TurnedClock())
    assert all(limits.try_spend(LOCAL.id) for _ in range(100))


@pytest.mark.anyio
async def test_pruning_drops_full_buckets_only(db: Database) -> None:
    clock = TurnedClock()
    limits = RateLimits(db, TEN, clock=clock)
    await calls_granted(limits, "a", 100)
    assert await limits.prune() == 0
    clock.advance(CLOCK_SKEW + 1)
    assert await limits.prune() == 1
    assert await calls_granted(limits, "a", 100) == 40


def test_a_clock_that_lags_refills_nothing_and_one_set_back_starts_again() -> None:
    assert refilled(5, 1000, 999, TEN) == (5, 1000)
    assert refilled(5, 10_000, 1000, TEN) == (5, 1000)
    assert refilled(5, 1000, 1000.1, TEN) == (pytest.approx(15), 1000.1)


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 60), st.floats(0, 3, allow_nan=False)), min_size=1, max_size=12
)


@pytest.mark.anyio
async def test_no_schedule_over_several_processes_passes_the_allowance(tmp_path: Path) -> None:
    """In any stretch of time, not only from the start."""
    loop = asyncio.get_running_loop()
    db = await open_database(None, tmp_path)
    await apply(db, SETS)
    names = iter(range(10**9))

    async def scenario(allowance: Allowance, steps: list[tuple[int, int, float]]) -> None:
        clock = TurnedClock()
        processes = [RateLimits(db, allowance, clock=clock) for _ in range(3)]
        principal = f"p{next(names)}"
        history: list[tuple[float, int]] = []
        for process, tries, pause in steps:
            history.append((clock.steady, await calls_granted(processes[process], principal, tries)))
            clock.advance(pause)
        for first, (start, _) in enumerate(history):
            granted = 0
            for at, calls in history[first:]:
                granted += calls
                allowed = allowance.rate * (at - start) + allowance.burst + len(processes) * allowance.slice
                assert granted <= allowed + 1e-3
        clock.advance(allowance.burst / allowance.rate + LEASE_SECONDS)
        assert await calls_granted(processes[0], principal, allowance.burst) == allowance.burst

    @settings(max_examples=40, deadline=None)
    @given(st.builds(Allowance, st.floats(0.5, 200), st.integers(1, 60)), STEPS)
    def search(allowance: Allowance, steps: list[tuple[int, int, float]]) -> None:
        asyncio.run_coroutine_threadsafe(scenario(allowance, steps), loop).result(timeout=60)

    await asyncio.to_thread(search)
    await db.close()


@given(st.floats(0.01, 5000), st.integers(1, 5000))
def test_a_lease_is_a_small_part_of_what_is_allowed(rate: float, burst: int) -> None:
    size = Allowance(rate, burst).slice
    assert 1 <= size <= max(1, math.ceil(rate / 10))
    assert size <= max(1, burst // 4)


@pytest.mark.anyio
@pytest.mark.requirement("storage:health:reads-go-on")
async def test_the_limit_holds_in_each_process_while_the_store_cannot_write(db: Database) -> None:
    clock = TurnedClock()
    limits = RateLimits(db, TEN, clock=clock)
    with read_only(db):
        assert await calls_granted(limits, "a", 100) == 40
        with pytest.raises(RateLimited) as caught:
            await limits.spend("a")
        clock.advance(caught.value.retry_after)
        assert await calls_granted(limits, "a", 100) == 10
    clock.advance(LEASE_SECONDS)
    assert await calls_granted(limits, "a", 100) == 40
    assert await db.read(lambda rows: rows.value("SELECT count(*) FROM rate_allowances")) == 1
