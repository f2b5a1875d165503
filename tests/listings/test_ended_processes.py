"""What a process hosted that has died is withdrawn soon, whichever machine it was on, and what lives stays."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from pentad.jobs.job import Job, JobRun
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Database
from pentad.listings.listing import Listing
from pentad.listings.service import RECONCILE, SERVING, Listings
from pentad.storage.migrations import MigrationSet
from tests.jobs.working import SETS, process, rows
from tests.stores import Stores
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio

TABLES = (*SETS, MigrationSet("listings", "pentad.listings.schema"))
AGENT = Listing(key="http://a/agents/one", name="a/one", version="1.0.0", description="One.", provider="A")


class StoppedClock(SystemClock):
    """Stands still until a test moves it."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


async def hosted() -> Sequence[Listing]:
    return [AGENT]


async def hosting(database: Database) -> tuple[JobQueue, Listings]:
    """A process that hosts one agent."""
    queue = JobQueue(database, SystemClock())
    listings = Listings(queue)
    await listings.start([hosted])
    await until(lambda: rows(queue), lambda found: any(row[:3] == (SERVING, queue.worker, "running") for row in found))
    await listings.stop()
    return queue, listings


async def state_of_lease(queue: JobQueue, owner: JobQueue) -> str:
    (state,) = [state for name, key, state, *_ in await rows(queue) if (name, key) == (SERVING, owner.worker)]
    return state


async def silence(queue: JobQueue, beat_at: float = 9e12) -> None:
    """As after `kill -9`: the store is closed without a word, and the last heartbeat is a moment old."""
    await asyncio.to_thread(queue._heartbeat.stop)
    await queue.database.write(
        lambda tx: tx.run("INSERT INTO job_workers (id, beat_at) VALUES (?, ?)", queue.worker, beat_at)
    )
    await queue.database.close()


@pytest.mark.requirement("listings:ended")
async def test_a_process_that_died_loses_its_listings_at_the_second_look_whatever_its_heartbeat(stores: Stores) -> None:
    dying, _ = await hosting(await stores.open(TABLES))
    clock = StoppedClock()
    survivor = JobQueue(await stores.open(TABLES), clock)
    listings = Listings(survivor)
    await silence(dying)
    await until(lambda: survivor.database.read(lambda found: survivor.database.ended_sessions(found, [session(dying)])))
    await listings.update()
    assert await state_of_lease(survivor, dying) == "running", "its connection may come back"
    clock.seconds += 0.6
    await listings.update()
    assert await state_of_lease(survivor, dying) == "queued"
    await survivor.close()


@pytest.mark.requirement("listings:ended")
async def test_what_a_process_was_bringing_up_to_date_when_it_died_goes_on_with_its_lease(stores: Stores) -> None:
    dying, _ = await hosting(await stores.open(TABLES))
    assert await dying.database.write(lambda tx: dying.claim(tx, RECONCILE, 1))
    clock = StoppedClock()
    survivor = JobQueue(await stores.open(TABLES), clock)
    listings = Listings(survivor)
    await silence(dying)
    await until(lambda: survivor.database.read(lambda found: survivor.database.ended_sessions(found, [session(dying)])))
    await listings.update()
    clock.seconds += 0.6
    await listings.update()
    assert [state for name, _, state, *_ in await rows(survivor) if name == RECONCILE] == ["queued"]
    await survivor.close()


@pytest.mark.parametrize(("last_beat", "is_dead"), [(-10.0, True), (3_600.0, False)])
@pytest.mark.requirement("jobs:takeover")
async def test_a_process_without_session_loses_all_its_jobs_with_its_first_missed_heartbeat(
    last_beat: float, is_dead: bool, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pentad.jobs.leases.DEAD_SECONDS", 3_600.0)
    dying, _ = await hosting(await stores.open(TABLES))
    await dying.database.write(lambda tx: dying.hold(tx, "agents.turn", "one"))
    clock = StoppedClock()
    survivor = JobQueue(await stores.open(TABLES), clock)
    listings = Listings(survivor)
    await silence(dying, time.time() + last_beat)
    await until(lambda: survivor.database.read(lambda found: survivor.database.ended_sessions(found, [session(dying)])))
    await listings.update()
    assert not await survivor.database.read(survivor.has_orphans), "its connection may come back"
    clock.seconds += 0.6
    await listings.update()
    assert await survivor.database.read(survivor.has_orphans) is is_dead
    await survivor.close()


@pytest.mark.requirement("listings:ended")
async def test_a_process_that_is_seen_again_keeps_its_listings(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    living, _ = await hosting(await stores.open(TABLES))
    clock = StoppedClock()
    other = JobQueue(await stores.open(TABLES), clock)
    listings = Listings(other)
    with monkeypatch.context() as patch:
        patch.setattr(other.database, "ended_sessions", lambda _rows, sessions: set(sessions))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        await listings.update()
    clock.seconds += 0.6
    await listings.update()
    assert await state_of_lease(other, living) == "running"
    await living.close()
    await other.close()


@pytest.mark.requirement("listings:ended")
async def test_a_process_that_stops_wakes_the_others_and_is_not_polled_for(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str | None] = []

    async def retract(_service: Any, run: JobRun) -> None:
        ended.append(run.key)

    monkeypatch.setattr("pentad.jobs.workers.SOON_SECONDS", 3_600.0)
    leaving, _ = await hosting(await stores.open(TABLES))
    async with process(await stores.open(TABLES), [Job(SERVING, retract)]):
        await leaving.close()
        await until_true(lambda: ended == [leaving.worker])


def session(queue: JobQueue) -> str:
    return queue.database.session
