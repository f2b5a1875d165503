"""Maintains the records of what this server hosts: one record per listing, signed with the server's own key.

When a listing changes, its record is replaced in one transaction, so a search finds either the old or the new record,
never both. The new record inherits the state of the old one. Nobody else can delete these records.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pentad.access.signing_keys import KeyRing
from pentad.kernel.clock import Clock
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.listings.listing import Listing
from pentad.rooms.directory.records import listed
from pentad.rooms.directory.records.service import Records, draft_record
from pentad.rooms.directory.translate.listings import listing_record
from pentad.rooms.directory.trust.service import Trust

SERVER: Final = Principal("server", "server", frozenset({"directory:*"}), kind="local")
"""The principal that pushes and signs these records."""


class ListedRecords:
    """The directory's side of listings (`pentad.listings.listing.Catalogue`)."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        records: Records,
        trust: Trust,
        keys: KeyRing,
        check: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        self._database = database
        self._clock = clock
        self._records = records
        self._trust = trust
        self._keys = keys
        self._check = check

    async def put(self, listing: Listing) -> None:
        """Store the record of a listing, or replace its previous one."""
        known = await self._database.read(lambda rows: listed.find(rows, listing.key))
        is_same = known is not None and known.revision == listing.revision
        if known is not None and is_same and known.cid:
            cid = known.cid
        else:
            created_at = known.created_at if known is not None and is_same else float(int(self._clock.now()))
            cid = await self._replace(listing, created_at)
        await self._trust.sign(SERVER, cid, await self._keys.private_key())
        await self._trust.verify(cid)  # a process that died may have signed it without

    async def withdraw(self, key: str) -> None:
        """Remove the record of a listing."""

        def work(tx: Transaction) -> None:
            self._records.lock(tx)
            known = listed.find(tx, key)
            if known is not None and known.cid:
                listed.save(tx, key, known._replace(cid=""))
                self._records.erase(tx, known.cid)

        if await self._database.read(lambda rows: listed.find(rows, key)) is not None:
            await self._database.write(work)

    async def _replace(self, listing: Listing, created_at: float) -> str:
        data = await asyncio.to_thread(listing_record, listing, created_at)
        await self._check(data)
        draft = draft_record(data)

        def work(tx: Transaction) -> None:
            self._records.lock(tx)
            known = listed.find(tx, listing.key)
            kept = replace(draft, state="" if known is None else self._records.state_of(tx, known.cid))
            self._records.write(tx, SERVER, [kept], replaces=True)
            if known is not None and known.cid not in ("", draft.cid):
                self._records.erase(tx, known.cid)
            listed.save(tx, listing.key, listed.Listed(listing.revision, draft.cid, created_at))

        await self._database.write(work)
        return draft.cid
