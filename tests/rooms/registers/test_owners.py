"""Webhooks and views act with what their owner may do now, and end when the owner is gone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from tests.receiving import receiving
from tests.rooms.registers.site import Object, Site, open_site
from tests.stores import PostgresServer
from tests.waiting import until

pytestmark = pytest.mark.anyio

LOOPBACK = FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True)
WORD = "not-a-real-password"
CASE: Object = {"name": {"type": "string"}, "fee": {"type": "integer", "authorization": {"read": ["admin"]}}}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def sending(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A server on each store that may send webhooks to this machine."""
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    async with open_site(tmp_path_factory.mktemp("owners"), database, basic=True, fetch=LOOPBACK) as opened:
        yield opened


async def user(site: Site, name: str, role: str) -> str:
    """A new user, as `Site.send` knows it."""
    await site.app.users.add(name, WORD, role=role)
    return f"{name}:{WORD}"


async def demote(site: Site, name: str) -> None:
    demoted = "UPDATE users SET role = 'reader' WHERE name_key = ?"
    assert await site.app.database.write(lambda tx: tx.run(demoted, name)) == 1


async def hook(site: Site, who: str, url: str, **data: Any) -> Object:
    return await site.made("/webhooks", {"url": url, "timeout": 5, **data}, who=who)


async def webhook_when(site: Site, webhook: Object, holds: Callable[[Object], bool]) -> Object:
    async def look() -> Object:
        return (await site.send("GET", f"/api/webhooks/{webhook['id']}")).json

    return await until(look, holds)


async def log_when(site: Site, webhook: Object, holds: Callable[[list[Object]], bool]) -> list[Object]:
    async def look() -> list[Object]:
        return (await site.send("GET", f"/api/webhooks/{webhook['id']}/logs")).json["results"]

    return await until(look, holds)


@pytest.mark.requirement("registers:webhooks:owners-now")
async def test_the_webhook_of_a_removed_user_is_told_nothing_more_and_says_why(sending: Site) -> None:
    wil = await user(sending, "wil", "writer")
    place = await sending.pair({"name": {"type": "string"}}, who=wil)
    register = int(place.split("/")[2])
    async with receiving(lambda number: "500 No" if number else "200 OK") as receiver:
        made = await hook(sending, wil, receiver.url, register=register)
        await sending.made(place, {"name": "first"})
        await receiver.until(1)
        await sending.made(place, {"name": "refused"})
        await log_when(sending, made, lambda log: len(log) == 2 and log[0].get("status") == 500)
        await sending.app.users.remove("wil")
        await sending.made(place, {"name": "hidden"})
        found = await webhook_when(sending, made, lambda one: not one["enabled"])
        assert "user:wil is gone" in found["problem"]
        refused, _ = await log_when(sending, made, lambda log: log[0]["state"] == "failed")
        assert "user:wil is gone" in refused["problem"]
        assert [one.json["data"]["object"]["name"] for one in receiver.requests] == ["first", "refused"]


@pytest.mark.requirement("registers:webhooks:owners-now")
async def test_the_webhook_of_a_demoted_administrator_is_told_what_it_may_still_read(sending: Site) -> None:
    ada = await user(sending, "ada", "admin")
    place = await sending.pair(CASE)
    closed = await sending.pair({"name": {"type": "string"}}, authorization={"read": ["admin"]})
    async with receiving() as receiver:
        made = await hook(sending, ada, receiver.url)
        await sending.made(closed, {"name": "then"})
        await sending.made(place, {"name": "then", "fee": 4711})
        await receiver.until(2)
        await demote(sending, "ada")
        await sending.made(closed, {"name": "now"})
        await sending.made(place, {"name": "now", "fee": 4712})
        told = [one.json["data"]["object"] for one in (await receiver.until(3))[2:]]
        assert told == [{"name": "now"}]
        await sending.send("DELETE", f"/api/webhooks/{made['id']}")


@pytest.mark.requirement("registers:webhooks:owners-now")
async def test_the_webhook_of_a_revoked_key_that_had_no_owner_ends_with_it(sending: Site) -> None:
    key = await sending.app.api_keys.create("hooks", scopes=["registers:read", "registers:write"])
    sending.keys = {**sending.keys, "hooks": key.token}
    place = await sending.pair({"name": {"type": "string"}}, who="hooks")
    async with receiving() as receiver:
        made = await hook(sending, "hooks", receiver.url, register=int(place.split("/")[2]))
        await sending.made(place, {"name": "first"})
        await receiver.until(1)
        await sending.app.api_keys.revoke(key.key.id)
        await sending.made(place, {"name": "hidden"})
        found = await webhook_when(sending, made, lambda one: not one["enabled"])
        assert f"{key.key.credential} is gone" in found["problem"]
        assert len(receiver.requests) == 1


@pytest.mark.requirement("registers:webhooks:owners-now")
async def test_the_webhook_a_users_key_made_outlives_the_key_with_its_rights(sending: Site) -> None:
    await user(sending, "oda", "admin")
    key = await sending.app.api_keys.create("short", owner="oda", scopes=["registers:read", "registers:write"])
    sending.keys = {**sending.keys, "short": key.token}
    place = await sending.pair(CASE, who="short")
    async with receiving() as receiver:
        made = await hook(sending, "short", receiver.url, register=int(place.split("/")[2]))
        await sending.app.api_keys.revoke(key.key.id)
        await sending.made(place, {"name": "now", "fee": 4711})
        (sent,) = await receiver.until(1)
        assert sent.json["data"]["object"] == {"name": "now"}
        await sending.send("DELETE", f"/api/webhooks/{made['id']}")


@pytest.mark.requirement("registers:webhooks:owner-deletes")
async def test_a_demoted_owner_may_delete_a_webhook_and_do_nothing_else_with_it(sending: Site) -> None:
    uta, joe = await user(sending, "uta", "writer"), await user(sending, "joe", "reader")
    place = await sending.pair({"name": {"type": "string"}}, who=uta)
    made = await hook(sending, uta, "https://example.org/hook", register=int(place.split("/")[2]))
    await sending.app.users.remove("uta")
    await sending.app.users.add("uta", WORD, role="reader")
    path = f"/api/webhooks/{made['id']}"
    assert (await sending.send("PUT", path, {"enabled": False}, who=uta)).status == 403
    other, none = [await sending.send("DELETE", one, who=joe) for one in (path, "/api/webhooks/none")]
    assert (other.status, other.json) == (403, none.json), "another's answers as none"
    assert (await sending.send("DELETE", path, who=uta)).status == 204
    assert (await sending.send("GET", path)).status == 404


async def times_told(
    site: Site,
    place: str,
    made: Object,
    watched: Object,
    changes: list[Object],
    lose_rights: Callable[[], Awaitable[None]],
) -> int:
    """How often followers of a view are told while an object changes, once its owner has lost rights.

    The owner loses them when the first change has been told, so nothing from before is still to come. A look at all
    queries of a pair is over when the next one has reached the marker, so the last change may be missed.
    """
    _, _, register, schema = place.split("/")
    marker = await site.made("/views", {"title": "Marker", "register": register, "schema": schema, "query": {}})
    heard: asyncio.Queue[str] = asyncio.Queue()
    end = site.app.database.listen("mcp", heard.put_nowait)

    async def told_until(*views: Object) -> list[str]:
        """What is told until followers of all these views have been."""
        told: list[str] = []
        missing = {f"resource openregister://views/{view['id']}" for view in views}
        async with asyncio.timeout(60):
            while missing:
                told.append((await heard.get()).partition("\n")[0])
                missing.discard(told[-1])
        return told

    try:
        await site.send("PUT", f"/api{place}/{made['id']}", changes[0])
        await told_until(marker, watched)
        await lose_rights()
        told: list[str] = []
        for change in changes[1:]:
            await site.send("PUT", f"/api{place}/{made['id']}", change)
            told += await told_until(marker)
    finally:
        end()
    return told.count(f"resource openregister://views/{watched['id']}")


async def saved(site: Site, place: str, who: str) -> Object:
    _, _, register, schema = place.split("/")
    return await site.made("/views", {"title": "All", "register": register, "schema": schema, "query": {}}, who=who)


@pytest.mark.requirement("registers:live:owners-now")
async def test_a_view_is_compared_with_what_its_owner_may_read_now(sending: Site) -> None:
    eva = await user(sending, "eva", "admin")
    rule = {"group": "authenticated", "match": {"name": "open"}}
    place = await sending.pair(CASE, authorization={"read": [rule]})
    shut = await sending.made(place, {"name": "shut", "fee": 1})
    watched = await saved(sending, place, eva)
    changes: list[Object] = [{"name": "shut", "fee": fee} for fee in (2, 3, 4, 5, 6)]
    told = await times_told(sending, place, shut, watched, changes, lambda: demote(sending, "eva"))
    assert told == 1, "it is no longer found, once"


@pytest.mark.requirement("registers:live:owners-now")
async def test_of_a_view_whose_owner_is_gone_is_told_once_more(sending: Site) -> None:
    leo = await user(sending, "leo", "reader")
    place = await sending.pair({"name": {"type": "string"}})
    made = await sending.made(place, {"name": "one"})
    watched = await saved(sending, place, leo)
    changes: list[Object] = [{"name": name} for name in ("two", "three", "four", "five", "six")]
    told = await times_told(sending, place, made, watched, changes, lambda: sending.app.users.remove("leo"))
    assert told == 1, "there is no answer any more"
