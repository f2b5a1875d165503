"""The registry: registers, changes, removes and finds cards. Everyone may read cards.

Hosted agents are always listed. Their cards are created on demand, not stored, so they are always current.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from pentad.access.owners import OwnerNow, is_known_user, owner_as_saved
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict, Forbidden, NotFound
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import LOCAL, Principal
from pentad.platform import UNLISTED, ListingTable
from pentad.rooms.agents.registry import store
from pentad.rooms.agents.registry.card_index import COLLECTION, documents_of, number_of
from pentad.rooms.agents.registry.card_listing import card_key, card_listing
from pentad.rooms.agents.registry.card_validation import validate_card
from pentad.rooms.agents.registry.store import CardQuery, CardRecord
from pentad.search.documents import Hit, Ranking
from pentad.search.index import SearchIndex

HostCards = Callable[[], Sequence[CardRecord]]
MAX_PAGE: Final = 250
_MOST_RANKED: Final = 1_000
_BATCH: Final = 200


@dataclass(frozen=True, slots=True)
class CardPage:
    """A page of cards and the total number. `no_good_match` means that none is likely to be what was asked for."""

    cards: Sequence[CardRecord]
    total: int
    no_good_match: bool = False


@dataclass(frozen=True, slots=True)
class RankedCards:
    """A page of cards by relevance, and the ranking it was cut from."""

    cards: Sequence[tuple[CardRecord, Hit]]
    ranking: Ranking


class CardRegistry:
    """The cards of one store. `hosts` returns those of agents hosted by this process."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        hosts: HostCards,
        index: SearchIndex,
        owner_now: OwnerNow = owner_as_saved,
        listings: ListingTable = UNLISTED,
    ) -> None:
        self._database = database
        self._clock = clock
        self._hosts = hosts
        self._owner_now = owner_now
        self._index = index
        self._listings = listings
        self._indexed: Sequence[CardRecord] | None = None
        """The hosted cards as this process indexed them; None if it has not checked yet."""

    async def register(self, caller: Principal, card: Mapping[str, Any], *, list_it: bool = False) -> CardRecord:
        """Store a card. InvalidInput with every problem, Conflict if the readable id is taken. `list_it`: also list it
        in the directory, if the caller may write there.
        """
        now, is_listed = self._clock.now(), list_it and caller.may("directory", "write")
        one = CardRecord(
            str(uuid7(self._clock)), caller.id, await _validated(card), True, now, now, is_listed=is_listed
        )
        self._check_not_hosted(one)
        await self._database.write(lambda transaction: self._put(transaction, one))
        return one

    async def update(
        self,
        caller: Principal,
        card_id: str,
        changes: Mapping[str, Any] | None,
        is_active: bool | None = None,
        *,
        list_it: bool = False,
    ) -> CardRecord:
        """Replace the given members, validate the whole card and store it. `is_active` restores a removed card, or
        removes it.
        """
        old = await self._own(caller, card_id)
        card = old.card if changes is None else await _validated({**old.card, **changes})
        active = old.is_active if is_active is None else is_active
        is_listed = old.is_listed or (list_it and caller.may("directory", "write"))
        new = replace(old, card=card, is_active=active, updated_at=self._clock.now(), is_listed=is_listed)
        if active:
            self._check_not_hosted(new)

        def work(transaction: Transaction) -> None:
            now = store.by_id(transaction, card_id)
            if now is None or now.updated_at != old.updated_at or now.card != old.card:
                raise Conflict("Someone else changed the card at the same time.", hint="Read it again, then change it.")
            self._put(transaction, new)

        await self._database.write(work)
        return new

    async def remove(self, caller: Principal, card_id: str) -> None:
        """Remove a card from lists. It stays readable by id, and its owner can restore it."""
        await self.update(caller, card_id, None, is_active=False)

    async def get(self, card_id: str) -> CardRecord:
        """A card by id, even a removed one."""
        for one in self._hosts():
            if one.id == card_id:
                return one
        found = await self._database.read(lambda rows: store.by_id(rows, card_id)) if _is_uuid(card_id) else None
        if found is None:
            raise NotFound(f"There is no card {card_id[:80]!r}.", hint="Search the registry, or ask by readable id.")
        return found

    async def is_verified(self, one: CardRecord) -> bool:
        """Whether the server knows who published a card: the operator, or a user who has an account now."""
        if one.hosted or one.owner == LOCAL.id:
            return True
        return await self._database.read(lambda rows: is_known_user(self._owner_now, rows, one.owner))

    async def by_readable(self, readable_id: str) -> CardRecord:
        """An active card by readable id, in any case."""
        lower = readable_id.lower()
        for one in self._hosts():
            if one.metadata.readable_id.lower() == lower:
                return one
        found = await self._database.read(lambda rows: store.by_readable(rows, readable_id))
        if found is None:
            raise NotFound(f"No card has the readable id {readable_id[:200]!r}.", hint="Search the registry for it.")
        return found

    async def search(self, query: CardQuery, *, limit: int = 100, offset: int = 0) -> CardPage:
        """Cards of hosted agents first, then registered ones, last changed first; with a text, best match first."""
        if query.text.strip():
            return await self._ranked(query, limit, offset)
        hosted = [one for one in self._hosts() if query.fits(one)]
        listed = hosted[offset : offset + limit]
        rest, start = limit - len(listed), max(0, offset - len(hosted))

        def work(rows: Any) -> CardPage:
            total = store.count(rows, query)
            stored = store.page(rows, query, rest, start) if rest else []
            return CardPage([*listed, *stored], total + len(hosted))

        return await self._database.read(work)

    async def _ranked(self, query: CardQuery, limit: int, offset: int) -> CardPage:
        found = await self.find(query, limit, offset)
        return CardPage([card for card, _ in found.cards], len(found.ranking.hits), found.ranking.no_good_match)

    async def find(self, query: CardQuery, limit: int, offset: int = 0) -> "RankedCards":
        """The cards that match a query's text, best match first, each with its hit."""
        await self._index_missing()
        hosted = {number_of(one.id): one for one in self._hosts() if query.fits(one)}
        stored = await self._database.read(lambda rows: store.numbers(rows, query))
        ranking = await self._index.search(COLLECTION, query.text, limit=_MOST_RANKED, allowed=[*hosted, *stored])
        page = ranking.hits[offset : offset + limit]
        known = await self._database.read(lambda rows: store.by_numbers(rows, {hit.id for hit in page} - hosted.keys()))
        known.update(hosted)
        return RankedCards([(known[hit.id], hit) for hit in page if hit.id in known], ranking)

    async def _index_missing(self) -> None:
        """Index the cards of hosted agents, which no one registers, and, once, those from older versions."""
        hosted = [*self._hosts()]
        if self._indexed == hosted:
            return
        if hosted:
            await self._database.write(lambda tx: self._index.put(tx, COLLECTION, documents_of(hosted)))
        while self._indexed is None and await self._database.write(self._index_batch):
            continue
        self._indexed = hosted

    def _index_batch(self, transaction: Transaction) -> int:
        cards = store.not_indexed(transaction, _BATCH)
        if cards:
            self._index.put(transaction, COLLECTION, documents_of(cards))
            store.set_numbers(transaction, {one.id: number_of(one.id) for one in cards})
        return len(cards)

    def _put(self, transaction: Transaction, one: CardRecord) -> None:
        """Store a card, index it, and list it or withdraw it."""
        store.put(transaction, one)
        if one.is_active:
            self._index.put(transaction, COLLECTION, documents_of([one]))
            store.set_numbers(transaction, {one.id: number_of(one.id)})
        else:
            self._index.remove(transaction, COLLECTION, [number_of(one.id)])
        if one.is_listed and one.is_active:
            self._listings.put(transaction, card_listing(card_key(one.id), one.card))
        elif one.is_listed:
            self._listings.remove(transaction, card_key(one.id))

    async def _own(self, caller: Principal, card_id: str) -> CardRecord:
        one = await self.get(card_id)
        if one.hosted:
            raise Forbidden(
                "The card of an agent that runs here is made by the server.", hint="Change the agent itself."
            )
        if one.owner != caller.id and not caller.may("agents", "admin"):
            raise Forbidden(
                "The card belongs to someone else.", hint="Only its owner or an administrator can change it."
            )
        return one

    def _check_not_hosted(self, one: CardRecord) -> None:
        readable = one.metadata.readable_id
        if any(host.metadata.readable_id.lower() == readable.lower() for host in self._hosts()):
            raise Conflict(
                f"The readable id {readable!r} belongs to an agent that runs here.", hint="Choose another readable id."
            )


async def _validated(card: Mapping[str, Any]) -> dict[str, Any]:
    """The valid card. Runs in a thread, because its models are imported on first use."""
    return await asyncio.to_thread(validate_card, card)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
