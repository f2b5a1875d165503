"""Copies records from another directory.

Each sync is a job, so one process works on it at a time. If that process dies, another one starts the sync again.
Fetched records are pushed like any others, so fetching some twice changes nothing. The URL is parsed when the sync is
created and its addresses are checked when it runs; the connection then goes to the checked address. Private addresses
are refused unless the operator allows them.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from pentad.access.owners import OwnerNow, owner_as_saved
from pentad.jobs.job import JobRun, LeaseLost
from pentad.jobs.queue import JobQueue
from pentad.kernel.cid import canonical_json, cid_of, is_cid
from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, PentadError, Unavailable
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Transaction
from pentad.kernel.principal import Principal
from pentad.kernel.sql import chunks
from pentad.net.addresses import Network, Resolver, SystemResolver, is_open
from pentad.net.urls import canonical_host
from pentad.rooms.directory.models import Record
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.records.job_requests import JobRequests
from pentad.rooms.directory.records.service import Records, check_author

_PORTS: Final = {"http": 80, "https": 443}
_LONGEST_URL: Final = 2_048


@dataclass(frozen=True, slots=True)
class PeerAddress:
    """The address of another directory: its host name and, once checked, the IP address to connect to."""

    host: str
    port: int
    tls: bool
    address: str = ""

    @property
    def target(self) -> str:
        """Where to connect. The host name is only used for TLS."""
        host = self.address or self.host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def parse_peer(text: str, what: str = "directory") -> PeerAddress:
    """Parse `host:port` or an http(s) URL; InvalidInput says what is wrong with it."""
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
    return PeerAddress(name, port, tls=scheme == "https" and bool(separator))


class PeerGuard:
    """Resolves a peer's host name and checks its addresses."""

    def __init__(
        self, hosts: Collection[str] = (), networks: Iterable[Network] = (), resolver: Resolver | None = None
    ) -> None:
        self._hosts = frozenset(canonical_host(host)[0] for host in hosts)
        self._networks = tuple(networks)
        self._resolver = resolver or SystemResolver()

    async def resolve(self, peer: PeerAddress) -> PeerAddress:
        """The peer with the IP address to use. Forbidden if any of its addresses is private and not allowed."""
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
        return PeerAddress(peer.host, peer.port, peer.tls, str(addresses[0]))


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
    """The numbers are part of the wire format, and stored."""

    PENDING = 1
    IN_PROGRESS = 2
    FAILED = 3
    DELETE_PENDING = 4
    DELETED = 5
    COMPLETED = 6


_OPEN: Final = (SyncStatus.PENDING, SyncStatus.IN_PROGRESS)


class Remote(Protocol):
    """An open connection to another directory."""

    async def search_cids(self) -> Sequence[str]:
        """The CIDs of all its records."""
        ...

    async def pull_many(self, cids: Sequence[str]) -> Sequence[Record]:
        """The records that exist."""
        ...

    async def close(self) -> None: ...


OpenRemote = Callable[[PeerAddress], Awaitable[Remote]]
"""Connects to the address of a peer, using its name for TLS."""

Check = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Raises InvalidInput if a record is not valid."""


@dataclass(frozen=True, slots=True)
class Sync:
    """A request to copy records, and its progress."""

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


class Syncs(JobRequests[Sync]):
    """The syncs of one store."""

    def __init__(
        self, jobs: JobQueue, events: Events, records: Records,
        *, open_remote: OpenRemote, check: Check | None = None, guard: PeerGuard | None = None,
        owner_now: OwnerNow = owner_as_saved,
    ) -> None:  # fmt: skip
        listed = f"status <> {int(SyncStatus.DELETED)}"
        super().__init__(jobs, events, owner_now, noun="sync", columns=_COLUMNS, read=_sync, listed=listed)
        self._records = records
        self._open_remote = open_remote
        self._check = check
        self._guard = guard or PeerGuard()

    async def create(
        self, who: Principal, directory_url: str = "", cids: Sequence[str] = (), registry_url: str = "",
        repository: str = "",
    ) -> str:  # fmt: skip
        """Queue a copy of some records, or of all. Returns the id of the sync."""
        if not directory_url and not registry_url:
            raise InvalidInput("at least one of remote_directory_url or remote_registry_url must be provided")
        if directory_url:
            parse_peer(directory_url)
        if registry_url:
            parse_peer(registry_url, "registry")
        if len(cids) > MOST_CIDS or not all(is_cid(cid) for cid in cids):
            raise InvalidInput("cids must be content ids", hint=f"Give at most {MOST_CIDS}, or none for everything.")
        key, now = self._new_id()

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

    async def delete(self, who: Principal, key: str) -> None:
        """Delete a sync in any state. A running one stops after the portion it is fetching."""
        sync = await self.get(key)
        check_author(who, f"The sync {key}", sync.created_by)
        busy = sync.status is SyncStatus.IN_PROGRESS
        status = int(SyncStatus.DELETE_PENDING if busy else SyncStatus.DELETED)
        await self._database.write(lambda tx: tx.run(_CHANGE, status, self._clock.now(), key))

    async def run(self, run: JobRun) -> None:
        """The job: copy the records and store the outcome."""
        sync = await self.get(run.key or "")
        url = sync.remote_directory_url
        try:
            count = await self._copy(sync, run)
        except LeaseLost:
            raise
        except PentadError as error:
            log_failure(error, f"A sync of {sync.created_by}")
            metadata = {"remote_url": url, "error": error.message}
            await self._end(run, SyncStatus.FAILED, EventType.SYNC_FAILED, metadata, error.sentence())
        else:
            if count is not None:
                metadata = {"remote_url": url, "record_count": str(count)}
                await self._end(run, SyncStatus.COMPLETED, EventType.SYNC_COMPLETED, metadata, None)

    async def _copy(self, sync: Sync, run: JobRun) -> int | None:
        """Fetch missing records. Returns how many were new, or None if the sync was deleted meanwhile."""
        if not await self._continue(run, sync, 0):
            return None
        remote = await self._open_remote(await self._guard.resolve(parse_peer(sync.remote_directory_url)))
        who = Principal(sync.created_by, sync.created_by, frozenset())
        try:
            cids = sync.cids or [cid for cid in await remote.search_cids() if is_cid(cid)]
            count = 0
            conflicts: list[str] = []
            for part in chunks(list(dict.fromkeys(cids)), _PORTION):
                if not await self._continue(run, sync, count):
                    return None
                known = await self._records.known(part)
                absent = [cid for cid in part if cid not in known]
                fetched = [await self._checked(record, absent) for record in await remote.pull_many(absent)]
                count += await self._push(who, fetched, conflicts)
            if conflicts:
                raise Conflict(f"{len(conflicts)} records were not copied: {conflicts[0]}")
            return count
        finally:
            await remote.close()

    async def _push(self, who: Principal, fetched: Sequence[Mapping[str, Any]], conflicts: list[str]) -> int:
        """Store a portion; returns how many were new. Records that contradict one here are skipped and noted."""
        try:
            return sum(bool(pushed.new) for pushed in await self._records.push_many(who, fetched))
        except Conflict as error:
            if len(fetched) == 1:
                conflicts.append(error.message)
                return 0
        return sum([await self._push(who, [one], conflicts) for one in fetched])

    async def _checked(self, record: Record, requested: Sequence[str]) -> Mapping[str, Any]:
        """The record, if it was requested and is valid. The other side is not trusted."""
        data = record.data
        if record.cid not in requested or cid_of(canonical_json(data)) != record.cid:
            raise Unavailable(f"The other directory sent something else than {record.cid[:128]}.")
        if self._check is not None:
            await self._check(data)
        return data

    async def _continue(self, run: JobRun, sync: Sync, records: int) -> bool:
        """Store the progress. False if the sync was deleted; Forbidden if its owner may not write any more."""

        def work(tx: Transaction) -> bool:
            run.check(tx)
            status = tx.value("SELECT status FROM directory_syncs WHERE id = ?", sync.id)
            if status in _OPEN:
                self._require_write(tx, sync.created_by)
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
