"""Every call is told once, in batches, whatever happens to the store, and never more than was recorded."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.access.audit import BATCH, LONGEST_TEXT, PRUNED_AT_ONCE, AuditEntry, AuditTrail, make_batch, store_batch
from pentad.access.call_totals import BOUNDS_US, grouped
from pentad.kernel.errors import Unavailable
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Database, Dialect, Row, Rows, Transaction, Value
from tests.access.clocks import TurnedClock
from tests.fakes import UnusedDatabase
from tests.waiting import until_true

T = TypeVar("T")


def entry(number: int = 0, **changes: object) -> AuditEntry:
    made = AuditEntry(1_800_000_000.0 + number, "user:ada", "directory", "search", "ok", 1_500, str(number))
    return made._replace(**changes)


class ShakyStore(UnusedDatabase):
    """A real store behind a line that fails when told to, before the work or after its commit."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.failing: str | None = None
        self.tried = asyncio.Event()

    @property
    def dialect(self) -> Dialect:
        return self._db.dialect

    async def read(self, work: Callable[[Rows], T]) -> T:
        return await self._db.read(work)

    async def write(self, work: Callable[[Transaction], T], *, brief: bool = False, locking: bool = False) -> T:
        if self.failing == "before":
            self.tried.set()
            raise Unavailable("The store is away.")
        outcome = await self._db.write(work)
        self.tried.set()
        if self.failing == "after":
            raise Unavailable("The answer was lost.")
        return outcome

    async def lookup(self, sql: str, *params: Value) -> Row | None:
        return await self._db.lookup(sql, *params)


@pytest.mark.anyio
@pytest.mark.requirement("access:audit:every-call")
async def test_what_is_recorded_can_be_read_newest_first(db: Database) -> None:
    trail = AuditTrail(db)
    entries = [entry(number, session="s", transport="http", trace="t") for number in range(5)]
    for one in entries:
        trail.record(one)
    assert trail.waiting() == 5
    await trail.flush()
    assert trail.waiting() == 0
    assert await trail.recent() == entries[::-1]
    assert await trail.recent(2) == [entries[4], entries[3]]


@pytest.mark.anyio
async def test_filters_narrow_what_is_read(db: Database) -> None:
    clock = TurnedClock()
    trail = AuditTrail(db, clock=clock)
    trail.record(entry(1))
    trail.record(entry(2, principal="key:k", outcome="forbidden"))
    trail.record(entry(3, room="metrics", tool="show"))
    await trail.flush()

    async def seen(**filters: Any) -> list[str]:
        return [one.request_id for one in await trail.recent(**filters)]

    assert await seen(principal="key:k") == ["2"]
    assert await seen(outcome="ok") == ["3", "1"]
    assert await seen(room="metrics", tool="show") == ["3"]
    assert await seen(room="metrics", tool="search") == []
    assert await seen(since=1_800_000_002.0) == []
    assert await seen(since=clock.now()) == ["3", "2", "1"]


@pytest.mark.anyio
async def test_totals_are_sums_over_batches_and_processes(db: Database, other: Database) -> None:
    one, two = AuditTrail(db), AuditTrail(other)
    for trail in (one, two):
        trail.record(entry(duration_us=400))
        trail.record(entry(duration_us=20_000_000))
        trail.record(entry(outcome="not_found", duration_us=500))
    await asyncio.gather(one.flush(), two.flush())
    one.record(entry(duration_us=600))
    await one.flush()
    refused, fine = await two.totals()
    assert (fine.room, fine.tool, fine.outcome, fine.calls) == ("directory", "search", "ok", 5)
    assert fine.seconds == pytest.approx(40.0014)
    assert fine.buckets == (2, 1, *[0] * (len(BOUNDS_US) - 2), 2)
    assert (refused.outcome, refused.calls, refused.buckets[0]) == ("not_found", 2, 2)


@pytest.mark.anyio
@pytest.mark.requirement("access:audit:outage")
async def test_while_the_store_is_away_entries_wait_and_are_then_stored_once(db: Database) -> None:
    shaky = ShakyStore(db)
    trail = AuditTrail(shaky)
    for number in range(3):
        trail.record(entry(number))
    for failing in ("before", "after", "after"):
        shaky.failing = failing
        with pytest.raises(Unavailable):
            await trail.flush()
        assert trail.waiting() == 3
    shaky.failing = None
    trail.record(entry(3))
    await trail.flush()
    assert [one.request_id for one in await trail.recent()] == ["3", "2", "1", "0"]
    assert [total.calls for total in await trail.totals()] == [4]


@pytest.mark.anyio
async def test_when_too_many_wait_the_oldest_go_and_are_counted(db: Database) -> None:
    trail = AuditTrail(db, buffer_most=BATCH)
    for number in range(BATCH + 7):
        trail.record(entry(number))
    assert (trail.waiting(), trail.dropped) == (BATCH, 7)
    await trail.flush()
    assert (await trail.recent(BATCH))[-1].at == entry(7).at


@pytest.mark.anyio
async def test_a_hostile_id_is_stored_harmlessly(db: Database) -> None:
    trail = AuditTrail(db)
    trail.record(entry(request_id="nul \0 lone \ud800 line\n", session="x" * 100_000))
    await trail.flush()
    [stored] = await trail.recent()
    assert stored.request_id == "nul \0 lone \\ud800 line\n"
    assert len(stored.session) == LONGEST_TEXT


@pytest.mark.requirement("access:audit:no-secrets")
def test_a_secret_a_caller_puts_into_its_ids_is_not_stored() -> None:
    token = "ghp_" + "A1b2C3d4E5" * 3
    trace = f"00-{'4111111111111111' * 2}-{'1' * 16}-01"
    entries = [
        AuditEntry(1.0, "p", "", "t", "ok", 1, f"id {token}", "", "http", f"password={token}"),
        AuditEntry(2.0, "p", "", "t", "ok", 1, "4111111111111111", "", "http", trace),
        AuditEntry(3.0, "p", "", "t", "ok", 1, "1", reason=f"looking for {token}"),
    ]
    batch = make_batch(uuid7(), entries)
    assert token.encode() not in batch.entries
    kept = msgspec.json.decode(batch.entries, type=list[AuditEntry])
    assert kept[0].request_id == "id [redacted:github-token]"
    assert kept[1] == entries[1], "a number or a trace that only resembles a secret stays"
    assert kept[2].reason == "looking for [redacted:github-token]"


@pytest.mark.anyio
async def test_a_batch_the_store_will_never_take_does_not_hold_up_the_rest(db: Database) -> None:
    trail = AuditTrail(db)
    trail.record(entry(1, duration_us=2**70))
    await trail.flush()
    trail.record(entry(2))
    await trail.flush()
    assert trail.dropped == 1
    assert [one.request_id for one in await trail.recent()] == ["2"]


@pytest.mark.anyio
async def test_started_it_stores_by_itself_and_stopped_it_stores_the_rest(db: Database) -> None:
    store = ShakyStore(db)
    trail = AuditTrail(store)
    trail.start()
    for number in range(BATCH):
        trail.record(entry(number))
    with anyio.fail_after(60):
        await store.tried.wait()
    assert [total.calls for total in await trail.totals()] == [BATCH]
    trail.record(entry(BATCH))
    await trail.stop()
    assert [total.calls for total in await trail.totals()] == [BATCH + 1]


@pytest.mark.anyio
async def test_it_outlives_an_outage_while_started(db: Database) -> None:
    shaky = ShakyStore(db)
    shaky.failing = "before"
    trail = AuditTrail(shaky)
    trail.start()
    for number in range(BATCH):
        trail.record(entry(number))
    with anyio.fail_after(60):
        await shaky.tried.wait()
    shaky.failing = None
    await trail.stop()
    assert [total.calls for total in await trail.totals()] == [BATCH]


@pytest.mark.anyio
async def test_stopping_without_a_store_ends_and_keeps_the_entries(db: Database) -> None:
    shaky = ShakyStore(db)
    shaky.failing = "before"
    trail = AuditTrail(shaky)
    trail.record(entry())
    await trail.stop()
    assert trail.waiting() == 1


@pytest.mark.anyio
async def test_pruning_goes_in_slices_and_leaves_the_young_and_the_totals(db: Database) -> None:
    clock = TurnedClock()
    trail = AuditTrail(db, retention_days=1, clock=clock)
    for number in range(PRUNED_AT_ONCE + 3):
        clock.advance(1)
        trail.record(entry(number))
        trail.record(entry(number))
        await trail.flush()
    clock.advance(86_400)
    trail.record(entry(99))
    await trail.flush()
    clock.advance(-2.5)
    assert await trail.prune() == 2 * (PRUNED_AT_ONCE + 3) - 6
    assert Counter(one.request_id for one in await trail.recent())["99"] == 1
    assert [total.calls for total in await trail.totals()] == [2 * (PRUNED_AT_ONCE + 3) + 1]


@pytest.mark.anyio
async def test_a_batch_stored_twice_counts_once(db: Database) -> None:
    batch = make_batch(uuid7(), [entry(1), entry(2)])
    for _ in range(2):
        await db.write(lambda tx: store_batch(tx, batch))
    assert [total.calls for total in await AuditTrail(db).totals()] == [2]


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 20_000_000))))
def test_grouping_loses_no_call_and_no_microsecond(calls: list[tuple[str, int]]) -> None:
    totals = grouped((("room", tool, "ok"), duration) for tool, duration in calls)
    for (_, tool, _), (count, total_us, *buckets) in totals.items():
        durations = [duration for name, duration in calls if name == tool]
        assert (count, total_us, sum(buckets)) == (len(durations), sum(durations), len(durations))
        for bound, cumulative in zip(BOUNDS_US, (sum(buckets[: n + 1]) for n in range(len(BOUNDS_US))), strict=True):
            assert cumulative == sum(duration <= bound for duration in durations)
    assert sum(sums[0] for sums in totals.values()) == len(calls)


@pytest.mark.anyio
@pytest.mark.requirement("incidents:background")
async def test_a_trail_that_waits_says_so_once_and_when_it_is_over(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pentad.access.audit.EVERY_SECONDS", 0.001)
    caplog.set_level("INFO", "pentad.access.audit")
    shaky = ShakyStore(db)
    shaky.failing = "before"
    trail = AuditTrail(shaky)
    trail.record(entry())
    trail.start()
    for _ in range(5):
        shaky.tried.clear()
        async with asyncio.timeout(60):
            await shaky.tried.wait()
    shaky.failing = None
    await until_true(lambda: not trail.waiting() and len(caplog.records) >= 2)
    await trail.stop()
    waits, over = caplog.records
    assert (waits.levelname, over.levelname) == ("WARNING", "INFO")
    assert vars(waits)["incident"] == vars(over)["incident"]


@pytest.mark.anyio
@pytest.mark.requirement("incidents:background")
async def test_entries_that_are_dropped_are_told(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    trail = AuditTrail(db, buffer_most=2)
    for number in range(10):
        trail.record(entry(number))
    (line,) = caplog.records
    assert vars(line)["dropped"] == 1
    assert trail.dropped == 8
