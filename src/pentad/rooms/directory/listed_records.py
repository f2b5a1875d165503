"""Maintains the records of what this server hosts: one record per listing, signed with the server's own key.

When a listing changes, its record is replaced in one transaction, so a search finds either the old or the new record,
never both. The new record inherits the state of the old one. Nobody else can delete these records.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pentad.access.signing_keys import KeyRing
from pentad.kernel.clock import Clock, iso
from pentad.kernel.json_values import as_object
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.listings.listing import Listing
from pentad.rooms.directory import store
from pentad.rooms.directory.records.service import Records, draft_record
from pentad.rooms.directory.translate.a2a_cards import MODULES
from pentad.rooms.directory.translate.enrichment import enrich
from pentad.rooms.directory.translate.envelope import SCHEMA_VERSION
from pentad.rooms.directory.translate.secret_redaction import redact_secrets
from pentad.rooms.directory.trust.service import Trust

SERVER: Final = Principal("server", "server", frozenset({"directory:*"}), kind="local")
"""The principal that pushes and signs these records."""
LISTED_BY: Final = "listed_by"
"""The annotation that marks a record the server made; its value is `pentad`."""
SUGGESTED: Final = "suggested_classes"
"""The annotation with the skills and domains that were suggested from the listing's words, not declared."""


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
        known = await self._database.read(lambda rows: store.find_listed(rows, listing.key))
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
            known = store.find_listed(tx, key)
            if known is not None and known.cid:
                store.save_listed(tx, key, known._replace(cid=""))
                self._records.erase(tx, known.cid)

        if await self._database.read(lambda rows: store.find_listed(rows, key)) is not None:
            await self._database.write(work)

    async def _replace(self, listing: Listing, created_at: float) -> str:
        data = await asyncio.to_thread(listing_record, listing, created_at)
        await self._check(data)
        draft = draft_record(data)

        def work(tx: Transaction) -> None:
            self._records.lock(tx)
            known = store.find_listed(tx, listing.key)
            kept = replace(draft, state="" if known is None else self._records.state_of(tx, known.cid))
            self._records.write(tx, SERVER, [kept], replaces=True)
            if known is not None and known.cid not in ("", draft.cid):
                self._records.erase(tx, known.cid)
            store.save_listed(tx, listing.key, store.Listed(listing.revision, draft.cid, created_at))

        await self._database.write(work)
        return draft.cid


def listing_record(listing: Listing, created_at: float) -> dict[str, Any]:
    """The OASF record of a listing. The same listing and date always give the same record."""
    modules = {name: _without_secrets(name, data) for name, data in listing.modules.items()}
    record: dict[str, Any] = {
        "name": listing.name,
        "version": listing.version,
        "schema_version": SCHEMA_VERSION,
        "description": _described(listing, modules),
        "authors": [listing.provider],
        "created_at": iso(created_at),
        "skills": [],
        "domains": [],
        "modules": [{"name": name, "data": data} for name, data in modules.items()],
        "annotations": {**listing.annotations, LISTED_BY: "pentad", "listing": listing.key},
    }
    if listing.url:
        record["locators"] = [{"type": "url", "urls": [listing.url]}]
    if suggested := enrich(record, SCHEMA_VERSION, listing.skills, listing.domains):
        record["annotations"][SUGGESTED] = ", ".join(one.name for one in suggested)
    return record


def _without_secrets(module: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a module. Records are public, and a card may come from anyone."""
    if module != MODULES[0]:
        return dict(data)
    card = redact_secrets("a2a", as_object(data.get("card_data")), "withhold").result
    return {**data, "card_data": card}


def _described(listing: Listing, modules: Mapping[str, Mapping[str, Any]]) -> str:
    """The listing's description, or the card's without secrets if the two are the same."""
    given = as_object(listing.modules.get(MODULES[0], {}).get("card_data")).get("description")
    card = as_object(modules.get(MODULES[0], {}).get("card_data"))
    return str(card["description"]) if given == listing.description else listing.description
