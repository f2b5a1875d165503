"""Schemas changed over REST: OpenRegister's PUT replaces and PATCH merges, and both ask before anything is lost."""

from typing import Any

import pytest

from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

PERMIT: Object = {"number": {"type": "string", "pattern": "^P-"}, "fee": {"type": "integer"}}


async def permits(site: Site) -> tuple[str, str, Object]:
    """The paths of the schema and its objects, and one object."""
    place = await site.pair(PERMIT, required=["number"])
    return f"/api/schemas/{place.split('/')[3]}", place, await site.made(place, {"number": "P-1", "fee": 10})


async def get(site: Site, path: str, status: int = 200) -> Any:
    reply = await site.send("GET", path)
    assert reply.status == status, reply.body
    return reply.json


@pytest.mark.requirement("registers:schema-change:confirm")
@pytest.mark.parametrize("verb", ["PUT", "PATCH"])
async def test_a_change_that_loses_values_answers_409_until_it_is_confirmed(site: Site, verb: str):
    schema, _, _ = await permits(site)
    change: Object = {"properties": {"number": PERMIT["number"]} if verb == "PUT" else {"fee": None}}
    refused = await site.send(verb, schema, change)
    assert (refused.status, refused.json["error"]) == (409, "confirm_needed")
    assert refused.json["details"]["report"]["orphaned"]["fee"]["objects"] == 1
    assert "fee" in (await get(site, schema))["properties"]
    done = await site.send(verb, schema, {**change, "confirm": refused.json["details"]["confirm"]})
    assert done.status == 200
    assert list(done.json["properties"]) == ["number"]
    assert "confirm" not in done.json


@pytest.mark.requirement("registers:schema-change:merge")
async def test_patch_merges_and_put_replaces_what_it_names(site: Site):
    schema, _, _ = await permits(site)
    due = {"properties": {"due": {"type": "string"}}, "required": ["number"]}
    merged = await site.send("PATCH", schema, due)
    assert (merged.status, list(merged.json["properties"])) == (200, ["number", "fee", "due"])
    report = await site.send("POST", f"{schema}/preflight", due)
    assert report.json["removed_properties"] == ["fee"] or "fee" in report.json["orphaned"]
    report = await site.send("POST", f"{schema}/preflight?merge=true", due)
    assert "orphaned" not in report.json


@pytest.mark.requirement("registers:schema-change:detach")
async def test_a_register_detaches_a_schema_with_objects_only_after_asking(site: Site):
    _, place, _ = await permits(site)
    register = f"/api/registers/{place.split('/')[2]}"
    other = (await site.made("/schemas", {"title": "Other"}))["id"]
    assert len((await site.send("PATCH", register, {"schemas": [other]})).json["schemas"]) == 2
    refused = await site.send("PUT", register, {"schemas": [other]})
    assert (refused.status, refused.json["error"]) == (409, "confirm_needed")
    done = await site.send("PUT", register, {"schemas": [other], "confirm": refused.json["details"]["confirm"]})
    assert done.json["schemas"] == [other]


@pytest.mark.requirement("registers:schema-change:patch")
async def test_a_patch_is_planned_made_listed_compared_and_undone(site: Site):
    schema, place, made = await permits(site)
    rename: Object = {"operations": [{"op": "rename", "property": "fee", "to": "amount"}]}
    plan = await site.send("POST", f"{schema}/plan", rename)
    assert (plan.status, plan.json["migrated"]["objects"]) == (200, 1)
    done = await site.send("POST", f"{schema}/patch", {**rename, "reason": "plain words"})
    assert (done.status, list(done.json["properties"])) == (200, ["number", "amount"])
    assert (await get(site, f"/api{place}/{made['id']}"))["amount"] == 10
    history = await get(site, f"{schema}/history?_limit=1")
    assert (history["total"], history["results"][0]["reason"]) == (2, "plain words")
    diff = await get(site, f"{schema}/diff?from=1&to=2")
    assert (diff["from"], diff["to"]) == (1, 2)
    assert list((await get(site, f"{schema}?_version=1"))["properties"]) == ["number", "fee"]
    assert list((await get(site, f"{schema}?_asOf=2100-01-01"))["properties"]) == ["number", "amount"]
    assert (await site.send("POST", f"{schema}/plan", {"undo": 2})).json["migrated"]["objects"] == 1
    undone = await site.send("POST", f"{schema}/undo")
    assert (undone.status, list(undone.json["properties"])) == (200, ["number", "fee"])
    assert (await get(site, f"/api{place}/{made['id']}"))["fee"] == 10
    stale = await site.send("POST", f"{schema}/patch", rename, headers={"if-match": '"0.0.1"'})
    assert stale.status == 412
    drop: Object = {"operations": [{"op": "drop", "property": "fee"}]}
    asked = await site.send("POST", f"{schema}/patch", drop)
    assert (asked.status, asked.json["error"]["code"]) == (409, "confirm_needed")
    token = asked.json["error"]["details"]["confirm"]
    assert (await site.send("POST", f"{schema}/patch", {**drop, "confirm": token})).status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/patch", {"operations": []}),
        ("/patch", {"operations": [{"op": "explode"}]}),
        ("/patch", {"operation": []}),
        ("/plan", {}),
        ("/plan", {"operations": [{"op": "drop", "property": "fee"}], "undo": 1}),
        ("/undo", {"version": 0}),
    ],
)
async def test_a_wrong_request_is_refused(site: Site, path: str, body: Object):
    schema, _, _ = await permits(site)
    assert (await site.send("POST", schema + path, body)).status == 422


@pytest.mark.requirement("registers:schema-change:discreet")
async def test_readers_and_strangers_change_and_plan_nothing(site: Site):
    schema, _, _ = await permits(site)
    drop: Object = {"operations": [{"op": "drop", "property": "fee"}]}
    for who, status in (("reader", 403), ("writer", 403), ("", 401)):
        for verb, path, body in (
            ("POST", "/patch", drop),
            ("POST", "/plan", drop),
            ("POST", "/undo", None),
            ("GET", "/history", None),
            ("GET", "/diff?from=1", None),
        ):
            assert (await site.send(verb, schema + path, body, who=who)).status == status, (who, path)


@pytest.mark.requirement("registers:warnings:undeclared")
async def test_an_undeclared_property_is_kept_with_a_warning(site: Site):
    _, place, made = await permits(site)
    first = await site.send("POST", f"/api{place}", {"number": "P-2", "fees": 3})
    [warning] = first.json["@self"]["warnings"]
    assert (warning["path"], warning["nearest"], first.json["fees"]) == ("/fees", "fee", 3)
    for verb, body in (("PUT", {"number": "P-1", "fees": 3}), ("PATCH", {"fees": 4})):
        changed = await site.send(verb, f"/api{place}/{made['id']}", body)
        assert changed.json["@self"]["warnings"] == [warning]
    assert "warnings" not in (await get(site, f"/api{place}/{made['id']}"))["@self"]
    rows = {"operations": [{"data": {"number": "P-3", "fees": 3}}]}
    bulk = await site.send("POST", f"/api/bulk{place.removeprefix('/objects')}", rows)
    assert bulk.json["warnings"][0]["rows"] == 1, bulk.json


@pytest.mark.requirement("registers:warnings:undeclared")
async def test_an_import_reports_undeclared_columns(site: Site):
    _, place, _ = await permits(site)
    _, register, schema = place.strip("/").split("/")
    lines = b'{"number": "P-5", "fees": 1}\n{"number": "P-6", "fees": 2}\n'
    target = f"/api/registers/{register}/import?schema={schema}&format=jsonl"
    report = (await site.send("POST", target, lines, headers={"content-type": "application/octet-stream"})).json
    assert (report["created"], report["warnings"][0]["path"], report["warnings"][0]["rows"]) == (2, "/fees", 2)


@pytest.mark.requirement("registers:warnings:soft")
async def test_soft_validation_stores_what_does_not_fit_with_a_warning(site: Site):
    hidden = {"type": "integer", "authorization": {"read": ["admin"], "update": ["writer"]}}
    properties = {"number": {"type": "string"}, "fee": {"type": "integer", "minimum": 0}, "inner": hidden}
    made = await site.made(
        "/schemas", {"title": "Soft", "properties": properties, "required": ["number"], "hardValidation": False}
    )
    register = (await site.made("/registers", {"title": "Soft", "schemas": [made["id"]]}))["id"]
    place = f"/objects/{register}/{made['id']}"
    first = (await site.send("POST", f"/api{place}", {"fee": -1})).json
    found = {(one["path"], one["rule"], one.get("received")) for one in first["@self"]["warnings"]}
    assert (found, first["fee"]) == ({("/number", "required", None), ("/fee", "minimum", -1)}, -1)
    right = (await site.send("PUT", f"/api{place}/{first['id']}", {"number": "1", "fee": 1})).json
    assert "warnings" not in right["@self"]
    wrong = (await site.send("PATCH", f"/api{place}/{first['id']}", {"fee": "much"})).json
    assert [one["path"] for one in wrong["@self"]["warnings"]] == ["/fee"]
    assert "warnings" not in (await get(site, f"/api{place}/{first['id']}"))["@self"]
    await site.send("PATCH", f"/api{place}/{first['id']}", {"inner": "secret"})
    told = (await site.send("PATCH", f"/api{place}/{first['id']}", {"number": "2"}, who="writer")).json
    assert "secret" not in str(told["@self"]["warnings"])
    rows = {"operations": [{"data": {"fee": -1}}, {"data": {"number": "3", "fee": -2}}]}
    bulk = (await site.send("POST", f"/api/bulk/{register}/{made['id']}", rows)).json
    assert {(one["path"], one["rows"]) for one in bulk["warnings"]} == {("/number", 1), ("/fee", 2)}
    target = f"/api/registers/{register}/import?schema={made['id']}&format=jsonl"
    octets = {"content-type": "application/octet-stream"}
    report = (await site.send("POST", target, b'{"number": "5", "fee": -5}\n', headers=octets)).json
    [warning] = report["warnings"]
    assert (report["created"], warning["path"], warning["rule"], warning["rows"]) == (1, "/fee", "minimum", 1)


@pytest.mark.requirement("registers:warnings:schema")
async def test_a_misspelt_keyword_is_reported(site: Site):
    made = await site.made("/schemas", {"title": "T", "properties": {"a": {"type": "string", "minLenght": 3}}})
    assert made["warnings"][0]["nearest"] == "minLength"
    assert "warnings" not in await get(site, f"/api/schemas/{made['id']}")
