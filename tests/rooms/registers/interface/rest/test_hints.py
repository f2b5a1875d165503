"""A hint says what to do on the surface it is read on."""

import pytest

from pentad.mcp.wire_errors import ERROR_KEY
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("registers:errors:hints")
async def test_what_is_missing_is_looked_for_over_rest_by_rest_and_with_tools_by_tools(site: Site) -> None:
    place = await site.pair({"name": {"type": "string"}})
    _, _, register, schema = place.split("/")
    slugs = [
        (await site.send("GET", f"/api/{path}")).json["slug"] for path in (f"registers/{register}", f"schemas/{schema}")
    ]
    for target, way in (
        ("/api/registers/none-such", "GET /api/registers lists"),
        ("/api/schemas/none-such", "GET /api/schemas lists"),
        (f"/api{place}/none-such", f"GET /api/objects/{'/'.join(slugs)} lists"),
    ):
        reply = await site.send("GET", target)
        assert (reply.status, reply.json["hint"].startswith(way)) == (404, True), reply.body
        assert ("action=" in reply.body.decode(), "next_step" in reply.body.decode()) == (False, False)
    rows = await site.send("POST", f"/api/bulk/{register}/{schema}/delete", {"uuids": ["none-such"], "atomic": False})
    assert set(rows.json["results"][0]["error"]) == {"code", "message"}
    async with site.app.client() as client:
        told = await client.call_tool("registers", {"action": "get", "id": "none-such"})
        assert "Try registers with action=list." in told["content"][0]["text"]
        place_of = dict(zip(("register", "schema"), slugs, strict=True))
        told = await client.call_tool("objects", {"action": "get", **place_of, "id": "none-such"})
        step = {"operation": "objects.list", "arguments": place_of}
        assert told["_meta"][ERROR_KEY]["details"]["next_step"] == step


@pytest.mark.requirement("registers:errors:hints")
async def test_a_request_that_would_lose_something_is_told_where_the_token_goes(site: Site) -> None:
    place = await site.pair({"name": {"type": "string"}, "note": {"type": "string"}})
    _, _, register, schema = place.split("/")
    made = await site.made(place, {"name": "Ada", "note": "tall"})

    change = {"properties": {"name": {"type": "string"}}}
    tokens: list[str] = []
    for verb, target, body in (
        ("PUT", f"/api/schemas/{schema}", change),
        ("PATCH", f"/api/schemas/{schema}", {"properties": {"note": None}}),
        ("PUT", f"/api/registers/{register}", {"schemas": []}),
        ("POST", f"/api/schemas/{schema}/patch", {"operations": [{"op": "drop", "property": "note"}]}),
    ):
        asked = await site.send(verb, target, body)
        error = asked.json if isinstance(asked.json["error"], str) else asked.json["error"]
        token = error["details"]["confirm"]
        told = f'To go ahead, repeat the request with "confirm": "{token}" in its body.'
        assert (asked.status, error["hint"]) == (409, told), asked.body
        tokens.append(token)
    done = await site.send("PUT", f"/api/schemas/{schema}", {**change, "confirm": tokens[0]})
    assert done.status == 200, done.body

    await site.send("DELETE", f"/api{place}/{made['id']}")
    for kind, key in (("registers", register), ("schemas", schema)):
        asked = await site.send("DELETE", f"/api/{kind}/{key}")
        token = asked.json["details"]["confirm"]
        assert asked.json["hint"] == f"To go ahead, repeat the request with ?_confirm={token}."
    purge = f"/api/bulk/{register}/{schema}/purge"
    asked = await site.send("POST", purge)
    error = asked.json["error"]
    assert error["hint"].endswith(f'with "confirm": "{error["details"]["confirm"]}" in its body.')
    assert error["hint"] in asked.json["detail"]
    assert (await site.send("POST", purge, {"confirm": error["details"]["confirm"]})).json == {"purged": 1}


@pytest.mark.requirement("registers:errors:hints")
async def test_a_plan_over_rest_names_the_request_that_carries_it_out(site: Site) -> None:
    place = await site.pair({"name": {"type": "string"}})
    key = place.split("/")[-1]
    here = f"/api/schemas/{key}"

    async def next_of(path: str, body: Object) -> str:
        return (await site.send("POST", f"{here}/{path}", body)).json["next"]

    added = {"properties": {"city": {"type": "string"}}}
    assert await next_of("preflight?merge=true", added) == f"PATCH {here} with the same body carries it out."
    replaced = await next_of("preflight", {"description": "People"})
    assert replaced == f"PUT {here} with the same body carries it out."
    steps = {"operations": [{"op": "add", "property": "city", "definition": {"type": "string"}}]}
    assert await next_of("plan", steps) == f"POST {here}/patch with the same body carries it out."
    assert (await site.send("POST", f"{here}/patch", steps)).status == 200
    assert await next_of("plan", {"undo": 2}) == f"POST {here}/undo with version 2 carries it out."
