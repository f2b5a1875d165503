"""Records: pushed once, stored under the hash of their canonical text, never changed.

A push (text, terms and their counts, words, signals) is one transaction. A pull hashes the record again, so a caller
never gets a text that does not match its CID.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from pentad.kernel.cid import canonical_json, cid_of, is_cid
from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.limits import MIB
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.mcp.changes import list_changed, resource_updated
from pentad.rooms.directory import store
from pentad.rooms.directory.models import NamedRef, Pushed, Record, RecordMeta
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.records.index_fields import annotations_of, facts_of
from pentad.rooms.directory.records.popularity import Popularity
from pentad.rooms.directory.records.push_batching import PushBatcher
from pentad.rooms.directory.records.summaries import RecordSummary, summaries_of
from pentad.rooms.directory.store import Draft
from pentad.search.index import SearchIndex

COLLECTION: Final = "directory"
"""The collection of the records' vectors in the shared search."""
LARGEST_RECORD: Final = 4 * MIB
LONGEST_CID: Final = 128
MOST_NAMES_TOLD: Final = 20
"""If more names than this change at once, subscribers of a name are only told that the list changed."""
LONGEST_NAME_TOLD: Final = 1_000
COMMON_BEGINNING: Final = "baearei"
_BEHIND_ALL: Final = 2**63 - 1


class Records:
    """The records of one store."""

    def __init__(
        self, database: Database, clock: Clock, events: Events, popularity: Popularity, index: SearchIndex | None = None
    ) -> None:
        self._database = database
        self._index = index
        self._clock = clock
        self._events = events
        self._popularity = popularity
        self._batcher = PushBatcher(self._push)

    async def stop(self) -> None:
        """Finish running pushes, even if their callers have gone."""
        await self._batcher.finish()

    async def push(self, who: Principal, data: Mapping[str, Any]) -> Pushed:
        """Store a validated record; pushing it again changes nothing."""
        return await self._batcher.push(who, drafted(data))

    async def push_many(self, who: Principal, records: Sequence[Mapping[str, Any]]) -> list[Pushed]:
        """Store records, all or none."""
        return await self._push(who, [drafted(data) for data in records])

    async def _push(self, who: Principal, drafts: Sequence[Draft]) -> list[Pushed]:
        if not drafts:
            return []
        new = await self._database.write(lambda tx: self.write(tx, who, drafts))
        pushed: list[Pushed] = []
        for draft in drafts:
            pushed.append(Pushed(draft.cid, draft.cid in new))
            new.discard(draft.cid)
        return pushed

    def write(self, tx: Transaction, who: Principal, drafts: Sequence[Draft]) -> set[str]:
        """Store drafts in the caller's transaction, before anything else in it. Returns the CIDs that were new."""
        store.take_turn(tx, self._database.dialect)
        new = store.insert(tx, self._database.dialect, drafts, who.id, self._clock.now())
        if new:
            list_changed(tx, "resources", "directory")
            if self._index is not None:
                self._index.stir(tx, COLLECTION)
            names = {draft.facts.name for draft in drafts if draft.cid in new}
            for name in names if len(names) <= MOST_NAMES_TOLD else ():
                _name_changed(tx, name)
        labels = [draft.facts.labels for draft in drafts]
        self._events.emit(tx, EventType.RECORD_PUSHED, [draft.cid for draft in drafts], labels)
        return new

    async def pull(self, cid: str) -> Record:
        """The record, after checking its hash."""
        text = await self._text(cid)
        self._popularity.pulled(cid)
        return _checked(cid, text)

    async def pull_many(self, cids: Sequence[str]) -> list[Record | None]:
        """The records in the order asked for, with None for unknown ones."""
        wanted = [cid for cid in dict.fromkeys(cids) if is_cid(cid)]
        texts = await self._database.read(lambda rows: store.texts_of(rows, wanted))
        found = {cid: _checked(cid, text) for cid, text in texts.items()}
        self._popularity.pulled(*(cid for cid in cids if cid in found))
        return [found.get(cid) for cid in cids]

    async def lookup(self, cid: str) -> RecordMeta:
        """A short description of a record."""
        data = msgspec.json.decode(await self._text(cid), type=dict[str, Any])
        self._popularity.looked_up(cid)
        return meta_of(cid, data)

    async def summaries(self, cids: Sequence[str]) -> list[RecordSummary]:
        """Summaries of the records that exist, in the order asked for."""
        return await self._database.read(lambda rows: summaries_of(rows, cids))

    async def delete(self, who: Principal, cid: str) -> bool:
        """Delete a record with its referrers; False if it did not exist."""
        _required(cid)
        return is_cid(cid) and await self._database.write(lambda tx: self._delete(tx, cid))

    async def exists(self, cid: str) -> bool:
        if not is_cid(cid):
            return False
        return await self._database.lookup("SELECT 1 FROM directory_records WHERE cid = ?", cid) is not None

    async def known(self, cids: Sequence[str]) -> set[str]:
        """The CIDs that are stored here."""
        wanted = [cid for cid in cids if is_cid(cid)]
        return set(await self._database.read(lambda rows: store.ids_of(rows, wanted)))

    async def newest(self, count: int, below: int | None = None) -> list[tuple[int, NamedRef]]:
        """The newest records, each with its row id; `below` continues after the row id of an earlier answer."""
        rows = await self._database.read(
            lambda rows: rows.all(
                "SELECT id, name, version, cid FROM directory_records WHERE id < ? ORDER BY id DESC LIMIT ?",
                _BEHIND_ALL if below is None else below, count,
            )
        )  # fmt: skip
        return [(row, NamedRef(name, version, cid)) for row, name, version, cid in rows]

    async def cids_from(self, beginning: str, count: int) -> list[str]:
        """CIDs with a prefix: the newest if every CID begins so, otherwise in alphabetical order."""
        if COMMON_BEGINNING.startswith(beginning):
            return [one.cid for _, one in await self.newest(count)]
        if not beginning.isascii() or not beginning.isalnum():
            return []
        sql = "SELECT cid FROM directory_records WHERE cid >= ? AND cid < ? ORDER BY cid LIMIT ?"
        found = await self._database.read(lambda rows: rows.all(sql, beginning, beginning + "~", count))
        return [cid for (cid,) in found]

    async def count(self) -> int:
        return await self._database.read(store.count)

    async def _text(self, cid: str) -> str:
        _required(cid)
        row = await self._database.lookup(store.PULL, cid) if is_cid(cid) else None
        if row is None:
            raise record_not_found(cid)
        return row[0]

    def _delete(self, tx: Transaction, cid: str) -> bool:
        store.take_turn(tx, self._database.dialect)
        record = store.ids_of(tx, [cid]).get(cid)
        if record is None:
            return False
        name = tx.value("SELECT name FROM directory_records WHERE id = ?", record)
        store.remove(tx, self._database.dialect, record)
        if self._index is not None:
            self._index.remove(tx, COLLECTION, [record])
        list_changed(tx, "resources", "directory")
        _name_changed(tx, name)
        resource_updated(tx, uri_of(cid))
        self._events.emit(tx, EventType.RECORD_DELETED, [cid])
        return True


def drafted(data: Mapping[str, Any]) -> Draft:
    """A record ready to be stored; LimitExceeded if it is too large."""
    text = canonical_json(data)
    if len(text) > LARGEST_RECORD:
        raise LimitExceeded(
            f"The record has {len(text)} bytes; the limit is {LARGEST_RECORD}.",
            hint="Store large content in another place and refer to it by a locator or an artifact.",
        )
    if b"\xef\xbf\xbd" in text:  # lone surrogates may have been replaced: index the text that is stored
        data = msgspec.json.decode(text, type=dict[str, Any])
    return Draft(cid_of(text), text.decode(), facts_of(data))


def meta_of(cid: str, data: Mapping[str, Any]) -> RecordMeta:
    """The short description: the record's own annotations plus name, version, OASF version and predecessor."""
    facts = _MetaFields(*(text if isinstance(text := data.get(key), str) else "" for key in _MetaFields._fields))
    annotations = annotations_of(data)
    annotations |= {"name": facts.name, "version": facts.version, "oasf-version": facts.schema_version}
    if facts.previous_record_cid:
        annotations["previous-cid"] = facts.previous_record_cid
    return RecordMeta(cid, facts.name, facts.version, facts.schema_version, facts.created_at, annotations)


def uri_of(cid: str) -> str:
    """The resource URI of a record."""
    return f"directory://records/{cid}"


def _name_changed(tx: Transaction, name: str) -> None:
    """Tell subscribers of a name that its versions changed, unless the name is too long for a signal."""
    if len(name) <= LONGEST_NAME_TOLD:
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
