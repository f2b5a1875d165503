"""One rule for `id` in data on every wire: it names the object, unless the schema declares such a property."""

import json
from typing import Any

import pytest

from tests.behaviour.registers.openregister import OpenRegister
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

NAME: Object = {"name": {"type": "string", "unique": True}}
OWN: Object = {"id": {"type": "integer"}, **NAME}
A, B, C = (f"01890000-0000-7000-8000-00000000000{digit}" for digit in "abc")


def fresh(number: int, place: str) -> str:
    """A uuid of the test's own: the server is shared."""
    register, schema = place.split("/")[2:]
    return f"01890000-0000-7000-{8000 + number}-{int(register):06d}{int(schema):06d}"


async def call(site: Site, place: str, action: str, **arguments: Any) -> tuple[bool, Any]:
    _, _, register, schema = place.split("/")
    async with site.app.client() as client:
        given = {"action": action, "register": int(register), "schema": int(schema), **arguments}
        result = await client.call_tool("objects", given)
    return not result["isError"], result["structuredContent"] if not result["isError"] else result["content"][0]["text"]


@pytest.mark.requirement("registers:objects:one-id")
async def test_an_id_in_new_data_becomes_the_id_of_the_object_over_mcp(site: Site) -> None:
    place = await site.pair(NAME)
    one, two = fresh(1, place), fresh(2, place)
    done, made = await call(site, place, "create", data={"id": one, "name": "a"})
    assert done, made
    assert (made["id"], made["@self"]["id"]) == (one, one)
    done, made = await call(site, place, "bulk", operations=[{"data": {"id": two, "name": "b"}}])
    assert (done, made["results"][0]["id"]) == (True, two)
    assert (await site.send("GET", f"/api{place}/{two}")).json["name"] == "b"
    done, text = await call(site, place, "create", data={"id": one, "name": "c"})
    assert not done
    assert "exists already" in text


@pytest.mark.requirement("registers:objects:one-id")
async def test_an_id_that_is_not_a_uuid_is_refused_on_every_wire(site: Site) -> None:
    place = await site.pair(NAME)
    _, _, register, schema = place.split("/")
    for given in ("mine", 17):
        for text in (
            (await call(site, place, "create", data={"id": given, "name": "a"}))[1],
            (await call(site, place, "bulk", operations=[{"data": {"id": given, "name": "a"}}]))[1],
            str((await site.send("POST", f"/api{place}", {"id": given, "name": "a"})).json),
            str((await site.send("POST", f"/api/bulk{place[8:]}", {"operations": [{"data": {"id": given}}]})).json),
            await OpenRegister(site, "/api/mcp").failure(
                "objects", action="create", register=int(register), schema=int(schema), data={"id": given, "name": "a"}
            ),
        ):
            assert "uuid" in text, text
    reply = await site.send(
        "POST",
        f"/api/registers/{register}/import?schema={schema}&format=jsonl",
        b'{"id": "mine", "name": "a"}\n',
        headers={"content-type": "application/x-ndjson"},
    )
    assert (reply.status, reply.json["failed"]) == (400, 1)
    assert "'mine' is not a uuid" in reply.json["problems"][0]["problem"]
    assert (await site.send("GET", f"/api{place}")).json["total"] == 0


@pytest.mark.requirement("registers:objects:one-id")
async def test_an_id_in_changed_data_must_be_the_one_of_the_object(site: Site) -> None:
    place = await site.pair(NAME, configuration={"objectSlugField": "name"})
    made = await site.made(place, {"name": "first"})
    for ref in (made["id"], "first"):
        for action in ("update", "patch"):
            done, same = await call(site, place, action, id=ref, data={"id": made["id"], "name": "first"})
            assert done, same
        done, text = await call(site, place, "patch", id=ref, data={"id": fresh(3, place), "name": "x"})
        assert not done
        assert "Leave id out of the data" in text
    row = {"action": "patch", "id": made["id"], "data": {"id": fresh(3, place)}}
    done, answer = await call(site, place, "bulk", operations=[row], atomic=False)
    assert (done, answer["failed"]) == (True, 1)
    done, text = await call(site, place, "patch", id="first", json_patch=[{"op": "add", "path": "/id", "value": "x"}])
    assert not done
    assert "kept by the server" in text
    # OpenRegister's own paths ignore it, as the original does
    assert (await site.send("PUT", f"/api{place}/first", {"id": fresh(3, place), "name": "first"})).status == 200


@pytest.mark.parametrize("path", ["/api/mcp", "/index.php/apps/openregister/api/mcp"])
@pytest.mark.requirement("registers:objects:one-id")
async def test_openregisters_endpoint_adopts_the_id_too(site: Site, path: str) -> None:
    place = await site.pair(NAME)
    _, _, register, schema = place.split("/")
    client, one = OpenRegister(site, path), fresh(4, place)
    at = {"register": int(register), "schema": int(schema)}
    made = await client.call("objects", action="create", data={"id": one, "name": "a"}, **at)
    assert made["id"] == one
    changed = await client.call("objects", action="update", id=one, data={"id": "other", "name": "b"}, **at)
    assert (changed["id"], changed["name"]) == (one, "b")


@pytest.mark.requirement("registers:objects:one-id")
async def test_a_declared_id_is_a_property_like_any_other(site: Site) -> None:
    place = await site.pair(OWN)
    done, made = await call(site, place, "create", data={"id": 7, "name": "a"})
    assert done, made
    assert (made["id"], len(made["@self"]["id"])) == (7, 36)
    over_rest = await site.made(place, {"id": 8, "name": "b"})
    assert (over_rest["id"], len(over_rest["@self"]["id"])) == (8, 36)
    done, changed = await call(site, place, "patch", id=made["@self"]["id"], data={"id": 9})
    assert (done, changed["id"]) == (True, 9)


@pytest.mark.requirement("registers:objects:one-id")
async def test_an_undeclared_id_that_an_earlier_release_stored_hides_the_real_one_no_more(site: Site) -> None:
    place = await site.pair(NAME)
    made = await site.made(place, {"name": "a"})
    old = json.dumps({"id": "old", "name": "a"})
    await site.app.database.write(lambda tx: tx.run("UPDATE objects SET data = ? WHERE uuid = ?", old, made["id"]))
    for seen in (
        (await site.send("GET", f"/api{place}/{made['id']}")).json,
        (await site.send("GET", f"/api{place}")).json["results"][0],
        (await call(site, place, "get", id=made["id"]))[1],
    ):
        assert (seen["id"], seen["@self"]["dataId"]) == (made["id"], "old")


@pytest.mark.requirement("registers:objects:one-id")
async def test_an_import_finds_or_makes_the_object_that_an_id_names(site: Site) -> None:
    place = await site.pair({**NAME, "size": {"type": "integer"}})
    _, _, register, schema = place.split("/")
    made = await site.made(place, {"name": "a", "size": 1})
    one = fresh(5, place)
    for kind, media, body in (
        ("jsonl", "application/x-ndjson", f'{{"id": "{made["id"]}", "size": 2}}\n{{"id": "{one}", "name": "b"}}\n'),
        ("csv", "text/csv", f"id,size\n{made['id']},3\n{one},4\n"),
    ):
        target = f"/api/registers/{register}/import?schema={schema}&format={kind}"
        reply = await site.send("POST", target, body.encode(), headers={"content-type": media})
        assert reply.json["failed"] == 0, reply.json
    rows = {row["id"]: (row["name"], row["size"]) for row in (await site.send("GET", f"/api{place}")).json["results"]}
    assert rows == {made["id"]: ("a", 3), one: ("b", 4)}


@pytest.mark.requirement("registers:objects:upsert")
async def test_one_object_is_created_or_changed_by_its_key(site: Site) -> None:
    place = await site.pair({**NAME, "size": {"type": "integer"}, "kind": {"type": "string"}})
    done, first = await call(site, place, "upsert", data={"name": "a", "size": 1})
    assert done, first
    done, second = await call(site, place, "upsert", data={"name": "a", "size": 2})
    assert (second["id"], second["size"], second["@self"]["version"]) == (first["id"], 2, "2")
    done, third = await call(site, place, "upsert", key=["size"], data={"name": "b", "size": 2})
    assert (third["id"], third["name"]) == (first["id"], "b")
    done, by_id = await call(site, place, "upsert", data={"id": first["id"], "size": 5, "kind": "x"}, id=first["id"])
    assert done, by_id
    assert (by_id["id"], by_id["size"], by_id["name"]) == (first["id"], 5, "b")
    done, text = await call(site, place, "upsert", data={"size": 5})
    assert not done
    assert text.startswith("An upsert needs a key.")
    over_rest = await site.send("PUT", f"/api{place}", {"name": "c", "size": 1})
    again = await site.send("PUT", f"/api{place}?_key=name", {"name": "c", "size": 3})
    assert (over_rest.status, again.status, again.json["id"]) == (200, 200, over_rest.json["id"])
    assert again.json["size"] == 3
    done, text = await call(site, place, "upsert", data={"id": first["id"], "name": "c"})
    assert not done
    assert "The data has the id" in text or "unique" in text
