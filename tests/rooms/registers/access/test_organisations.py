"""Organisations: made, filled and emptied by administrators; every process knows at once who belongs where."""

import asyncio

import pytest

from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from pentad.rooms.registers.access.organisations import DEFAULT
from pentad.rooms.registers.models import Operation
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER, TurnedClock, opened, with_trees
from tests.stores import Stores

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("registers:organisations:members")
async def test_members_come_go_and_move(stores: Stores) -> None:
    async with opened(stores) as registers:
        organisations = registers.organisations
        assert organisations.of(WRITER.principal) == DEFAULT
        acme = await organisations.create(ADMIN, "acme", "Acme")
        zeta = await organisations.create(ADMIN, "zeta", "")
        assert (acme.title, zeta.title) == ("Acme", "zeta")
        await organisations.add_member(ADMIN, "acme", WRITER.principal.id)
        assert organisations.of(WRITER.principal) == acme.id
        await organisations.add_member(ADMIN, zeta.id, WRITER.principal.id)
        assert organisations.of(WRITER.principal) == zeta.id
        assert await organisations.members(ADMIN, "acme") == []
        assert await organisations.members(ADMIN, "zeta") == [WRITER.principal.id]
        await organisations.remove_member(ADMIN, "zeta", WRITER.principal.id)
        assert organisations.of(WRITER.principal) == DEFAULT


async def test_who_is_no_administrator_sees_its_own_and_changes_none(stores: Stores) -> None:
    async with opened(stores) as registers:
        organisations = registers.organisations
        await organisations.create(ADMIN, "acme", "Acme")
        await organisations.create(ADMIN, "zeta", "Zeta")
        await organisations.add_member(ADMIN, "acme", WRITER.principal.id)
        assert [one.slug for one in await organisations.list(ADMIN)] == ["acme", "zeta"]
        assert [one.slug for one in await organisations.list(WRITER)] == ["acme"]
        assert await organisations.list(OTHER) == []
        for refused in (
            organisations.create(WRITER, "mine", "Mine"),
            organisations.delete(WRITER, "acme"),
            organisations.members(WRITER, "acme"),
            organisations.add_member(WRITER, "zeta", WRITER.principal.id),
            organisations.remove_member(WRITER, "acme", WRITER.principal.id),
        ):
            with pytest.raises(Forbidden):
                await refused


async def test_slugs_are_checked_and_unique(stores: Stores) -> None:
    async with opened(stores) as registers:
        await registers.organisations.create(ADMIN, "acme", "Acme")
        with pytest.raises(Conflict):
            await registers.organisations.create(ADMIN, "acme", "Again")
        for slug in ("", "Acme", "a b", "default", "-a", "x" * 64):
            with pytest.raises(InvalidInput):
                await registers.organisations.create(ADMIN, slug, "")
        with pytest.raises(NotFound):
            await registers.organisations.delete(ADMIN, "nobody")


@pytest.mark.requirement("registers:organisations:kept")
async def test_an_organisation_with_objects_or_definitions_stays(stores: Stores) -> None:
    async with opened(stores) as registers:
        catalogue = registers.catalogue
        await with_trees(registers)
        acme = await registers.organisations.create(ADMIN, "acme", "Acme")
        await registers.organisations.add_member(ADMIN, "acme", WRITER.principal.id)
        for change, name in ((catalogue.schemas.update, "tree"), (catalogue.registers.update, "city")):
            assert (await change(ADMIN, name, {"organisation": "acme"})).organisation == acme.id
        pair = await catalogue.pair(WRITER, "city", "tree")
        made = await registers.objects.create(WRITER, pair, {"number": "T-1"})
        with pytest.raises(Conflict, match="objects"):
            await registers.organisations.delete(ADMIN, "acme")
        await registers.objects.delete(WRITER, pair, made.uuid)
        await registers.objects.purge(WRITER, pair, made.uuid)
        with pytest.raises(Conflict, match="registers"):
            await registers.organisations.delete(ADMIN, "acme")
        await catalogue.registers.update(ADMIN, pair.register.id, {"organisation": DEFAULT})
        with pytest.raises(Conflict, match="schemas"):
            await registers.organisations.delete(ADMIN, "acme")
        await catalogue.schemas.update(ADMIN, pair.schema.id, {"organisation": DEFAULT})
        await registers.organisations.delete(ADMIN, "acme")
        assert registers.organisations.of(WRITER.principal) == DEFAULT


@pytest.mark.requirement("registers:organisations:processes")
async def test_another_process_hears_of_a_membership(stores: Stores) -> None:
    async with opened(stores) as here, opened(stores) as there:
        heard = asyncio.Event()
        stop = there.platform.database.listen("registers.members", lambda _payload: heard.set())
        acme = await here.organisations.create(ADMIN, "acme", "Acme")
        await here.organisations.add_member(ADMIN, "acme", WRITER.principal.id)
        async with asyncio.timeout(60):
            await heard.wait()
            while there.organisations.of(WRITER.principal) != acme.id:
                await asyncio.sleep(0)
        stop()


class AgedClock(TurnedClock):
    """A clock whose monotonic time can be moved ahead too."""

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


async def test_old_memberships_are_read_again_even_while_something_is_being_written(stores: Stores) -> None:
    clock = AgedClock()
    async with opened(stores, clock) as registers:
        pair = await with_trees(registers)
        tree = await registers.objects.create(WRITER, pair, {"number": "T-1"})
        clock.ahead = 60
        changed = await registers.objects.write(WRITER, pair, Operation("patch", {"note": "old"}, tree.uuid))
        assert changed.version == 2
        assert registers.organisations.of(WRITER.principal) == "default"
