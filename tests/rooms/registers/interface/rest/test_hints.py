"""A hint says what to do on the surface it is read on."""

import pytest

from tests.rooms.registers.site import Site

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
        assert "action=" not in reply.body.decode()
    async with site.app.client() as client:
        told = await client.call_tool("registers", {"action": "get", "id": "none-such"})
        assert "Try registers with action=list." in told["content"][0]["text"]
