"""Failed logins on every HTTP path: counted by name and address, reported to the operator, and never a lock-out."""

import base64
import json
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pentad.access import passwords
from pentad.access.failed_logins import PAIR_ALLOWED
from pentad.access.passwords import HashCost
from pentad.access.tokens import TokenVerifier
from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Unavailable
from pentad.logs import JsonLines
from pentad.settings.model import Settings, TokenSettings
from tests.access.issuer_server import IssuerServer, issuer_server
from tests.access.issuing import AUDIENCE, RSA, claims, key_set, signed
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.http.conftest import UNHURRIED

pytestmark = pytest.mark.anyio

ROOMS = (LAB, "tests.http.room:ROOM", "tests.http.mount_room:ROOM")
PASSWORD = "correct horse battery"
ATTACKER, HOME = "192.0.2.66", "198.51.100.7"
PATHS = {
    "an MCP endpoint": ("POST", "/mcp"),
    "a room's endpoint": ("POST", "/rooms/lab/mcp"),
    "a REST route": ("GET", "/api/whoami"),
    "an application": ("POST", "/hall/knock"),
    "the console": ("GET", "/"),
}


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


async def ask(front: Front, path: str, authorization: str, client: str) -> HttpAnswer:
    verb, target = PATHS[path]
    sent = {"authorization": authorization, "content-type": "application/json"}
    answer = send(front, verb, target, sent, b"{}" if verb == "POST" else b"", client)
    await answer.body()
    return answer


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests guess a hundred times; the cost of one guess is tested elsewhere."""
    monkeypatch.setattr(passwords, "HashCost", partial(HashCost, memory_kib=8, passes=1))


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_app(Settings(data=tmp_path, rooms=ROOMS, limits=UNHURRIED)) as opened:
        await opened.users.add("ada", PASSWORD, role="reader")
        yield opened


async def trail(app: App) -> list[tuple[str, str, int]]:
    await app.audit.flush()
    entries = await app.audit.recent(tool="login", outcome="unauthenticated")
    assert {entry.principal for entry in entries} <= {"anonymous"}
    return [(entry.login, entry.address, entry.times) for entry in reversed(entries)]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.requirement("access:failed-logins:no-lockout")
async def test_an_attacker_locks_himself_out_and_nobody_else(app: App, path: str) -> None:
    front = front_of(app)
    for number in range(PAIR_ALLOWED):
        assert (await ask(front, path, basic("ada", f"guess {number}"), ATTACKER)).status == 401
    closed = await ask(front, path, basic("ada", "one more guess"), ATTACKER)
    assert closed.status == 429
    assert int(closed.headers["retry-after"]) > 0
    assert (await ask(front, path, basic("ada", PASSWORD), HOME)).status not in (401, 429)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.requirement("access:failed-logins:guesses")
async def test_a_login_remembered_elsewhere_does_not_tell_a_guesser_the_password(app: App, path: str) -> None:
    """While the user works, an attacker who has used up his attempts gets one answer for right and wrong guesses."""
    front = front_of(app)
    for number in range(PAIR_ALLOWED):
        assert (await ask(front, path, basic("ada", f"guess {number}"), ATTACKER)).status == 401
    assert (await ask(front, path, basic("ada", PASSWORD), HOME)).status not in (401, 429)
    assert [(await ask(front, path, basic("ada", word), ATTACKER)).status for word in ("wrong", PASSWORD)] == [429, 429]
    assert (await ask(front, path, basic("ada", PASSWORD), HOME)).status not in (401, 429)


@pytest.mark.requirement("access:failed-logins:guesses")
async def test_an_address_without_attempts_left_cannot_tell_a_right_password(tmp_path: Path) -> None:
    limits = Limits(anonymous_per_second=0, logins_per_second=0.001, logins_burst=2)
    async with open_app(Settings(data=tmp_path, rooms=ROOMS, limits=limits)) as app:
        await app.users.add("ada", PASSWORD, role="reader")
        key = (await app.api_keys.create("laptop")).token
        front = front_of(app)
        assert (await ask(front, "a REST route", basic("ada", PASSWORD), HOME)).status == 200
        for number in range(2):
            await ask(front, "a REST route", basic("ada", f"guess {number}"), ATTACKER)
        told: set[str] = set()
        for word in ("wrong", PASSWORD):
            header = {"authorization": basic("ada", word)}
            answer = send(front, "GET", "/api/whoami", header, client=ATTACKER)
            error = (await answer.json())["error"]
            told.add(f"{answer.status} {error['code']} {error['message']}")
        assert len(told) == 1, told
        assert (await ask(front, "a REST route", f"Bearer {key}", HOME)).status == 200
        assert (await ask(front, "a REST route", f"Bearer {key}", ATTACKER)).status == 200, "a key is no guess"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.requirement("access:failed-logins:told")
async def test_each_failed_login_is_in_the_log_and_in_the_trail(
    app: App, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    key = (await app.api_keys.create("laptop")).token
    wrong_key = key[:-4] + ("aaaa" if key[-4:] != "aaaa" else "bbbb")
    headers = {
        basic("ada", "canary-guess"): "user ada",
        basic("nobody", "canary-guess"): "user nobody",
        f"Bearer {wrong_key}": f"key {key.split('_')[1][:8]}...",
        "Bearer canary.canary.canary": "token",
        "Basic canary!": "unreadable credentials",
    }
    with caplog.at_level(logging.WARNING):
        for header in headers:
            answer = await ask(front_of(app), path, header, ATTACKER)
            assert answer.status == 401
    assert await trail(app) == [(login, ATTACKER, 1) for login in headers.values()]
    lines = [json.loads(JsonLines().format(one)) for one in caplog.records if "login failed" in one.getMessage()]
    assert [(line["login"], line["address"]) for line in lines] == [(login, ATTACKER) for login in headers.values()]
    assert [line["reason"] for line in lines] == ["password", "password", "key", "no_issuer", "malformed"]
    shown = json.dumps(lines)
    assert "canary" not in shown
    assert wrong_key.split("_")[2] not in shown


@pytest.mark.requirement("access:failed-logins:told")
async def test_who_is_refused_gets_the_incident_the_log_has(app: App, caplog: pytest.LogCaptureFixture) -> None:
    answer = send(front_of(app), "GET", "/api/whoami", {"authorization": basic("ada", "wrong")}, client=ATTACKER)
    incident = (await answer.json())["error"]["details"]["incident"]
    assert [vars(one)["incident"] for one in caplog.records if hasattr(one, "incident")] == [incident]


@pytest.mark.requirement("access:401:same-words")
async def test_the_answer_does_not_tell_what_was_wrong(app: App) -> None:
    bodies = set[str]()
    for header in (basic("ada", "wrong"), basic("nobody", "wrong"), "Bearer pentad_x", "Bearer a.b.c", "Digest x"):
        body = await send(front_of(app), "GET", "/api/whoami", {"authorization": header}, client=ATTACKER).json()
        incident = body["error"]["details"].pop("incident")
        bodies.add(json.dumps(body).replace(incident, "..."))
    assert len(bodies) == 1


@pytest.mark.requirement("access:failed-logins:bounded")
async def test_a_flood_of_failures_is_a_few_entries(app: App) -> None:
    for number in range(300):
        await ask(front_of(app), "a REST route", f"Bearer nonsense{number}", ATTACKER)
    await app.authenticator.close()
    told = await trail(app)
    assert len(told) == 2
    assert sum(times for _, _, times in told) == 300


@pytest.mark.requirement("access:failed-logins:told")
async def test_attempts_refused_unread_are_told_of_too(tmp_path: Path) -> None:
    limits = Limits(anonymous_per_second=0, logins_per_second=0.001, logins_burst=3)
    async with open_app(Settings(data=tmp_path, rooms=ROOMS, limits=limits)) as app:
        for number in range(20):
            answer = await ask(front_of(app), "an MCP endpoint", f"Bearer nonsense{number}", ATTACKER)
            assert answer.status == (401 if number < 3 else 429)
        await app.authenticator.close()
        await app.audit.flush()
        told = await app.audit.recent(tool="login")
        assert sum(entry.times for entry in told if entry.reason == "throttled") == 17


@pytest.mark.requirement("access:failed-logins:full-disk")
async def test_on_a_full_disk_a_login_still_works(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(work: Callable[..., object], *, brief: bool = False) -> Any:
        raise Unavailable("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(app.database, "write", full)
        header = (await app.authenticator.authenticate(basic("ada", PASSWORD).encode(), HOME)).id
        assert header == "user:ada"
        assert (await ask(front_of(app), "a REST route", basic("ada", "wrong"), ATTACKER)).status == 401
        await app.authenticator.authenticate(basic("ADA", PASSWORD).encode(), ATTACKER)
        await app.authenticator.close()


@pytest.mark.requirement("access:failed-logins:shared")
async def test_two_servers_on_one_store_count_together(app: App) -> None:
    async with open_app(app.settings) as other:
        for number in range(PAIR_ALLOWED):
            front = front_of(app if number % 2 else other)
            assert (await ask(front, "an MCP endpoint", basic("ada", f"guess {number}"), ATTACKER)).status == 401
            await (app if number % 2 else other).authenticator.close()
        for server in (app, other):
            assert (await ask(front_of(server), "an application", basic("ada", PASSWORD), ATTACKER)).status == 429
            assert (await ask(front_of(server), "an application", basic("ada", PASSWORD), HOME)).status == 200


@pytest.fixture
async def server() -> AsyncIterator[IssuerServer]:
    async with issuer_server() as made:
        yield made


@pytest.fixture
async def trusting(tmp_path: Path, server: IssuerServer) -> AsyncIterator[App]:
    server.documents["/jwks"] = key_set(RSA)
    jwt = TokenSettings(issuer="https://login.example", audience=(AUDIENCE,), jwks_url=server.url("/jwks"))
    async with open_app(Settings(data=tmp_path, rooms=ROOMS, jwt=jwt)) as opened:
        yield opened


@pytest.mark.requirement("access:jwt:why")
async def test_why_a_token_was_refused_is_in_the_log_and_not_in_the_answer(
    trusting: App, caplog: pytest.LogCaptureFixture
) -> None:
    now = trusting.clock.now()
    good = await ask(front_of(trusting), "a REST route", f"Bearer {signed(claims(now))}", HOME)
    assert good.status == 200
    wrong = signed(claims(now, aud="https://other.example"))
    answer = send(front_of(trusting), "GET", "/api/whoami", {"authorization": f"Bearer {wrong}"}, client=ATTACKER)
    body = json.dumps(await answer.json())
    assert answer.status == 401
    assert "audience" not in body
    [line] = [JsonLines().format(one) for one in caplog.records if "login failed" in one.getMessage()]
    assert "https://other.example" in line
    assert "jwt.audience" in line
    assert json.loads(line)["login"] == "token of https://login.example"
    assert wrong not in line


@pytest.mark.requirement("access:jwt:watched")
async def test_an_issuer_that_is_away_makes_a_ready_server_degraded(trusting: App, server: IssuerServer) -> None:
    assert isinstance(trusting.tokens, TokenVerifier)
    assert trusting.issuer_watch is not None
    front = front_of(trusting)
    key = {"authorization": f"Bearer {(await trusting.api_keys.create('probe')).token}"}

    async def readiness() -> tuple[int, str, Any]:
        answer = send(front, "GET", "/readyz", key)
        body = await answer.json()
        return answer.status, body["status"], body["issuers"]

    assert await readiness() == (200, "ok", {"https://login.example": "ok"})
    assert server.asked == [], "whoever asks for readiness does not make the server ask the issuer"
    server.documents.clear()
    await trusting.issuer_watch.refresh()
    for _ in range(5):
        assert await readiness() == (200, "degraded", {"https://login.example": "unreachable"})
    assert server.asked == ["/jwks"]
    server.documents["/jwks"] = key_set(RSA)
    await trusting.issuer_watch.refresh()
    assert (await readiness())[1] == "ok"
