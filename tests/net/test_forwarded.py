"""Clients behind proxies: whose word counts, how far, and what is counted by the address that comes of it."""

import asyncio
from typing import Any

import pytest

from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Misconfigured
from pentad.net.connection_guard import ConnectionGuard
from pentad.net.forwarded import BehindProxies, TrustedProxies
from tests.net.raw_http import answer, running

PROXIES = TrustedProxies(["10.0.0.0/24", "192.0.2.9", "2001:db8:1::/48"])
SPOKEN = TrustedProxies(["10.0.0.0/24"], "forwarded")


def behind(proxies: TrustedProxies, peer: str, *headers: tuple[str, str]) -> tuple[str, str | None]:
    return proxies.client(peer, [(name.encode(), value.encode()) for name, value in headers])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.5", ["198.51.100.1"], "203.0.113.5"),
        ("10.0.0.7", [], "10.0.0.7"),
        ("10.0.0.7", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7", ["198.51.100.1, 203.0.113.5"], "203.0.113.5"),
        ("10.0.0.7", ["198.51.100.1, 203.0.113.5, 192.0.2.9"], "203.0.113.5"),
        ("10.0.0.7", ["198.51.100.1", "203.0.113.5, 10.0.0.8"], "203.0.113.5"),
        ("10.0.0.7", ["10.0.0.8, 192.0.2.9"], "10.0.0.8"),
        ("10.0.0.7", ["203.0.113.5:4711"], "203.0.113.5"),
        ("10.0.0.7", ["[2001:db8::5]:4711"], "2001:db8::5"),
        ("10.0.0.7", ["2001:db8::5"], "2001:db8::5"),
        ("10.0.0.7", ["198.51.100.1, unknown"], "10.0.0.7"),
        ("10.0.0.7", ["198.51.100.1, nonsense, 10.0.0.8"], "10.0.0.8"),
        ("::ffff:10.0.0.7", ["203.0.113.5"], "203.0.113.5"),
        ("2001:db8:1::1", ["::ffff:203.0.113.5"], "203.0.113.5"),
    ],
)
@pytest.mark.requirement("net:proxies:address")
def test_the_client_is_the_last_address_that_is_no_trusted_proxy(peer: str, forwarded: list[str], client: str) -> None:
    assert behind(PROXIES, peer, *(("x-forwarded-for", value) for value in forwarded))[0] == client


@pytest.mark.parametrize(
    ("value", "client", "scheme"),
    [
        ("for=203.0.113.5", "203.0.113.5", None),
        ('for=198.51.100.1, For="[2001:db8::5]:4711";Proto=HTTPS', "2001:db8::5", "https"),
        ("for=203.0.113.5;proto=https, for=10.0.0.8;proto=http", "203.0.113.5", "http"),
        ("for=_hidden;proto=https", "10.0.0.7", "https"),
        ("proto=gopher;by=10.0.0.7", "10.0.0.7", None),
        ('for="', "10.0.0.7", None),
    ],
)
@pytest.mark.requirement("net:proxies:address")
def test_the_standard_header_is_read_where_the_operator_names_it(value: str, client: str, scheme: str | None) -> None:
    assert behind(SPOKEN, "10.0.0.7", ("forwarded", value)) == (client, scheme)


@pytest.mark.requirement("net:proxies:address")
def test_only_the_header_the_proxy_writes_is_read() -> None:
    both = [("x-forwarded-for", "198.51.100.1"), ("forwarded", "for=198.51.100.2")]
    assert behind(PROXIES, "10.0.0.7", *both)[0] == "198.51.100.1"
    assert behind(SPOKEN, "10.0.0.7", *both)[0] == "198.51.100.2"


@pytest.mark.requirement("net:proxies:scheme")
def test_the_scheme_is_the_one_the_nearest_proxy_told() -> None:
    for value, scheme in (("https", "https"), ("http, HTTPS", "https"), ("gopher", None), ("", None)):
        assert behind(PROXIES, "10.0.0.7", ("x-forwarded-proto", value))[1] == scheme
    assert behind(PROXIES, "203.0.113.5", ("x-forwarded-proto", "https"))[1] is None


@pytest.mark.parametrize("wrong", ["*", "proxy.example", "10.0.0.0/99", ""])
@pytest.mark.requirement("net:proxies:settings")
def test_a_proxy_is_an_address_or_a_network(wrong: str) -> None:
    with pytest.raises(Misconfigured, match="forwarded_allow_ips"):
        TrustedProxies([wrong])


async def seen(scope: Any, receive: Any, send: Any) -> None:
    """Says who is there."""
    return await answer(send, 200, f"{scope['client'][0]} {scope['scheme']}\n".encode())


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("trusted", "told"),
    [((), b"\r\n\r\n127.0.0.1 http\n"), (("127.0.0.0/8",), b"\r\n\r\n203.0.113.5 https\n")],
    ids=["no", "yes"],
)
@pytest.mark.requirement("net:proxies:address", "net:proxies:scheme")
async def test_a_server_believes_trusted_proxies_and_nobody_else(trusted: tuple[str, ...], told: bytes) -> None:
    forwarded = b"X-Forwarded-For: 203.0.113.5\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n"
    async with running(seen, proxies=TrustedProxies(trusted)) as server:
        peer = await server.connect(b"GET / HTTP/1.1\r\nHost: x\r\n%b\r\n" % forwarded)
        assert (await peer.rest()).endswith(told)


@pytest.mark.anyio
@pytest.mark.requirement("net:proxies:limits")
async def test_a_proxy_may_hold_many_connections_and_a_client_behind_it_only_its_share() -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %b\r\nConnection: close\r\n\r\n"
    held, release = 0, asyncio.Event()

    async def hold(scope: Any, receive: Any, send: Any) -> None:
        nonlocal held
        if scope["type"] == "http" and scope["client"][0] == "203.0.113.5":
            held += 1
            await release.wait()
        await seen(scope, receive, send)

    async with running(hold, connections_per_address=2, proxies=TrustedProxies(["127.0.0.1"])) as server:
        busy = [await server.connect(request % b"203.0.113.5") for _ in range(2)]
        async with asyncio.timeout(60):
            while held < 2:
                await asyncio.sleep(0)
        third = await server.connect(request % b"203.0.113.5")
        assert (await third.rest()).startswith(b"HTTP/1.1 429 ")
        other = await server.connect(request % b"203.0.113.6")
        assert (await other.rest()).startswith(b"HTTP/1.1 200 ")
        release.set()
        for peer in busy:
            assert (await peer.rest()).startswith(b"HTTP/1.1 200 ")
        again = await server.connect(request % b"203.0.113.5")
        assert (await again.rest()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.anyio
@pytest.mark.requirement("net:proxies:limits")
async def test_a_request_that_fails_gives_its_share_back() -> None:
    guard = ConnectionGuard(Limits(connections_per_address=1), 0.0)

    async def crash(_scope: Any, _receive: Any, _send: Any) -> None:
        raise RuntimeError

    async def nothing(_message: Any = None) -> Any:
        return None

    app = BehindProxies(crash, TrustedProxies(["10.0.0.7"]), guard)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            await app({"type": "http", "client": ("10.0.0.7", 1), "scheme": "http", "headers": []}, nothing, nothing)
