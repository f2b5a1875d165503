"""Real clients as observed on the wire: what they register, how they authenticate, what they send and omit.

Each row is a client that stops, or asks a person to log in again and again, if an answer has another shape.
"""

import base64
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of
from tests.http.browsing import PASSWORD, Browser
from tests.http.conftest import PAGES, UNHURRIED
from tests.http.oauth_client import REDIRECT, SITE, VERIFIER, Answer, Flow, Program

pytestmark = pytest.mark.anyio

GRANTS = ["authorization_code", "refresh_token"]
DOCUMENTS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True)
class Seen:
    """What a client sends. `secret` says how it authenticates: not at all, in the body, or in a header."""

    document: dict[str, Any]
    redirect_uri: str
    secret: str = ""
    resource: str | None = f"{SITE}/mcp"
    refresh_scope: str | None = None
    authorize: dict[str, Any] = field(default_factory=dict[str, Any])


PUBLIC = {"token_endpoint_auth_method": "none", "grant_types": GRANTS, "response_types": ["code"]}
SEEN = {
    "Python SDK": Seen(
        {"redirect_uris": ["http://127.0.0.1:4711/callback"], "grant_types": GRANTS, "response_types": ["code"]},
        "http://127.0.0.1:4711/callback",
        secret="encoded header",
    ),
    "TypeScript SDK": Seen(
        {"redirect_uris": ["http://127.0.0.1:4711/callback"]}, "http://127.0.0.1:4711/callback", "header"
    ),
    "fastmcp": Seen(
        {**PUBLIC, "redirect_uris": ["http://localhost:50001/callback"], "scope": ""}, "http://localhost:50001/callback"
    ),
    "Inspector": Seen(
        {
            **PUBLIC,
            "redirect_uris": ["http://127.0.0.1:6276/oauth/callback"],
            "application_type": "native",
            "scope": "",
        },
        "http://127.0.0.1:6276/oauth/callback",
    ),
    "claude.ai": Seen(
        {**PUBLIC, "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"], "client_name": "Claude"},
        "https://claude.ai/api/mcp/auth_callback",
    ),
    "claude.ai with a secret": Seen(
        {
            "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
            "token_endpoint_auth_method": "client_secret_post",
        },
        "https://claude.ai/api/mcp/auth_callback",
        secret="body",
    ),
    "ChatGPT": Seen(
        {
            **PUBLIC,
            "client_name": "ChatGPT",
            "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect"],
            "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
        },
        "https://chatgpt.com/connector_platform_oauth_redirect",
    ),
    "ChatGPT, one app": Seen(
        {**PUBLIC, "redirect_uris": ["https://chatgpt.com/connector/oauth/a1B2_c3"], "client_name": "ChatGPT"},
        "https://chatgpt.com/connector/oauth/a1B2_c3",
    ),
    "Claude Code": Seen(
        {**PUBLIC, "redirect_uris": ["http://localhost:3118/callback"]}, "http://localhost:52099/callback"
    ),
    "Cursor": Seen(
        {
            **PUBLIC,
            "redirect_uris": [
                "cursor://anysphere.cursor-mcp/oauth/callback",
                "https://www.cursor.com/agents/mcp/oauth/callback",
                "http://localhost:8787/callback",
            ],
        },
        "cursor://anysphere.cursor-mcp/oauth/callback",
        resource=None,
    ),
    "VS Code": Seen(
        {
            **PUBLIC,
            "grant_types": [*GRANTS, "urn:ietf:params:oauth:grant-type:device_code"],
            "application_type": "native",
            "redirect_uris": [
                "https://insiders.vscode.dev/redirect",
                "https://vscode.dev/redirect",
                "http://127.0.0.1/",
                "http://127.0.0.1:33418/",
            ],
        },
        "http://127.0.0.1:49999/",
    ),
    "Codex": Seen(
        {**PUBLIC, "redirect_uris": ["http://127.0.0.1:1455/callback/a1b2"], "application_type": "native"},
        "http://127.0.0.1:1455/callback/a1b2",
    ),
    "Gemini CLI": Seen(
        {**PUBLIC, "redirect_uris": ["http://localhost:7777/oauth/callback"]},
        "http://localhost:7777/oauth/callback",
        resource=f"{SITE}/mcp/",
        refresh_scope="lab:read",
    ),
    "2025-03-26": Seen(
        {**PUBLIC, "redirect_uris": ["https://old.example/back?from=pentad"]},
        "https://old.example/back?from=pentad",
        resource=None,
        authorize={"scope": None},
    ),
}


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    settings = Settings(data=tmp_path_factory.mktemp("oauth"), rooms=(LAB, PAGES), limits=UNHURRIED)
    async with open_app(settings) as app:
        await app.users.add("ada", PASSWORD, role="writer")
        yield app


@pytest.fixture
async def program(app: App) -> Program:
    return Program(front_of(app))


def has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(has_null(one) for one in value.values())
    return any(has_null(one) for one in value) if isinstance(value, list) else value is None


async def registered(program: Program, document: dict[str, Any]) -> dict[str, Any]:
    """The answer to a registration, which repeats what was registered."""
    body = json.dumps({"client_name": "Seen", **document}).encode()
    answer = await program.send("POST", "/oauth/register", body, content_type="application/json")
    assert answer.status == 201, answer.body
    assert not has_null(answer.json)
    assert answer.json["redirect_uris"] == document["redirect_uris"]
    assert re.fullmatch(r"[A-Za-z0-9_-]+", answer.json["client_id"]), "it is sent without encoding"
    assert ("client_secret" in answer.json) == (answer.json["token_endpoint_auth_method"] != "none")
    return answer.json


def proof(client: dict[str, Any], style: str) -> tuple[dict[str, str], dict[str, str]]:
    """The fields and headers with which a client authenticates."""
    name, secret = client["client_id"], client.get("client_secret", "")
    if style == "header":
        return {}, {"authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}
    if style == "encoded header":
        pair = f"{quote(name, safe='')}:{quote(secret, safe='')}".encode()
        return {"client_id": name}, {"authorization": "Basic " + base64.b64encode(pair).decode()}
    return {"client_id": name, **({"client_secret": secret} if style == "body" else {})}, {}


def check_tokens(answer: Answer) -> dict[str, Any]:
    assert answer.status == 200, answer.body
    tokens = answer.json
    assert not has_null(tokens)
    assert type(tokens["expires_in"]) is int
    assert tokens["refresh_token"]
    return tokens


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
@pytest.mark.requirement("oauth:quirks:clients")
async def test_a_client_as_it_is_seen_on_the_wire_connects_and_refreshes(program: Program, seen: Seen) -> None:
    client = await registered(program, seen.document)
    browser = Browser(program.front)
    await browser.log_in()
    flow = Flow(program, browser, client["client_id"], seen.redirect_uri, {"resource": seen.resource, **seen.authorize})
    fields, headers = proof(client, seen.secret)
    redeemed = {"grant_type": "authorization_code", "code": await flow.code(), "redirect_uri": seen.redirect_uri}
    sent = {**redeemed, "code_verifier": VERIFIER, "resource": seen.resource, **fields}
    tokens = check_tokens(await program.form("/oauth/token", sent, **headers))
    assert (await program.mcp(tokens["access_token"])).status == 200
    again = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "scope": seen.refresh_scope}
    refreshed = check_tokens(
        await program.form("/oauth/token", {**again, "resource": seen.resource, **fields}, **headers)
    )
    assert refreshed["refresh_token"] != tokens["refresh_token"]
    assert (await program.mcp(refreshed["access_token"])).status == 200


@pytest.mark.parametrize("resource", [f"{SITE}/mcp/", "HTTP://LOCALHOST:8700/mcp", f"{SITE}/", SITE, None])
@pytest.mark.requirement("oauth:quirks:resource")
async def test_a_token_works_however_its_resource_was_written(program: Program, resource: str | None) -> None:
    browser = Browser(program.front)
    await browser.log_in()
    flow = Flow(program, browser, (await program.register())["client_id"])
    tokens = await flow.tokens(resource=resource)
    assert (await program.mcp(tokens["access_token"])).status == 200


@pytest.mark.requirement("oauth:quirks:resource")
async def test_two_resources_make_a_token_for_both(program: Program) -> None:
    browser = Browser(program.front)
    await browser.log_in()
    flow = Flow(program, browser, (await program.register())["client_id"])
    page = await flow.page(("resource", f"{SITE}/rooms/lab/mcp"))
    answered = await flow.decide(page)
    assert answered.location is not None
    code = re.findall(r"[?&]code=([^&]+)", answered.location)[0]
    tokens = (await flow.redeem(code)).json
    for path in ("/mcp", "/rooms/lab/mcp"):
        assert (await program.mcp(tokens["access_token"], path)).status == 200


@pytest.mark.requirement("oauth:quirks:resource")
async def test_a_wrong_resource_costs_neither_the_code_nor_the_refresh_token(program: Program) -> None:
    browser = Browser(program.front)
    await browser.log_in()
    flow = Flow(program, browser, (await program.register())["client_id"])
    code, elsewhere = await flow.code(), "https://elsewhere.example/mcp"
    assert (await flow.redeem(code, resource=elsewhere)).error == (400, "invalid_target")
    tokens = (await flow.redeem(code)).json
    assert (await flow.refresh(tokens["refresh_token"], resource=elsewhere)).error == (400, "invalid_target")
    assert (await flow.refresh(tokens["refresh_token"])).status == 200


@pytest.mark.parametrize("verb", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/rooms/lab/mcp"])
@pytest.mark.requirement("oauth:quirks:probes")
async def test_however_a_client_probes_an_endpoint_it_is_asked_to_log_in(
    program: Program, path: str, verb: str
) -> None:
    answer = await program.send(verb, path)
    assert answer.status == 401
    first = next(value for name, value in answer.http.header_list if name == "www-authenticate")
    assert first.startswith("Bearer "), "some clients read only the first challenge"
    url = re.findall(r'resource_metadata="([^"]*)"', first)[0]
    document = (await program.get(url.removeprefix(SITE))).json
    assert document["resource"] == SITE + path.rstrip("/")
    assert document["authorization_servers"] == [(await program.get(DOCUMENTS[0])).json["issuer"]]
    assert not has_null(document)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", "2026-07-28", "nonsense"])
@pytest.mark.requirement("oauth:quirks:metadata")
async def test_the_protocol_version_changes_no_document(program: Program, version: str) -> None:
    for path in (*DOCUMENTS, f"{PROTECTED_RESOURCE}/mcp"):
        plain = await program.get(path)
        assert (await program.get(path, mcp_protocol_version=version)).json == plain.json


@pytest.mark.requirement("oauth:quirks:metadata")
async def test_no_document_offers_scopes_that_clients_would_ask_for_in_vain(program: Program) -> None:
    documents = [(await program.get(path)).json for path in (*DOCUMENTS, PROTECTED_RESOURCE)]
    offered = {scope for document in documents for scope in document["scopes_supported"]}
    assert not {scope for scope in offered if scope.endswith((":admin", ":*"))}
    assert not offered & {"openid", "email", "profile", "offline_access"}, (
        "clients ask for these wherever they see them"
    )


@pytest.mark.requirement("oauth:quirks:clients")
async def test_looking_at_the_login_spends_nothing(program: Program) -> None:
    browser = Browser(program.front)
    flow = Flow(program, browser, (await program.register())["client_id"])
    for _ in range(3):
        assert (await program.get(flow.url())).status in (200, 302, 303), "fastmcp looks here first, without a cookie"
    await browser.log_in()
    for _ in range(2):
        assert (await flow.page()).status == 200
    assert (await flow.redeem(await flow.code())).status == 200


@pytest.mark.requirement("oauth:quirks:clients")
async def test_the_redirect_of_a_client_is_echoed_byte_for_byte(program: Program) -> None:
    odd = [REDIRECT, "https://client.example/CallBack?x=%41&y=", "http://[::1]:9/callback"]
    assert (await registered(program, {**PUBLIC, "redirect_uris": odd}))["redirect_uris"] == odd
