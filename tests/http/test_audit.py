"""Calls of rooms' routes in the audit trail."""

import pytest

from pentad.access.audit import AuditEntry
from pentad.app import App
from tests.behaviour.connecting import AppMaker, front_of
from tests.behaviour.http_wire import send
from tests.http.conftest import PAGES, Closed

pytestmark = pytest.mark.anyio


async def noted(app: App) -> list[AuditEntry]:
    """The entries of the pages room, oldest first."""
    await app.audit.flush()
    return (await app.audit.recent(room="pages"))[::-1]


@pytest.mark.parametrize(
    ("target", "name", "outcome"),
    [
        ("/api/whoami", "GET /api/whoami", "ok"),
        ("/api/items/7", "GET /api/items/{number:int}", "409"),
        ("/api/busy", "GET /api/busy", "429"),
        ("/api/crash", "GET /api/crash", "500"),
    ],
)
@pytest.mark.requirement("access:audit:every-call")
async def test_a_route_called_is_noted_by_its_pattern_and_outcome(
    make_app: AppMaker, target: str, name: str, outcome: str
) -> None:
    app = await make_app(rooms=(PAGES,))
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await send(front_of(app), "GET", target, {"x-request-id": "r-1", "traceparent": trace}).body()
    [entry] = await noted(app)
    assert (entry.room, entry.tool, entry.outcome) == ("pages", name, outcome)
    assert (entry.request_id, entry.trace, entry.transport, entry.session) == ("r-1", trace, "http", "")
    assert entry.duration_us >= 0
    assert entry.at > 0


@pytest.mark.requirement("access:audit:every-call", "access:audit:no-secrets")
async def test_the_trail_says_who_called_a_route_and_holds_nothing_of_the_request(closed: Closed) -> None:
    before = len(await noted(closed.app))
    headers = {"authorization": closed.headers["reader"], "content-type": "application/json"}
    await send(closed.front, "PUT", "/api/items/41", headers, b'{"a": "argument-canary"}').body()
    await send(closed.front, "GET", "/api/whoami").body()
    known, stranger = (await noted(closed.app))[before:]
    assert known.principal.startswith("key:")
    assert stranger.principal == "anonymous"
    assert known.tool == "PUT /api/items/{number:int}"
    assert "canary" not in repr((known, stranger))
    assert closed.headers["reader"].split()[1] not in repr(known)


async def test_what_has_no_route_and_what_the_server_says_of_itself_is_not_noted(make_app: AppMaker) -> None:
    app = await make_app(rooms=(PAGES,))
    for path in ("/nowhere", "/healthz", "/metrics", "/api/items/seven"):
        await send(front_of(app), "GET", path).body()
    await send(front_of(app), "POST", "/api/whoami").body()
    await app.audit.flush()
    assert await app.audit.recent() == []


@pytest.mark.requirement("gateway:metrics")
async def test_routes_are_counted_with_the_tools(make_app: AppMaker) -> None:
    app = await make_app(rooms=(PAGES,))
    await send(front_of(app), "GET", "/api/whoami").body()
    await app.audit.flush()
    text = (await send(front_of(app), "GET", "/metrics").body()).decode()
    assert 'pentad_calls_total{outcome="ok",room="pages",tool="GET /api/whoami"} 1.0' in text
