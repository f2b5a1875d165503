"""A client with too small a grant learns it from the status, even if a tool decides by its arguments."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.http.browsing import PASSWORD, Browser
from tests.http.conftest import UNHURRIED
from tests.http.oauth_client import Answer, Flow, Program

pytestmark = pytest.mark.anyio

READ, BOTH = "registers:read", "registers:read registers:write"
CREATE = {"action": "create", "data": {"title": "Library", "slug": "library"}}


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    settings = Settings(data=tmp_path_factory.mktemp("registers"), rooms=("registers",), limits=UNHURRIED)
    async with open_app(settings) as app:
        await app.users.add("ada", PASSWORD, role="writer")
        yield app


async def token(app: App, scope: str) -> str:
    program, browser = Program(front_of(app)), Browser(front_of(app))
    await browser.log_in()
    flow = Flow(program, browser, (await program.register())["client_id"])
    return (await flow.tokens(scope=scope))["access_token"]


async def call(app: App, credentials: str, version: str, name: str, arguments: dict[str, Any]) -> Answer:
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": arguments, **({"_meta": meta} if version == "2026-07-28" else {})}
    return await Program(front_of(app)).send(
        "POST",
        "/mcp",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode(),
        content_type="application/json",
        accept="application/json, text/event-stream",
        authorization=f"Bearer {credentials}",
        mcp_protocol_version=version,
        mcp_method="tools/call",
        mcp_name=name,
    )


@pytest.mark.parametrize("version", ["2025-03-26", "2026-07-28"])
@pytest.mark.requirement("oauth:step-up:inside")
async def test_a_tool_that_decides_by_its_arguments_asks_a_granted_client_for_more(app: App, version: str) -> None:
    refused = await call(app, await token(app, READ), version, "registers", CREATE)
    assert refused.status == 403
    challenge = refused.http.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert set(re.findall(r' scope="([^"]*)"', challenge)[0].split()) == set(BOTH.split())
    listed = await call(app, await token(app, READ), version, "registers", {"action": "list"})
    assert listed.status == 200


@pytest.mark.requirement("oauth:step-up:inside")
async def test_after_the_second_consent_the_same_call_works(app: App) -> None:
    answer = await call(app, await token(app, BOTH), "2026-07-28", "registers", CREATE)
    assert answer.status == 200
    assert "isError" not in answer.json["result"] or answer.json["result"]["isError"] is False


@pytest.mark.requirement("oauth:step-up:inside")
async def test_a_key_that_cannot_grow_gets_the_refusal_as_a_result_the_model_can_read(app: App) -> None:
    key = await app.api_keys.create("reader", scopes=[READ])
    answer = await call(app, key.token, "2026-07-28", "registers", CREATE)
    assert answer.status == 200
    assert answer.json["result"]["isError"] is True
    assert "registers:write" in answer.json["result"]["content"][0]["text"]
