"""The REST battery of the reference: create, validate, lock, delete, inherit, cascade, tenants, public schemas."""

from uuid import uuid4

import pytest

from tests.rooms.registers.site import PREFIXES, Object, Site

pytestmark = pytest.mark.anyio

RULES: Object = {
    "name": {"type": "string", "minLength": 2, "maxLength": 10},
    "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
    "state": {"type": "string", "enum": ["open", "shut"]},
    "level": {"type": "number", "minimum": 1, "maximum": 9},
    "tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
    "mail": {"type": "string", "format": "email"},
    "ref": {"type": "string", "format": "uuid"},
    "day": {"type": "string", "format": "date"},
    "page": {"type": "string", "format": "uri"},
}


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_registers_schemas_and_objects_are_created_read_replaced_and_listed(site: Site, prefix: str) -> None:
    schema = await site.send("POST", f"{prefix}/schemas", {"title": "Person", "properties": RULES})
    register = await site.send("POST", f"{prefix}/registers", {"title": "People", "schemas": [schema.json["id"]]})
    assert (schema.status, register.status) == (201, 201)
    base = f"{prefix}/objects/{register.json['slug']}/{schema.json['uuid']}"
    made = await site.send("POST", base, {"name": "Ada", "level": 3})
    assert made.status == 201
    assert made.headers["etag"] == '"1"'
    assert made.json["@self"]["schema"] == schema.json["id"]
    uuid = made.json["id"]
    read = await site.send("GET", f"{base}/{uuid}")
    assert (read.status, read.json) == (200, made.json)
    replaced = await site.send("PUT", f"{base}/{uuid}", {"name": "Bob"})
    assert replaced.status == 200
    assert replaced.json["name"] == "Bob"
    assert "level" not in replaced.json
    listed = await site.send("GET", base)
    assert listed.status == 200
    assert [row["id"] for row in listed.json["results"]] == [uuid]
    assert {key: listed.json[key] for key in ("total", "page", "pages", "limit", "offset", "facets")} == {
        "total": 1, "page": 1, "pages": 1, "limit": 20, "offset": 0, "facets": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "name", "rule"),
    [
        ({}, "name", "required"),
        ({"name": "A"}, "name", "minLength"),
        ({"name": "A" * 11}, "name", "maxLength"),
        ({"name": "Ada", "code": "abc"}, "code", "pattern"),
        ({"name": "Ada", "state": "ajar"}, "state", "enum"),
        ({"name": "Ada", "level": 0}, "level", "minimum"),
        ({"name": "Ada", "level": 10}, "level", "maximum"),
        ({"name": "Ada", "tags": []}, "tags", "minItems"),
        ({"name": "Ada", "tags": ["a", "b", "c"]}, "tags", "maxItems"),
        ({"name": 5}, "name", "type"),
        ({"name": "Ada", "mail": "ada"}, "mail", "format"),
        ({"name": "Ada", "ref": "ada"}, "ref", "format"),
        ({"name": "Ada", "day": "yesterday"}, "day", "format"),
        ({"name": "Ada", "page": "no uri"}, "page", "format"),
    ],
)
@pytest.mark.requirement("registers:rest:validation")
async def test_what_breaks_a_rule_is_refused_with_the_rules_name(
    site: Site, data: Object, name: str, rule: str
) -> None:
    path = "/api" + await site.pair(RULES, required=["name"])
    made = await site.send("POST", path, {"name": "Good"})
    uuid = made.json["id"]
    for verb, target in (("POST", path), ("PUT", f"{path}/{uuid}")):
        refused = await site.send(verb, target, data)
        assert refused.status == 400
        body = refused.json
        assert (body["status"], body["message"]) == ("error", "Validation failed")
        (error,) = body["errors"]
        assert error["property"] == name
        assert error["errors"].keys() == {rule}
        assert error["message"]
    assert (await site.send("GET", f"{path}/{uuid}")).json["name"] == "Good"


async def test_a_patch_merges_and_is_validated_as_a_whole(site: Site) -> None:
    path = "/api" + await site.pair(RULES, required=["name"])
    uuid = (await site.send("POST", path, {"name": "Ada", "level": 3})).json["id"]
    patched = await site.send("PATCH", f"{path}/{uuid}", {"level": 4})
    assert (patched.status, patched.json["name"], patched.json["level"]) == (200, "Ada", 4)
    assert (await site.send("PATCH", f"{path}/{uuid}", {"name": None})).status == 400
    steps = [{"op": "test", "path": "/level", "value": 4}, {"op": "remove", "path": "/level"}]
    stepped = await site.send("PATCH", f"{path}/{uuid}", steps, headers={"content-type": "application/json-patch+json"})
    assert stepped.status == 200
    assert "level" not in stepped.json


@pytest.mark.requirement("registers:rest:locks")
async def test_a_lock_keeps_others_out_and_lets_its_owner_work(site: Site) -> None:
    path = "/api" + await site.pair(RULES, who="writer")
    item = f"{path}/{(await site.send('POST', path, {'name': 'Ada'}, who='writer')).json['id']}"
    locked = await site.send("POST", f"{item}/lock", {"duration": 60, "process": "import"}, who="writer")
    assert (locked.status, locked.json["locked"]) == (200, True)
    assert locked.json["@self"]["locked"]["process"] == "import"
    refused = await site.send("PUT", item, {"name": "Eve"}, who="other")
    assert refused.status == 423
    assert refused.json["lockedBy"].startswith("key:")
    assert (await site.send("PUT", item, {"name": "Bob"}, who="writer")).status == 200
    await site.send("POST", f"{item}/unlock", who="writer")
    assert (await site.send("PUT", item, {"name": "Eve"}, who="other")).status == 200
    trail = (await site.send("GET", f"{item}/audit-trails", who="writer")).json["results"]
    assert {"create", "lock", "update"} <= {row["action"] for row in trail}


@pytest.mark.requirement("registers:rest:deletion")
async def test_a_deleted_object_is_gone_listed_restorable_and_purgeable(site: Site) -> None:
    path = "/api" + await site.pair(RULES)
    uuid = (await site.send("POST", path, {"name": "Ada"})).json["id"]
    gone = await site.send("DELETE", f"{path}/{uuid}")
    assert (gone.status, gone.body) == (204, b"")
    assert (await site.send("GET", f"{path}/{uuid}")).status == 404
    assert (await site.send("GET", path)).json["total"] == 0
    waiting = (await site.send("GET", "/api/deleted?_limit=1000")).json["results"]
    assert uuid in [row["id"] for row in waiting]
    assert (await site.send("POST", f"/api/deleted/{uuid}/restore")).status == 200
    assert (await site.send("GET", f"{path}/{uuid}")).json["name"] == "Ada"
    await site.send("DELETE", f"{path}/{uuid}")
    assert (await site.send("DELETE", f"/api/deleted/{uuid}")).status == 204
    assert (await site.send("POST", f"/api/deleted/{uuid}/restore")).status == 404


async def test_a_register_or_schema_with_objects_cannot_be_deleted(site: Site) -> None:
    place = await site.pair(RULES)
    _, _, register, schema = place.split("/")
    await site.made(place, {"name": "Ada"})
    for target in (f"/api/registers/{register}", f"/api/schemas/{schema}"):
        refused = await site.send("DELETE", target)
        assert refused.status == 409
        assert "still has 1 object" in refused.json["message"]


async def test_an_unknown_register_schema_or_object_is_not_found(site: Site) -> None:
    path = "/api" + await site.pair(RULES)
    for target in ("/api/objects/999999/1", "/api/registers/none", "/api/schemas/none", f"{path}/{uuid4()}"):
        missing = await site.send("GET", target)
        assert missing.status == 404
        assert missing.json["message"]


@pytest.mark.requirement("registers:rest:composition")
async def test_schemas_inherit_over_three_levels_and_from_two_parents(site: Site) -> None:
    top = await site.made("/schemas", {"title": "Top", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    mixin = await site.made("/schemas", {"title": "Mixin", "properties": {"m": {"type": "integer"}}, "required": ["m"]})
    middle = await site.made(
        "/schemas", {"title": "Middle", "allOf": [top["id"]], "properties": {"b": {"type": "string"}}}
    )
    low = await site.made(
        "/schemas",
        {
            "title": "Low",
            "allOf": [middle["id"], mixin["id"]],
            "properties": {"c": {"type": "string"}},
            "required": ["c"],
        },
    )
    register = await site.made("/registers", {"title": "R", "schemas": [low["id"]]})
    path = f"/api/objects/{register['id']}/{low['id']}"
    refused = (await site.send("POST", path, {"b": 5})).json["errors"]
    assert {error["property"] for error in refused} == {"a", "b", "c", "m"}
    assert (await site.send("POST", path, {"a": "x", "b": "y", "c": "z", "m": 1})).status == 201


async def related(site: Site, on_delete: str) -> tuple[str, str, str]:
    """The paths of a parent and of a child that points at it, and the parent's uuid."""
    parent = await site.made("/schemas", {"title": "Parent", "properties": {"name": {"type": "string"}}})
    register = await site.made("/registers", {"title": "Family", "schemas": [parent["id"]]})
    parents = f"/objects/{register['id']}/{parent['id']}"
    first, spare = [await site.made(parents, {"name": name}) for name in ("first", "spare")]
    reference = {"type": "string", "$ref": str(parent["id"]), "onDelete": on_delete}
    if on_delete == "SET_DEFAULT":
        reference["default"] = spare["id"]
    child = await site.made("/schemas", {"title": "Child", "properties": {"parent": reference}})
    children = f"/objects/{register['id']}/{child['id']}"
    second = await site.made(children, {"parent": first["id"]})
    return f"/api{parents}/{first['id']}", f"/api{children}/{second['id']}", first["id"]


@pytest.mark.parametrize(
    ("on_delete", "targets"),
    [
        ("CASCADE", "cascadeTargets"),
        ("SET_NULL", "nullifyTargets"),
        ("SET_DEFAULT", "defaultTargets"),
        ("NO_ACTION", None),
        ("RESTRICT", "blockers"),
    ],
)
@pytest.mark.requirement("registers:rest:integrity")
async def test_deleting_does_to_others_what_can_delete_says(site: Site, on_delete: str, targets: str | None) -> None:
    parent, child, uuid = await related(site, on_delete)
    report = (await site.send("GET", f"{parent}/can-delete")).json
    assert report["deletable"] is (on_delete != "RESTRICT")
    for name in ("blockers", "cascadeTargets", "nullifyTargets", "defaultTargets"):
        assert bool(report[name]) is (name == targets), report
    gone = await site.send("DELETE", parent)
    after = await site.send("GET", child)
    if on_delete == "RESTRICT":
        assert gone.status == 409
        assert gone.json["error"] == "DELETION_BLOCKED"
        assert gone.json["message"]
        assert gone.json["blockers"]
        assert (await site.send("GET", parent)).status == 200, "it is still there"
        return
    assert gone.status == 204
    assert after.status == (404 if on_delete == "CASCADE" else 200)
    if on_delete == "NO_ACTION":
        assert after.json["parent"] == uuid
    elif on_delete == "SET_NULL":
        assert after.json.get("parent") is None
    elif on_delete == "SET_DEFAULT":
        assert after.json["parent"] not in (None, uuid)


async def test_can_delete_of_an_unknown_object_is_not_found(site: Site) -> None:
    path = "/api" + await site.pair(RULES)
    assert (await site.send("GET", f"{path}/{uuid4()}/can-delete")).status == 404


@pytest.mark.requirement("registers:rest:tenants")
async def test_tenants_do_not_see_one_another(site: Site) -> None:
    path = "/api" + await site.pair(RULES, who="writer")
    slug = f"acme-{uuid4().hex[:8]}"
    assert (await site.send("POST", "/api/organisations", {"slug": slug, "title": "Acme"})).status == 201
    mine = (await site.send("POST", path, {"name": "Mine"}, who="writer")).json
    member = mine["@self"]["owner"]
    theirs = (await site.send("POST", path, {"name": "Theirs"}, who="other")).json
    added = await site.send("POST", f"/api/organisations/{slug}/members", {"principal": member})
    assert added.status == 204
    try:
        assert (await site.send("GET", path, who="writer")).status == 404
        assert (await site.send("POST", path, {"name": "No"}, who="writer")).status == 404
        assert (await site.send("GET", f"{path}/{theirs['id']}", who="writer")).status == 404
        assert (await site.send("PUT", f"{path}/{mine['id']}", {"name": "No"}, who="writer")).status == 404
        own = "/api" + await site.pair(RULES, who="writer")
        inside = (await site.send("POST", own, {"name": "Inside"}, who="writer")).json
        assert (await site.send("POST", own, {"name": "Outside"})).status == 201
        listed = (await site.send("GET", own, who="writer")).json
        assert ([row["name"] for row in listed["results"]], listed["total"]) == (["Inside"], 1)
        names = {row["name"] for row in (await site.send("GET", path, who="other")).json["results"]}
        assert names == {"Mine", "Theirs"}
        assert (await site.send("GET", f"{own}/{inside['id']}", who="other")).status == 404
        assert len((await site.send("GET", own)).json["results"]) == 2, "an administrator sees all"
    finally:
        await site.send("DELETE", f"/api/organisations/{slug}/members/{member}")


@pytest.mark.requirement("registers:rest:public")
async def test_a_public_schema_is_read_without_login_and_not_written(site: Site) -> None:
    path = "/api" + await site.pair(RULES, authorization={"read": ["public"]})
    made = (await site.send("POST", path, {"name": "Open"})).json
    item = f"{path}/{made['id']}"
    assert (await site.send("GET", path, who="")).json["results"][0]["name"] == "Open"
    assert (await site.send("GET", item, who="")).json["name"] == "Open"
    assert (await site.send("GET", f"{path}/{uuid4()}", who="")).status == 404
    for verb, target in (("POST", path), ("PUT", item), ("PATCH", item), ("DELETE", item), ("POST", f"{item}/lock")):
        refused = await site.send(verb, target, {"name": "Evil"}, who="")
        assert refused.status == 401, (verb, target)
        assert "Basic" in refused.headers["www-authenticate"]
    assert (await site.send("GET", item)).json["name"] == "Open"


@pytest.mark.requirement("registers:rest:private")
async def test_a_private_schema_says_nothing_to_a_stranger(site: Site) -> None:
    path = "/api" + await site.pair(RULES)
    item = f"{path}/{(await site.send('POST', path, {'name': 'Shy'})).json['id']}"
    bodies = set[bytes]()
    for target in (path, item, "/api/objects/999999/999999", f"{path}/{uuid4()}", "/api/registers", "/api/schemas/1"):
        refused = await site.send("GET", target, who="")
        assert refused.status == 401, target
        bodies.add(refused.body)
    assert len(bodies) == 1, "what exists and what does not look the same"


async def test_a_reader_reads_and_does_not_write(site: Site) -> None:
    path = "/api" + await site.pair(RULES)
    item = f"{path}/{(await site.send('POST', path, {'name': 'Ada'})).json['id']}"
    assert (await site.send("GET", item, who="reader")).status == 200
    for verb, target in (("POST", path), ("PUT", item), ("DELETE", item), ("POST", "/api/registers")):
        assert (await site.send(verb, target, {"title": "x", "name": "No"}, who="reader")).status == 403
