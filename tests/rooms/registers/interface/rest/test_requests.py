"""How REST requests are read: names that collide with metadata, windows, the past, hostile bodies."""

import asyncio
import base64
import json
from uuid import uuid4

import pytest

from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

NAME = {"name": {"type": "string"}, "level": {"type": "number", "facetable": True}}


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
    async with asyncio.timeout(60):
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
    bulk = bulk_of(place)
    rows = [{"action": "create", "data": {"name": "a", "code": "A"}}, {"action": "create", "data": {"level": "x"}}]
    refused = await site.send("POST", bulk, {"operations": rows})
    assert refused.status == 422, "all or nothing is the default"
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


def bulk_of(place: str) -> str:
    return f"/api/bulk/{'/'.join(place.split('/')[2:])}"


@pytest.mark.requirement("registers:rest:save")
async def test_saving_creates_objects_with_the_ids_they_come_with_and_replaces_those_there_are(site: Site) -> None:
    place = await site.pair({**NAME, "code": {"type": "string"}})
    uuid = str(uuid4())
    rows = {"objects": [{"id": uuid, "name": "a", "code": "A"}, {"name": "b"}]}
    made = (await site.send("POST", f"{bulk_of(place)}/save", rows)).json
    assert [row["status"] for row in made["results"]] == ["created", "created"]
    assert made["results"][0]["id"] == uuid
    again = (await site.send("POST", f"{bulk_of(place)}/save", {"objects": [{"id": uuid.upper(), "name": "c"}]})).json
    assert [(row["status"], row["id"], row["version"]) for row in again["results"]] == [("updated", uuid, 2)]
    now = (await site.send("GET", f"/api{place}/{uuid}")).json
    assert (now["name"], "code" in now) == ("c", False), "it is replaced, not merged"
    await site.send("DELETE", f"/api{place}/{uuid}")
    gone = await site.send("POST", f"{bulk_of(place)}/save", {"objects": [{"id": uuid, "name": "d"}]})
    assert (gone.status, f"Object {uuid} is deleted" in gone.json["message"]) == (409, True)
    wrong = await site.send("POST", f"{bulk_of(place)}/save", {"objects": [{"id": "no-such-thing", "name": "d"}]})
    assert wrong.status == 404


@pytest.mark.requirement("registers:rest:save")
async def test_saving_by_key_heeds_the_ids_in_the_rows(site: Site) -> None:
    place = await site.pair({**NAME, "code": {"type": "string"}})
    uuid = str(uuid4())
    save = f"{bulk_of(place)}/save"
    made = (await site.send("POST", save, {"objects": [{"id": uuid, "code": "A"}], "key": ["code"]})).json
    assert [(row["status"], row["id"]) for row in made["results"]] == [("created", uuid)]
    other = {"objects": [{"id": str(uuid4()), "code": "A", "name": "x"}], "key": ["code"]}
    refused = await site.send("POST", save, other)
    assert (refused.status, f"but this is object {uuid}" in refused.json["message"]) == (400, True), refused.body
    assert "name" not in (await site.send("GET", f"/api{place}/{uuid}")).json


@pytest.mark.requirement("registers:writes:repeated-keys")
async def test_rows_with_one_key_or_one_id_are_refused_and_both_named(site: Site) -> None:
    place = await site.pair({**NAME, "code": {"type": "string"}})
    uuid = str(uuid4())
    by_key = [{"code": "A", "name": "1"}, {"code": "B"}, {"code": "A", "name": "2"}]
    by_id = [{"id": uuid, "name": "1"}, {"id": uuid, "name": "2"}]
    operations = [{"action": "upsert", "key": ["code"], "data": one} for one in by_key]
    for path, body, said in (
        ("/save", {"objects": by_key, "key": ["code"]}, "Rows 0 and 2 are both for the object with code 'A'."),
        ("/save", {"objects": by_id}, f"Rows 0 and 1 are both for the object with the id '{uuid}'."),
        ("", {"operations": operations}, "Rows 0 and 2 are both for the object with code 'A'."),
    ):
        refused = await site.send("POST", bulk_of(place) + path, body)
        assert (refused.status, said in refused.body.decode()) == (422 if not path else 400, True), refused.body
    assert (await site.send("GET", f"/api{place}")).json["total"] == 0
    partly = (await site.send("POST", bulk_of(place), {"operations": operations, "atomic": False})).json
    assert [row["status"] for row in partly["results"]] == ["created", "created", "failed"]


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


@pytest.mark.requirement("registers:rest:undo")
async def test_the_last_change_of_an_object_is_taken_back(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    uuid = (await site.send("POST", path, {"name": "one"})).json["id"]
    alone = await site.send("POST", f"{path}/{uuid}/undo")
    assert (alone.status, "has only one version" in alone.json["detail"]) == (409, True)
    assert "action=" not in alone.body.decode()
    await site.send("PUT", f"{path}/{uuid}", {"name": "two"})
    late = await site.send("POST", f"{path}/{uuid}/undo", headers={"if-match": '"1"'})
    assert late.status == 412
    assert (await site.send("POST", f"{path}/{uuid}/undo", who="reader")).status == 403
    back = await site.send("POST", f"{path}/{uuid}/undo", headers={"if-match": '"2"', "x-reason": "oops"})
    assert (back.status, back.json["name"], back.headers["etag"]) == (200, "one", '"3"')
    last = (await site.send("GET", f"{path}/{uuid}/history")).json["results"][0]
    assert (last["action"], last["reason"]) == ("revert", "oops")
    assert (await site.send("DELETE", f"{path}/{uuid}")).status == 204
    assert (await site.send("POST", f"{path}/{uuid}/undo")).json["name"] == "one"
    assert (await site.send("GET", f"{path}/{uuid}")).status == 200, "the deletion was the last change"


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
    await site.made(place, {"name": "nothing of interest"})
    groups = {**sums, "aggregate": {"metrics": {"n": "count"}, "group_by": ["name"]}, "sort": ["-n"], "limit": 1}
    answer = (await site.send("POST", "/api/search/aggregate", groups)).json
    assert answer == {"results": [{"name": "nothing of interest", "n": 2}], "total": {"n": 3}, "more": True}


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


async def test_views_are_saved_listed_run_and_deleted(site: Site) -> None:
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
    [component] = [facts for name, facts in document["components"]["schemas"].items() if name.endswith("_data")]
    assert component["properties"].keys() == {"name", "level"}
    collection = min(document["paths"], key=len)
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
