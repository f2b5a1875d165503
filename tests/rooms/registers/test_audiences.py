"""Who hears of changes to lists, and of what is gone: those who may know of what changed, and nobody else."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from pentad.rooms.registers.models import Audience, read_audience
from tests.behaviour.clients import HTTP_MODERN, SESSION, Exchange, HttpClient, Wire, wire_name
from tests.behaviour.connecting import connect_http
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

WIRES = pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
LIST_CHANGED = "notifications/resources/list_changed"
LISTS = ("openregister://registers", "openregister://schemas")


@dataclass
class Sides:
    """Two writers of an organisation, and one of another."""

    site: Site
    here: str
    beside: str
    there: str

    @contextlib.asynccontextmanager
    async def following(
        self, wire: Wire, who: str, *uris: str, lists: tuple[str, ...] = ()
    ) -> AsyncGenerator[Exchange]:
        authorization = self.site.credentials(who)["authorization"]
        client: HttpClient = await connect_http(self.site.app, wire, authorization=authorization)
        try:
            async with client.following(lists, uris) as news:
                yield news
        finally:
            await client.close()

    async def define(self, who: str, **fields: Any) -> Object:
        return await self.site.made("/registers", {"title": f"r{uuid4().hex[:10]}", **fields}, who=who)


@pytest.fixture
async def sides(site: Site) -> Sides:
    stem = f"a{uuid4().hex[:10]}"
    names = [f"{stem}-{side}" for side in ("here", "beside", "there")]
    for organisation in (names[0], names[2]):
        await site.send("POST", "/api/organisations", {"slug": organisation, "title": organisation})
    for name, organisation in zip(names, (names[0], names[0], names[2]), strict=True):
        key = await site.app.api_keys.create(name, scopes=["*:read", "*:write"])
        site.keys = {**site.keys, name: key.token}
        member = {"principal": key.key.credential}
        assert (await site.send("POST", f"/api/organisations/{organisation}/members", member)).status == 204
    await site.settled()
    return Sides(site, *names)


async def heard(news: Exchange, count: int) -> list[str]:
    """The next changes in the order of their names: an address, or `list`."""
    told = [await news.next() for _ in range(count)]
    return sorted("list" if one["method"] == LIST_CHANGED else one["params"]["uri"] for one in told)


async def silent(sides: Sides, *all_news: Exchange) -> None:
    """Nothing was told: what comes first is the change of something that everybody may know of."""
    await sides.define(sides.here, authorization={"read": ["public"]})
    for news in all_news:
        assert await heard(news, 3) == ["list", *LISTS]
        assert news.arrived.empty()


@WIRES
@pytest.mark.requirement("registers:resources:audiences")
async def test_another_organisation_hears_nothing_of_registers_and_schemas(sides: Sides, wire: Wire) -> None:
    site = sides.site
    async with (
        sides.following(wire, sides.there, *LISTS, lists=("resources",)) as foreign,
        sides.following(wire, sides.here, *LISTS, lists=("resources",)) as own,
    ):
        register = await sides.define(sides.here)
        assert await heard(own, 3) == ["list", *LISTS]
        path = f"/api/registers/{register['id']}"
        assert (await site.send("PUT", path, {"title": "Renamed"}, who=sides.here)).status == 200
        assert await heard(own, 3) == ["list", *LISTS]
        assert (await site.send("DELETE", path, who=sides.here)).status < 300
        assert await heard(own, 3) == ["list", *LISTS]
        await site.made("/schemas", {"title": "Thing"}, who=sides.here)
        assert await heard(own, 3) == ["list", *LISTS]
        await silent(sides, foreign, own)


@WIRES
@pytest.mark.requirement("registers:resources:audiences")
async def test_who_may_not_know_of_a_register_of_its_own_organisation_hears_nothing_of_it(
    sides: Sides, wire: Wire
) -> None:
    site = sides.site
    async with (
        sides.following(wire, sides.beside, *LISTS, lists=("resources",)) as beside,
        sides.following(wire, sides.here, *LISTS, lists=("resources",)) as own,
    ):
        register = await sides.define(sides.here, authorization={"read": ["admin"]})
        assert await heard(own, 3) == ["list", *LISTS]
        path = f"/api/registers/{register['id']}"
        opened = {"authorization": {"read": ["writer"]}}
        assert (await site.send("PUT", path, opened)).status == 200
        assert await heard(beside, 3) == ["list", *LISTS], "it has come to know of it"
        assert (await site.send("PUT", path, {"authorization": {"read": ["admin"]}})).status == 200
        assert await heard(beside, 3) == ["list", *LISTS], "its lists are shorter now"
        assert (await site.send("PUT", path, {"title": "Closed"})).status == 200
        await silent(sides, beside)


@WIRES
@pytest.mark.requirement("registers:resources:audiences")
async def test_a_view_changes_the_list_of_its_owner_alone(sides: Sides, wire: Wire) -> None:
    place = await sides.site.pair({"n": {"type": "integer"}}, who=sides.here)
    _, _, register, schema = place.split("/")
    view: Object = {"title": "All", "register": register, "schema": schema, "query": {}}
    await sides.site.settled()
    async with (
        sides.following(wire, sides.beside, *LISTS, lists=("resources",)) as beside,
        sides.following(wire, sides.here, *LISTS, lists=("resources",)) as own,
    ):
        made = await sides.site.made("/views", view, who=sides.here)
        assert await heard(own, 1) == ["list"]
        assert (await sides.site.send("DELETE", f"/api/views/{made['id']}", who=sides.here)).status < 300
        assert await heard(own, 1) == ["list"]
        await silent(sides, beside, own)


@WIRES
@pytest.mark.requirement("registers:resources:audiences")
async def test_a_follower_hears_that_a_register_is_gone_unless_it_had_lost_sight_of_it(
    sides: Sides, wire: Wire
) -> None:
    site = sides.site
    kept, closed = await sides.define(sides.here), await sides.define(sides.here)
    uris = [f"openregister://registers/{one['id']}" for one in (kept, closed)]
    await site.settled()
    async with sides.following(wire, sides.beside, *uris) as news:
        rule = {"authorization": {"read": ["admin"]}}
        assert (await site.send("PUT", f"/api/registers/{closed['id']}", rule)).status == 200
        assert (await site.send("DELETE", f"/api/registers/{closed['id']}")).status < 300
        assert (await site.send("DELETE", f"/api/registers/{kept['id']}")).status < 300
        assert (await news.wait_for("notifications/resources/updated"))["params"]["uri"] == uris[0]


@WIRES
@pytest.mark.requirement("registers:resources:purged")
async def test_who_lost_the_right_to_an_object_does_not_hear_that_it_is_purged(sides: Sides, wire: Wire) -> None:
    site = sides.site
    rule = {"group": "authenticated", "match": {"state": "open"}}
    place = await site.pair(
        {"state": {"type": "string"}}, who=sides.here, authorization={"read": [rule], "create": ["writer"]}
    )
    lost, kept = [await site.made(place, {"state": "open"}, who=sides.here) for _ in range(2)]
    lost_uri, kept_uri = (f"openregister:/{place}/{one['id']}" for one in (lost, kept))
    await site.settled()
    async with (
        sides.following(wire, sides.beside, lost_uri, kept_uri) as beside,
        sides.following(wire, sides.here, lost_uri) as owner,
    ):
        assert (await site.send("PUT", f"/api{place}/{lost['id']}", {"state": "shut"})).status == 200
        assert await heard(owner, 1) == [lost_uri]
        assert (await site.send("DELETE", f"/api{place}/{lost['id']}")).status < 300
        assert await heard(owner, 1) == [lost_uri]
        assert (await site.send("DELETE", f"/api/deleted/{lost['id']}")).status < 300
        assert await heard(owner, 1) == [lost_uri], "who had the right to the end hears of the end"
        assert (await site.send("DELETE", f"/api{place}/{kept['id']}")).status < 300
        assert await heard(beside, 1) == [kept_uri]
        assert (await site.send("DELETE", f"/api/deleted/{kept['id']}")).status < 300
        assert await heard(beside, 1) == [kept_uri]


def test_an_audience_that_is_too_long_to_announce_is_the_owners_and_administrators() -> None:
    many = Audience(organisation="one", owner="user:ada", groups=(tuple(f"user:{n:064}" for n in range(100)),))
    assert read_audience(many.text()) == Audience(organisation="one", owner="user:ada", groups=((),))
    few = Audience(organisation="one", owner="user:ada", groups=(("writer",), ("user:wil",)))
    assert read_audience(few.text()) == few
