"""Resources of the room on modern MCP: lists, templates, the past, views, and who hears of changes."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.mcp.connection import MemoryClient, RemoteError
from tests.behaviour.clients import MEMORY, MEMORY_MODERN, Wire, wire_name
from tests.behaviour.connecting import connected_in_memory
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(site: Site) -> AsyncIterator[MemoryClient]:
    async with site.app.client() as opened:
        yield opened


async def read(client: MemoryClient, uri: str) -> Any:
    (contents,) = (await client.request("resources/read", {"uri": uri}))["contents"]
    assert (contents["uri"], contents["mimeType"]) == (uri, "application/json")
    return json.loads(contents["text"])


async def test_lists_pairs_and_views_are_listed(site: Site, client: MemoryClient) -> None:
    place = await site.pair({"name": {"type": "string"}})
    _, _, register, schema = place.split("/")
    view = {"title": "Everything", "register": int(register), "schema": int(schema), "query": {}}
    saved = await site.made("/views", view)
    listed = {entry["uri"]: entry for entry in await client.list_all("resources/list", "resources")}
    assert {"openregister://registers", "openregister://schemas"} <= listed.keys()
    assert listed[f"openregister://objects/{register}/{schema}"]["name"] == "Things — Thing"
    assert listed[f"openregister://views/{saved['id']}"]["name"] == "Everything"
    templates = (await client.request("resources/templates/list"))["resourceTemplates"]
    assert [entry["uriTemplate"] for entry in templates] == [
        "openregister://registers/{id}",
        "openregister://schemas/{id}",
        "openregister://objects/{register}/{schema}",
        "openregister://objects/{register}/{schema}/{id}",
        "openregister://objects/{register}/{schema}/{id}/attachments/{name}",
        "openregister://objects/{register}/{schema}/{id}/attachments/{name}/text",
        "openregister://views/{id}",
        "openregister://queries/{id}",
        "openregister://transfers/{id}",
        "pentad://events/{cursor}",
        "pentad://traces/{id}",
    ]


async def test_everything_is_read_by_its_address(site: Site, client: MemoryClient) -> None:
    place = await site.pair({"name": {"type": "string"}})
    _, _, register, schema = place.split("/")
    made = await site.made(place, {"name": "one"})
    assert int(register) in [one["id"] for one in await read(client, "openregister://registers")]
    assert int(schema) in [one["id"] for one in await read(client, "openregister://schemas")]
    assert (await read(client, f"openregister://registers/{register}"))["title"] == "Things"
    assert (await read(client, f"openregister://schemas/{schema}"))["title"] == "Thing"
    pair = await read(client, f"openregister://objects/{register}/{schema}")
    assert (pair["total"], [row["name"] for row in pair["results"]]) == (1, ["one"])
    assert (await read(client, f"openregister://objects/{register}/{schema}/{made['id']}"))["name"] == "one"


@pytest.mark.requirement("registers:resources:past")
async def test_an_address_can_name_the_past(site: Site, client: MemoryClient) -> None:
    place = await site.pair({"name": {"type": "string"}})
    made = await site.made(place, {"name": "one"})
    await site.send("PUT", f"/api{place}/{made['id']}", {"name": "two"})
    then = made["@self"]["updated"]
    base = f"openregister:/{place}"
    assert (await read(client, f"{base}/{made['id']}?asOf={then}"))["name"] == "one"
    assert (await read(client, f"{base}?asOf={then}"))["results"][0]["name"] == "one"
    with pytest.raises(RemoteError):
        await read(client, f"{base}/{made['id']}?when={then}")


async def test_what_is_not_there_is_not_found(site: Site, client: MemoryClient) -> None:
    for uri in (
        "openregister://registers/999999",
        "openregister://queries/none",
        "openregister://views/none",
        "openregister://x",
    ):
        with pytest.raises(RemoteError) as refused:
            await read(client, uri)
        assert refused.value.code == -32002


@pytest.mark.requirement("registers:views:addresses")
async def test_a_view_reads_as_what_it_finds_now_by_id_slug_and_its_old_address(
    site: Site, client: MemoryClient
) -> None:
    place = await site.pair({"level": {"type": "number"}})
    _, _, register, schema = place.split("/")
    query = {"filter": {"level": {"gt": 1}}}
    saved = await site.made("/views", {"title": "High", "register": register, "schema": schema, "query": query})
    uri = f"openregister://views/{saved['id']}"
    assert (await read(client, uri))["results"] == []
    await site.made(place, {"level": 5})
    for address in (uri, f"openregister://views/{saved['slug']}", f"openregister://queries/{saved['id']}"):
        assert [row["level"] for row in (await read(client, address))["results"]] == [5]


@pytest.mark.parametrize("wire", [MEMORY, MEMORY_MODERN], ids=wire_name)
@pytest.mark.requirement("registers:resources:subscriptions")
async def test_subscribers_hear_of_an_object_its_pair_and_a_view(site: Site, wire: Wire) -> None:
    place = await site.pair({"level": {"type": "number"}})
    _, _, register, schema = place.split("/")
    made = await site.made(place, {"level": 1})
    query = {"filter": {"level": {"gt": 1}}}
    saved = await site.made("/views", {"title": "High", "register": register, "schema": schema, "query": query})
    uris = (
        f"openregister:/{place}/{made['id']}",
        f"openregister:/{place}",
        f"openregister://views/{saved['id']}",
        f"openregister://queries/{saved['id']}",
    )
    await site.settled()
    async with connected_in_memory(site.app, wire, {}) as client, client.following(uris=uris) as news:
        await site.send("PUT", f"/api{place}/{made['id']}", {"level": 7})
        told = set[str]()
        while told != set(uris):
            told.add((await news.wait_for("notifications/resources/updated"))["params"]["uri"])
