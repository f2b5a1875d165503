"""Origin and Sec-Fetch-Site, on every route: whether the page behind a request may send it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.http.front import Front
from pentad.http.guards.origins import OriginGuard, origin_of
from pentad.kernel.errors import Forbidden
from tests.behaviour.connecting import AppMaker, front_of
from tests.behaviour.http_wire import send
from tests.http.conftest import Closed
from tests.http.guards.routes import ROUTES

HERE = "http://localhost:8700"
FOREIGN_ORIGINS = [
    "http://evil.example",
    "https://localhost.evil.example",
    "null",
    "",
    "file://",
    "http://",
    "localhost",
    "http://localhost",
    "http://localhost:3000",
    "https://localhost:8700",
    "http://127.0.0.1:8700",
    "http://localhost:8700/",
    "http://evil@localhost:8700",
]


@pytest.mark.anyio
@pytest.mark.parametrize(("verb", "path"), ROUTES)
@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
@pytest.mark.requirement("access:guards:origin")
async def test_a_foreign_origin_is_forbidden_on_every_route(site: Front, verb: str, path: str, origin: str) -> None:
    answer = send(site, verb, path, {"origin": origin, "access-control-request-method": "POST"})
    body = await answer.json()
    assert answer.status == 403
    assert body["error"]["code"] == "forbidden"
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8700", HERE),
        ("LOCALHOST:8700", HERE),
        (" localhost:8700 ", f" {HERE} "),
        ("localhost", "http://localhost:80"),
        ("127.0.0.1:1", "http://127.0.0.1:1"),
        ("[::1]:8700", "http://[::1]:8700"),
    ],
)
@pytest.mark.requirement("access:guards:origin", "access:headers:whitespace")
async def test_the_page_may_call_the_server_it_came_from(site: Front, host: str, origin: str) -> None:
    answer = send(site, "GET", "/healthz", {"host": host, "origin": origin})
    await answer.body()
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == origin


@pytest.mark.requirement("access:guards:origin")
def test_bound_to_every_address_no_other_address_is_an_origin_of_ours() -> None:
    guard = OriginGuard(public_url=None)
    assert guard.is_ours(b"http://10.1.2.3:8700", b"10.1.2.3:8700", "http")
    for origin in (b"http://10.1.2.4:8700", b"http://10.1.2.3:3000", b"http://[2001:db8::1]:8700", b"http://10.1.2.3"):
        assert not guard.is_ours(origin, b"10.1.2.3:8700", "http")


@pytest.mark.requirement("access:guards:origin")
def test_behind_a_proxy_the_scheme_the_client_used_counts() -> None:
    guard = OriginGuard(public_url=None)
    assert guard.is_ours(b"https://pentad.example", b"pentad.example", "https")
    assert not guard.is_ours(b"http://pentad.example", b"pentad.example", "https")


@pytest.mark.requirement("access:guards:settings")
def test_further_origins_come_from_the_settings() -> None:
    guard = OriginGuard(public_url="https://pentad.example:8443/base", origins=["https://Console.example/", "null"])
    assert guard.is_ours(b"https://console.example", b"pentad.example", "http")
    assert guard.is_ours(b"https://pentad.example:8443", b"10.0.0.1", "http")
    assert not guard.is_ours(b"http://console.example", b"pentad.example", "http"), "another scheme is another origin"
    assert not guard.is_ours(b"null", b"pentad.example", "http")


@pytest.mark.anyio
@pytest.mark.requirement("access:guards:origin")
async def test_a_refused_origin_is_told_what_to_add_to_the_settings_word_for_word(make_app: AppMaker) -> None:
    inspector = "http://localhost:6274"
    refused = send(front_of(await make_app()), "POST", "/mcp", {"origin": inspector})
    hint = (await refused.json())["error"]["hint"]
    assert f'allowed_origins = ["{inspector}"]' in hint
    assert f"PENTAD_ALLOWED_ORIGINS={inspector}" in hint
    odd = send(front_of(await make_app()), "POST", "/mcp", {"origin": 'http://x"]\x7f'})
    assert '"]' not in (await odd.json())["error"]["hint"]


@pytest.mark.anyio
@pytest.mark.parametrize("site_header", ["cross-site", "same-site", "nonsense"])
@pytest.mark.parametrize("verb", ["GET", "POST", "DELETE", "PUT"])
@pytest.mark.requirement("access:guards:fetch-site")
async def test_what_another_site_has_a_browser_send_with_a_remembered_login_is_forbidden(
    closed: Closed, site_header: str, verb: str
) -> None:
    login = {"host": "pentad.example", "authorization": closed.headers["admin"], "sec-fetch-site": site_header}
    for path in ("/mcp", "/api/whoami", "/", "/nowhere"):
        answer = send(closed.front, verb, path, login)
        assert (await answer.json())["error"]["code"] == "forbidden"
        assert answer.status == 403


@pytest.mark.anyio
@pytest.mark.requirement("access:guards:fetch-site")
async def test_without_logins_at_all_every_request_of_another_site_counts_as_having_one(site: Front) -> None:
    answer = send(site, "GET", "/api/whoami", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"})
    await answer.body()
    assert answer.status == 403


@pytest.mark.anyio
@pytest.mark.parametrize(
    "browser",
    [
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
        {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
    ],
)
@pytest.mark.requirement("access:guards:fetch-site")
async def test_links_bookmarks_and_our_own_pages_lead_here(closed: Closed, browser: dict[str, str]) -> None:
    login = {"host": "pentad.example", "authorization": closed.headers["admin"]}
    answer = send(closed.front, "GET", "/", {**login, **browser})
    await answer.body()
    assert answer.status == 200


@pytest.mark.anyio
@pytest.mark.requirement("access:guards:fetch-site")
async def test_another_site_may_not_show_ours_in_a_frame_but_may_show_what_everybody_may_see(closed: Closed) -> None:
    frame = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    login = {"host": "pentad.example", "authorization": closed.headers["admin"]}
    framed = send(closed.front, "GET", "/", {**login, **frame})
    await framed.body()
    assert framed.status == 403
    image = {"host": "pentad.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    shown = send(closed.front, "GET", "/console/icon.svg", image)
    await shown.body()
    assert shown.status == 200


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/mcp", "/api/whoami", "/nowhere"])
@pytest.mark.requirement("access:guards:cors")
async def test_a_page_of_ours_may_ask_first(site: Front, path: str) -> None:
    headers = {
        "origin": HERE,
        "access-control-request-method": "POST",
        "access-control-request-headers": "mcp-session-id",
    }
    answer = send(site, "OPTIONS", path, headers)
    assert await answer.body() == b""
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == HERE
    assert "access-control-allow-credentials" not in answer.headers
    assert answer.headers["vary"] == "origin"
    assert "POST" in answer.headers["access-control-allow-methods"]
    allowed = answer.headers["access-control-allow-headers"]
    for name in ("authorization", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"):
        assert name in allowed


@pytest.mark.anyio
@pytest.mark.requirement("access:guards:cors")
async def test_a_page_of_ours_may_read_the_session_id_and_every_error(site: Front) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    answer = send(site, "POST", "/mcp", {"origin": HERE, "content-type": "application/json"}, body)
    await answer.body()
    assert "mcp-session-id" in answer.headers["access-control-expose-headers"]
    lost = send(site, "GET", "/nowhere", {"origin": HERE})
    await lost.body()
    assert lost.headers["access-control-allow-origin"] == HERE


SHARED = OriginGuard(public_url=None, shared=["/api/mcp"])
EVIL = b"https://evil.example"


def verdict(guard: OriginGuard, method: str, path: str = "/api/mcp", **headers: str) -> str:
    scope: dict[str, Any] = {"method": method, "path": path, "scheme": "http"}
    sent = {b"host": b"localhost"} | {
        name.replace("_", "-").encode(): value.encode() for name, value in headers.items()
    }
    try:
        guard.check(scope, sent, sent.get(b"origin", EVIL))
    except Forbidden:
        return "refused"
    return "passed"


@pytest.mark.requirement("access:guards:shared-paths")
def test_shared_paths_are_open_to_foreign_pages_only_with_credentials_the_page_itself_added() -> None:
    basic, bearer = "Basic YTpi", "Bearer x"
    assert verdict(SHARED, "GET") == "passed"
    assert verdict(SHARED, "GET", authorization=bearer) == "passed"
    assert verdict(SHARED, "GET", authorization=basic) == "refused", (
        "a browser adds a login it remembers to a plain GET"
    )
    assert verdict(SHARED, "HEAD", authorization=" basic YTpi") == "refused"
    assert verdict(SHARED, "POST", content_type="application/json", authorization=basic) == "passed"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain; x=json", ""):
        assert verdict(SHARED, "POST", content_type=kind, authorization=basic) == "refused"
    assert verdict(SHARED, "POST") == "refused"
    assert verdict(SHARED, "GET", origin="null") == "refused"
    assert verdict(SHARED, "GET", "/api/objects") == "refused"
    open_to_all = OriginGuard(public_url=None, shared=["/api/mcp"], always_trusted=True)
    assert verdict(open_to_all, "GET") == "refused"


@given(st.binary(max_size=60), st.binary(max_size=40))
@pytest.mark.requirement("access:guards:origin")
def test_no_bytes_upset_the_guard_and_only_a_whole_origin_is_ours(origin: bytes, host: bytes) -> None:
    if SHARED.is_ours(origin, host, "http"):
        assert origin_of(origin.strip(b" \t").decode("latin-1")) is not None
    assert SHARED.is_ours(origin, host, "http") == SHARED.is_ours(origin, host, "http")
