"""What the room's REST calls leave in the server's audit trail."""

import pytest

from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("access:audit:every-call", "access:audit:no-secrets")
async def test_a_rest_call_is_in_the_audit_trail_without_its_data(site: Site) -> None:
    path = await site.pair({"name": {"type": "string"}})
    await site.made(path, {"name": "canary-77"})
    await site.send("GET", f"/api{path}?name=canary-77")
    await site.send("GET", f"/api{path}/no-such-object")
    await site.app.audit.flush()
    newest = (await site.app.audit.recent(3, room="registers"))[::-1]
    assert [(entry.tool, entry.outcome) for entry in newest] == [
        ("POST /api/objects/{register}/{schema}", "ok"),
        ("GET /api/objects/{register}/{schema}", "ok"),
        ("GET /api/objects/{register}/{schema}/{id}", "404"),
    ]
    assert all(entry.principal.startswith("key:") for entry in newest)
    assert "canary" not in repr(newest)
