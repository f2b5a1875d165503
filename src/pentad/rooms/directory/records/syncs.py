"""Copies records from another directory. Each sync is a job, so one process works on it at a time.

If that process dies, another one starts the sync again. Fetched records are pushed like any other, so fetching some
twice changes nothing. Each portion needs the right to write that the owner of the sync has by then; without it the sync
fails.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from pentad.access.owners import OwnerNow, owner_as_saved, require_owner
from pentad.jobs.job import JobRun, LeaseLost
from pentad.jobs.queue import JobQueue
from pentad.kernel.cid import canonical_json, cid_of, is_cid
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import Forbidden, InvalidInput, NotFound, PentadError, Unavailable
from pentad.kernel.ids import uuid7
from pentad.kernel.incidents import put_off
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.net.addresses import Network, is_open
from pentad.net.resolver import Resolver, SystemResolver
from pentad.net.urls import canonical_host
from pentad.rooms.directory.models import Record
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.records.service import Records
from pentad.rooms.directory.store import chunks

_PORTS: Final = {"http": 80, "https": 443}
_LONGEST_URL: Final = 2_048


@dataclass(frozen=True, slots=True)
class Peer:
    """Another directory: its name, and once it was judged the address to connect to."""

    host: str
    port: int
    tls: bool
    address: str = ""

    @property
    def target(self) -> str:
        """What to dial; the name is only for TLS."""
        host = self.address or self.host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def read_peer(text: str, what: str = "directory") -> Peer:
    """Read `host:port` or an http(s) URL; InvalidInput says what is wrong with it."""
    url = text.strip()
    problem = f"invalid remote {what} URL: "
    if len(url) > _LONGEST_URL or any(character.isspace() or character < "!" for character in url):
        raise InvalidInput(problem + "it is too long or has blanks in it")
    scheme, separator, _ = url.partition("://")
    if separator and scheme not in _PORTS:
        raise InvalidInput(f"{problem}unsupported scheme '{scheme[:20]}'", hint="Use host:port, http:// or https://.")
    try:
        parts = urlsplit(url if separator else f"//{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidInput(problem + "it cannot be read") from None
    if not host:
        raise InvalidInput(problem + "it has no host name")
    if "@" in parts.netloc:
        raise InvalidInput(problem + "it carries a user name or password")
    if not separator and (parts.path or parts.query):
        raise InvalidInput(problem + "a path needs http:// or https:// before it")
    if port is None:
        if not separator:
            raise InvalidInput(f"{problem}URL must include port (host:port)")
        port = _PORTS[scheme]
    try:
        name, _ = canonical_host(host)
    except PentadError as error:
        raise InvalidInput(problem + error.message) from None
    return Peer(name, port, tls=scheme == "https" and bool(separator))


class PeerGuard:
    """Finds the address of a peer and judges it."""

    def __init__(
        self, hosts: Collection[str] = (), networks: Iterable[Network] = (), resolver: Resolver | None = None
    ) -> None:
        self._hosts = frozenset(canonical_host(host)[0] for host in hosts)
        self._networks = tuple(networks)
        self._resolver = resolver or SystemResolver()

    async def admit(self, peer: Peer) -> Peer:
        """The peer with the address to use; Forbidden when any of its addresses is not for callers to choose."""
        try:
            addresses = await self._resolver.resolve(peer.host)
        except OSError:
            addresses = ()
        if not addresses:
            raise Unavailable(f"The name {peer.host} cannot be resolved.", hint="Check the address of the directory.")
        trusted = peer.host in self._hosts
        if not all(is_open(address, self._networks, host_is_trusted=trusted) for address in addresses):
            raise Forbidden(
                f"{peer.host} is not an address syncs may go to.",
                hint="The operator can name it in rooms.directory.sync_hosts or sync_networks.",
            )
        return Peer(peer.host, peer.port, peer.tls, str(addresses[0]))


JOB: Final = "directory.sync"
"""Copies the records of one sync, whose id is the key."""

DEFAULT_REPOSITORY: Final = "dir"
MOST_CIDS: Final = 100_000
_PORTION: Final = 100
_COLUMNS: Final = (
    "id, directory_url, registry_url, repository, cids, status, records, problem, created_by, created_at, updated_at"
)
_CHANGE: Final = "UPDATE directory_syncs SET status = ?, updated_at = ? WHERE id = ?"


class SyncStatus(IntEnum):
    """The numbers are those of the wire, and stored."""

    PENDING = 1
    IN_PROGRESS = 2
    FAILED = 3
    DELETE_PENDING = 4
    DELETED = 5
    COMPLETED = 6


_OPEN: Final = (SyncStatus.PENDING, SyncStatus.IN_PROGRESS)


class Remote(Protocol):
    """Another directory, opened."""

    async def search_cids(self) -> Sequence[str]:
        """The CIDs of all its records."""
        ...

    async def pull_many(self, cids: Sequence[str]) -> Sequence[Record]:
        """The records that are there."""
        ...

    async def close(self) -> None: ...


OpenRemote = Callable[[Peer], Awaitable[Remote]]
"""Connects to the address of a peer, using its name for TLS."""

Check = Callable[[Mapping[str, Any]], Awaitable[None]]
"""InvalidInput for a record that is not valid."""


@dataclass(frozen=True, slots=True)
class Sync:
    """An order to copy records, and how far it got."""

    id: str
    remote_directory_url: str
    remote_registry_url: str
    repository_name: str
    cids: tuple[str, ...]
    status: SyncStatus
    records: int
    problem: str | None
    created_by: str
    created_time: str
    last_update_time: str


class Syncs:
    """The syncs of one store."""

    def __init__(
        self, database: Database, clock: Clock, events: Events, records: Records, jobs: JobQueue,
        *, open_remote: OpenRemote, check: Check | None = None, guard: PeerGuard | None = None,
        owner_now: OwnerNow = owner_as_saved,
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._jobs = jobs
        self._events = events
        self._records = records
        self._open_remote = open_remote
        self._check = check
        self._owner_now = owner_now
        self._guard = guard or PeerGuard()

    async def create(
        self, who: Principal, directory_url: str = "", cids: Sequence[str] = (), registry_url: str = "",
        repository: str = "",
    ) -> str:  # fmt: skip
        """Order a copy of some records, or of all; the id of the sync."""
        if not directory_url and not registry_url:
            raise InvalidInput("at least one of remote_directory_url or remote_registry_url must be provided")
        if directory_url:
            read_peer(directory_url)
        if registry_url:
            read_peer(registry_url, "registry")
        if len(cids) > MOST_CIDS or not all(is_cid(cid) for cid in cids):
            raise InvalidInput("cids must be content ids", hint=f"Give at most {MOST_CIDS}, or none for everything.")
        key, now = str(uuid7(self._clock)), self._clock.now()

        def work(tx: Transaction) -> None:
            tx.run(
                "INSERT INTO directory_syncs (id, directory_url, registry_url, repository, cids, status, created_by,"
                " created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                key, directory_url, registry_url, (repository or DEFAULT_REPOSITORY).replace("\0", "")[:200],
                msgspec.json.encode(list(dict.fromkeys(cids))).decode(), int(SyncStatus.PENDING), who.id, now, now,
            )  # fmt: skip
            self._events.emit(tx, EventType.SYNC_CREATED, [key], metadata={"remote_url": directory_url or registry_url})
            if directory_url:
                self._jobs.enqueue(tx, JOB, key=key)

        await self._database.write(work)
        return key

    async def get(self, key: str) -> Sync:
        if not key:
            raise InvalidInput("sync_id cannot be empty")
        sql = f"SELECT {_COLUMNS} FROM directory_syncs WHERE id = ?"  # noqa: S608  own columns
        row = await self._database.lookup(sql, key.replace("\0", ""))
        if row is None:
            raise NotFound(f"sync not found: {key[:100]}")
        return _sync(row)

    async def list(self, limit: int = 0, offset: int = 0) -> "list[Sync]":
        """The latest first, without deleted ones; a limit of 0 is none."""
        latest = "ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?"
        sql = f"SELECT {_COLUMNS} FROM directory_syncs WHERE status <> ? {latest}"  # noqa: S608  own columns
        found = await self._database.read(
            lambda rows: rows.all(sql, int(SyncStatus.DELETED), limit or 2**62, offset)
        )  # fmt: skip
        return [_sync(row) for row in found]

    async def delete(self, who: Principal, key: str) -> None:
        """Give a sync up, whatever its state; one that is running ends with the records it is fetching."""
        sync = await self.get(key)
        busy = sync.status is SyncStatus.IN_PROGRESS
        status = int(SyncStatus.DELETE_PENDING if busy else SyncStatus.DELETED)
        await self._database.write(lambda tx: tx.run(_CHANGE, status, self._clock.now(), key))

    async def run(self, run: JobRun) -> None:
        """The job: copy the records, and write down how that ended."""
        sync = await self.get(run.key or "")
        url = sync.remote_directory_url
        try:
            count = await self._copy(sync, run)
        except LeaseLost:
            raise
        except PentadError as error:
            put_off(error, f"A sync ordered by {sync.created_by}")
            metadata = {"remote_url": url, "error": error.message}
            await self._end(run, SyncStatus.FAILED, EventType.SYNC_FAILED, metadata, error.sentence())
        else:
            if count is not None:
                metadata = {"remote_url": url, "record_count": str(count)}
                await self._end(run, SyncStatus.COMPLETED, EventType.SYNC_COMPLETED, metadata, None)

    async def _copy(self, sync: Sync, run: JobRun) -> int | None:
        """Fetch what is not here; how many records were fetched, or None if the sync was given up meanwhile."""
        if not await self._proceeds(run, sync, 0):
            return None
        remote = await self._open_remote(await self._guard.admit(read_peer(sync.remote_directory_url)))
        who = Principal(sync.created_by, sync.created_by, frozenset())
        try:
            wanted = sync.cids or [cid for cid in await remote.search_cids() if is_cid(cid)]
            count = 0
            for part in chunks(list(dict.fromkeys(wanted)), _PORTION):
                if not await self._proceeds(run, sync, count):
                    return None
                known = await self._records.known(part)
                absent = [cid for cid in part if cid not in known]
                fetched = [await self._checked(record, absent) for record in await remote.pull_many(absent)]
                count += sum(bool(pushed.new) for pushed in await self._records.push_many(who, fetched))
            return count
        finally:
            await remote.close()

    async def _checked(self, record: Record, asked: Sequence[str]) -> Mapping[str, Any]:
        """The record, if it is what was asked for: the other side is not believed."""
        data = record.data
        if record.cid not in asked or cid_of(canonical_json(data)) != record.cid:
            raise Unavailable(f"The other directory sent something else than {record.cid[:128]}.")
        if self._check is not None:
            await self._check(data)
        return data

    async def _proceeds(self, run: JobRun, sync: Sync, records: int) -> bool:
        """Note how far the sync got; False, and its end, if it was given up. Forbidden if its owner may not write."""

        def work(tx: Transaction) -> bool:
            run.check(tx)
            status = tx.value("SELECT status FROM directory_syncs WHERE id = ?", sync.id)
            if status in _OPEN:
                require_owner(self._owner_now, tx, sync.created_by, "directory", "write")
                tx.run(
                    "UPDATE directory_syncs SET status = ?, records = ?, updated_at = ? WHERE id = ?",
                    int(SyncStatus.IN_PROGRESS), records, self._clock.now(), sync.id,
                )  # fmt: skip
                return True
            if status == SyncStatus.DELETE_PENDING:
                tx.run(_CHANGE, int(SyncStatus.DELETED), self._clock.now(), sync.id)
            return False

        return await self._database.write(work)

    async def _end(
        self, run: JobRun, status: SyncStatus, kind: EventType, metadata: Mapping[str, str], problem: str | None
    ) -> None:  # fmt: skip
        def work(tx: Transaction) -> None:
            run.finish(tx)
            if tx.value("SELECT status FROM directory_syncs WHERE id = ?", run.key) not in _OPEN:
                tx.run(_CHANGE, int(SyncStatus.DELETED), self._clock.now(), run.key)
                return
            tx.run(
                "UPDATE directory_syncs SET status = ?, problem = ?, updated_at = ?, records = ? WHERE id = ?",
                int(status), problem, self._clock.now(), int(metadata.get("record_count", 0)), run.key,
            )  # fmt: skip
            self._events.emit(tx, kind, [run.key or ""], metadata=metadata)

        await self._database.write(work)


def _sync(row: Sequence[Any]) -> Sync:
    key, directory, registry, repository, cids, status, records, problem, who, created_at, updated_at = row
    return Sync(
        key, directory, registry, repository, tuple(msgspec.json.decode(cids)), SyncStatus(status), records, problem,
        who, iso(created_at), iso(updated_at),
    )  # fmt: skip
