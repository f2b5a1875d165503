"""A refusal says how to log in, the same way on every path: Bearer for this very resource first, then Basic."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.settings.model import IssuerSettings, Settings, TokenSettings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.http.conftest import UNHURRIED

pytestmark = pytest.mark.anyio

SITE = "https://pentad.example"
HOST = {"host": "pentad.example"}
WELL_KNOWN = "/.well-known/oauth-protected-resource"
EVERY_ROOM = "directory:read registers:read agents:read avatars:read metrics:read"
PATHS: dict[str, tuple[str, str]] = {
    "/mcp": ("POST", EVERY_ROOM),
    "/mcp/core": ("POST", EVERY_ROOM),
    "/mcp/read-only": ("POST", EVERY_ROOM),
    "/mcp/nobodys-profile": ("POST", EVERY_ROOM),
    "/rooms/directory/mcp": ("POST", "directory:read"),
    "/rooms/avatars/somebody/mcp": ("POST", "avatars:read"),
    "/api/mcp": ("POST", "registers:read"),
    "/index.php/apps/openregister/api/mcp": ("POST", "registers:read"),
    "/api/registers": ("GET", "registers:read"),
    "/api/objects/1/2": ("POST", "registers:read"),
    "/api/mcp/v1/discover/objects": ("GET", "registers:read"),
    "/a2a": ("POST", "agents:read"),
    "/av/agents": ("POST", "agents:read"),
    "/agents/tck/tasks": ("GET", "agents:read"),
    "/api/v1/agent-cards": ("POST", "agents:read"),
    "/": ("GET", EVERY_ROOM),
    "/console/metrics": ("GET", "metrics:read"),
}


@dataclass(frozen=True)
class Whole:
    """All of Pentad's rooms behind credentials."""

    app: App
    front: Front
    keys: dict[str, str]

    async def ask(self, verb: str, path: str, who: str = "", body: Any = None, **headers: str) -> HttpAnswer:
        sent = {**HOST, **headers}
        if who:
            sent["authorization"] = f"Bearer {self.keys[who]}"
        if body is not None or verb == "POST":
            sent["content-type"] = "application/json"
        answer = send(self.front, verb, path, sent, b"{}" if body is None else json.dumps(body).encode())
        await answer.body()
        return answer


@pytest.fixture(scope="module")
async def whole(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Whole]:
    settings = Settings(data=tmp_path_factory.mktemp("whole"), public_url=SITE, limits=UNHURRIED)
    async with open_app(settings) as app:
        scopes = {"nothing": ["lab:read"], "reader": ["*:read"]}
        keys = {name: (await app.api_keys.create(name, scopes=wanted)).token for name, wanted in scopes.items()}
        yield Whole(app, front_of(app), keys)


def challenges(answer: HttpAnswer) -> list[str]:
    return [value for name, value in answer.header_list if name == "www-authenticate"]


def parameters(challenge: str) -> dict[str, str]:
    return dict(re.findall(r'(\w+)="([^"]*)"', challenge))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.requirement("access:401:challenges", "access:401:least-scope")
async def test_without_credentials_every_path_asks_for_a_login_in_the_same_way(whole: Whole, path: str) -> None:
    verb, scope = PATHS[path]
    answer = await whole.ask(verb, path)
    assert answer.status == 401
    first, second = challenges(answer)
    assert second == 'Basic realm="Pentad", charset="UTF-8"'
    assert first.startswith("Bearer ")
    found = parameters(first)
    assert set(found["scope"].split()) == set(scope.split())
    assert ":admin" not in first
    assert ":write" not in first
    assert found["resource_metadata"] == f"{SITE}{WELL_KNOWN}{path.rstrip('/')}"
    assert "error" not in found, "nothing was sent that could be wrong"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.requirement("access:rfc9728")
async def test_the_metadata_a_challenge_names_is_of_that_very_resource(whole: Whole, path: str) -> None:
    verb, scope = PATHS[path]
    url = parameters(challenges(await whole.ask(verb, path))[0])["resource_metadata"]
    answer = send(whole.front, "GET", url.removeprefix(SITE), HOST)
    document = await answer.json()
    assert answer.status == 200
    assert document["resource"] == SITE + (path if path != "/" else "/mcp")
    writing = [] if path == "/mcp/read-only" else scope.replace(":read", ":write").split()
    assert set(document["scopes_supported"]) == {*scope.split(), *writing}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.requirement("access:401:challenges")
async def test_a_wrong_token_is_called_that_and_a_wrong_password_is_not(whole: Whole, path: str) -> None:
    verb, _ = PATHS[path]
    for header, error in (("Bearer nonsense", "invalid_token"), ("Basic nonsense", None)):
        answer = await whole.ask(verb, path, authorization=header)
        assert answer.status == 401
        first, second = challenges(answer)
        assert parameters(first).get("error") == error
        assert second.startswith("Basic ")
    by_key = await whole.ask(verb, path, **{"x-api-key": "nonsense"})
    assert parameters(challenges(by_key)[0])["error"] == "invalid_token"


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "", "arguments": {}}}
TOO_LITTLE: list[tuple[str, str, str, Any, str]] = [
    ("nothing", "GET", "/api/registers", None, "registers:read"),
    ("reader", "POST", "/api/registers", {"title": "T"}, "registers:write"),
    ("nothing", "GET", "/console/metrics", None, "metrics:read"),
    ("nothing", "GET", "/api/v1/agent-cards?active_only=false", None, "agents:read"),
    ("reader", "POST", "/api/v1/agent-cards", {"card_data": {}}, "agents:write"),
    ("nothing", "POST", "/rooms/avatars/somebody/mcp", CALL, "avatars:read"),
]


@pytest.mark.parametrize(("who", "verb", "path", "body", "scope"), TOO_LITTLE)
@pytest.mark.requirement("access:403:scope")
async def test_who_lacks_a_scope_hears_which_one(
    whole: Whole, who: str, verb: str, path: str, body: Any, scope: str
) -> None:
    answer = await whole.ask(verb, path, who, body)
    assert answer.status == 403
    [challenge] = challenges(answer)
    metadata = f"{SITE}{WELL_KNOWN}{path.partition('?')[0]}"
    assert challenge.startswith("Bearer ")
    expected = {"error": "insufficient_scope", "scope": scope, "resource_metadata": metadata, "realm": "Pentad"}
    assert parameters(challenge) == expected


async def test_a_refusal_that_no_scope_would_mend_asks_for_none(whole: Whole) -> None:
    token = (await whole.app.api_keys.create("writer", scopes=["*:read", "*:write"])).token
    answer = await whole.ask(
        "POST", "/api/webhooks", authorization=f"Bearer {token}", body={"url": "https://x.example"}
    )
    assert answer.status == 403
    assert challenges(answer) == []


@pytest.mark.requirement("access:rfc9728")
async def test_without_a_public_url_the_resource_has_the_name_the_client_used(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = Settings(data=tmp_path_factory.mktemp("local"), rooms=("tests.http.room:ROOM",), port=8700)
    async with open_app(settings) as app:
        for host in ("localhost:8700", "127.0.0.1:8700"):
            answer = send(front_of(app), "POST", "/mcp", {"host": host})
            await answer.body()
            url = parameters(challenges(answer)[0])["resource_metadata"]
            assert url == f"http://{host}{WELL_KNOWN}/mcp"
            document = await send(front_of(app), "GET", WELL_KNOWN + "/mcp", {"host": host}).json()
            assert document["resource"] == f"http://{host}/mcp"


@pytest.mark.requirement("access:jwt:issuers")
async def test_every_issuer_that_can_be_asked_for_a_token_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    issuers = (
        IssuerSettings(issuer="https://two.example", audience=("a",)),
        IssuerSettings(issuer="no address", audience=("a",), secret="x" * 32),
    )
    settings = Settings(
        data=tmp_path_factory.mktemp("issuers"),
        rooms=("tests.http.room:ROOM",),
        jwt=TokenSettings(issuer="https://one.example", audience=("a",), issuers=issuers),
    )
    async with open_app(settings) as app:
        document = await send(front_of(app), "GET", WELL_KNOWN).json()
    assert document["authorization_servers"][1:] == ["https://one.example", "https://two.example"]
    assert document["authorization_servers"][0] == "http://localhost:8700", "clients use the first: this server"
