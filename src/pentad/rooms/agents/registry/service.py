"""The registry: registers, changes, removes and finds cards. Everyone may read cards.

Hosted agents are always listed. Their cards are created on demand, not stored, so they are always current.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict, Forbidden, NotFound
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.registry import store
from pentad.rooms.agents.registry.card_validation import validate_card
from pentad.rooms.agents.registry.store import CardQuery, CardRecord

HostCards = Callable[[], Sequence[CardRecord]]
MAX_PAGE: Final = 250


@dataclass(frozen=True, slots=True)
class CardPage:
    """A page of cards and the total number."""

    cards: Sequence[CardRecord]
    total: int


class CardRegistry:
    """The cards of one store. `hosts` returns those of agents hosted by this process."""

    def __init__(self, database: Database, clock: Clock, hosts: HostCards) -> None:
        self._database = database
        self._clock = clock
        self._hosts = hosts

    async def register(self, caller: Principal, card: Mapping[str, Any]) -> CardRecord:
        """Store a card. InvalidInput with every problem, Conflict if the readable id is taken."""
        now = self._clock.now()
        one = CardRecord(str(uuid7(self._clock)), caller.id, await _validated(card), True, now, now)
        self._check_not_hosted(one)
        await self._database.write(lambda transaction: store.put(transaction, one))
        return one

    async def update(
        self, caller: Principal, card_id: str, changes: Mapping[str, Any] | None, is_active: bool | None = None
    ) -> CardRecord:
        """Replace the given members, validate the whole card and store it. `is_active` restores a removed card, or
        removes it."""
        old = await self._own(caller, card_id)
        card = old.card if changes is None else await _validated({**old.card, **changes})
        active = old.is_active if is_active is None else is_active
        new = replace(old, card=card, is_active=active, updated_at=self._clock.now())
        if active:
            self._check_not_hosted(new)

        def work(transaction: Transaction) -> None:
            now = store.by_id(transaction, card_id)
            if now is None or now.updated_at != old.updated_at or now.card != old.card:
                raise Conflict("Someone else changed the card at the same time.", hint="Read it again, then change it.")
            store.put(transaction, new)

        await self._database.write(work)
        return new

    async def remove(self, caller: Principal, card_id: str) -> None:
        """Remove a card from lists. It stays readable by id, and its owner can restore it."""
        await self.update(caller, card_id, None, is_active=False)

    async def get(self, card_id: str) -> CardRecord:
        """A card by id, also a removed one."""
        for one in self._hosts():
            if one.id == card_id:
                return one
        found = await self._database.read(lambda rows: store.by_id(rows, card_id)) if _is_uuid(card_id) else None
        if found is None:
            raise NotFound(f"There is no card {card_id[:80]!r}.", hint="Search the registry, or ask by readable id.")
        return found

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
        """Cards of hosted agents first, then registered ones, last changed first."""
        hosted = [one for one in self._hosts() if query.fits(one.metadata, one.owner)]
        listed = hosted[offset : offset + limit]
        rest, start = limit - len(listed), max(0, offset - len(hosted))

        def work(rows: Any) -> CardPage:
            total = store.count(rows, query)
            stored = store.page(rows, query, rest, start) if rest else []
            return CardPage([*listed, *stored], total + len(hosted))

        return await self._database.read(work)

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
