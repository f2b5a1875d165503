"""Host and Origin, on every route: whether a request may be for us at all, and whether a page may send it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.gateway.front import Front
from pentad.gateway.guards import HostGuard
from tests.behaviour.http_wire import send

ROUTES = [
    ("POST", "/mcp"), ("POST", "/mcp/"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("POST", "/rooms/lab/mcp"),
    ("GET", "/"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics"), ("GET", "/openapi.json"),
    ("GET", "/llms.txt"), ("GET", "/.well-known/oauth-protected-resource"), ("GET", "/api/whoami"), ("GET", "/nowhere"),
    ("OPTIONS", "/mcp"),
]  # fmt: skip
FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:8700",
    "localhost.evil.example",
    "localhost@evil.example",
    "",
    "10.0.0.9",
]
FOREIGN_ORIGINS = [
    "http://evil.example",
    "https://localhost.evil.example",
    "null",
    "",
    "file://",
    "http://",
    "localhost",
]
OUR_HOSTS = ["localhost", "localhost:8700", "127.0.0.1:1", "[::1]:8700", "LOCALHOST:8700", " localhost:8700 "]
OUR_ORIGINS = [
    "http://localhost:8700",
    "https://localhost",
    "http://127.0.0.1:3000",
    "http://[::1]",
    " http://localhost ",
]


@pytest.mark.anyio
@pytest.mark.parametrize(("verb", "path"), ROUTES)
@pytest.mark.parametrize("host", FOREIGN_HOSTS)
@pytest.mark.requirement("access:guards:host")
async def test_a_foreign_host_is_misdirected_on_every_route(site: Front, verb: str, path: str, host: str) -> None:
    answer = send(site, verb, path, {"host": host})
    body = await answer.json()
    assert answer.status == 421
    assert body["error"]["code"] == "misdirected"


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
@pytest.mark.parametrize("host", OUR_HOSTS)
@pytest.mark.parametrize("origin", [None, *OUR_ORIGINS])
@pytest.mark.requirement("access:guards:host", "access:guards:origin", "access:headers:whitespace")
async def test_our_own_names_are_welcome(site: Front, host: str, origin: str | None) -> None:
    headers = {"host": host, **({"origin": origin} if origin else {})}
    answer = send(site, "GET", "/healthz", headers)
    await answer.body()
    assert answer.status == 200
    assert answer.headers.get("access-control-allow-origin") == origin


@pytest.mark.anyio
@pytest.mark.requirement("access:guards:host")
async def test_a_request_without_a_host_is_misdirected(site: Front) -> None:
    answer = send(site, "GET", "/healthz", [("host", "")])
    await answer.body()
    assert answer.status == 421


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/mcp", "/api/whoami", "/nowhere"])
@pytest.mark.requirement("access:guards:cors")
async def test_a_page_of_ours_may_ask_first(site: Front, path: str) -> None:
    headers = {
        "origin": "http://localhost:3000",
        "access-control-request-method": "POST",
        "access-control-request-headers": "mcp-session-id",
    }
    answer = send(site, "OPTIONS", path, headers)
    assert await answer.body() == b""
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"
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
    answer = send(site, "POST", "/mcp", {"origin": "http://localhost", "content-type": "application/json"}, body)
    await answer.body()
    assert "mcp-session-id" in answer.headers["access-control-expose-headers"]
    lost = send(site, "GET", "/nowhere", {"origin": "http://localhost"})
    await lost.body()
    assert lost.headers["access-control-allow-origin"] == "http://localhost"


@pytest.mark.requirement("access:guards:settings")
def test_further_names_and_origins_come_from_the_settings() -> None:
    guard = HostGuard(
        "192.0.2.7",
        public_url="https://pentad.example:8443/base",
        hosts=["Proxy.Example"],
        origins=["https://console.example/"],
    )
    for host in (b"192.0.2.7:8700", b"pentad.example", b"pentad.example:443", b"proxy.example", b"localhost"):
        assert guard.host_is_ours(host)
    assert not guard.host_is_ours(b"console.example")
    assert guard.origin_is_ours(b"https://console.example")
    assert not guard.origin_is_ours(b"http://console.example"), "another scheme is another origin"
    assert guard.origin_is_ours(b"https://pentad.example:8443")


@pytest.mark.requirement("access:guards:settings")
def test_bound_to_every_address_any_literal_address_is_ours_but_no_foreign_name() -> None:
    guard = HostGuard("0.0.0.0", public_url=None)
    assert guard.host_is_ours(b"10.1.2.3:8700")
    assert guard.host_is_ours(b"[2001:db8::1]")
    assert not guard.host_is_ours(b"evil.example")
    bound = HostGuard("127.0.0.1", public_url=None)
    assert not bound.host_is_ours(b"10.1.2.3:8700")


_GUARD = HostGuard("127.0.0.1", public_url=None)


@given(st.binary(max_size=60))
@pytest.mark.requirement("access:guards:host", "access:guards:origin")
def test_no_bytes_upset_the_guard_and_verdicts_do_not_change(header: bytes) -> None:
    assert _GUARD.host_is_ours(header) == _GUARD.host_is_ours(header)
    assert _GUARD.origin_is_ours(header) == _GUARD.origin_is_ours(header)


@given(st.from_regex(rb"[a-z0-9.@:\[\]/#?-]{1,40}", fullmatch=True))
@pytest.mark.requirement("access:guards:host")
def test_a_host_that_is_ours_names_this_machine(header: bytes) -> None:
    if _GUARD.host_is_ours(header):
        name = header.decode().rsplit(":", 1)[0] if not header.endswith(b"]") else header.decode()
        assert name.strip("[]") in ("localhost", "127.0.0.1", "::1")
