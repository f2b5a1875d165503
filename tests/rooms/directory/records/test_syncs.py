"""Syncs from another directory: bookkeeping, states, and address checks."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from ipaddress import ip_address

import pytest

from pentad.jobs.job import Job
from pentad.jobs.queue import JobQueue
from pentad.jobs.workers import Workers
from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Forbidden, InvalidInput, NotFound, Unavailable
from pentad.kernel.ports import Transaction
from pentad.net.addresses import Address, networks
from pentad.rooms.directory.models import Record
from pentad.rooms.directory.records.events import EventType
from pentad.rooms.directory.records.syncs import JOB, PeerAddress, PeerGuard, Syncs, SyncStatus, parse_peer
from tests.jobs.working import die, working
from tests.rooms.directory.records.parts import WHO, Parts, agent, heard
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio


@dataclass
class Elsewhere:
    """Another directory: a plain dictionary behind the port."""

    records: dict[str, str] = field(default_factory=dict[str, str])
    dialled: list[PeerAddress] = field(default_factory=list[PeerAddress])
    closed: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def add(self) -> str:
        text = canonical_json(agent())
        self.records[cid_of(text)] = text.decode()
        return cid_of(text)

    async def open(self, peer: PeerAddress) -> "Elsewhere":
        self.dialled.append(peer)
        return self

    async def search_cids(self) -> Sequence[str]:
        await self.gate.wait()
        return [*self.records, "not a cid"]

    async def pull_many(self, cids: Sequence[str]) -> Sequence[Record]:
        return [Record(cid, self.records[cid]) for cid in cids if cid in self.records]

    async def close(self) -> None:
        self.closed += 1


class Names:
    """A name server of one name."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = [ip_address(address) for address in addresses]

    async def resolve(self, host: str) -> Sequence[Address]:
        return self._addresses


@pytest.fixture
def elsewhere() -> Elsewhere:
    return Elsewhere()


def syncs_of(parts: Parts, elsewhere: Elsewhere, address: str = "93.184.216.34") -> Syncs:
    """Syncs that nobody works on yet."""
    return Syncs(
        JobQueue(parts.database, SystemClock()), parts.events, parts.records,
        open_remote=elsewhere.open, guard=PeerGuard(resolver=Names(address)),
    )  # fmt: skip


def at_work(syncs: Syncs) -> AbstractAsyncContextManager[Workers]:
    return working(syncs._jobs, [Job(JOB, lambda syncs, run: syncs.run(run), concurrency=1)], syncs)


@pytest.fixture
async def syncs(parts: Parts, elsewhere: Elsewhere) -> AsyncIterator[Syncs]:
    made = syncs_of(parts, elsewhere)
    async with at_work(made):
        yield made


async def test_a_sync_copies_everything_and_tells_of_it(parts: Parts, syncs: Syncs, elsewhere: Elsewhere):
    known = await parts.records.push(WHO, agent())
    elsewhere.records[known.cid] = (await parts.records.pull(known.cid)).text
    copied = {elsewhere.add() for _ in range(250)}
    kinds = [EventType.SYNC_CREATED, EventType.SYNC_COMPLETED]
    async with parts.events.listen(types=kinds) as listening:
        key = await syncs.create(WHO, "https://peer.example.org", repository="")
        created, completed = await heard(listening, 2)
    assert (created.resource_id, created.metadata) == (key, {"remote_url": "https://peer.example.org"})
    assert completed.metadata == {"remote_url": "https://peer.example.org", "record_count": "250"}
    sync = await syncs.get(key)
    assert (sync.status, sync.records, sync.repository_name) == (SyncStatus.COMPLETED, 250, "dir")
    assert sync.created_time <= sync.last_update_time
    assert await parts.records.count() == 251
    assert all(record is not None for record in await parts.records.pull_many(list(copied)))
    assert elsewhere.dialled == [PeerAddress("peer.example.org", 443, True, "93.184.216.34")]
    assert elsewhere.closed == 1


async def test_a_sync_of_some_records_copies_only_those(parts: Parts, syncs: Syncs, elsewhere: Elsewhere):
    cids = [elsewhere.add() for _ in range(5)]
    async with parts.events.listen(types=[EventType.SYNC_COMPLETED]) as listening:
        await syncs.create(WHO, "peer.example.org:8888", cids=[*cids[:2], cid_of(b"gone")])
        (completed,) = await heard(listening, 1)
    assert completed.metadata["record_count"] == "2"
    assert await parts.records.count() == 2


async def test_a_record_that_is_not_what_was_asked_for_is_not_believed(
    parts: Parts, syncs: Syncs, elsewhere: Elsewhere
):
    cid = elsewhere.add()
    elsewhere.records[cid] = elsewhere.records[cid].replace("agent", "enemy")
    async with parts.events.listen(types=[EventType.SYNC_FAILED]) as listening:
        key = await syncs.create(WHO, "peer.example.org:8888")
        (failed,) = await heard(listening, 1)
    assert "sent something else" in failed.metadata["error"]
    assert (await syncs.get(key)).status is SyncStatus.FAILED
    assert await parts.records.count() == 0


async def test_a_sync_can_be_given_up_in_every_state(parts: Parts, syncs: Syncs, elsewhere: Elsewhere):
    elsewhere.add()
    elsewhere.gate.clear()
    key = await syncs.create(WHO, "peer.example.org:8888")
    await until_true(lambda: elsewhere.dialled)
    await syncs.delete(WHO, key)
    assert (await syncs.get(key)).status is SyncStatus.DELETE_PENDING
    elsewhere.gate.set()
    await until(lambda: syncs.get(key), lambda found: found.status is SyncStatus.DELETED)
    assert await parts.records.count() == 0
    await syncs.delete(WHO, key)
    assert await syncs.list() == []
    with pytest.raises(NotFound, match="sync not found"):
        await syncs.delete(WHO, str(uuid.uuid4()))


async def test_a_sync_whose_process_died_is_taken_over(parts: Parts, syncs: Syncs, elsewhere: Elsewhere):
    idle = syncs_of(parts, elsewhere)
    async with parts.events.listen(types=[EventType.SYNC_COMPLETED]) as listening:
        key = await _left_by_a_dead_process(idle)
        other = await syncs.create(WHO, "peer.example.org:8888")
        done = {event.resource_id for event in await heard(listening, 2)}
    assert done == {key, other}


async def _left_by_a_dead_process(syncs: Syncs) -> str:
    """A sync that a process had begun when it died."""
    dead, key = JobQueue(syncs._database, SystemClock()), str(uuid.uuid4())

    def work(tx: Transaction) -> None:
        tx.run(
            "INSERT INTO directory_syncs (id, directory_url, registry_url, repository, cids, status, created_by,"
            " created_at, updated_at) VALUES (?, 'peer.example.org:8888', '', 'dir', '[]', 2, 'ada', 1, 1)",
            key,
        )
        dead.hold(tx, JOB, key)

    await dead.database.write(work)
    await die(dead)
    return key


async def test_without_workers_syncs_are_only_kept(parts: Parts, elsewhere: Elsewhere):
    idle = syncs_of(parts, elsewhere)
    keys = [await idle.create(WHO, registry_url="registry.example.org:5000", repository="r") for _ in range(3)]
    assert all(uuid.UUID(key) for key in keys)
    assert [one.id for one in await idle.list()] == keys[::-1]
    assert [one.id for one in await idle.list(limit=1, offset=1)] == [keys[1]]
    await idle.delete(WHO, keys[0])
    assert (await idle.get(keys[0])).status is SyncStatus.DELETED


async def test_one_process_copies_however_many_there_are(parts: Parts, elsewhere: Elsewhere):
    elsewhere.add()
    processes = [syncs_of(parts, elsewhere) for _ in range(3)]
    async with (
        at_work(processes[0]), at_work(processes[1]), at_work(processes[2]),
        parts.events.listen(types=[EventType.SYNC_COMPLETED]) as listening,
    ):  # fmt: skip
        keys = {await processes[number % 3].create(WHO, "peer.example.org:8888") for number in range(9)}
        assert {event.resource_id for event in await heard(listening, 9)} == keys
    assert len(elsewhere.dialled) == 9


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("peer.example.org", "URL must include port"),
        ("ftp://peer.example.org:1", "unsupported scheme 'ftp'"),
        ("https://", "no host name"),
        ("https://user:secret@peer.example.org", "user name or password"),
        ("peer.example.org:99999", "cannot be read"),
        ("peer.example.org:80/path", "a path needs"),
        ("peer example.org:80", "blanks"),
        ("http://[::1%25eth0]:80", "invalid remote directory URL"),
    ],
)
async def test_an_address_that_cannot_be_one_is_refused(url: str, problem: str):
    with pytest.raises(InvalidInput, match=problem):
        parse_peer(url)


async def test_a_sync_needs_an_address_and_content_ids(syncs: Syncs):
    with pytest.raises(InvalidInput, match="at least one of remote_directory_url or remote_registry_url"):
        await syncs.create(WHO)
    with pytest.raises(InvalidInput, match="cids must be content ids"):
        await syncs.create(WHO, "peer.example.org:1", cids=["x"])
    with pytest.raises(InvalidInput, match="invalid remote directory URL"):
        await syncs.create(WHO, "peer.example.org")
    with pytest.raises(InvalidInput, match="invalid remote registry URL"):
        await syncs.create(WHO, registry_url="peer.example.org")
    with pytest.raises(InvalidInput, match="sync_id cannot be empty"):
        await syncs.get("")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
async def test_what_only_this_machine_can_reach_is_refused(address: str):
    with pytest.raises(Forbidden, match="not an address syncs may go to"):
        await PeerGuard(resolver=Names("93.184.216.34", address)).resolve(PeerAddress("peer.example.org", 443, True))


async def test_a_sync_with_a_refused_address_fails_without_dialling(parts: Parts, elsewhere: Elsewhere):
    syncs = syncs_of(parts, elsewhere, "127.0.0.1")
    async with at_work(syncs), parts.events.listen(types=[EventType.SYNC_FAILED]) as listening:
        await syncs.create(WHO, "peer.example.org:8888")
        (failed,) = await heard(listening, 1)
    assert "is not an address syncs may go to" in failed.metadata["error"]
    assert elsewhere.dialled == []


async def test_an_operator_can_open_a_host_or_a_network():
    peer = parse_peer("http://localhost:8888")
    assert peer == PeerAddress("localhost", 8888, False)
    here = Names("127.0.0.1")
    assert (await PeerGuard(hosts=["LOCALHOST"], resolver=here).resolve(peer)).target == "127.0.0.1:8888"
    assert (await PeerGuard(networks=networks("127.0.0.0/8"), resolver=here).resolve(peer)).address == "127.0.0.1"
    assert (await PeerGuard(hosts=["localhost"], resolver=Names("::1")).resolve(peer)).target == "[::1]:8888"
    with pytest.raises(Unavailable, match="cannot be resolved"):
        await PeerGuard(resolver=Names()).resolve(peer)
