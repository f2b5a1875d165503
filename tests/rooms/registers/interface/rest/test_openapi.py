"""The OpenAPI document says what the server does: every route, every answer, every limit. Real answers fit it.

Every other test over REST compares its answers with the document too (`Site.send`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from pentad.kernel.errors import Misconfigured
from pentad.rooms.registers.interface.rest.catalogue import list_registers
from pentad.rooms.registers.interface.rest.route_group import IGNORED, RestRoute
from pentad.rooms.registers.interface.rest.routes import TABLE
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.transfer.transfer_jobs import JOB
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

OPENREGISTERS = {
    "/audit-trails", "/audit-trails/{id}", "/chat", "/deleted", "/deleted/{id}", "/deleted/{id}/restore", "/search",
    *(f"/bulk/{{register}}/{{schema}}/{name}" for name in ("delete", "save", "validate")),
    "/objects/{register}/{schema}",
    "/objects/{register}/{schema}/{id}",
    *(
        f"/objects/{{register}}/{{schema}}/{{id}}/{name}"
        for name in (
            "audit-trails", "audit-trails/verify", "can-delete", "files", "files/{name}", "lock", "revert", "unlock",
            "used", "uses",
        )
    ),
    "/organisations", "/organisations/{id}", "/organisations/{id}/members", "/organisations/{id}/members/{principal}",
    "/registers", "/registers/{id}", *(f"/registers/{{id}}/{name}" for name in ("export", "import", "oas", "schemas")),
    "/schemas", "/schemas/upload", "/schemas/{id}", "/schemas/{id}/download", "/views", "/views/{id}", "/webhooks",
    "/webhooks/{id}", "/webhooks/{id}/logs", "/webhooks/{id}/logs/{delivery}/retry",
}  # fmt: skip
"""OpenRegister's paths, and those that began with its shapes. There will be no more: a new path is Pentad's own."""
TREE: Object = {
    "name": {"type": "string"},
    "height": {"type": "number", "facetable": True},
    "species": {"type": "string", "enum": ["oak", "elm"], "default": "oak"},
}


def operation(document: Object, row: RestRoute) -> Object:
    return document["paths"][f"/api{row.path}"][row.method.lower()]


@pytest.mark.requirement("registers:openapi:valid")
async def test_the_document_is_valid_openapi(site: Site) -> None:
    document = (await site.send("GET", "/openapi.json")).json
    OpenAPIV31SpecValidator(document).validate()
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)


@pytest.mark.requirement("registers:openapi:complete")
async def test_every_route_is_in_the_document_with_its_answers(site: Site) -> None:
    for row in TABLE:
        check_description(site.answers.document, row)


def check_description(document: Object, row: RestRoute) -> None:
    described = operation(document, row)
    success = described["responses"][str(row.status)]
    assert ("content" in success) is (row.status != 204)
    for media in success.get("content", {}).values():
        assert media["schema"]
    assert "default" not in described["responses"], "every status is listed"
    assert {"401", "403", "429", "500"} <= described["responses"].keys()
    wrong = "422" if row.own else "400"
    [kind] = {"application/json"} if not row.own else {"application/problem+json"}
    assert kind in described["responses"][wrong]["content"]
    assert ({} in described["security"]) is row.public
    assert {"basic": []} in described["security"]
    assert described["summary"].endswith(".")
    assert described["tags"] == [row.capability]


@pytest.mark.requirement("registers:openapi:complete")
async def test_a_route_cannot_be_declared_without_its_answer() -> None:
    with pytest.raises(Misconfigured, match="answers with 200 but no body"):
        RestRoute("GET", "/new", "objects", list_registers)
    with pytest.raises(Misconfigured, match="answers with 204 and body"):
        RestRoute("GET", "/new", "objects", list_registers, answer=dict[str, Any], status=204)


@pytest.mark.requirement("registers:openapi:errors")
async def test_every_path_openregister_does_not_have_is_pentads_own() -> None:
    assert {row.path for row in TABLE if not row.own} <= OPENREGISTERS


CORE = ("/api/admin", "/api/account", "/api/traces", "/api/events", "/api/rooms", "/api/lineage")
"""Paths of no room: the original has none of them."""


@pytest.mark.requirement("registers:openapi:allow")
@pytest.mark.parametrize("prefix", ["/api", "/index.php/apps/openregister/api"])
async def test_allow_is_the_same_in_options_in_refusals_and_in_the_document(site: Site, prefix: str) -> None:
    for path, methods in site.answers.document["paths"].items():
        if not path.startswith("/api/") or path.startswith(CORE):
            continue
        target = path.replace("/api", prefix, 1).replace("{", "").replace("}", "")
        documented = {one.upper() for one in methods}
        wanted = documented | {"OPTIONS"} | ({"HEAD"} if "GET" in documented else set())
        asked = await site.send("OPTIONS", target)
        assert (asked.status, set(asked.headers["allow"].split(", "))) == (204, wanted), path
        for method in {"GET", "PUT", "POST", "PATCH", "DELETE"} - documented:
            refused = await site.send(method, target)
            assert (refused.status, refused.headers["allow"]) == (405, asked.headers["allow"]), path
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.json["error"]["code"] == "method_not_allowed"


@pytest.mark.requirement("registers:openapi:limits")
async def test_the_limits_of_parameters_are_those_the_server_enforces(site: Site) -> None:
    place = await tree_place(site)
    numbers = [
        (f"/api{place.fill(row.path)}?{'from=1&' if one['name'] == 'to' else ''}{one['name']}=", one["schema"])
        for row in TABLE
        for one in operation(site.answers.document, row).get("parameters", ())
        if one["in"] == "query" and one["schema"]["type"] == "integer"
    ]
    assert len(numbers) > 15
    assert (await site.send("GET", "/api/registers?_page=1&_offset=-1")).status == 400, "also if it is not used"
    assert (await site.send("GET", "/api/registers?_limit=x&_limit=1")).status == 400, "which one is meant?"
    for base, schema in numbers:
        for good in (schema["minimum"], schema["maximum"]):
            assert (await site.send("GET", f"{base}{good}")).status in (200, 404), (base, good)
        for bad in (schema["minimum"] - 1, schema["maximum"] + 1, "x", "1.5", "1e3", "%D9%A3"):
            assert (await site.send("GET", f"{base}{bad}")).status in (400, 413, 422), (base, bad)


@pytest.mark.requirement("registers:openapi:limits")
async def test_a_plan_has_as_many_rows_as_the_document_says(site: Site) -> None:
    place = await tree_place(site)
    rows = site.answers.document["components"]["schemas"]["PlanData"]["properties"]["operations"]
    where = dict(zip(("register", "schema"), place.pair.split("/")[2:], strict=True))
    for more, status in ((0, 201), (1, 413)):
        operations = [{"action": "delete", "id": "x"}] * (rows["maxItems"] + more)
        made = await site.send("POST", "/api/plans", {**where, "operations": operations})
        assert made.status == status, made.body[:200]


@pytest.mark.requirement("registers:openapi:complete")
async def test_warnings_of_many_rows_are_described(site: Site) -> None:
    place = await tree_place(site)
    _, _, register, schema = place.pair.split("/")
    described = site.answers.document["components"]["schemas"]
    row = {"nmae": "Ada", "name": "Ada"}
    imported = f"/api/registers/{register}/import?schema={schema}&format=json"
    for path, body, answer in (
        (f"/api/bulk/{register}/{schema}", {"operations": [{"data": row}]}, "OutcomesAnswer"),
        (imported, [row], "ImportAnswer"),
    ):
        done = await site.send("POST", path, body)
        assert done.json["warnings"][0]["path"] == "/nmae", done.body
        assert described[answer]["properties"].keys() >= done.json.keys()


@pytest.mark.requirement("registers:openapi:errors")
async def test_errors_have_openregisters_shape_on_its_paths_and_are_problems_on_pentads(site: Site) -> None:
    compat = await site.send("GET", "/api/objects/no-such/thing")
    assert (compat.status, compat.headers["content-type"]) == (404, "application/json")
    assert compat.json["status"] == "error"
    own = await site.send("POST", "/api/search/aggregate", {"register": "no-such", "schema": "x", "aggregate": {}})
    assert (own.status, own.headers["content-type"]) == (404, "application/problem+json")
    assert (own.json["status"], own.json["title"], own.json["error"]["code"]) == (404, "Not Found", "not_found")
    assert own.json["error"]["hint"] == "GET /api/registers lists those you have access to."
    assert own.json["detail"] == f"{own.json['error']['message']} {own.json['error']['hint']}"
    for path in ("/api/registers", "/api/plans/x", "/healthz"):
        stranger = await site.send("GET", path, headers={"host": "evil.example"})
        assert (stranger.status, stranger.headers["content-type"]) == (421, "application/problem+json")
    wrong = await site.send("POST", "/api/plans", {"operations": []})
    assert (wrong.status, wrong.json["error"]["code"]) == (422, "invalid_input")


@pytest.mark.requirement("registers:openapi:complete")
async def test_a_preflight_may_find_that_a_slug_is_taken(site: Site) -> None:
    first, second = [(await site.made("/schemas", {"title": "Slugged"})) for _ in range(2)]
    refused = await site.send("POST", f"/api/schemas/{first['id']}/preflight", {"slug": second["slug"]})
    assert (refused.status, refused.json["error"]["code"]) == (409, "conflict")


@pytest.mark.requirement("registers:openapi:security")
async def test_the_document_says_how_to_log_in(site: Site) -> None:
    document = (await site.send("GET", "/openapi.json")).json
    schemes = document["components"]["securitySchemes"]
    assert {name: facts["type"] for name, facts in schemes.items()} == {
        "basic": "http", "bearer": "http", "api_key": "apiKey", "oauth2": "oauth2",
    }  # fmt: skip
    flow = schemes["oauth2"]["flows"]["authorizationCode"]
    assert flow["tokenUrl"].endswith("/oauth/token")
    assert "registers:write" in flow["scopes"]
    paths = document["paths"]
    assert {"oauth2": ["registers:read"]} in paths["/api/registers"]["get"]["security"]
    assert {"oauth2": ["registers:write"]} in paths["/api/registers"]["post"]["security"]
    assert {"oauth2": ["registers:read"]} in paths["/api/search/aggregate"]["post"]["security"]


@pytest.mark.requirement("registers:rest:parameters")
@pytest.mark.parametrize("name", ["filter", "search", "sort", "fields", "limit", "offset", "as_of", "facets", "order"])
async def test_a_list_of_objects_says_which_parameter_to_use(site: Site, name: str) -> None:
    place = await tree_place(site)
    for target in (name, f"{name}[height]", f"{name}.height"):
        refused = await site.send("GET", f"/api{place.pair}?{quote(target)}=5")
        assert refused.status == 400, target
        control = {"sort": "_order", "as_of": "_asOf"}.get(name, f"_{name}")
        assert refused.json["hint"].startswith(f"Write {control},"), refused.json


@pytest.mark.requirement("registers:rest:parameters")
@pytest.mark.parametrize("name", ["_limit", "_offset", "_page", "_search", "_cursor", "_asOf", "_count"])
async def test_a_list_of_objects_takes_a_parameter_once(site: Site, name: str) -> None:
    place = await tree_place(site)
    refused = await site.send("GET", f"/api{place.pair}?{name}=1&{name}=2")
    assert refused.status == 400
    assert refused.json["message"] == f"{name} is there more than once."


@pytest.mark.requirement("registers:rest:parameters")
async def test_a_property_called_filter_can_be_filtered_by(site: Site) -> None:
    place = await site.pair({"filter": {"type": "string"}})
    await site.made(place, {"filter": "coarse"})
    assert (await site.send("GET", f"/api{place}?filter=coarse")).json["total"] == 1
    assert (await site.send("GET", f"/api{place}?filter=fine")).json["total"] == 0


@pytest.mark.requirement("registers:rest:parameters")
async def test_no_parameter_that_chooses_is_ignored(site: Site) -> None:
    place = await tree_place(site)
    lists = ["/registers", "/schemas", "/deleted", "/organisations", f"/registers/{place.register}/export"]
    for path in lists:
        for name in ("filter", "title", "filter[title]", "_filterr", "_search"):
            if (path, name) == (lists[-1], "_search"):
                continue
            reply = await site.send("GET", f"/api{path}?{name}=x")
            is_control = name == "_filterr" and path != lists[-1]
            assert reply.status == (200 if is_control else 400), (path, name)
            if not is_control:
                assert "There is no parameter" in reply.json["message"]


@pytest.mark.requirement("registers:rest:parameters")
async def test_what_is_ignored_is_named(site: Site) -> None:
    place = await tree_place(site)
    reply = await site.send("GET", "/api/registers?_extend=schemas&_rbac=1&_limit=1&a%0Ab=1", who="admin")
    assert reply.status == 400, "a list takes no names without an underscore"
    reply = await site.send("GET", "/api/registers?_extend[]=schemas&_rbac=1&_limit=1")
    assert (reply.status, reply.headers[IGNORED.lower()]) == (200, "_extend[], _rbac")
    reply = await site.send("GET", f"/api/registers/{place.register}?_a%0D%0Ab=1&%C3%A9=2")
    assert (reply.status, reply.headers[IGNORED.lower()]) == (200, "_a%0D%0Ab, %C3%A9")
    listed = await site.send("GET", f"/api{place.pair}?_rbac=1")
    assert listed.json["@self"]["ignored"] == ["_rbac"]
    own = await site.send("GET", f"/api{place.pair}/x/history?_extend=a")
    assert own.status == 422


@pytest.mark.requirement("registers:rest:openapi")
async def test_a_register_describes_its_objects_as_they_are(site: Site) -> None:
    properties = {
        "title": {"type": "string", "description": "What it is called."},
        "size": {"$ref": "#/$defs/size"},
        "state": {"type": "string", "default": "new"},
    }
    extra: Object = {"$defs": {"size": {"type": "integer", "minimum": 1}}, "required": ["title", "state"]}
    place = await site.pair(properties, additionalProperties=False, **extra)
    register = place.split("/")[2]
    document = (await site.send("GET", f"/api/registers/{register}/oas")).json
    OpenAPIV31SpecValidator(document).validate()
    [start] = [path for path in document["paths"] if path.endswith("{id}/history")]
    assert {"get", "put", "patch", "post", "delete"} == document["paths"][start.removesuffix("/history")].keys()
    pair = start.removesuffix("/{id}/history")
    body = document["paths"][pair]["post"]["requestBody"]["content"]["application/json"]["schema"]
    written = jsonschema_rs.Draft202012Validator({**body, "components": document["components"]})
    for data, status in (({"title": "a", "size": 2}, 201), ({"title": "a", "size": 0}, 400), ({"size": 2}, 400),
                         ({"title": "a", "other": 1}, 400)):  # fmt: skip
        assert written.is_valid(data) is (status == 201), data
        assert (await site.send("POST", pair, data)).status == status, data
    answers = type(site.answers)(document)
    for target in (pair, f"{pair}?_fields=title", f"{pair}?_limit=0"):
        reply = await site.send("GET", target)
        assert list(answers.problems("GET", pair, reply.status, reply.headers, reply.body)) == []
        assert answers.operation("GET", pair) is not None
    page = document["paths"][pair]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    odd = {"results": [{"title": 5}], "total": 1, "page": 1, "pages": 1, "limit": 1, "offset": 0}
    assert not jsonschema_rs.Draft202012Validator({**page, "components": document["components"]}).is_valid(odd)


class Place:
    """A register with one schema and one object, and the ids that stand in the paths of routes."""

    def __init__(self, ids: Object) -> None:
        self.ids = ids
        self.register: int = ids["register"]
        self.pair = f"/objects/{ids['register']}/{ids['schema']}"

    def fill(self, path: str) -> str:
        own = {"registers": "register", "schemas": "schema"}.get(path.split("/")[1], "id")
        return path.format(**{**self.ids, "id": self.ids[own]})


async def tree_place(site: Site) -> Place:
    pair = await site.pair(TREE)
    _, _, register, schema = pair.split("/")
    made = await site.made(pair, {"name": "Ada", "height": 3})
    ids: Object = {"register": int(register), "schema": int(schema), "id": made["id"]}
    return Place({**ids, "name": "a.txt", "delivery": "1", "principal": "user:x", "capability": "objects"})


Go = Callable[..., Awaitable[Any]]
"""Sends a request that must succeed, and returns the body of the answer."""


async def finished_export(site: Site, register: int, schema: int) -> str:
    """The id of an export that ran as a job; tools start them."""
    scope = {"type": "http", "path": "/api", "headers": [], "client": ("127.0.0.1", 1)}
    key = {b"authorization": site.credentials("admin")["authorization"].encode()}
    caller = Caller(await site.front.principal(scope, key))
    pair = await site.registers.catalogue.pair(caller, register, schema)
    state = await site.registers.transfers.start_export(caller, pair, "json", {})
    async with asyncio.timeout(60):
        while not state.is_over:
            await site.app.jobs.wait_until_done(JOB, state.id, 5)
            state = await site.registers.transfers.get(caller, state.id)
    return state.id


async def walk_webhooks(go: Go, site: Site, register: int, pair: str) -> None:
    hook = await go("POST", "/webhooks", {"url": "https://example.org/hook", "register": register})
    for path in ("/webhooks", f"/webhooks/{hook['id']}"):
        await go("GET", path)
    await go("PUT", f"/webhooks/{hook['id']}", {"enabled": True})
    await go("POST", pair, {"name": "Ida"})
    log: Object = {"results": []}
    for _ in range(100):
        log = await go("GET", f"/webhooks/{hook['id']}/logs?_limit=5")
        if log["results"]:
            break
        await site.settled()
    await go("POST", f"/webhooks/{hook['id']}/logs/{log['results'][0]['id']}/retry")
    await go("DELETE", f"/webhooks/{hook['id']}")


async def walk(site: Site) -> None:
    """Call every operation with success."""

    async def go(method: str, path: str, body: Any = None, **headers: str) -> Any:
        reply = await site.send(
            method, f"/api{path}", body, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        assert reply.status < 300, (method, path, reply.body)
        return reply.json if reply.headers.get("content-type") == "application/json" else reply.body

    schema = await go("POST", "/schemas", {"title": "Walk", "properties": TREE})
    uploaded = await go("POST", "/schemas/upload", {"title": "Uploaded", "properties": {}})
    register = await go("POST", "/registers", {"title": "Walked", "schemas": [schema["id"]]})
    r, s = f"/registers/{register['id']}", f"/schemas/{schema['id']}"
    pair = f"/objects/{register['id']}/{schema['id']}"
    for path in ("/registers", r, f"{r}/schemas", f"{r}/oas", "/schemas", s, f"{s}/download"):
        await go("GET", path)
    await go("PUT", r, {"description": "Trees."})
    await go("PATCH", r, {"description": "All trees."})
    await go("PUT", s, {"description": "A tree."})
    await go("PATCH", s, {"description": "One tree."})
    await go("POST", f"{s}/preflight", {"required": ["name"]})
    await go("POST", f"{s}/plan", {"operations": [{"op": "rename", "property": "height", "to": "size"}]})
    await go(
        "POST", f"{s}/patch", {"operations": [{"op": "add", "property": "age", "definition": {"type": "integer"}}]}
    )
    await go("GET", f"{s}/history")
    await go("GET", f"{s}/diff?from=1")
    await go("POST", f"{s}/undo")
    made = await go("POST", pair, {"name": "Ada", "height": 3})
    await go("PUT", f"{pair}?_key=name", {"name": "Una", "height": 1})
    item = f"{pair}/{made['id']}"
    await go("PUT", item, {"name": "Bob", "height": 4})
    await go("PATCH", item, {"height": 5})
    await go(
        "PATCH", item, [{"op": "replace", "path": "/height", "value": 6}], content_type="application/json-patch+json"
    )
    await go("POST", item, {"height": 7})
    for path in (item, f"{item}?_empty=true", f"{item}?_fields=name", f"{item}?_unset=id,@self", f"{item}/can-delete"):
        await go("GET", path)
    for query in ("", "?_facets=height", "?_search=bob", "?_fields=name&_empty=1", "?_order[name]=desc&_limit=1"):
        await go("GET", f"{pair}{query}")
    await go("POST", f"{item}/lock")
    await go("POST", f"{item}/lock", {"duration": 5, "process": "walk"})
    await go("GET", item)
    await go("POST", f"{item}/unlock")
    await go("POST", f"{item}/revert", {"version": 1})
    await go("POST", f"{item}/undo")
    for path in ("audit-trails", "history", "audit-trails/verify", "diff?from=1", "uses", "used"):
        await go("GET", f"{item}/{path}")
    feed = await go("GET", f"/audit-trails?register={register['id']}")
    await go("GET", "/audit?_limit=1")
    await go("GET", f"/audit-trails/{feed['results'][0]['id']}")
    await go("POST", f"{item}/files", {"name": "a.txt", "content": "aGk="})
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="b.txt"\r\n\r\nhi\r\n--x--\r\n'
    await go("POST", f"{item}/files", form, content_type="multipart/form-data; boundary=x")
    await go("PUT", f"{item}/files/c.bin", b"\0", content_type="application/octet-stream")
    await go("GET", f"{item}/files")
    await go("GET", f"{item}/files/a.txt")
    await go("DELETE", f"{item}/files/a.txt")
    bulk = f"/bulk/{register['id']}/{schema['id']}"
    await go(
        "POST", bulk, {"operations": [{"data": {"name": "Eve"}}, {"id": "x", "action": "delete"}], "atomic": False}
    )
    saved = await go("POST", f"{bulk}/save", {"objects": [{"name": "Fay"}]})
    await go("POST", f"{bulk}/validate", {"objects": [{"name": "Fay"}, {"name": 5}]})
    await go("POST", f"{bulk}/delete", {"uuids": [saved["results"][0]["id"]]})
    await go("POST", f"{bulk}/restore", {"filter": {"name": "Fay"}})
    await go("POST", f"{bulk}/purge", {"filter": {"name": "nobody"}})
    where = {"register": register["id"], "schema": schema["id"]}
    plan = await go("POST", "/plans", {**where, "operations": [{"data": {"name": "Gus"}}, {"data": {"name": 1}}]})
    await go("GET", f"/plans/{plan['id']}")
    plan = await go("POST", "/plans", {**where, "operations": [{"data": {"name": "Gus"}}]})
    await go("POST", f"/plans/{plan['id']}/commit")
    await go("POST", f"/plans/{plan['id']}/undo")
    await go("GET", "/search?_search=bob")
    await go("POST", "/search", {**where, "filter": {"name": "Ada"}, "facets": ["height"]})
    await go("POST", "/search/aggregate", {**where, "aggregate": {"metrics": {"n": "count"}, "group_by": ["name"]}})
    await go("POST", "/chat", {"question": "Where is Ada?"})
    view = await go("POST", "/views", {**where, "title": "All", "query": {"facets": ["height"]}})
    for path in ("/views", f"/views/{view['id']}", f"/views/{view['id']}/results"):
        await go("GET", path)
    await go("GET", f"/views/{view['id']}/export?format=json")
    await go("PUT", f"/views/{view['id']}", {"title": "Everything"})
    await go("PATCH", f"/views/{view['id']}", {"query": {"limit": 5}})
    await go("DELETE", f"/views/{view['id']}")
    await go("GET", f"{r}/describe")
    for kind in ("csv", "xlsx", "json", "jsonl"):
        await go("GET", f"{r}/export?format={kind}")
    brought = await go("POST", f"{r}/import?format=csv", b"name,height\nHal,3\n", content_type="text/csv")
    await go("POST", f"{r}/import?format=json&dry_run=true", [{"name": 5}])
    transfer = await finished_export(site, register["id"], schema["id"])
    for path in ("/transfers", f"/transfers/{transfer}", f"/transfers/{transfer}/content"):
        await go("GET", path)
    await go("POST", f"/transfers/{transfer}/cancel")
    await go("POST", f"/transfers/{brought['transfer']}/undo")
    await walk_webhooks(go, site, register["id"], pair)
    organisation = await go("POST", "/organisations", {"slug": f"walkers-{register['id']}"})
    people = f"/organisations/{organisation['id']}/members"
    await go("GET", "/organisations")
    await go("POST", people, {"principal": "user:walker"})
    await go("GET", people)
    await go("DELETE", f"{people}/user:walker")
    await go("DELETE", f"/organisations/{organisation['id']}")
    await go("DELETE", item)
    await go("GET", "/deleted")
    await go("POST", f"/deleted/{made['id']}/restore")
    await go("DELETE", item)
    await go("DELETE", f"/deleted/{made['id']}")
    await go("DELETE", f"/schemas/{uploaded['id']}")
    empty = await go("POST", "/registers", {"title": "Empty"})
    await go("DELETE", f"/registers/{empty['id']}")
    await go("GET", "/mcp/v1/discover")
    for one in ("registers", "schemas", "objects", "views"):
        await go("GET", f"/mcp/v1/discover/{one}")


@pytest.mark.requirement("registers:openapi:complete")
async def test_a_walk_over_every_operation_finds_the_answers_described(site: Site) -> None:
    site.answers.seen.clear()
    await walk(site)
    succeeded = {(method, path.removeprefix("/api")) for method, path, status in site.answers.seen if status < 300}
    missed = {(row.method, row.path) for row in TABLE} - succeeded
    assert not missed, "a new route needs a call in walk()"
