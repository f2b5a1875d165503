"""Unauthenticated callers share one set of limits over gRPC and HTTP."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode

from pentad.access import anonymous
from pentad.http import grpc_port
from pentad.http.grpc_port import PortCredentials
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import RateLimited, Unauthenticated
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.rooms.directory.interface.grpc.site import METHODS, Site, Wire, open_site
from tests.rooms.directory.interface.grpc.test_access import COUNT, EVERYTHING

pytestmark = pytest.mark.anyio

LIMITS = Limits(anonymous_per_second=0.001, anonymous_burst=12, logins_per_second=0.001, logins_burst=3)
WRONG = {
    "a password": "Basic " + base64.b64encode(b"ada:guess").decode(),
    "a key": "Bearer pk_1_2",
    "a token": "Bearer nothing",
    "nothing": "",
}


@pytest.fixture
async def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    monkeypatch.setattr(anonymous, "PAUSE_SECONDS", 0.0)
    async with open_site(tmp_path, auth="required", limits=LIMITS) as opened:
        yield opened


def showing(site: Site, credentials: str) -> Wire:
    return Wire(site.wire.channel, [("authorization", credentials)])


async def codes(wire: Wire, times: int) -> list[str]:
    return [(await wire.refused(COUNT, EVERYTHING)).code.name for _ in range(times)]


async def over_http(site: Site, client: str = "127.0.0.1", **headers: str) -> int:
    answer = send(front_of(site.app), "GET", "/openapi.json", headers, client=client)
    await answer.body()
    return answer.status


@pytest.mark.requirement("access:anonymous:grpc")
async def test_a_flood_without_credentials_is_refused_while_a_known_caller_goes_on(site: Site) -> None:
    known = site.as_role("reader")
    await known.one(COUNT, EVERYTHING)
    assert await codes(site.wire, 10) == ["UNAUTHENTICATED"] * 6 + ["RESOURCE_EXHAUSTED"] * 4
    for _ in range(10):
        await known.one(COUNT, EVERYTHING)


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.requirement("access:anonymous:grpc")
async def test_a_flood_of_wrong_credentials_is_refused_while_a_known_caller_goes_on(site: Site, wrong: str) -> None:
    known = site.as_role("reader")
    await known.one(COUNT, EVERYTHING)
    assert await codes(showing(site, wrong), 8) == ["UNAUTHENTICATED"] * 3 + ["RESOURCE_EXHAUSTED"] * 5
    for _ in range(10):
        await known.one(COUNT, EVERYTHING)


@pytest.mark.requirement("access:anonymous:grpc")
async def test_right_credentials_cost_no_attempt(site: Site) -> None:
    for number in range(10):
        key = (await site.app.api_keys.create(f"key {number}", scopes=["directory:read"])).token
        await showing(site, f"Bearer {key}").one(COUNT, EVERYTHING)
    assert await codes(showing(site, "Bearer nothing"), 4) == ["UNAUTHENTICATED"] * 3 + ["RESOURCE_EXHAUSTED"]


@pytest.mark.requirement("access:anonymous:grpc")
async def test_a_refusal_says_what_to_do_and_when_to_come_back(site: Site) -> None:
    await codes(site.wire, 6)
    call = site.wire.start(COUNT, EVERYTHING)
    assert await call.code() is StatusCode.RESOURCE_EXHAUSTED
    said = await call.details()
    assert said.startswith("rate limit exceeded: Too many requests without credentials from this address. Sign in")
    trailers = dict(await call.trailing_metadata())
    assert int(trailers["retry-after"]) >= 1


@pytest.mark.requirement("access:anonymous:grpc")
async def test_what_was_spent_over_grpc_is_spent_over_http(site: Site) -> None:
    assert await over_http(site) == 200
    await codes(site.wire, 7)
    assert await over_http(site) == 429
    assert await over_http(site, client="192.0.2.9") == 200, "another address has its own"


@pytest.mark.requirement("access:anonymous:grpc")
async def test_what_was_spent_over_http_is_spent_over_grpc(site: Site) -> None:
    assert [await over_http(site, authorization="Bearer nothing") for _ in range(4)] == [401, 401, 401, 429]
    assert await codes(showing(site, "Bearer nothing"), 1) == ["RESOURCE_EXHAUSTED"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("2001:db8::1", "2001:db8::ffff:2"), ("192.0.2.7", "::ffff:192.0.2.7"), (None, None)],
    ids=["one /64", "IPv4 within IPv6", "a Unix socket"],
)
@pytest.mark.requirement("access:anonymous:grpc")
async def test_addresses_are_counted_as_http_counts_them(site: Site, first: str | None, second: str | None) -> None:
    reception = PortCredentials(site.app)
    for _ in range(6):
        with pytest.raises(Unauthenticated):
            await reception.principal(None, first)
    with pytest.raises(RateLimited):
        await reception.principal(None, second)
    with pytest.raises(Unauthenticated):
        await reception.principal(None, "2001:db8:0:1::1")


@pytest.mark.requirement("access:anonymous:grpc")
async def test_attempts_refused_unread_are_told_of_and_others_are_not_in_the_trail(site: Site) -> None:
    await codes(showing(site, "Bearer nothing"), 5)
    await codes(site.wire, 8)
    await site.app.authenticator.close()
    await site.app.audit.flush()
    entries = await site.app.audit.recent()
    assert {(entry.tool, entry.transport, entry.address) for entry in entries} == {("login", "grpc", "127.0.0.1")}
    assert sum(entry.times for entry in entries if entry.reason == "throttled") == 2


@pytest.mark.requirement("access:anonymous:grpc")
async def test_only_so_many_refused_calls_wait_at_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them holds one of the server's places for calls."""
    monkeypatch.setattr(anonymous, "PAUSE_SECONDS", 3600.0)
    monkeypatch.setattr(grpc_port, "PAUSES_MOST", 2)
    reception = PortCredentials(site.app)
    site.app.anonymous.is_too_fast("127.0.0.1")

    async def ask() -> None:
        with pytest.raises((Unauthenticated, RateLimited)):
            await reception.principal(None, "127.0.0.1")

    asked = [asyncio.create_task(ask()) for _ in range(20)]
    async with asyncio.timeout(60):
        while sum(one.done() for one in asked) < 18:
            await asyncio.sleep(0)
    waiting = [one for one in asked if not one.done()]
    assert len(waiting) == 2
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    again = asyncio.create_task(ask())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not again.done(), "who gives up leaves the place to the next"
    again.cancel()


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.requirement("access:anonymous:grpc")
async def test_a_stranger_is_refused_before_he_has_sent_anything(site: Site, name: str) -> None:
    """Otherwise a thousand calls whose request never comes would take all the places there are."""
    method = METHODS[name]
    path = f"/{method.containing_service.full_name}/{method.name}"
    async with asyncio.timeout(60):
        call: Any = site.wire.channel.stream_stream(path)()
        assert await call.code() is StatusCode.UNAUTHENTICATED


@pytest.mark.requirement("access:anonymous:grpc")
async def test_a_call_that_ends_without_its_request_is_told_so(site: Site) -> None:
    path = "/agntcy.dir.search.v1.SearchService/CountRecords"
    call: Any = site.wire.channel.stream_unary(path)(iter(()), metadata=site.as_role("reader").metadata, timeout=20)
    assert (await call.code(), await call.details()) == (StatusCode.INVALID_ARGUMENT, "the call has no request")
