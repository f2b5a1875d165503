"""Registered cards are in the directory for as long as they are active, as their owner changes them."""

import asyncio
from pathlib import Path

import pytest

from pentad.kernel.principal import LOCAL, Principal
from pentad.listings.listing import Catalogue, Listing
from tests.listings.directories import BUILT_IN, call, listed, serving, until_listed
from tests.rooms.agents.registry.cards import agentvault_card
from tests.waiting import until

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("listings:cards")
async def test_a_registered_card_is_listed_changed_withdrawn_and_restored(tmp_path: Path, database: str | None) -> None:
    async with serving(tmp_path, database) as app:
        card = agentvault_card(readable="coast/weather")
        made = await call(app, "agents_register_card", card=card)
        assert made["directory"]["status"] == "listed"
        before = (await until_listed(app, *BUILT_IN, "coast/weather"))["coast/weather"]
        assert before["cid"] == made["directory"]["cid"]
        changes = {"agentVersion": "3.1.0", "description": "Tells the wind."}
        card_id = made["agent"]["card_id"]
        changed = await call(app, "agents_register_card", card=changes, card_id=card_id)
        after = (await until_listed(app, *BUILT_IN, "coast/weather"))["coast/weather"]
        assert after["cid"] == changed["directory"]["cid"] != before["cid"]
        assert (after["version"], after["description"]) == ("3.1.0", "Tells the wind.")
        registry = app.rooms[0].service.registry
        await registry.remove(LOCAL, card_id)
        await until_listed(app, *BUILT_IN)
        await registry.update(LOCAL, card_id, None, is_active=True)
        back = (await until_listed(app, *BUILT_IN, "coast/weather"))["coast/weather"]
        assert back["cid"] == after["cid"], "the same listing has the same record"


@pytest.mark.requirement("listings:cards")
async def test_a_card_is_listed_only_by_someone_who_may_write_in_the_directory(
    tmp_path: Path, database: str | None
) -> None:
    async with serving(tmp_path, database) as app:
        registry = app.rooms[0].service.registry
        stranger = Principal("jwt:one", "one", frozenset({"agents:*", "directory:read"}))
        await registry.register(stranger, agentvault_card(readable="lone/agent"), list_it=True)
        await registry.register(LOCAL, agentvault_card(readable="quiet/agent"))
        await registry.register(LOCAL, agentvault_card(readable="loud/agent"), list_it=True)
        await until_listed(app, *BUILT_IN, "loud/agent")


class Held:
    """The catalogue of the directory, which lists nothing new until it is let go."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.let_go = asyncio.Event()

    async def put(self, listing: Listing) -> None:
        await self.let_go.wait()
        await self._catalogue.put(listing)

    async def withdraw(self, key: str) -> None:
        await self._catalogue.withdraw(key)


@pytest.mark.requirement("listings:cards:pending")
async def test_a_card_that_is_not_yet_listed_as_it_is_now_is_pending(
    tmp_path: Path, database: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, database) as app:
        made = await call(app, "agents_register_card", card=agentvault_card(readable="coast/weather"))
        old = (await until_listed(app, *BUILT_IN, "coast/weather"))["coast/weather"]["cid"]
        assert app.listings.catalogue is not None
        held = app.listings.catalogue = Held(app.listings.catalogue)
        monkeypatch.setattr("pentad.rooms.agents.service._LISTED_SECONDS", 0.0)
        changes = {"card": {"description": "Tells the wind."}, "card_id": made["agent"]["card_id"]}
        changed = await call(app, "agents_register_card", **changes)
        assert changed["directory"] == {
            "status": "pending", "reason": "The directory has yet to list the card as it is now."
        }, "the record of the card as it was is no answer"  # fmt: skip
        held.let_go.set()
        found = await until(lambda: listed(app), lambda found: found.get("coast/weather", {"cid": old})["cid"] != old)
        assert found["coast/weather"]["description"] == "Tells the wind."


@pytest.mark.requirement("listings:cards:pending")
async def test_without_the_directory_in_the_process_a_card_is_pending(tmp_path: Path, database: str | None) -> None:
    async with serving(tmp_path, database, rooms=("agents",)) as app:
        made = await call(app, "agents_register_card", card=agentvault_card(readable="coast/weather"))
        assert made["directory"]["status"] == "pending"
    async with serving(tmp_path, database) as app:
        await until_listed(app, *BUILT_IN, "coast/weather")
