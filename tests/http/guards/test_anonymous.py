"""Callers without credentials: their limits of rate and concurrency, and that others do not suffer from them."""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from pentad.access import anonymous
from pentad.access.anonymous import SlotQueue
from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.http.guards.anonymous import releasing
from pentad.kernel.default_limits import Limits
from pentad.settings.model import Settings
from tests.behaviour.clocks import TurnedClock
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.http.conftest import HALL, PAGES

pytestmark = pytest.mark.anyio

LIMITS = Limits(anonymous_per_second=1, anonymous_burst=4, logins_per_second=1, logins_burst=3, calls_per_second=0)


@dataclass(frozen=True)
class Server:
    app: App
    front: Front
    clock: TurnedClock
    key: str

    async def ask(self, path: str, verb: str = "GET", address: str = "192.0.2.1", **headers: str) -> HttpAnswer:
        """One request from an address, read completely."""

        async def from_there(scope: Any, receive: Any, send: Any) -> None:
            await self.front({**scope, "client": (address, 4000)}, receive, send)

        reply = send(from_there, verb, path, {name.replace("_", "-"): value for name, value in headers.items()})
        await reply.body()
        return reply

    async def statuses(self, times: int, path: str, verb: str = "GET", **headers: str) -> list[int]:
        return [(await self.ask(path, verb, **headers)).status for _ in range(times)]


@pytest.fixture
async def server(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    monkeypatch.setattr(anonymous, "PAUSE_SECONDS", 0.0)
    clock = TurnedClock()
    settings = Settings(data=tmp_path_factory.mktemp("strangers"), rooms=(LAB, PAGES, HALL), limits=LIMITS)
    async with open_app(settings, clock=clock) as app:
        key = (await app.api_keys.create("one", scopes=["*:read"])).token
        yield Server(app, front_of(app), clock, f"Bearer {key}")


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"ada:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("path", "verb", "answer"),
    [
        ("/openapi.json", "GET", 200),
        ("/metrics", "GET", 200),
        ("/hall/card", "GET", 200),
        ("/api/whoami", "GET", 200),
        ("/console/style.css", "GET", 200),
    ],
)
@pytest.mark.requirement("access:anonymous:rate")
async def test_an_address_without_credentials_has_a_rate_and_is_told_when_to_come_back(
    server: Server, path: str, verb: str, answer: int
) -> None:
    assert await server.statuses(6, path, verb) == [answer] * 4 + [429] * 2
    refused = await server.ask(path, verb)
    assert int(refused.headers["retry-after"]) >= 1
    assert (await server.ask(path, verb, address="192.0.2.2")).status == answer, "the rate is an address's own"
    server.clock.pass_seconds(2)
    assert await server.statuses(3, path, verb) == [answer] * 2 + [429]


@pytest.mark.parametrize(("path", "verb"), [("/mcp", "POST"), ("/rooms/lab/mcp", "POST"), ("/hall", "GET")])
@pytest.mark.requirement("access:anonymous:rate")
async def test_asking_again_and_again_without_credentials_is_refused_sooner(
    server: Server, path: str, verb: str
) -> None:
    assert await server.statuses(3, path, verb) == [401, 401, 429]


ROOMS = {
    "OpenRegister's MCP": ("/api/mcp", "POST", 401),
    "a room's MCP": ("/rooms/registers/mcp", "POST", 401),
    "registers": ("/api/registers", "GET", 401),
    "objects": ("/api/objects/1/1", "GET", 401),
    "agents": ("/agents/echo", "POST", 401),
    "agents by A2A": ("/a2a", "POST", 401),
    "agents by AgentVault": ("/av", "POST", 401),
    "cards": ("/api/v1/agent-cards", "GET", 200),
    "a card to check": ("/api/v1/utils/validate-card", "POST", 422),
    "the site's card": ("/.well-known/agent-card.json", "GET", 200),
    "an agent's card": ("/agents/echo/.well-known/agent-card.json", "GET", 200),
    "the keys of cards": ("/.well-known/jwks.json", "GET", 200),
    "pages": ("/console/agents", "GET", 401),
}
"""What a stranger may ask the rooms, and the answer until there were too many."""


@pytest.mark.requirement("access:anonymous:rate")
async def test_the_rate_of_an_address_holds_for_every_way_into_the_rooms(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anonymous, "PAUSE_SECONDS", 0.0)
    clock = TurnedClock()
    settings = Settings(data=tmp_path_factory.mktemp("rooms"), rooms=("registers", "agents"), limits=LIMITS)
    async with open_app(settings, clock=clock) as app:
        server, seen = Server(app, front_of(app), clock, ""), {}
        for number, (way, (path, verb, _)) in enumerate(ROOMS.items()):
            address = f"192.0.2.{number + 10}"
            statuses = [(await server.ask(path, verb, address)).status for _ in range(6)]
            assert set(statuses[:2]) != {429}, way
            assert statuses[4:] == [429, 429], way
            seen[way] = (path, verb, statuses[0])
    assert seen == ROOMS


@pytest.mark.requirement("access:anonymous:rate")
async def test_callers_with_credentials_are_not_held_up_by_strangers_at_their_address(server: Server) -> None:
    assert (await server.statuses(5, "/api/whoami"))[-1] == 429
    assert await server.statuses(20, "/api/whoami", authorization=server.key) == [200] * 20
    server.clock.pass_seconds(6)
    assert (await server.statuses(11, "/api/whoami"))[-1] == 429
    assert (await server.ask("/api/whoami", authorization=server.key)).status == 200, "also when verified anew"


@pytest.mark.parametrize("wrong", [basic("guess"), "Bearer nothing", "Bearer pk_1_2", ""])
@pytest.mark.requirement("access:anonymous:logins")
async def test_an_address_may_try_only_so_many_credentials(server: Server, wrong: str) -> None:
    for path, verb in (("/mcp", "POST"), ("/api/whoami", "GET"), ("/hall", "GET")):
        server.clock.pass_seconds(100)
        assert await server.statuses(4, path, verb, authorization=wrong) == [401, 401, 401, 429]
    assert (await server.ask("/mcp", "POST", address="192.0.2.2", authorization=wrong)).status == 401


@pytest.mark.requirement("access:anonymous:logins")
async def test_right_credentials_cost_no_attempt(server: Server) -> None:
    await server.app.users.add("ada", "correct horse battery", role="reader")
    keys = [(await server.app.api_keys.create(f"key {n}", scopes=["*:read"])).token for n in range(6)]
    for key in keys:
        assert (await server.ask("/api/whoami", authorization=f"Bearer {key}")).status == 200
    assert (await server.ask("/api/whoami", authorization=basic("correct horse battery"))).status == 200
    assert await server.statuses(4, "/mcp", "POST", authorization="Bearer nothing") == [401, 401, 401, 429]
    assert (await server.ask("/api/whoami", authorization=f"Bearer {keys[0]}")).status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.requirement("access:anonymous:probes")
async def test_a_probe_is_never_refused_for_what_comes_from_its_address(server: Server, path: str) -> None:
    assert (await server.statuses(5, "/api/whoami"))[-1] == 429
    assert await server.statuses(10, path) == [200] * 10


@pytest.mark.requirement("access:anonymous:rate")
async def test_who_is_refused_has_to_wait_for_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(anonymous, "PAUSE_SECONDS", 0.2)
    monkeypatch.setattr(anonymous.asyncio, "sleep", note)
    assert await server.statuses(5, "/api/whoami") == [200] * 4 + [429]
    assert len(waited) == 1
    assert 0.2 <= waited[0] <= 0.4


@pytest.mark.requirement("access:anonymous:body")
async def test_a_body_without_credentials_is_small(tmp_path_factory: pytest.TempPathFactory) -> None:
    limits = Limits(anonymous_body_bytes=100)
    settings = Settings(data=tmp_path_factory.mktemp("bodies"), rooms=(PAGES,), limits=limits)
    async with open_app(settings) as app:
        key = (await app.api_keys.create("one", scopes=["*:read"])).token
        headers = {"content-type": "application/json", "content-length": "101"}
        large = send(front_of(app), "POST", "/api/notes", headers, b" " * 101)
        assert "sign in" in (await large.json())["error"]["hint"]
        assert large.status == 413
        known = send(front_of(app), "POST", "/api/notes", {**headers, "x-api-key": key}, b" " * 101)
        assert await known.json() == {"received": 101}


@pytest.mark.requirement("access:anonymous:turns")
async def test_an_answer_that_has_begun_takes_no_place(server: Server) -> None:
    slots = SlotQueue(1)
    slot = await slots.take()

    async def slow_reader(_message: Any) -> None:
        await asyncio.Event().wait()

    sending = asyncio.ensure_future(releasing(slot, slow_reader)({"type": "http.response.start"}))
    async with asyncio.timeout(60):
        await slots.take()
    sending.cancel()
