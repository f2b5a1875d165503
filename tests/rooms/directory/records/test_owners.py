"""Background syncs and publications need the requester's current right to write."""

from collections.abc import AsyncIterator

import pytest

from pentad.access.owners import Owners
from pentad.jobs.job import Job
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Rows
from pentad.kernel.principal import Principal
from pentad.rooms.directory.records.publications import JOB, Publications, PublicationStatus, PublishRequest
from pentad.rooms.directory.records.syncs import PeerGuard, Syncs, SyncStatus
from pentad.storage.migrations import MigrationSet
from tests.jobs.working import working
from tests.rooms.directory.records.parts import SETS, Parts, agent, parts_over
from tests.rooms.directory.records.test_syncs import Elsewhere, Names, at_work
from tests.stores import Stores
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio

ADA = Principal("user:ada", "ada", frozenset({"directory:read", "directory:write"}))
OWNER_NOW = Owners(SystemClock()).current
ADDED = (
    "INSERT INTO users (name_key, name, password_hash, role, scopes, created_at) VALUES ('ada', 'ada', '', ?, '', 0)"
)
LOST = [("DELETE FROM users", "user:ada is gone"), ("UPDATE users SET role = 'reader'", "directory:write")]


@pytest.fixture
async def parts(stores: Stores) -> AsyncIterator[Parts]:
    made = parts_over(await stores.open([*SETS, MigrationSet("access", "pentad.access.schema")]))
    await made.database.write(lambda tx: tx.run(ADDED, "writer"))
    yield made
    await made.stop()


@pytest.fixture
async def elsewhere() -> Elsewhere:
    return Elsewhere()


@pytest.fixture
async def syncs(parts: Parts, elsewhere: Elsewhere) -> Syncs:
    return Syncs(
        JobQueue(parts.database, SystemClock()), parts.events, parts.records,
        open_remote=elsewhere.open, guard=PeerGuard(resolver=Names("93.184.216.34")), owner_now=OWNER_NOW,
    )  # fmt: skip


async def ended(parts: Parts, syncs: Syncs, key: str) -> str:
    """Why a sync failed that has to fail."""
    over = (SyncStatus.FAILED, SyncStatus.COMPLETED)
    sync = await until(lambda: syncs.get(key), lambda found: found.status in over)
    assert sync.status is SyncStatus.FAILED
    return sync.problem or ""


@pytest.mark.parametrize(("lost", "reason"), LOST)
@pytest.mark.requirement("directory:orders:owners-now")
async def test_a_sync_is_not_begun_for_who_may_not_write_any_more(
    parts: Parts, syncs: Syncs, elsewhere: Elsewhere, lost: str, reason: str
) -> None:
    elsewhere.add()
    key = await syncs.create(ADA, "https://peer.example.org")
    await parts.database.write(lambda tx: tx.run(lost))
    async with at_work(syncs):
        assert reason in await ended(parts, syncs, key)
    assert (elsewhere.dialled, await parts.records.count()) == ([], 0)


@pytest.mark.parametrize(("lost", "reason"), LOST)
@pytest.mark.requirement("directory:orders:owners-now")
async def test_a_sync_under_way_ends_when_its_owner_may_not_write_any_more(
    parts: Parts, syncs: Syncs, elsewhere: Elsewhere, lost: str, reason: str
) -> None:
    elsewhere.add()
    elsewhere.gate.clear()
    async with at_work(syncs):
        key = await syncs.create(ADA, "https://peer.example.org")
        await until_true(lambda: elsewhere.dialled)
        await parts.database.write(lambda tx: tx.run(lost))
        elsewhere.gate.set()
        assert reason in await ended(parts, syncs, key)
    assert (elsewhere.closed, await parts.records.count()) == (1, 0)


@pytest.mark.parametrize(("lost", "reason"), LOST)
@pytest.mark.requirement("directory:orders:owners-now")
async def test_a_publication_left_undone_is_not_done_for_who_may_not_write_any_more(
    parts: Parts, lost: str, reason: str
) -> None:
    async def nothing(_filters: object) -> list[str]:
        return []

    made = await parts.records.push(ADA, agent())
    jobs = JobQueue(parts.database, SystemClock())
    publications = Publications(jobs, parts.events, nothing, OWNER_NOW)
    await parts.workers.stop()
    async with working(jobs, [Job(JOB, lambda made, run: made.run(run))], publications):
        key = await publications.create(ADA, PublishRequest(record_refs=(made.cid,)))
        assert (await publications.get(key)).status is PublicationStatus.COMPLETED
        await parts.database.write(lambda tx: tx.run("UPDATE directory_publications SET status = 1"))
        await parts.database.write(lambda tx: tx.run("UPDATE directory_records SET published_at = NULL"))
        await parts.database.write(lambda tx: tx.run(lost))
        await parts.database.write(lambda tx: jobs.enqueue(tx, JOB, key=key))
        found = await until(lambda: publications.get(key), lambda found: found.status is PublicationStatus.FAILED)
    assert reason in (found.problem or "")
    assert await parts.database.read(_published) == 0


def _published(rows: Rows) -> int:
    return rows.value("SELECT count(*) FROM directory_records WHERE published_at IS NOT NULL")
