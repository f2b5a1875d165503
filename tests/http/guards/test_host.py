"""Host, on every route: whether a request is meant for this server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.http.front import Front
from pentad.http.guards.request_checks import AmbiguousRequest, HostGuard, MisdirectedRequest
from tests.behaviour.http_wire import send
from tests.http.guards.routes import ROUTES
from tests.net.raw_http import running

FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:8700",
    "localhost.evil.example",
    "localhost@evil.example",
    "",
    "10.0.0.9",
]
OUR_HOSTS = ["localhost", "localhost:8700", "127.0.0.1:1", "[::1]:8700", "LOCALHOST:8700", " localhost:8700 "]


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
@pytest.mark.parametrize("host", OUR_HOSTS)
@pytest.mark.requirement("access:guards:host", "access:headers:whitespace")
async def test_our_own_names_are_welcome(site: Front, host: str) -> None:
    answer = send(site, "GET", "/healthz", {"host": host})
    await answer.body()
    assert answer.status == 200


@pytest.mark.anyio
@pytest.mark.requirement("access:guards:host")
async def test_a_request_without_a_host_is_misdirected(site: Front) -> None:
    answer = send(site, "GET", "/healthz", [("host", "")])
    await answer.body()
    assert answer.status == 421


@pytest.mark.anyio
@pytest.mark.parametrize(("verb", "path"), ROUTES)
@pytest.mark.parametrize("hosts", [("localhost:8700", "localhost:8700"), ("localhost", "evil.example")])
@pytest.mark.requirement("access:guards:said-once")
async def test_a_second_host_is_a_bad_request(site: Front, verb: str, path: str, hosts: tuple[str, str]) -> None:
    answer = send(site, verb, path, [("host", host) for host in hosts])
    told = await answer.json()
    assert answer.status == 400
    assert told["error"]["code"] == "ambiguous_request"


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["authorization", "x-api-key", "origin", "content-type", "content-encoding"])
@pytest.mark.requirement("access:guards:said-once")
async def test_what_has_one_meaning_is_said_once(site: Front, name: str) -> None:
    answer = send(site, "POST", "/mcp", [(name, "one"), (name, "two")], b"{}")
    told = await answer.json()
    assert answer.status == 400
    assert name in told["error"]["message"]
    same = send(site, "GET", "/healthz", [("x-api-key", "one"), ("x-api-key", "one")])
    await same.body()
    assert same.status == 200


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://localhost:8700/healthz", "localhost:8700", 200),
        ("HTTP://LOCALHOST:8700/healthz", "localhost:8700", 200),
        ("http://evil.example/healthz", "localhost:8700", 421),
        ("http://evil.example/healthz", "evil.example", 421),
        ("http://localhost@evil.example/healthz", "localhost", 421),
        ("http://evil.example", "localhost", 421),
        ("ftp://localhost/healthz", "localhost", 421),
        ("http://127.0.0.1:8700/healthz", "localhost:8700", 400),
        ("/healthz", "localhost:8700", 200),
    ],
)
@pytest.mark.requirement("access:guards:absolute-form")
async def test_a_url_on_the_request_line_names_this_server_as_the_host_does(
    site: Front, target: str, host: str, status: int
) -> None:
    async with running(site) as server:
        peer = await server.connect(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert (await peer.rest())[9:12] == str(status).encode()


@pytest.mark.requirement("access:guards:absolute-form")
def test_a_target_is_judged_like_a_host_and_must_agree_with_it() -> None:
    guard = HostGuard("127.0.0.1", public_url=None)
    guard.check({b"host": b"localhost:8700"}, b"http://localhost:8700?x")
    with pytest.raises(MisdirectedRequest):
        guard.check({b"host": b"localhost:8700"}, b"http://evil.example/")
    with pytest.raises(AmbiguousRequest):
        guard.check({b"host": b"localhost:8700"}, b"http://localhost/")


@pytest.mark.requirement("access:guards:settings")
def test_further_names_come_from_the_settings() -> None:
    guard = HostGuard("192.0.2.7", public_url="https://pentad.example:8443/base", hosts=["Proxy.Example"])
    for host in (b"192.0.2.7:8700", b"pentad.example", b"pentad.example:443", b"proxy.example", b"localhost"):
        assert guard.is_ours(host)
    assert not guard.is_ours(b"console.example")


@pytest.mark.requirement("access:guards:settings")
def test_bound_to_every_address_any_literal_address_is_ours_but_no_foreign_name() -> None:
    guard = HostGuard("0.0.0.0", public_url=None)
    assert guard.is_ours(b"10.1.2.3:8700")
    assert guard.is_ours(b"[2001:db8::1]")
    assert not guard.is_ours(b"evil.example")
    bound = HostGuard("127.0.0.1", public_url=None)
    assert not bound.is_ours(b"10.1.2.3:8700")


_GUARD = HostGuard("127.0.0.1", public_url=None)


@given(st.binary(max_size=60))
@pytest.mark.requirement("access:guards:host")
def test_no_bytes_upset_the_guard_and_verdicts_do_not_change(header: bytes) -> None:
    assert _GUARD.is_ours(header) == _GUARD.is_ours(header)


@given(st.from_regex(rb"[a-z0-9.@:\[\]/#?-]{1,40}", fullmatch=True))
@pytest.mark.requirement("access:guards:host")
def test_a_host_that_is_ours_names_this_machine(header: bytes) -> None:
    if _GUARD.is_ours(header):
        name = header.decode().rsplit(":", 1)[0] if not header.endswith(b"]") else header.decode()
        assert name.strip("[]") in ("localhost", "127.0.0.1", "::1")
