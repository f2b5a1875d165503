"""Views are followed by their slug; attachments are reached by any name of their object."""

import pytest

from tests.behaviour.clients import HTTP_MODERN, SESSION, Wire, wire_name
from tests.behaviour.connecting import connect_http
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

WIRES = pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
UPDATED = "notifications/resources/updated"


@WIRES
@pytest.mark.requirement("registers:resources:follow-names")
async def test_a_view_is_followed_by_its_slug_also_when_that_changes(site: Site, wire: Wire) -> None:
    place = await site.pair({"level": {"type": "integer"}})
    _, _, register, schema = place.split("/")
    made = await site.made(place, {"level": 1})
    query = {"filter": {"level": {"gt": 1}}}
    body = {"title": f"High {schema}", "register": int(register), "schema": int(schema), "query": query, "shared": True}
    view = await site.made("/views", body, who="writer")
    by_slug = f"openregister://views/{view['slug']}"
    await site.settled()
    client = await connect_http(site.app, wire, authorization=site.credentials("reader")["authorization"])
    try:
        async with client.following(uris=(by_slug,)) as news:
            for level, slug in ((2, None), (3, f"other-{schema}")):
                if slug:
                    changed = await site.send("PATCH", f"/api/views/{view['id']}", {"slug": slug}, who="writer")
                    assert changed.json["slug"] == slug
                assert (await site.send("PATCH", f"/api{place}/{made['id']}", {"level": level})).status == 200
                assert (await news.wait_for(UPDATED))["params"]["uri"] == by_slug
    finally:
        await client.close()


@pytest.mark.requirement("registers:objects:unique-names", "registers:attachments:tool")
async def test_attachments_are_reached_by_every_name_of_their_object(site: Site) -> None:
    properties: Object = {"number": {"type": "string", "unique": True}, "title": {"type": "string"}}
    place = await site.pair(properties, configuration={"objectSlugField": "title"})
    _, _, register, schema = place.split("/")
    made = await site.made(place, {"number": "P-1", "title": "First One"})
    names = (made["id"], "P-1", made["@self"]["slug"])
    assert names[2] == "first-one"
    async with site.app.client() as client:

        async def attachments(action: str, ref: str, **arguments: str) -> Object:
            given = {"action": action, "register": register, "schema": schema, "id": ref, **arguments}
            result = await client.call_tool("attachments", given)
            assert result["isError"] is False, result
            return result["structuredContent"]

        for number, name in enumerate(names):
            written = await attachments("write", name, name=f"{number}.txt", text="x")
            assert written["uri"].endswith(f"/{made['id']}/attachments/{number}.txt")
        for name in names:
            assert [one["name"] for one in (await attachments("list", name))["results"]] == ["0.txt", "1.txt", "2.txt"]
            assert (await attachments("read", name, name="1.txt", content="base64"))["base64"] == "eA=="
            uri = f"openregister:/{place}/{name}/attachments/2.txt"
            assert (await client.request("resources/read", {"uri": uri}))["contents"][0]["blob"] == "eA=="
            files = await site.send("GET", f"/api{place}/{name}/files")
            assert (files.status, files.json["total"]) == (200, 3)
            assert (await site.send("GET", f"/api{place}/{name}/files/0.txt")).body == b"x"
    assert (await site.send("DELETE", f"/api{place}/P-1/files/0.txt")).status == 204
    assert (await site.send("GET", f"/api{place}/{made['id']}/files")).json["total"] == 2
