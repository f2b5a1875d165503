"""Records: pushed once, kept under the hash of their canonical text, never changed.

Everything a push brings (text, terms and their counts, words, signals) is one transaction. A record that is pulled is
hashed again, so nobody is handed a text that is not what its CID says.
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
from pentad.rooms.directory.models import NamedRef, Pushed, Record, RecordMeta
from pentad.rooms.directory.records import store
from pentad.rooms.directory.records.briefs import Brief, briefs_of
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.records.facts import annotations_of, facts_of
from pentad.rooms.directory.records.popularity import Popularity
from pentad.rooms.directory.records.store import Draft
from pentad.rooms.directory.records.together import Together
from pentad.search.index import SearchIndex

COLLECTION: Final = "directory"
"""What the shared search calls the records' vectors."""
LARGEST_RECORD: Final = 4 * MIB
LONGEST_CID: Final = 128
MOST_NAMES_TOLD: Final = 20
"""When more names than this change at once, those who follow one learn only that the list is another one."""
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
        self._together = Together(self._push)

    async def stop(self) -> None:
        """Finish the pushes that are under way, also those whose callers have gone."""
        await self._together.finish()

    async def push(self, who: Principal, data: Mapping[str, Any]) -> Pushed:
        """Keep a record that was found valid; pushing it again changes nothing."""
        return await self._together.push(who, drafted(data))

    async def push_many(self, who: Principal, records: Sequence[Mapping[str, Any]]) -> list[Pushed]:
        """Keep records, all or none."""
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
        """Keep drafts in a transaction of the caller's, as its first act; the CIDs that were new."""
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
        """The record, hashed again."""
        text = await self._text(cid)
        self._popularity.pulled(cid)
        return _checked(cid, text)

    async def pull_many(self, cids: Sequence[str]) -> list[Record | None]:
        """The records in the order asked for, None for those that are not there."""
        wanted = [cid for cid in dict.fromkeys(cids) if is_cid(cid)]
        texts = await self._database.read(lambda rows: store.texts_of(rows, wanted))
        found = {cid: _checked(cid, text) for cid, text in texts.items()}
        self._popularity.pulled(*(cid for cid in cids if cid in found))
        return [found.get(cid) for cid in cids]

    async def lookup(self, cid: str) -> RecordMeta:
        """What a record says of itself, in short."""
        data = msgspec.json.decode(await self._text(cid), type=dict[str, Any])
        self._popularity.looked_up(cid)
        return meta_of(cid, data)

    async def briefs(self, cids: Sequence[str]) -> list[Brief]:
        """Records in a few words, in the order asked for; those that are not there are left out."""
        return await self._database.read(lambda rows: briefs_of(rows, cids))

    async def delete(self, who: Principal, cid: str) -> bool:
        """Erase a record with its referrers; False when it was not there."""
        _required(cid)
        return is_cid(cid) and await self._database.write(lambda tx: self._delete(tx, cid))

    async def exists(self, cid: str) -> bool:
        if not is_cid(cid):
            return False
        return await self._database.lookup("SELECT 1 FROM directory_records WHERE cid = ?", cid) is not None

    async def known(self, cids: Sequence[str]) -> set[str]:
        """Which of these records are here."""
        wanted = [cid for cid in cids if is_cid(cid)]
        return set(await self._database.read(lambda rows: store.ids_of(rows, wanted)))

    async def newest(self, count: int, below: int | None = None) -> list[tuple[int, NamedRef]]:
        """Records from the newest on, each with its row; `below` goes on behind a row of an earlier answer."""
        rows = await self._database.read(
            lambda rows: rows.all(
                "SELECT id, name, version, cid FROM directory_records WHERE id < ? ORDER BY id DESC LIMIT ?",
                _BEHIND_ALL if below is None else below, count,
            )
        )  # fmt: skip
        return [(row, NamedRef(name, version, cid)) for row, name, version, cid in rows]

    async def cids_from(self, beginning: str, count: int) -> list[str]:
        """CIDs that begin like this: the newest while it could be any CID, else the first in their own order."""
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
            raise missing(cid)
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
    """A record as it will be kept; LimitExceeded for one that is too large."""
    text = canonical_json(data)
    if len(text) > LARGEST_RECORD:
        raise LimitExceeded(
            f"The record has {len(text)} bytes; the limit is {LARGEST_RECORD}.",
            hint="Keep large content elsewhere and refer to it by a locator or an artifact.",
        )
    if b"\xef\xbf\xbd" in text:  # half surrogate pairs were replaced, perhaps; what is indexed is what is kept
        data = msgspec.json.decode(text, type=dict[str, Any])
    return Draft(cid_of(text), text.decode(), facts_of(data))


def meta_of(cid: str, data: Mapping[str, Any]) -> RecordMeta:
    """The short form: the record's own annotations, and the four that say what it is."""
    facts = _Brief(*(text if isinstance(text := data.get(key), str) else "" for key in _Brief._fields))
    annotations = annotations_of(data)
    annotations |= {"name": facts.name, "version": facts.version, "oasf-version": facts.schema_version}
    if facts.previous_record_cid:
        annotations["previous-cid"] = facts.previous_record_cid
    return RecordMeta(cid, facts.name, facts.version, facts.schema_version, facts.created_at, annotations)


def uri_of(cid: str) -> str:
    """The address of a record as a resource."""
    return f"directory://records/{cid}"


def _name_changed(tx: Transaction, name: str) -> None:
    """Tell those who follow a name that it has other versions now; a name may be too long for a signal."""
    if len(name) <= LONGEST_NAME_TOLD:
        resource_updated(tx, f"directory://names/{name}")


def missing(cid: str) -> NotFound:
    """What is said of a CID nobody has pushed."""
    return NotFound(f"record not found: {cid[:LONGEST_CID]}", hint="Search for the record to see the CID it has here.")


class _Brief(NamedTuple):
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
