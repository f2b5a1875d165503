"""Preconditions and idempotency over REST: what a request is meant for, and that it happens once."""

import asyncio

import pytest

from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

NAME = {"name": {"type": "string"}, "level": {"type": "number", "facetable": True}}


@pytest.mark.requirement("registers:rest:preconditions")
async def test_a_change_meant_for_another_version_is_refused(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    made = await site.send("POST", path, {"name": "one"})
    item = f"{path}/{made.json['id']}"
    assert (await site.send("PUT", item, {"name": "two"}, headers={"if-match": made.headers["etag"]})).status == 200
    late = await site.send("PUT", item, {"name": "lost"}, headers={"if-match": made.headers["etag"]})
    assert late.status == 412
    assert late.json["error"] == "version_mismatch"
    for verb, body in (("PATCH", {"name": "lost"}), ("DELETE", None)):
        assert (await site.send(verb, item, body, headers={"if-match": '"1"'})).status == 412
    assert (await site.send("GET", item)).json["name"] == "two"
    assert (await site.send("PUT", item, {"name": "any"}, headers={"if-match": "*"})).status == 200
    assert (await site.send("PUT", item, {}, headers={"if-match": "soon"})).status == 400


@pytest.mark.requirement("registers:rest:preconditions")
async def test_of_many_writers_with_one_version_exactly_one_wins(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    made = await site.send("POST", path, {"name": "start"})
    item = f"{path}/{made.json['id']}"
    replies = await asyncio.gather(
        *(site.send("PUT", item, {"name": f"writer {n}"}, headers={"if-match": '"1"'}) for n in range(8))
    )
    assert sorted(reply.status for reply in replies) == [200] + [412] * 7
    assert (await site.send("GET", item)).headers["etag"] == '"2"'


async def test_what_a_caller_has_already_is_not_sent_again(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    made = await site.send("POST", path, {"name": "one"})
    item = f"{path}/{made.json['id']}"
    known = await site.send("GET", item, headers={"if-none-match": '"7", "1"'})
    assert (known.status, known.body) == (304, b"")
    assert (await site.send("GET", item, headers={"if-none-match": '"2"'})).status == 200
    assert (await site.send("GET", item, headers={"if-none-match": "*"})).status == 304


@pytest.mark.requirement("registers:rest:preconditions")
async def test_a_change_is_matched_strongly_and_a_reading_weakly(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    item = f"{path}/{(await site.send('POST', path, {'name': 'one'})).json['id']}"

    async def put(match: str) -> Object:
        reply = await site.send("PUT", item, {"name": match}, headers={"if-match": match})
        return {**reply.json, "status": reply.status}

    weak = await put('W/"1"')
    assert (weak["status"], weak["error"]) == (412, "version_mismatch")
    assert "weak" in weak["message"]
    assert '"1"' in weak["hint"]
    for foreign in ('"abc"', '"01"', '"%31"', '""', '"-1"', '"99999999999999999999"', 'W/"1", "7"', 'W/"1",W/"2"'):
        assert (await put(foreign))["status"] == 412, foreign
    for broken in ("1", '"1', 'w/"1"', '"1" "2"', '*, "1"', "", ","):
        assert (await put(broken))["status"] == 400, broken
    assert (await put(' ,W/"9", "1" ,, "5",'))["status"] == 200
    missing = item[:-12] + "0" * 12
    assert (await site.send("PUT", missing, {}, headers={"if-match": 'W/"1"'})).status == 404
    for known in ('"2"', 'W/"2"', 'W/"1", W/"2"', '"x,y", "2"', "*"):
        reply = await site.send("GET", item, headers={"if-none-match": known})
        assert (reply.status, reply.headers["etag"]) == (304, '"2"'), known
    for other in ('"1"', 'W/"1"', "2", 'w/"2"'):
        assert (await site.send("GET", item, headers={"if-none-match": other})).status == 200, other


async def test_a_page_may_send_preconditions_and_keys(site: Site) -> None:
    asked = {"origin": "http://localhost:8700", "access-control-request-method": "PUT"}
    allowed = (await site.send("OPTIONS", "/api/registers/1", who="", headers=asked)).headers
    names = {name.strip() for name in allowed["access-control-allow-headers"].split(",")}
    assert {"if-match", "if-none-match", "idempotency-key", "authorization", "content-type"} <= names


@pytest.mark.requirement("registers:rest:preconditions")
async def test_what_if_none_match_names_is_not_changed(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    item = f"{path}/{(await site.send('POST', path, {'name': 'one'})).json['id']}"
    for verb in ("PUT", "PATCH", "DELETE"):
        for given in ("*", '"1"', 'W/"1"'):
            refused = await site.send(verb, item, {"name": "two"}, headers={"if-none-match": given})
            assert (refused.status, "If-None-Match" in refused.json["message"]) == (412, True), (verb, given)
    assert (await site.send("PUT", item, {"name": "two"}, headers={"if-none-match": '"7"'})).status == 200


@pytest.mark.requirement("registers:rest:preconditions")
async def test_registers_and_schemas_are_matched_like_objects(site: Site) -> None:
    for kind in ("registers", "schemas"):
        made = await site.send("POST", f"/api/{kind}", {"title": "One", "version": "draft"})
        target, tag = f"/api/{kind}/{made.json['id']}", made.headers["etag"]
        for known in (tag, f"W/{tag}", "*"):
            assert (await site.send("GET", target, headers={"if-none-match": known})).status == 304
        assert (await site.send("PUT", target, {"title": "No"}, headers={"if-match": f"W/{tag}"})).status == 412
        whole = {**made.json, "slug": f"renamed-{kind}-{made.json['id']}"}
        assert (await site.send("PUT", target, whole, headers={"if-match": tag})).status == 200
        assert (await site.send("PUT", target, {"title": "Lost"}, headers={"if-match": tag})).status == 412
        assert (await site.send("GET", target, headers={"if-none-match": tag})).status == 200
        assert (await site.send("DELETE", target, headers={"if-match": tag})).status == 412
        now = (await site.send("GET", target)).headers["etag"]
        assert (await site.send("DELETE", target, headers={"if-match": now})).status == 200


async def test_a_register_is_another_one_when_a_schema_leaves_or_joins_it(site: Site) -> None:
    first, second = [await site.made("/schemas", {"title": "Kind"}) for _ in range(2)]
    register = await site.made("/registers", {"title": "Holds", "schemas": [first["id"]]})
    target = f"/api/registers/{register['id']}"
    assert (await site.send("POST", f"/api/objects/{register['id']}/{second['id']}", {"a": 1})).status == 201
    joined = await site.send("GET", target, headers={"if-none-match": '"0.0.1"'})
    assert (joined.status, joined.json["schemas"]) == (200, [first["id"], second["id"]])
    assert (await site.send("DELETE", f"/api/schemas/{first['id']}")).status == 200
    left = await site.send("GET", target, headers={"if-none-match": joined.headers["etag"]})
    assert (left.status, left.json["schemas"]) == (200, [second["id"]])


@pytest.mark.requirement("registers:rest:idempotency")
async def test_a_delete_that_is_repeated_with_its_key_is_the_same_delete(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    item = f"{path}/{(await site.send('POST', path, {'name': 'one'})).json['id']}"
    key = {"idempotency-key": f"gone-{item}"}
    assert [(await site.send("DELETE", item, headers=key)).status for _ in range(2)] == [204, 204]
    assert (await site.send("DELETE", item)).status == 404


async def test_registers_and_schemas_have_versions_to_match_too(site: Site) -> None:
    made = await site.send("POST", "/api/registers", {"title": "One"})
    target = f"/api/registers/{made.json['id']}"
    assert made.headers["etag"] == '"0.0.1"'
    assert (await site.send("PUT", target, {"title": "Two"}, headers={"if-match": '"0.0.1"'})).status == 200
    assert (await site.send("PATCH", target, {"title": "Three"}, headers={"if-match": '"0.0.1"'})).status == 412


@pytest.mark.requirement("registers:rest:idempotency")
async def test_a_key_makes_a_request_happen_once(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    key = {"idempotency-key": f"once-{path}"}
    first = await site.send("POST", path, {"name": "one"}, headers=key)
    again = await site.send("POST", path, {"name": "one"}, headers=key)
    assert (first.status, again.status) == (201, 201)
    assert first.json["id"] == again.json["id"]
    assert (await site.send("GET", path)).json["total"] == 1
    assert (await site.send("POST", path, {"name": "other"}, headers=key)).status == 409


@pytest.mark.requirement("registers:rest:validation")
async def test_a_flag_that_is_neither_true_nor_false_is_refused_before_anything_is_done(site: Site) -> None:
    place = await site.pair({"name": {"type": "string"}})
    made = await site.made(place, {"name": "Ada"})
    target = f"/api{place}/{made['id']}"
    for method, path, body in (
        ("POST", f"/api{place}", {"name": "Eve"}),
        ("PATCH", target, {"name": "Eve"}),
        ("PUT", target, {"name": "Eve"}),
    ):
        refused = await site.send(method, f"{path}?_empty=perhaps", body)
        assert refused.status == 400, refused.body
    read = await site.send("GET", f"{target}?_empty=perhaps", headers={"If-None-Match": "*"})
    assert read.status == 400
    assert [one["name"] for one in (await site.send("GET", f"/api{place}")).json["results"]] == ["Ada"]
