"""How REST requests are read: preconditions, idempotency, names that collide with metadata, windows, hostile bodies."""

import asyncio
import base64
import json

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


async def test_a_page_elsewhere_may_send_preconditions_and_keys(site: Site) -> None:
    asked = {"origin": "http://localhost:3000", "access-control-request-method": "PUT"}
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


@pytest.mark.requirement("registers:rest:names")
async def test_business_properties_win_over_metadata_of_the_same_name(site: Site) -> None:
    names = ["register", "schema", "uuid", "id", "_private", "@type", "locked"]
    path = "/api" + await site.pair({name: {"type": "string"} for name in names})
    data = {name: f"my {name}" for name in names}
    made = await site.send("POST", path, data)
    assert made.status == 201
    uuid = made.json["@self"]["id"]
    read = (await site.send("GET", f"{path}/{uuid}")).json
    assert {name: read[name] for name in names} == data
    assert (await site.send("GET", path + "?register=my%20register")).json["total"] == 1


async def test_metadata_in_a_body_is_not_taken_for_data(site: Site) -> None:
    path = "/api" + await site.pair(NAME, additionalProperties=False)
    made = await site.send("POST", path, {"name": "one"})
    back = await site.send("PUT", f"{path}/{made.json['id']}", {**made.json, "name": "two", "_hint": 1, "register": 5})
    assert (back.status, back.json["name"]) == (200, "two")


async def test_a_list_is_filtered_sorted_cut_counted_and_projected(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    for number in range(7):
        await site.send("POST", path, {"name": f"n{number}", "level": number % 3})
    page = (await site.send("GET", path + "?level[gte]=1&_order[name]=desc&_limit=2&_page=2&_facets=level")).json
    assert [row["name"] for row in page["results"]] == ["n2", "n1"]
    assert (page["total"], page["page"], page["pages"], page["limit"], page["offset"]) == (4, 2, 2, 2, 2)
    assert page["facets"]["level"]
    slim = (await site.send("GET", path + "?_fields=name&_limit=1&_order[name]=asc")).json["results"]
    assert slim == [{"id": slim[0]["id"], "name": "n0"}]
    following = (await site.send("GET", path + "?_limit=4&_order[name]=asc")).json
    rest = (await site.send("GET", path + f"?_limit=4&_order[name]=asc&_cursor={following['cursor']}")).json
    assert [row["name"] for row in rest["results"]] == ["n4", "n5", "n6"]
    counted = (await site.send("GET", path + "?_limit=0")).json
    assert (counted["results"], counted["total"], counted["pages"]) == ([], 7, 1)
    unknown = await site.send("GET", path + "?levle=1")
    assert unknown.status == 400
    assert "level" in unknown.json["message"] + unknown.json.get("hint", "")


async def test_all_metadata_is_there_for_who_asks(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    item = f"{path}/{(await site.send('POST', path, {'name': 'one'})).json['id']}"
    whole = (await site.send("GET", item + "?_empty=true")).json["@self"]
    pruned = (await site.send("GET", item)).json["@self"]
    assert {"locked", "deleted", "geo", "retention", "files", "tmlo"} <= whole.keys()
    assert len(whole) >= 36
    assert None not in pruned.values()


async def test_an_object_reads_as_it_was(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    made = (await site.send("POST", path, {"name": "one"})).json
    await site.send("PUT", f"{path}/{made['id']}", {"name": "two"})
    then = made["@self"]["updated"]
    assert (await site.send("GET", f"{path}/{made['id']}?_asOf={then}")).json["name"] == "one"
    listed = (await site.send("GET", f"{path}?_asOf={then}")).json["results"]
    assert [row["name"] for row in listed] == ["one"]


async def test_an_object_goes_back_and_shows_its_differences(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    item = f"{path}/{(await site.send('POST', path, {'name': 'one'})).json['id']}"
    await site.send("PUT", item, {"name": "two", "level": 5})
    compared = (await site.send("GET", item + "/diff?from=1")).json
    assert {step["path"] for step in compared["patch"]} == {"/name", "/level"}
    part = (await site.send("GET", f"{item}/history?_limit=1")).json
    assert (len(part["results"]), part["total"]) == (1, 2)
    stale = await site.send("POST", item + "/revert", {"version": 1}, headers={"if-match": '"1"'})
    assert (stale.status, stale.json["error"]) == (412, "version_mismatch")
    back = await site.send("POST", item + "/revert", {"version": 1}, headers={"if-match": '"2"'})
    assert (back.status, back.json["name"]) == (200, "one")
    assert "level" not in back.json, "what was added is gone again"
    assert (await site.send("POST", item + "/revert", {})).status == 400
    verdict = (await site.send("GET", item + "/audit-trails/verify")).json
    assert verdict["valid"] is True
    assert verdict["changes"] == 3


@pytest.mark.parametrize("verb", ["PUT", "DELETE", "PATCH", "POST"])
@pytest.mark.requirement("registers:history:immutable")
async def test_the_history_cannot_be_changed(site: Site, verb: str) -> None:
    assert (await site.send(verb, "/api/audit-trails", {})).status == 405


async def _some(site: Site, target: str) -> Object:
    """What a feed says once it says something: PostgreSQL's holds a change back while any older transaction runs."""
    async with asyncio.timeout(30):
        while True:
            feed = (await site.send("GET", target)).json
            if feed["results"]:
                return feed
            await site.settled()


async def test_the_feed_of_changes_goes_on_where_it_ended(site: Site) -> None:
    place = await site.pair(NAME)
    schema = place.split("/")[-1]
    await site.made(place, {"name": "one"})
    first = await _some(site, f"/api/audit-trails?schema={schema}")
    assert [row["action"] for row in first["results"]] == ["create"]
    await site.made(place, {"name": "two"})
    more = await _some(site, f"/api/audit?schema={schema}&_cursor={first['cursor']}")
    assert [row["action"] for row in more["results"]] == ["create"]
    assert more["results"][0]["object"] != first["results"][0]["object"]


async def test_the_reason_of_a_change_is_kept(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    headers = {"x-reason": "spring cleaning", "user-agent": "cleaner/1.0", "x-request-id": "r-1"}
    made = await site.send("POST", path, {"name": "one"}, headers=headers)
    (row,) = (await site.send("GET", f"{path}/{made.json['id']}/history")).json["results"]
    assert (row["reason"], row["agent"], row["call"]) == ("spring cleaning", "cleaner/1.0", "r-1")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b"null", b'"text"', b"\xff", b'{"name": NaN}', b"[" * 10_000])
async def test_a_body_that_is_no_object_is_refused_in_words(site: Site, body: bytes) -> None:
    path = "/api" + await site.pair(NAME)
    refused = await site.send("POST", path, body, headers={"content-type": "application/json"})
    assert refused.status in (400, 413)
    assert refused.json["message"]


async def test_bulk_writes_give_one_outcome_a_row(site: Site) -> None:
    place = await site.pair({**NAME, "code": {"type": "string"}}, required=["name"])
    bulk = f"/api/bulk/{'/'.join(place.split('/')[2:])}"
    rows = [{"action": "create", "data": {"name": "a", "code": "A"}}, {"action": "create", "data": {"level": "x"}}]
    refused = await site.send("POST", bulk, {"operations": rows})
    assert refused.status == 400, "all or nothing is the default"
    partly = (await site.send("POST", bulk, {"operations": rows, "atomic": False})).json
    assert [row["status"] for row in partly["results"]] == ["created", "failed"]
    assert (partly["created"], partly["failed"]) == (1, 1)
    saved = (await site.send("POST", bulk + "/save", {"objects": [{"name": "b", "code": "A"}], "key": ["code"]})).json
    assert [row["status"] for row in saved["results"]] == ["updated"]
    uuid = partly["results"][0]["id"]
    assert (await site.send("GET", f"/api{place}/{uuid}")).json["name"] == "b"
    checked = (await site.send("POST", bulk + "/validate", {"objects": [{"name": "ok"}, {"name": 5}]})).json
    assert [row["valid"] for row in checked["results"]] == [True, False]
    gone = (await site.send("POST", bulk + "/delete", {"uuids": [uuid]})).json
    assert gone["deleted"] == 1


async def test_a_plan_is_looked_at_committed_and_undone(site: Site) -> None:
    place = await site.pair(NAME)
    _, _, register, schema = place.split("/")
    uuid = (await site.made(place, {"name": "one"}))["id"]
    rows = [{"action": "patch", "id": uuid, "data": {"name": "two"}}, {"action": "create", "data": {"name": "new"}}]
    plan = await site.made("/plans", {"register": int(register), "schema": int(schema), "operations": rows})
    assert plan["valid"] is True
    assert (await site.send("GET", f"/api{place}/{uuid}")).json["name"] == "one", "nothing is done yet"
    done = await site.send("POST", f"/api/plans/{plan['id']}/commit")
    assert (done.status, [row["status"] for row in done.json["outcomes"]]) == (200, ["updated", "created"])
    assert (await site.send("GET", f"/api{place}")).json["total"] == 2
    assert (await site.send("POST", f"/api/plans/{plan['id']}/undo")).status == 200
    assert [row["name"] for row in (await site.send("GET", f"/api{place}")).json["results"]] == ["one"]
    assert (await site.send("GET", f"/api/plans/{plan['id']}")).json["state"] == "undone"


async def test_search_finds_words_in_every_pair(site: Site) -> None:
    place = await site.pair(NAME)
    await site.made(place, {"name": "a quetzalcoatlus skeleton"})
    await site.made(place, {"name": "nothing of interest"})
    found = (await site.send("GET", "/api/search?_search=quetzalcoatlus")).json["results"]
    assert [row["name"] for row in found] == ["a quetzalcoatlus skeleton"]
    _, _, register, schema = place.split("/")
    query = {"register": register, "schema": schema, "filter": {"name": {"like": "a %"}}, "fields": ["name"]}
    assert (await site.send("POST", "/api/search", query)).json["total"] == 1
    sums = {"register": register, "schema": schema, "aggregate": {"metrics": {"n": "count"}}}
    assert (await site.send("POST", "/api/search/aggregate", sums)).json["results"] == [{"n": 2}]


async def test_a_question_is_answered_with_objects_and_the_reason_for_each(site: Site) -> None:
    place = await site.pair(NAME)
    await site.made(place, {"name": "wooden marimba from Chiapas"})
    await site.made(place, {"name": "brass trumpet"})
    _, _, register, schema = place.split("/")
    given = {"question": "Which marimba do you have?", "register": register, "schema": schema}
    told = (await site.send("POST", "/api/chat", given)).json
    assert [one["object"]["name"] for one in told["results"]] == ["wooden marimba from Chiapas"]
    assert told["results"][0]["because"] == [{"word": "marimba", "property": "name"}]
    assert told["words"] == ["marimba"]
    nothing = (await site.send("POST", "/api/chat", given | {"question": "What is it?"})).json
    assert nothing["results"] == []


async def test_files_of_an_object_are_kept_listed_and_deleted(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    item = f"{path}/{(await site.send('POST', path, {'name': 'one'})).json['id']}/files"
    content = base64.b64encode(b"hello").decode()
    assert (await site.send("POST", item, {"name": "letter.txt", "content": content})).status == 201
    assert (await site.send("PUT", f"{item}/photo.jpg", b"\xff\xd8raw")).status == 201
    listed = (await site.send("GET", item)).json["results"]
    assert [(one["name"], one["size"]) for one in listed] == [("letter.txt", 5), ("photo.jpg", 5)]
    read = await site.send("GET", f"{item}/letter.txt")
    assert read.body == b"hello"
    assert read.headers["content-disposition"].startswith("attachment")
    assert read.headers["x-content-type-options"] == "nosniff"
    assert (await site.send("DELETE", f"{item}/letter.txt")).status == 204
    assert (await site.send("GET", f"{item}/letter.txt")).status == 404
    assert (await site.send("PUT", f"{item}/x.txt", b"no", who="reader")).status == 403
    for name in ("..", ".hidden", "a:b", 'a"b', "x" * 300, "con\u202etxt"):
        refused = await site.send("POST", item, {"name": name, "content": ""})
        assert refused.status == 400, name
    assert (await site.send("POST", item, {"name": "a/b", "content": ""})).status == 400


async def test_views_are_saved_queries(site: Site) -> None:
    place = await site.pair(NAME)
    _, _, register, schema = place.split("/")
    await site.made(place, {"name": "one", "level": 1})
    await site.made(place, {"name": "two", "level": 2})
    view = {
        "title": "High",
        "register": int(register),
        "schema": int(schema),
        "query": {"filter": {"level": {"gt": 1}}},
    }
    made = await site.made("/views", view)
    asked = (await site.send("GET", f"/api/views/{made['id']}/results")).json
    assert [row["name"] for row in asked["results"]] == ["two"]
    assert made["id"] in [one["id"] for one in (await site.send("GET", "/api/views")).json["results"]]
    assert (await site.send("GET", f"/api/views/{made['id']}", who="reader")).status == 404
    assert (await site.send("DELETE", f"/api/views/{made['id']}")).status == 204
    assert (await site.send("GET", f"/api/views/{made['id']}")).status == 404


async def test_webhooks_are_for_administrators_and_show_their_secret_once(site: Site) -> None:
    given = {"url": "https://hooks.example/in", "events": ["object.created"]}
    assert (await site.send("POST", "/api/webhooks", given, who="writer")).status == 403
    made = await site.made("/webhooks", given)
    assert made["secret"]
    again = (await site.send("GET", f"/api/webhooks/{made['id']}")).json
    assert "secret" not in again
    assert (await site.send("PUT", f"/api/webhooks/{made['id']}", {"enabled": False})).json["enabled"] is False
    assert (await site.send("GET", f"/api/webhooks/{made['id']}/logs")).json == {"results": []}
    assert (await site.send("DELETE", f"/api/webhooks/{made['id']}")).status == 204


async def test_a_register_goes_out_as_a_file_and_comes_back(site: Site) -> None:
    place = await site.pair(NAME)
    register = place.split("/")[2]
    await site.made(place, {"name": "one", "level": 1})
    out = await site.send("GET", f"/api/registers/{register}/export?format=csv")
    assert out.status == 200
    assert out.headers["content-type"].startswith("text/csv")
    assert b"one" in out.body
    assert (await site.send("GET", f"/api/registers/{register}/export?format=odt")).status == 400
    assert (await site.send("GET", f'/api/registers/{register}/export?_filter={{"nme":1}}')).status == 400
    rows = [{"name": "two"}, {"name": 5}]
    refused = await site.send("POST", f"/api/registers/{register}/import?format=json", json.dumps(rows).encode())
    assert refused.status == 400
    assert refused.json["failed"] == 1
    assert (await site.send("GET", f"/api{place}")).json["total"] == 1, "nothing is half imported"
    lines = b'{"name": "two"}\n{"name": "three"}\n'
    done = await site.send("POST", f"/api/registers/{register}/import?format=jsonl", lines)
    assert (done.status, done.json["created"]) == (200, 2)


async def test_a_changed_schema_is_checked_against_what_is_stored(site: Site) -> None:
    place = await site.pair(NAME)
    schema = place.split("/")[3]
    await site.made(place, {"name": "long enough", "level": 1})
    stricter = {"properties": {**NAME, "name": {"type": "string", "maxLength": 3}}}
    report = (await site.send("POST", f"/api/schemas/{schema}/preflight", stricter)).json
    assert (report["total"], report["failing"]) == (1, 1)
    refused = await site.send("PUT", f"/api/schemas/{schema}", stricter)
    assert refused.status in (400, 409)
    wider = {"properties": {**NAME, "extra": {"type": "string"}}}
    assert (await site.send("PUT", f"/api/schemas/{schema}", wider)).status == 200


async def test_a_json_schema_goes_in_and_out(site: Site) -> None:
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.org/shapes/circle",
        "type": "object",
        "properties": {"radius": {"type": "number", "facetable": True}, "order": {"type": "string"}},
        "required": ["radius"],
    }
    made = await site.send("POST", "/api/schemas/upload", document)
    assert (made.status, made.json["title"]) == (201, "circle")
    out = (await site.send("GET", f"/api/schemas/{made.json['id']}/download")).json
    assert out["properties"] == {"radius": {"type": "number"}, "order": {"type": "string"}}
    assert out["required"] == ["radius"]


@pytest.mark.requirement("registers:rest:openapi")
async def test_a_register_describes_itself_as_openapi(site: Site) -> None:
    place = await site.pair({"name": {"type": "string"}, "level": {"type": "number"}})
    register = place.split("/")[2]
    document = (await site.send("GET", f"/api/registers/{register}/oas")).json
    assert document["openapi"].startswith("3.1")
    (component,) = document["components"]["schemas"].values()
    assert component["properties"].keys() == {"name", "level"}
    collection = next(path for path in document["paths"] if not path.endswith("{id}"))
    assert (await site.send("GET", collection)).status == 200, "what it describes is there"


async def test_everything_is_in_the_servers_description_with_models(site: Site) -> None:
    document = (await site.send("GET", "/openapi.json")).json
    listed = document["paths"]["/api/objects/{register}/{schema}"]
    assert listed["get"]["responses"]["200"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/ObjectsAnswer"
    }
    assert listed["post"]["requestBody"]
    assert "201" in listed["post"]["responses"]
    assert not any(path.startswith("/index.php") for path in document["paths"]), "one prefix is described"
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["summary"]


async def test_slashes_at_the_end_do_not_matter(site: Site) -> None:
    assert (await site.send("GET", "/api/registers/")).status == 200
    assert (await site.send("POST", "/api/registers/", {"title": "Slash"})).status == 201


async def test_a_column_that_cannot_be_imported_is_named_in_the_errors(site: Site) -> None:
    path = await site.pair(NAME)
    register, schema = path.split("/")[2:4]
    reply = await site.send(
        "POST", f"/api/registers/{register}/import?schema={schema}", b"name,nmae\na,b\n",
        headers={"content-type": "text/csv"},
    )  # fmt: skip
    assert reply.status == 400
    [error] = reply.json["errors"]
    assert (error["property"], error["message"]) == (
        "nmae", "the schema has no such property; did you mean 'name'?",
    )  # fmt: skip


async def test_who_may_not_write_is_told_in_a_sentence(site: Site) -> None:
    reply = await site.send("POST", "/api/registers", {"title": "Mine"}, who="reader")
    assert reply.status == 403
    assert reply.json["message"].endswith("may not create anything in the registers room.")


@pytest.mark.parametrize("data", [{"title": None}, {"title": ""}, {"slug": None, "title": None}])
async def test_an_empty_title_is_not_taken_for_a_misspelt_one(site: Site, data: Object) -> None:
    reply = await site.send("POST", "/api/schemas", data)
    assert reply.status == 400
    assert "Did you mean" not in reply.json.get("hint", "")
