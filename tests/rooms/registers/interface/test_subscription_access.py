"""Subscriptions are refused as reading is, and end when the right to read does."""

import contextlib
import itertools
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.behaviour.clients import HTTP_MODERN, SESSION, Exchange, HttpClient, Wire, wire_name
from tests.behaviour.connecting import connect_http
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio

WIRES = pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
UPDATED = "notifications/resources/updated"


@contextlib.asynccontextmanager
async def connected(site: Site, wire: Wire, who: str) -> AsyncGenerator[HttpClient]:
    client = await connect_http(site.app, wire, authorization=site.credentials(who)["authorization"])
    try:
        yield client
    finally:
        await client.close()


async def refused(client: HttpClient, uri: str) -> None:
    """Following the address is refused, with the very words of reading it where the era has a refusal."""
    read = (await client.request("resources/read", {"uri": uri})).error
    if client.wire.modern:
        exchange = await client.open("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
        promised = (await exchange.next())["params"]["notifications"]
        assert not any(promised.values()), promised
        await client.cancel(exchange)
    else:
        error = (await client.request("resources/subscribe", {"uri": uri})).error
        assert error == read


async def next_update(news: Exchange) -> str:
    return (await news.wait_for(UPDATED))["params"]["uri"]


def uri_of(place: str, made: dict[str, Any] | None = None) -> str:
    return f"openregister:/{place}" + (f"/{made['id']}" if made else "")


@WIRES
@pytest.mark.requirement("registers:resources:follow-rights")
async def test_what_may_not_be_read_may_not_be_followed(site: Site, wire: Wire) -> None:
    closed = await site.pair({"name": {"type": "string"}}, authorization={"read": ["admin"]})
    rule = {"group": "authenticated", "match": {"state": "open"}}
    ruled = await site.pair({"state": {"type": "string"}}, authorization={"read": [rule]})
    hidden = await site.made(ruled, {"state": "secret"})
    gone = await site.made(ruled, {"state": "open"})
    await site.send("DELETE", f"/api{ruled}/{gone['id']}")
    _, _, register, schema = ruled.split("/")
    view = await site.made("/views", {"title": "Mine", "register": register, "schema": schema, "query": {}})
    async with connected(site, wire, "reader") as client:
        for uri in (
            uri_of(closed),
            uri_of(ruled, hidden),
            uri_of(ruled, gone),
            uri_of(ruled) + "/no-such-object",
            f"openregister://queries/{view['id']}",
            f"openregister://schemas/{closed.split('/')[3]}",
            "openregister://registers/999999",
        ):
            await refused(client, uri)


@WIRES
@pytest.mark.requirement("registers:resources:follow-rights")
async def test_a_right_that_is_taken_away_ends_the_news(site: Site, wire: Wire) -> None:
    place, other = await site.pair({"n": {"type": "integer"}}), await site.pair({"n": {"type": "integer"}})
    made, marker = await site.made(place, {"n": 1}), await site.made(other, {"n": 1})
    uris = (uri_of(place), uri_of(place, made), uri_of(other, marker))
    await site.settled()
    async with connected(site, wire, "reader") as client, client.following(uris=uris) as news:
        await site.send("PUT", f"/api{place}/{made['id']}", {"n": 2})
        assert {await next_update(news), await next_update(news)} == set(uris[:2])
        schema = f"/api/schemas/{place.split('/')[3]}"
        assert (await site.send("PUT", schema, {"authorization": {"read": ["admin"]}})).status == 200
        await site.send("PUT", f"/api{place}/{made['id']}", {"n": 3})
        await site.send("PUT", f"/api{other}/{marker['id']}", {"n": 2})
        assert await next_update(news) == uris[2]
        assert (await site.send("PUT", schema, {"authorization": None})).status == 200
        await site.send("PUT", f"/api{place}/{made['id']}", {"n": 4})
        assert {await next_update(news), await next_update(news)} == set(uris[:2])


@WIRES
@pytest.mark.requirement("registers:resources:follow-rights")
async def test_a_revoked_key_hears_of_nothing_any_more(site: Site, wire: Wire) -> None:
    place = await site.pair({"n": {"type": "integer"}})
    made = await site.made(place, {"n": 1})
    key = await site.app.api_keys.create("short-lived", scopes=["registers:read"])
    await site.settled()
    client = await connect_http(site.app, wire, authorization=f"Bearer {key.token}")
    followed = (("resources",), (uri_of(place, made),))
    async with (
        connected(site, wire, "reader") as other,
        other.following(*followed) as witness,
        client.following(*followed) as news,
    ):
        await site.send("PUT", f"/api{place}/{made['id']}", {"n": 2})
        assert await next_update(news) == uri_of(place, made)
        await site.app.api_keys.revoke(key.key.id)
        await site.send("PUT", f"/api{place}/{made['id']}", {"n": 3})
        await site.pair({})
        while (await witness.next())["method"] != "notifications/resources/list_changed":
            pass
        await site.settled()
        assert news.arrived.empty()
    await client.close()


@WIRES
async def test_a_follower_hears_that_an_object_and_a_query_are_gone(site: Site, wire: Wire) -> None:
    place = await site.pair({"n": {"type": "integer"}})
    made = await site.made(place, {"n": 1})
    _, _, register, schema = place.split("/")
    saved = await site.made("/views", {"title": "All", "register": register, "schema": schema, "query": {}})
    uris = (uri_of(place, made), f"openregister://queries/{saved['id']}")
    await site.settled()
    async with connected(site, wire, "admin") as client, client.following(uris=uris) as news:
        await site.send("DELETE", f"/api/views/{saved['id']}")
        assert await next_update(news) == uris[1]
        await site.send("DELETE", f"/api{place}/{made['id']}")
        assert await next_update(news) == uris[0]
        await site.send("DELETE", f"/api/deleted/{made['id']}")
        assert await next_update(news) == uris[0]


async def test_one_stream_follows_a_bounded_number_of_resources(site: Site) -> None:
    uris = [f"openregister://registers/{number}" for number in range(1001)]
    async with connected(site, HTTP_MODERN, "reader") as client:
        reply = await client.request("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}})
        assert "1000 resources" in reply.error["message"]


NUMBERS = itertools.count(1000)
OPEN_ONLY = {
    "read": [{"group": "authenticated", "match": {"state": "open"}}],
    "create": ["writer"],
    "update": ["writer"],
    "delete": ["writer"],
}


@dataclass
class Watched:
    """A pair of whose objects a reader sees the open ones; its owner sees all, and they are followed by both."""

    site: Site
    place: str
    hidden: str
    shown: str
    reader: Exchange
    owner: Exchange

    async def put(self, uuid: str, **data: Any) -> None:
        assert (await self.site.send("PUT", f"/api{self.place}/{uuid}", data, who="writer")).status == 200
        assert await next_update(self.owner) == uri_of(self.place)

    async def made(self, **data: Any) -> str:
        uuid: str = (await self.site.made(self.place, data, who="writer"))["id"]
        assert await next_update(self.owner) == uri_of(self.place)
        return uuid

    async def reader_heard(self, times: int) -> None:
        """The reader was told so often, and not once more before a change of everybody's."""
        for _ in range(times):
            assert await next_update(self.reader) == uri_of(self.place)
        await self.put(self.shown, state="open", n=next(NUMBERS))
        assert await next_update(self.reader) == uri_of(self.place)
        assert self.reader.arrived.empty()


@contextlib.asynccontextmanager
async def watched(site: Site, wire: Wire) -> AsyncGenerator[Watched]:
    properties = {"state": {"type": "string"}, "n": {"type": "integer"}}
    place = await site.pair(properties, who="writer", authorization=OPEN_ONLY)
    hidden = await site.made(place, {"state": "shut", "n": 0}, who="writer")
    shown = await site.made(place, {"state": "open", "n": 0}, who="writer")
    await site.settled()
    async with (
        connected(site, wire, "reader") as reader,
        connected(site, wire, "writer") as owner,
        reader.following(uris=(uri_of(place),)) as heard,
        owner.following(uris=(uri_of(place),)) as known,
    ):
        yield Watched(site, place, hidden["id"], shown["id"], heard, known)


@WIRES
@pytest.mark.requirement("registers:resources:hidden-changes")
async def test_a_follower_of_a_pair_hears_nothing_of_objects_that_are_hidden_from_it(site: Site, wire: Wire) -> None:
    async with watched(site, wire) as pair:
        await pair.put(pair.hidden, state="shut", n=1)
        await pair.reader_heard(0)
        made = await pair.made(state="shut")
        await pair.reader_heard(0)
        assert (await site.send("POST", f"/api{pair.place}/{made}/lock", {}, who="writer")).status == 200
        assert await next_update(pair.owner) == uri_of(pair.place)
        assert (await site.send("POST", f"/api{pair.place}/{made}/unlock", {}, who="writer")).status < 300
        assert await next_update(pair.owner) == uri_of(pair.place)
        assert (await site.send("DELETE", f"/api{pair.place}/{made}", who="writer")).status < 300
        assert await next_update(pair.owner) == uri_of(pair.place)
        assert (await site.send("DELETE", f"/api/deleted/{made}", who="writer")).status < 300
        assert await next_update(pair.owner) == uri_of(pair.place)
        await pair.reader_heard(0)


@WIRES
@pytest.mark.requirement("registers:resources:hidden-changes")
async def test_a_follower_of_a_pair_hears_of_objects_that_come_into_its_sight_or_leave_it(
    site: Site, wire: Wire
) -> None:
    async with watched(site, wire) as pair:
        await pair.put(pair.hidden, state="open", n=1)
        await pair.reader_heard(1)
        await pair.put(pair.hidden, state="shut", n=2)
        await pair.reader_heard(1)
        await pair.made(state="open")
        await pair.reader_heard(1)
        assert (await site.send("DELETE", f"/api{pair.place}/{pair.hidden}", who="writer")).status < 300
        assert await next_update(pair.owner) == uri_of(pair.place)
        await pair.reader_heard(0)


@WIRES
@pytest.mark.requirement("registers:resources:hidden-changes")
async def test_a_change_of_many_objects_is_told_once_and_only_for_those_in_sight(site: Site, wire: Wire) -> None:
    count = 1_001  # more than an import writes at once
    async with watched(site, wire) as pair:
        _, _, register, schema = pair.place.split("/")
        target = f"/api/registers/{register}/import?format=csv&schema={schema}"
        csv = {"content-type": "text/csv"}
        for last, heard in (("shut", 0), ("open", 1)):
            rows = "state\n" + "shut\n" * (count - 1) + f"{last}\n"
            reply = await site.send("POST", target, rows.encode(), who="writer", headers=csv)
            assert reply.status == 200, reply.body
            assert await next_update(pair.owner) == uri_of(pair.place)
            await pair.reader_heard(heard)
            assert pair.owner.arrived.empty()


@WIRES
@pytest.mark.requirement("registers:resources:hidden-changes")
async def test_a_plan_and_its_undoing_are_told_once_and_only_for_objects_in_sight(site: Site, wire: Wire) -> None:
    async with watched(site, wire) as pair, connected(site, wire, "writer") as writer:
        _, _, register, schema = pair.place.split("/")
        for state, heard in (("shut", 0), ("open", 1)):
            operations = [{"action": "create", "data": {"state": one}} for one in ("shut", state)]
            here = {"register": register, "schema": schema}
            planned = {**here, "action": "plan", "operations": operations}
            plan = (await writer.call("objects", planned)).answer(wire)["id"]
            for action in ("commit", "undo"):
                (await writer.call("objects", {**here, "action": action, "plan": plan})).answer(wire)
                assert await next_update(pair.owner) == uri_of(pair.place)
                await pair.reader_heard(heard)
                assert pair.owner.arrived.empty()


@WIRES
@pytest.mark.requirement("registers:resources:hidden-changes")
async def test_a_lesser_key_of_the_owner_hears_nothing_of_what_only_the_owner_sees_in_a_view(
    site: Site, wire: Wire
) -> None:
    place = await site.pair({"state": {"type": "string"}}, authorization=OPEN_ONLY)
    hidden, shown = [await site.made(place, {"state": state}) for state in ("shut", "open")]
    _, _, register, schema = place.split("/")
    view = {"title": "All", "register": register, "schema": schema, "query": {}}
    uri = (await site.made("/views", view, who="admin:admin"))["uri"]
    key = await site.app.api_keys.create("lesser", owner="admin", scopes=["registers:read"])
    site.keys = {**site.keys, "lesser": key.token}
    await site.settled()
    async with (
        connected(site, wire, "lesser") as lesser,
        connected(site, wire, "admin:admin") as owner,
        lesser.following(uris=(uri, uri_of(place, shown))) as few,
        owner.following(uris=(uri,)) as all_news,
    ):
        assert "open" in json.dumps((await lesser.request("resources/read", {"uri": uri})).result)
        assert (await site.send("PUT", f"/api{place}/{hidden['id']}", {"state": "closed"})).status == 200
        assert await next_update(all_news) == uri
        assert (await site.send("PUT", f"/api{place}/{shown['id']}", {"state": "open", "n": 1})).status == 200
        assert await next_update(few) == uri_of(place, shown)


@WIRES
@pytest.mark.requirement("registers:attachments:subscribe")
async def test_a_follower_of_an_attachment_hears_of_the_file_and_of_its_text(site: Site, wire: Wire) -> None:
    rules = {"read": [{"group": "authenticated", "match": {"state": "open"}}], "create": ["writer"]}
    place = await site.pair({"state": {"type": "string"}}, authorization=rules)
    seen, hidden = [await site.made(place, {"state": state}) for state in ("open", "secret")]
    for made in (seen, hidden):
        assert (await site.send("PUT", f"/api{place}/{made['id']}/files/a.bin", b"x")).status == 201
    async with connected(site, wire, "reader") as client:
        for end in ("", "/text"):
            await refused(client, f"{uri_of(place, hidden)}/attachments/a.bin{end}")
        uri = f"{uri_of(place, seen)}/attachments/notes.txt"
        assert (await site.send("PUT", f"/api{place}/{seen['id']}/files/notes.txt", b"one")).status == 201
        async with client.following(uris=(uri, f"{uri}/text")) as news:
            assert (await site.send("PUT", f"/api{place}/{seen['id']}/files/notes.txt", b"two")).status == 201
            heard = {await next_update(news) for _ in range(3)}
            assert heard == {uri, f"{uri}/text"}


@WIRES
@pytest.mark.requirement("registers:resources:follow-names")
async def test_a_subscription_by_slug_is_notified_with_the_uri_it_used(site: Site, wire: Wire) -> None:
    named = {"objectSlugField": "title"}
    place = await site.pair({"title": {"type": "string"}, "n": {"type": "integer"}}, configuration=named)
    made = await site.made(place, {"title": "First One", "n": 1})
    _, _, register_id, schema_id = place.split("/")
    register = (await site.send("GET", f"/api/registers/{register_id}")).json
    schema = (await site.send("GET", f"/api/schemas/{schema_id}")).json
    pair = f"openregister://objects/{register['slug']}/{schema['slug']}"
    slug = made["@self"]["slug"]
    by_name = {
        f"{pair}/{slug}": f"openregister://objects/{register_id}/{schema_id}/{made['id']}",
        pair: f"openregister://objects/{register_id}/{schema_id}",
        f"openregister://schemas/{schema['uuid']}": f"openregister://schemas/{schema_id}",
        f"openregister://registers/{register['slug']}": f"openregister://registers/{register_id}",
    }
    await site.settled()
    uris = (*by_name, *by_name.values())
    async with connected(site, wire, "reader") as client, client.following(uris=uris) as news:
        await site.send("PATCH", f"/api{place}/{made['id']}", {"n": 2})
        assert {await next_update(news) for _ in range(4)} == {
            f"{pair}/{slug}",
            pair,
            uri_of(place, made),
            uri_of(place),
        }
        await site.send("PUT", f"/api/schemas/{schema_id}", {"description": "Other"})
        assert {await next_update(news) for _ in range(2)} == {
            f"openregister://schemas/{schema['uuid']}",
            f"openregister://schemas/{schema_id}",
        }
        await site.send("PUT", f"/api/registers/{register_id}", {"description": "Other"})
        assert {await next_update(news) for _ in range(2)} == {
            f"openregister://registers/{register['slug']}",
            f"openregister://registers/{register_id}",
        }


@WIRES
@pytest.mark.requirement("registers:resources:follow-names")
async def test_a_subscription_by_slug_goes_on_with_the_object_when_its_slug_changes(site: Site, wire: Wire) -> None:
    named = {"objectSlugField": "title"}
    place = await site.pair({"title": {"type": "string"}}, configuration=named)
    made = await site.made(place, {"title": "First One"})
    by_slug = f"{uri_of(place)}/{made['@self']['slug']}"
    await site.settled()
    async with connected(site, wire, "reader") as client, client.following(uris=(by_slug,)) as news:
        for title in ("Second One", "Third One"):
            await site.send("PATCH", f"/api{place}/{made['id']}", {"title": title})
            assert await next_update(news) == by_slug
