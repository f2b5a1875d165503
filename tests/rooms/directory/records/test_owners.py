"""Syncs and publications that go on without their caller take the right to write that it has by then."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from pentad.access.owners import Owners
from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Rows
from pentad.kernel.principal import Principal
from pentad.rooms.directory.records.publications import Publications, PublicationStatus, PublishRequest
from pentad.rooms.directory.records.sync_targets import PeerGuard
from pentad.rooms.directory.records.syncs import Syncs, SyncStatus
from pentad.storage.migration_files import MigrationSet
from tests.rooms.directory.records.parts import SETS, Parts, agent, parts_over
from tests.rooms.directory.records.test_syncs import Elsewhere, Names
from tests.stores import Stores

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
async def syncs(parts: Parts, elsewhere: Elsewhere) -> AsyncIterator[Syncs]:
    made = Syncs(
        parts.database, SystemClock(), parts.events, parts.records,
        open_remote=elsewhere.open, guard=PeerGuard(resolver=Names("93.184.216.34")), owner_now=OWNER_NOW,
    )  # fmt: skip
    yield made
    await made.stop()


async def ended(parts: Parts, syncs: Syncs, key: str) -> str:
    """Why a sync failed that has to fail."""
    async with asyncio.timeout(10):
        while (sync := await syncs.get(key)).status is not SyncStatus.FAILED:
            assert sync.status is not SyncStatus.COMPLETED
            await asyncio.sleep(0.01)
    return sync.problem or ""


@pytest.mark.parametrize(("lost", "reason"), LOST)
@pytest.mark.requirement("directory:orders:owners-now")
async def test_a_sync_is_not_begun_for_who_may_not_write_any_more(
    parts: Parts, syncs: Syncs, elsewhere: Elsewhere, lost: str, reason: str
) -> None:
    elsewhere.add()
    key = await syncs.create(ADA, "https://peer.example.org")
    await parts.database.write(lambda tx: tx.run(lost))
    syncs.start()
    assert reason in await ended(parts, syncs, key)
    assert (elsewhere.dialled, await parts.records.count()) == ([], 0)


@pytest.mark.parametrize(("lost", "reason"), LOST)
@pytest.mark.requirement("directory:orders:owners-now")
async def test_a_sync_under_way_ends_when_its_owner_may_not_write_any_more(
    parts: Parts, syncs: Syncs, elsewhere: Elsewhere, lost: str, reason: str
) -> None:
    elsewhere.add()
    elsewhere.gate.clear()
    syncs.start()
    key = await syncs.create(ADA, "https://peer.example.org")
    async with asyncio.timeout(10):
        while not elsewhere.dialled:
            await asyncio.sleep(0.01)
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
    publications = Publications(parts.database, SystemClock(), parts.events, nothing, OWNER_NOW)
    key = await publications.create(ADA, PublishRequest(record_refs=(made.cid,)))
    assert (await publications.get(key)).status is PublicationStatus.COMPLETED
    await parts.database.write(lambda tx: tx.run("UPDATE directory_publications SET status = 1"))
    await parts.database.write(lambda tx: tx.run("UPDATE directory_records SET published_at = NULL"))
    await parts.database.write(lambda tx: tx.run(lost))
    await publications.start()
    async with asyncio.timeout(10):
        while (found := await publications.get(key)).status is not PublicationStatus.FAILED:
            await asyncio.sleep(0.01)
    await publications.stop()
    assert reason in (found.problem or "")
    assert await parts.database.read(_published) == 0


def _published(rows: Rows) -> int:
    return rows.value("SELECT count(*) FROM directory_records WHERE published_at IS NOT NULL")
