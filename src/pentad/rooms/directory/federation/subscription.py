"""Follows peers: copies the records pushed to them with their referrers, and drops what they withdraw.

One job per peer first listens for events and then reads the changes after its position, so no change is missed. Each
portion is stored before the position; after a crash a portion is repeated, which changes nothing. Peers are not
trusted: CIDs are computed again, records validated and signatures verified here.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pentad.access.owners import OwnerNow, require_owner
from pentad.jobs.job import JobRun, LeaseLost, RetryLater
from pentad.kernel.cid import is_cid
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound, PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.kernel.sql import chunks
from pentad.rooms.directory.federation.connections import PeerConnections
from pentad.rooms.directory.federation.peers import Peer, Peers
from pentad.rooms.directory.models import PUBLIC_KEY, SIGNATURE, NotOffered
from pentad.rooms.directory.records.changes import Change, Changes, withdrawn
from pentad.rooms.directory.records.referrers import Referrer, Referrers
from pentad.rooms.directory.records.service import Records, draft_record
from pentad.rooms.directory.store import Draft, ids_of, names_of
from pentad.rooms.directory.trust.service import Trust

if TYPE_CHECKING:
    from pentad.rooms.directory.remote.node import RemoteNode

QUIET_SECONDS: Final = 60.0
"""Seconds to wait for an event before reading the changes anyway; also how often directories other than Pentad are
compared.
"""
_PAGE: Final = 200
_PORTION: Final = 50
_SEEN: Final = (
    "INSERT INTO directory_origins (record, peer, seen) VALUES (?, ?, ?)"
    " ON CONFLICT (record, peer) DO UPDATE SET seen = excluded.seen"
)
_UNSEEN: Final = (
    "SELECT r.cid FROM directory_origins o JOIN directory_records r ON r.id = o.record"
    " WHERE o.peer = ? AND o.seen < ? ORDER BY o.record LIMIT ?"
)

Check = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Raises InvalidInput if a record is not valid."""


class Subscriptions:
    """The job that follows peers."""

    def __init__(
        self, database: Database, clock: Clock, peers: Peers, connections: PeerConnections, records: Records,
        referrers: Referrers, trust: Trust, *, check: Check, owner_now: OwnerNow, quiet_seconds: float = QUIET_SECONDS,
    ) -> None:  # fmt: skip
        self.database = database
        self.clock = clock
        self.peers = peers
        self.connections = connections
        self.records = records
        self.referrers = referrers
        self.trust = trust
        self.check = check
        self.owner_now = owner_now
        self._quiet_seconds = quiet_seconds

    async def run(self, run: JobRun) -> None:
        """Follow one peer until the process stops. A failure is stored with the peer and retried later."""
        peer = await self.peers.get(run.key or "")
        if peer is None:
            return
        if peer.removing:
            await self._remove(run, peer)
            return
        progressed = False
        try:
            remote = await self.connections.open(peer)
            try:
                async with remote.listen() as events:
                    while True:
                        await _Round(self, run, await self._current(peer), remote).catch_up()
                        progressed = True
                        await events.wait(self._quiet_seconds)
            finally:
                await remote.close()
        except LeaseLost:
            raise
        except PentadError as error:
            problem = error.sentence()  # before it gets a number here: the other side may have given one
            log_failure(error, f"Following the peer {peer.name}")
            await self.database.write(lambda tx: self._save_failure(tx, run, problem))
            raise RetryLater(problem, progressed=progressed) from None

    async def _current(self, peer: Peer) -> Peer:
        """The peer's current row."""
        found = await self.peers.get(peer.name)
        if found is None:
            raise LeaseLost(f"The peer {peer.name} is gone.")
        return found

    def _save_failure(self, tx: Transaction, run: JobRun, problem: str) -> None:
        run.check(tx)
        tx.run(
            "UPDATE directory_peers SET problem = ?, failing_since = coalesce(failing_since, ?) WHERE name = ?",
            problem.replace("\0", "")[:1_000], self.clock.now(), run.key,
        )  # fmt: skip

    async def _remove(self, run: JobRun, peer: Peer) -> None:
        """Remove the copies of a peer, then the peer."""
        while cids := await self.database.read(lambda rows: _copies_before(rows, peer.name, 2**62)):
            await self.database.write(lambda tx, cids=cids: self.drop(tx, run, peer, cids))

        def work(tx: Transaction) -> None:
            run.check(tx)
            tx.run("DELETE FROM directory_peers WHERE name = ? AND removing = 1", peer.name)

        await self.database.write(work)

    def drop(self, tx: Transaction, run: JobRun, peer: Peer, cids: Sequence[str]) -> None:
        """Remove copies that the peer no longer has, unless another peer has them or they were pushed here."""
        self.records.lock(tx)
        run.check(tx)
        for cid, record in ids_of(tx, cids).items():
            was_copy = tx.run("DELETE FROM directory_origins WHERE record = ? AND peer = ?", record, peer.name)
            if was_copy and tx.value("SELECT 1 FROM directory_origins WHERE record = ?", record) is None:
                self.records.erase(tx, cid, copied=True)


class _Round:
    """Brings the copies of one peer up to date."""

    def __init__(self, subscriptions: Subscriptions, run: JobRun, peer: Peer, remote: "RemoteNode") -> None:
        self._all = subscriptions
        self._run = run
        self._peer = peer
        self._remote = remote
        self._who = Principal(f"peer:{peer.name}", peer.name, frozenset())
        self._generation = peer.generation
        self._skipped, self._reason = peer.skipped, peer.skipped_reason
        self._database = subscriptions.database

    async def catch_up(self) -> None:
        """Apply every change since the last position, and drop what the peer no longer has."""
        page = Changes([], self._peer.position, more=True, reset=False)
        while page.more:
            page = await self._page(page.position)
            if page.reset:
                self._generation += 1
            self._skipped, self._reason = (0, None) if page.reset else (self._skipped, self._reason)
            await self._apply(page.changes)
            await self._database.write(lambda tx, page=page: self._save(tx, page))
        while cids := await self._database.read(lambda rows: _copies_before(rows, self._peer.name, self._generation)):
            await self._database.write(lambda tx, cids=cids: self._all.drop(tx, self._run, self._peer, cids))
        await self._database.write(self._save_in_step)

    async def _page(self, position: str) -> Changes:
        try:
            return await self._remote.changes(position, _PAGE)
        except NotOffered:  # not a Pentad: compare everything
            cids = [cid for cid in await self._remote.search_cids() if is_cid(cid)]
            return Changes([Change(cid, "", deleted=False) for cid in cids], "", more=False, reset=True)

    async def _apply(self, changes: Sequence[Change]) -> None:
        filters = self._peer.filters
        wanted = [one.cid for one in changes if not one.deleted and (not one.name or filters.want_name(one.name))]
        for part in chunks(wanted, _PORTION):
            await self._take_statements(await self._copy(part))
        if gone := [one.cid for one in changes if one.deleted]:
            await self._database.write(lambda tx: self._all.drop(tx, self._run, self._peer, gone))

    async def _copy(self, cids: Sequence[str]) -> list[str]:
        """Copy missing records; returns the CIDs that are here afterwards. Names that the peer gave may be wrong."""

        def look(rows: Rows) -> tuple[dict[str, int], set[str]]:
            here, want = ids_of(rows, cids), self._peer.filters.want_name
            return here, withdrawn(rows, cids) | {cid for cid, name in names_of(rows, here).items() if not want(name)}

        here, refused = await self._database.read(look)
        known = {cid: record for cid, record in here.items() if cid not in refused}
        absent = [cid for cid in cids if cid not in here and cid not in refused]
        drafts = [draft for record in await self._remote.pull_many(absent) if (draft := await self._draft(record.data))]
        stored = await self._store(drafts)
        if known:
            await self._database.write(lambda tx: self._mark_seen(tx, known))
        return [*known, *stored]

    async def _draft(self, data: dict[str, Any]) -> Draft | None:
        """A draft to store; None if the record is filtered out or invalid."""
        try:
            await self._all.check(data)
            draft = draft_record(data)
        except (InvalidInput, LimitExceeded) as error:
            self._skip(error)
            return None
        filters = self._peer.filters
        is_wanted = filters.want_name(draft.fields.name) and filters.want_labels(draft.fields.labels)
        return draft if is_wanted else None

    async def _store(self, drafts: Sequence[Draft]) -> list[str]:
        """Store copies; returns the CIDs stored. Records that contradict one here are skipped."""
        if not drafts:
            return []
        try:
            await self._database.write(lambda tx: self._write(tx, drafts))
        except Conflict as error:
            if isinstance(error, LeaseLost):
                raise
            if len(drafts) == 1:
                self._skip(error)
                return []
            return [cid for draft in drafts for cid in await self._store([draft])]
        return [draft.cid for draft in drafts]

    def _write(self, tx: Transaction, drafts: Sequence[Draft]) -> None:
        records = self._all.records
        records.lock(tx)
        self._run.check(tx)
        require_owner(self._all.owner_now, tx, self._peer.created_by, "directory", "admin")
        new = records.write(tx, self._who, drafts, copied=True)
        ids = ids_of(tx, list(new))
        tx.run_many(_SEEN, [(record, self._peer.name, self._generation) for record in ids.values()])

    def _mark_seen(self, tx: Transaction, known: Mapping[str, int]) -> None:
        """Note that the peer still has these copies. Records pushed here have no origin."""
        self._run.check(tx)
        copies = [
            record
            for record in known.values()
            if tx.value("SELECT 1 FROM directory_origins WHERE record = ?", record) is not None
        ]
        tx.run_many(_SEEN, [(record, self._peer.name, self._generation) for record in copies])

    async def _take_statements(self, cids: Sequence[str]) -> None:
        """Copy referrers, drop those the peer no longer has, and evaluate the records by this directory's policy."""
        for cid, statements in (await self._remote.referrers(cids)).items():
            theirs: dict[str, Referrer] = {}
            for one in statements:
                try:
                    checked = self._all.referrers.checked(one, cid)
                except (InvalidInput, Conflict, LimitExceeded):
                    continue  # unknown type
                theirs[checked.cid] = checked
            try:
                changed = await self._database.write(
                    lambda tx, cid=cid, theirs=theirs: self._save_statements(tx, cid, theirs)
                )
            except LimitExceeded as error:  # the record has too many referrers
                self._skip(error)
                continue
            if changed:
                await self._all.trust.verify(cid)

    def _save_statements(self, tx: Transaction, cid: str, theirs: Mapping[str, Referrer]) -> bool:
        """Save referrers; returns whether signatures or keys changed."""
        self._all.records.lock(tx)
        self._run.check(tx)
        referrers = self._all.referrers
        try:
            here = {one.cid: one for one in referrers.read(tx, cid)}
        except NotFound:  # deleted meanwhile
            return False
        new = [one for key, one in theirs.items() if key not in here]
        referrers.write(tx, self._who, new)
        mine = tx.all(
            "SELECT f.cid FROM directory_referrers f JOIN directory_records r ON r.id = f.record"
            " WHERE r.cid = ? AND f.pushed_by = ?",
            cid, self._who.id,
        )  # fmt: skip
        stale = [here[key] for (key,) in mine if key in here and key not in theirs]
        referrers.remove(tx, cid, stale)
        return bool({one.type for one in (*new, *stale)} & {PUBLIC_KEY, SIGNATURE})

    def _skip(self, error: PentadError) -> None:
        self._skipped += 1
        self._reason = error.message.replace("\0", "")[:1_000]

    def _save(self, tx: Transaction, page: Changes) -> None:
        self._run.check(tx)
        tx.run(
            "UPDATE directory_peers SET position = ?, generation = ?, skipped = ?, skipped_reason = ? WHERE name = ?",
            page.position, self._generation, self._skipped, self._reason, self._peer.name,
        )  # fmt: skip

    def _save_in_step(self, tx: Transaction) -> None:
        self._run.check(tx)
        tx.run(
            "UPDATE directory_peers SET in_step_at = ?, problem = NULL, failing_since = NULL WHERE name = ?",
            self._all.clock.now(), self._peer.name,
        )  # fmt: skip


def _copies_before(rows: Rows, peer: str, generation: int) -> list[str]:
    """Some of a peer's copies last seen before a generation."""
    return [cid for (cid,) in rows.all(_UNSEEN, peer, generation, _PORTION)]
