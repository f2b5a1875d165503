"""Stores records: each is pushed once, kept under the hash of its canonical text, and never changed.

A push (text, terms and their counts, words, signals) is one transaction, or part of one (`push_batcher.py`). A pull
hashes the record again, so callers never receive a text that does not match its CID.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from pentad.kernel.cid import canonical_json, cid_of, is_cid
from pentad.kernel.clock import Clock
from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.kernel.sql import chunks, marks
from pentad.mcp.changes import list_changed, resource_updated
from pentad.rooms.directory import store
from pentad.rooms.directory.models import NamedRef, Pushed, Record, RecordMeta, State
from pentad.rooms.directory.records.changes import adopt_copies, note_changes
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.records.index_fields import Kind, annotations_of, indexed_fields
from pentad.rooms.directory.records.namespaces import check_immutable, namespaces
from pentad.rooms.directory.records.popularity import Popularity
from pentad.rooms.directory.records.push_batcher import PushBatcher
from pentad.rooms.directory.records.trust_marks import NOT_QUARANTINED, TrustMark, quarantine_new, trust_marks
from pentad.rooms.directory.store import Draft
from pentad.search.index import SearchIndex

_FIELD_CHARS: Final = 300
_LARGEST_READ: Final = 65_536
"""Records larger than this are listed without a description."""


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """An entry of a list of records. `verified`: its domain vouches for it."""

    cid: str
    name: str
    version: str
    schema_version: str
    created_at: str
    trust: TrustMark
    verified: bool
    pushed_by: str
    pushed_at: float
    description: str
    state: str


def summaries_of(rows: Rows, cids: Sequence[str]) -> list[RecordSummary]:
    """The records that exist, in the order asked for. This is not counted as a pull."""
    found: dict[str, RecordSummary] = {}
    for part in chunks(cids):
        sql = (
            f"SELECT r.cid, substr(r.name, 1, {_FIELD_CHARS}), substr(r.version, 1, {_FIELD_CHARS}), r.schema_version,"  # noqa: S608  own numbers, only marks
            f" substr(r.created_at, 1, {_FIELD_CHARS}), r.verified,"
            f" r.pushed_by, r.pushed_at, CASE WHEN length(t.data) <= {_LARGEST_READ} THEN t.data END, r.state"
            " FROM directory_records r JOIN directory_texts t ON t.record = r.id"
            f" WHERE r.cid IN ({marks(len(part))})"
        )
        trust = trust_marks(rows, part)
        found.update((row[0], _summary(row, trust.get(row[0], TrustMark()))) for row in rows.all(sql, *part))
    return [found[cid] for cid in cids if cid in found]


def _summary(row: Row, trust: TrustMark) -> RecordSummary:
    cid, name, version, schema_version, created_at, verified, pushed_by, pushed_at, text, state = row
    data: dict[str, Any] = {} if text is None else msgspec.json.decode(text)
    description = data.get("description")
    short = description[: 2 * _FIELD_CHARS] if isinstance(description, str) else ""
    return RecordSummary(
        cid, name, version, schema_version, created_at, trust, bool(verified), pushed_by, pushed_at, short, state
    )


COLLECTION: Final = "directory"
"""The collection of the records' vectors in the shared search."""
LARGEST_RECORD: Final = 4 * MIB
LONGEST_CID: Final = 128
MOST_NAMES_SIGNALLED: Final = 20
"""If more names than this change at once, subscribers of a name only learn that the list changed."""
LONGEST_NAME_SIGNALLED: Final = 1_000
COMMON_PREFIX: Final = "baearei"
"""Every CID of a record begins with this."""
_NO_ROW: Final = 2**63 - 1


def may_approve(who: Principal) -> bool:
    """Whether records pushed by this caller are approved at once."""
    return who.may("directory", "admin")


def check_author(who: Principal, what: str, *authors: str) -> None:
    """Forbidden unless the caller is one of these authors or an administrator of the directory."""
    if who.id not in authors and not may_approve(who):
        raise Forbidden(
            f"{what} is someone else's.",
            hint="Ask its author, or an administrator of the directory.",
            details={"required_scope": "directory:admin"},
        )


class RecordObserver(Protocol):
    """Takes part in the transactions that store or delete records."""

    def added(self, tx: Transaction, records: Mapping[int, Draft], state: State, now: float) -> None:
        """Records were stored under these row ids, in this state unless the draft has its own."""
        ...

    def erased(self, tx: Transaction, record: int, now: float) -> None: ...


class Records:
    """The records of one store. `is_approved` says whether a caller's pushes are approved at once."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        events: Events,
        popularity: Popularity,
        index: SearchIndex | None = None,
        *,
        observer: RecordObserver | None = None,
        is_approved: Callable[[Principal], bool] = may_approve,
    ) -> None:
        self._database = database
        self._index = index
        self._observer = observer
        self._is_approved = is_approved
        self._clock = clock
        self._events = events
        self._popularity = popularity
        self._batcher = PushBatcher(self._push)

    async def stop(self) -> None:
        """Finish running pushes, even if their callers have gone."""
        await self._batcher.finish()

    async def push(self, who: Principal, data: Mapping[str, Any]) -> Pushed:
        """Store a validated record; pushing it again changes nothing."""
        return await self._batcher.push(who, draft_record(data))

    async def propose(self, who: Principal, data: Mapping[str, Any]) -> Pushed:
        """Store a validated record as a proposal, even if the caller could approve it."""
        return await self._batcher.push(who, replace(draft_record(data), state="proposed"))

    async def push_many(self, who: Principal, records: Sequence[Mapping[str, Any]]) -> list[Pushed]:
        """Store records, all or none."""
        return await self._push(who, [draft_record(data) for data in records])

    async def _push(self, who: Principal, drafts: Sequence[Draft]) -> list[Pushed]:
        if not drafts:
            return []
        new = await self._database.write(lambda tx: self.write(tx, who, drafts))
        pushed: list[Pushed] = []
        for draft in drafts:
            pushed.append(Pushed(draft.cid, draft.cid in new))
            new.discard(draft.cid)
        return pushed

    def write(
        self, tx: Transaction, who: Principal, drafts: Sequence[Draft], *, replaces: bool = False, copied: bool = False
    ) -> set[str]:
        """Store drafts in the caller's transaction, before anything else in it. Returns the CIDs that were new.

        Raises Conflict if a draft has the name and version of another record where versions are final, unless it
        `replaces` that record. `copied` marks copies from a peer; pushing a copy here makes it this directory's own.
        Copies that nobody approved give way to what administrators push: a peer must not reserve names and versions.
        """
        self.lock(tx)
        rules = [] if replaces else namespaces(tx)
        decides = not copied and may_approve(who)
        check_immutable(
            tx, drafts, rules, lambda draft, cid: decides and not draft.state and self._drop_copy(tx, cid)
        )  # fmt: skip
        now = self._clock.now()
        state: State = "approved" if self._is_approved(who) else "proposed"
        stored = store.insert(tx, self._database.dialect, drafts, who.id, now, state)
        new = {draft.cid for draft in stored.values()}
        if new:
            store.choose_newest(tx, quarantine_new(tx, stored, rules))
            if self._observer is not None:
                self._observer.added(tx, stored, state, now)
            list_changed(tx, "resources", "directory")
            if self._index is not None:
                self._index.supply_changed(tx, COLLECTION)
            names = {draft.fields.name for draft in drafts if draft.cid in new}
            for name in names if len(names) <= MOST_NAMES_SIGNALLED else ():
                _name_changed(tx, name)
        if not copied and len(new) < len(drafts):
            adopt_copies(tx, [draft.cid for draft in drafts if draft.cid not in new])
        labels = [draft.fields.labels for draft in drafts]
        self._events.emit(tx, EventType.RECORD_PUSHED, [draft.cid for draft in drafts], labels, new=new)
        return new

    def _drop_copy(self, tx: Transaction, cid: str) -> bool:
        """Remove a copy from a peer, unless somebody here approved it."""
        is_waiting = tx.value(
            "SELECT 1 FROM directory_records r WHERE r.cid = ? AND r.state NOT IN ('approved', 'deprecated')"
            " AND EXISTS (SELECT 1 FROM directory_origins o WHERE o.record = r.id)",
            cid,
        )
        return is_waiting is not None and self.erase(tx, cid, copied=True)

    async def pull(self, cid: str) -> Record:
        """The record, after checking its hash."""
        text = await self._text(cid)
        self._popularity.count_pulls(cid)
        return _checked(cid, text)

    async def pull_many(self, cids: Sequence[str]) -> list[Record | None]:
        """The records in the order asked for, with None for unknown ones."""
        valid = [cid for cid in dict.fromkeys(cids) if is_cid(cid)]
        texts = await self._database.read(lambda rows: store.texts_of(rows, valid))
        found = {cid: _checked(cid, text) for cid, text in texts.items()}
        self._popularity.count_pulls(*(cid for cid in cids if cid in found))
        return [found.get(cid) for cid in cids]

    async def lookup(self, cid: str) -> RecordMeta:
        """A short description of a record."""
        data = msgspec.json.decode(await self._text(cid), type=dict[str, Any])
        self._popularity.count_lookups(cid)
        return meta_of(cid, data)

    async def summaries(self, cids: Sequence[str]) -> list[RecordSummary]:
        """Summaries of the records that exist, in the order asked for."""
        return await self._database.read(lambda rows: summaries_of(rows, cids))

    async def trust(self, cid: str) -> TrustMark:
        """What the trust policy says about a record."""
        return (await self._database.read(lambda rows: trust_marks(rows, [cid]))).get(cid, TrustMark())

    async def delete(self, who: Principal, cid: str) -> bool:
        """Delete a record with its referrers; False if it did not exist. Forbidden for all but its author and
        administrators; Conflict if the server lists it."""
        _required(cid)

        def work(tx: Transaction) -> bool:
            self.lock(tx)
            if (author := tx.value("SELECT pushed_by FROM directory_records WHERE cid = ?", cid)) is not None:
                check_author(who, f"The record {cid}", author)
            store.check_unlisted(tx, cid)
            return self.erase(tx, cid)

        return is_cid(cid) and await self._database.write(work)

    async def known(self, cids: Sequence[str]) -> set[str]:
        """The CIDs that are stored here."""
        valid = [cid for cid in cids if is_cid(cid)]
        return set(await self._database.read(lambda rows: store.ids_of(rows, valid)))

    async def newest(self, count: int, below: int | None = None) -> list[tuple[int, NamedRef]]:
        """The newest records outside quarantine, each with its row id; `below` continues after a row id of the previous
        page."""
        rows = await self._database.read(
            lambda rows: rows.all(
                "SELECT r.id, r.name, r.version, r.cid FROM directory_records r"  # noqa: S608  own condition
                f" WHERE r.id < ? AND {NOT_QUARANTINED} ORDER BY r.id DESC LIMIT ?",
                _NO_ROW if below is None else below, count,
            )
        )  # fmt: skip
        return [(row, NamedRef(name, version, cid)) for row, name, version, cid in rows]

    async def cids_with_prefix(self, prefix: str, count: int) -> list[str]:
        """CIDs with a prefix: the newest if all CIDs have it, otherwise in alphabetical order."""
        if COMMON_PREFIX.startswith(prefix):
            return [one.cid for _, one in await self.newest(count)]
        if not prefix.isascii() or not prefix.isalnum():
            return []
        sql = (
            "SELECT r.cid FROM directory_records r WHERE r.cid >= ? AND r.cid < ?"  # noqa: S608  own condition
            f" AND {NOT_QUARANTINED} ORDER BY r.cid LIMIT ?"
        )
        found = await self._database.read(lambda rows: rows.all(sql, prefix, prefix + "~", count))
        return [cid for (cid,) in found]

    async def common_terms(self, kind: Kind, most: int) -> list[tuple[str, int]]:
        """The most frequent terms of a kind, in lower case, with the number of their records."""
        sql = (
            "SELECT text, records FROM directory_terms WHERE kind = ? AND records > 0 ORDER BY records DESC, text LIMIT"
        )
        found = await self._database.read(lambda rows: rows.all(f"{sql} ?", int(kind), most))
        return [(text, records) for text, records in found]

    async def version_counts(self, names: Sequence[str]) -> dict[str, int]:
        """How many records have each of these names, by the name in lower case."""
        wanted = list(dict.fromkeys(name.lower() for name in names))
        places = ", ".join("?" for _ in wanted)
        sql = f"SELECT text, records FROM directory_terms WHERE kind = ? AND substr(text, 1, 200) IN ({places})"  # noqa: S608
        starts = [name[:200] for name in wanted]
        found = await self._database.read(lambda rows: rows.all(sql, int(Kind.NAME), *starts)) if wanted else []
        return dict(found)

    async def count(self) -> int:
        return await self._database.read(store.count)

    async def _text(self, cid: str) -> str:
        _required(cid)
        row = await self._database.lookup(store.PULL, cid) if is_cid(cid) else None
        if row is None:
            raise record_not_found(cid)
        return row[0]

    def state_of(self, rows: Rows, cid: str) -> str:
        """The state of a record; empty if there is none."""
        return rows.value("SELECT state FROM directory_records WHERE cid = ?", cid) or ""

    def lock(self, tx: Transaction) -> None:
        """Call this first in a transaction that erases records."""
        store.lock_terms(tx, self._database.dialect)

    def erase(self, tx: Transaction, cid: str, *, copied: bool = False) -> bool:
        """Delete a record in the caller's transaction, whoever made it; `copied` if a peer withdrew it. Records deleted
        here are not copied from peers again."""
        record = store.ids_of(tx, [cid]).get(cid)
        if record is None:
            return False
        name = tx.value("SELECT name FROM directory_records WHERE id = ?", record)
        store.remove(tx, self._database.dialect, record)
        if self._index is not None:
            self._index.remove(tx, COLLECTION, [record])
        if self._observer is not None:
            self._observer.erased(tx, record, self._clock.now())
        list_changed(tx, "resources", "directory")
        _name_changed(tx, name)
        resource_updated(tx, uri_of(cid))
        if copied:
            tx.run("DELETE FROM directory_changes WHERE cid = ?", cid)
        else:
            note_changes(tx, [cid])
        self._events.emit(tx, EventType.RECORD_DELETED, [cid])
        return True


def draft_record(data: Mapping[str, Any]) -> Draft:
    """A record ready to be stored; LimitExceeded if it is too large."""
    text = canonical_json(data)
    if len(text) > LARGEST_RECORD:
        raise LimitExceeded(
            f"The record has {len(text)} bytes; the limit is {LARGEST_RECORD}.",
            hint="Store large content in another place and refer to it by a locator or an artifact.",
        )
    if b"\xef\xbf\xbd" in text:  # lone surrogates may have been replaced: index the text that is stored
        data = msgspec.json.decode(text, type=dict[str, Any])
    return Draft(cid_of(text), text.decode(), indexed_fields(data))


def meta_of(cid: str, data: Mapping[str, Any]) -> RecordMeta:
    """The short description: the record's own annotations plus name, version, OASF version and predecessor."""
    fields = _MetaFields(*(text if isinstance(text := data.get(key), str) else "" for key in _MetaFields._fields))
    annotations = annotations_of(data)
    annotations |= {"name": fields.name, "version": fields.version, "oasf-version": fields.schema_version}
    if fields.previous_record_cid:
        annotations["previous-cid"] = fields.previous_record_cid
    return RecordMeta(cid, fields.name, fields.version, fields.schema_version, fields.created_at, annotations)


def uri_of(cid: str) -> str:
    """The resource URI of a record."""
    return f"directory://records/{cid}"


def _name_changed(tx: Transaction, name: str) -> None:
    """Tell subscribers of a name that its versions changed, unless the name is too long for a signal."""
    if len(name) <= LONGEST_NAME_SIGNALLED:
        resource_updated(tx, f"directory://names/{name}")


def record_not_found(cid: str) -> NotFound:
    """The error for an unknown CID."""
    return NotFound(f"record not found: {cid[:LONGEST_CID]}", hint="Search for the record to see the CID it has here.")


class _MetaFields(NamedTuple):
    name: str
    version: str
    schema_version: str
    created_at: str
    previous_record_cid: str


def _required(cid: str) -> None:
    if not cid:
        raise InvalidInput("record cid is required")


def _checked(cid: str, text: str) -> Record:
    if cid_of(text.encode()) != cid:
        raise Unavailable(
            f"The stored text of {cid} is not what its CID says.",
            hint="The store is damaged: restore a backup, or delete the record and push it again.",
        )
    return Record(cid, text)
