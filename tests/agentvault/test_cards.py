"""Cards: what is one, strictly and leniently, and where they come from."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pentad.agentvault import (
    AgentCardError,
    AgentCardFetchError,
    AgentCardValidationError,
    agent_card_utils,
    fetch_agent_card_from_url,
    load_agent_card_from_file,
    parse_agent_card_from_dict,
)
from pentad.agentvault.models import AgentCapabilities, AgentCard
from pentad.net.fetch import HttpFetcher
from tests.agentvault.agent_server import agent, card

FULL = card(
    "https://agent.example/a2a",
    {"scheme": "apiKey", "service_identifier": "acme", "description": "A key."},
    {"scheme": "oauth2", "tokenUrl": "https://agent.example/token", "scopes": ["read"]},
    provider={"name": "Acme", "url": "https://acme.example/", "support_contact": "help@acme.example"},
    capabilities={
        "a2aVersion": "1.0",
        "mcpVersion": "0.6",
        "supportedMessageParts": ["text", "data"],
        "teeDetails": {
            "type": "sgx",
            "attestationEndpoint": "https://agent.example/tee",
            "publicKey": "pk",
            "description": "An enclave.",
        },
        "supportsPushNotifications": True,
    },
    skills=[
        {
            "id": "s",
            "name": "S",
            "description": "Does it.",
            "input_schema": {"type": "object"},
            "output_schema": {"type": "string"},
        }
    ],
    tags=["a", "b"],
    privacyPolicyUrl="https://acme.example/privacy",
    termsOfServiceUrl="https://acme.example/terms",
    iconUrl="https://acme.example/icon.png",
    lastUpdated="2026-01-01T00:00:00Z",
)
REQUIRED = [
    "schemaVersion",
    "humanReadableId",
    "agentVersion",
    "name",
    "description",
    "url",
    "provider",
    "capabilities",
    "authSchemes",
]


def test_the_smallest_card_prints_every_optional_member_as_null():
    assert parse_agent_card_from_dict(card()).model_dump(mode="json", by_alias=True) == card() | {
        "provider": {"name": "Acme", "url": None, "support_contact": None},
        "capabilities": {
            "a2aVersion": "1.0",
            "mcpVersion": None,
            "supportedMessageParts": None,
            "teeDetails": None,
            "supportsPushNotifications": None,
        },
        "authSchemes": [
            {"scheme": "none", "description": None, "tokenUrl": None, "scopes": None, "service_identifier": None}
        ],
        "skills": None,
        "tags": None,
        "privacyPolicyUrl": None,
        "termsOfServiceUrl": None,
        "iconUrl": None,
        "lastUpdated": None,
    }


@pytest.mark.parametrize("strict", [True, False])
def test_a_full_card_keeps_everything(strict: bool):
    read = parse_agent_card_from_dict(FULL, strict=strict)
    assert read.model_dump(mode="json", by_alias=True, exclude_none=True) == FULL
    assert read.capabilities.tee_details is not None
    assert read.capabilities.tee_details.type == "sgx"


@pytest.mark.parametrize("member", REQUIRED)
def test_a_card_without_a_required_member_is_none(member: str):
    broken = {name: value for name, value in card().items() if name != member}
    with pytest.raises(AgentCardValidationError, match=f"{member}: Field required"):
        parse_agent_card_from_dict(broken)


@pytest.mark.parametrize(
    "members",
    [
        {"authSchemes": []},
        {"authSchemes": [{"scheme": "magic"}]},
        {"authSchemes": [{"scheme": "oauth2"}]},
        {"capabilities": {"a2a_version": "1.0"}},
        {"capabilities": {"a2aVersion": "1.0", "teeDetails": {}}},
        {"skills": [{"id": "s", "name": "S"}]},
        {"iconUrl": "not a url"},
        {"lastUpdated": 5},
        {"url": "ftp://agent.example/"},
        {"url": "http://agent.example/"},
    ],
)
def test_a_card_with_a_wrong_member_is_none(members: dict[str, Any]):
    with pytest.raises(AgentCardValidationError):
        parse_agent_card_from_dict(card(**members))


@pytest.mark.parametrize("data", [None, [], "text", 5])
def test_what_is_no_object_is_no_card(data: Any):
    with pytest.raises(AgentCardValidationError):
        parse_agent_card_from_dict(data)


@pytest.mark.parametrize(
    "url", ["https://a.example/", "http://localhost:8000/a2a", "http://127.0.0.1:8000/", "http://[::1]:8000/"]
)
def test_agents_on_this_machine_may_speak_plain_http(url: str):
    assert str(parse_agent_card_from_dict(card(url), strict=True).url) == url


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"url": "http://localhost.evil.example/"}, "the url must be https"),
        ({"humanReadableId": "no slash"}, "org/name"),
        ({"lastUpdated": "yesterday"}, "ISO 8601"),
        ({"provider": {"name": "Acme", "supportContact": "x"}}, "provider.supportContact is called support_contact"),
        ({"authSchemes": [{"scheme": "none", "serviceIdentifier": "x"}]}, "is called service_identifier"),
        ({"skills": [{"id": "s", "name": "S", "description": "D"}] * 2}, "same id"),
    ],
)
def test_what_the_original_takes_by_mistake_is_refused_strictly(members: dict[str, Any], says: str):
    given = card(**members)
    assert parse_agent_card_from_dict(given).name == "Echo"
    with pytest.raises(AgentCardValidationError, match=says):
        parse_agent_card_from_dict(given, strict=True)


def test_a_card_is_made_by_python_names_too():
    by_python_names: dict[str, Any] = {
        "schema_version": "1.0",
        "human_readable_id": "acme/echo",
        "agent_version": "1",
        "name": "Echo",
        "description": "Says it again.",
        "url": "https://agent.example/",
        "provider": {"name": "Acme"},
        "capabilities": AgentCapabilities.model_validate({"a2a_version": "1.0"}),
        "auth_schemes": [{"scheme": "none"}],
    }
    made = AgentCard(**by_python_names)
    assert made.model_dump(by_alias=True)["capabilities"]["a2aVersion"] == "1.0"


def test_a_card_is_loaded_from_a_file(tmp_path: Path):
    path = tmp_path / "card.json"
    path.write_text(json.dumps(FULL), encoding="utf-8")
    assert load_agent_card_from_file(path) == parse_agent_card_from_dict(FULL)
    assert agent_card_utils.load_agent_card_from_file(str(path)).name == "Echo"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("missing.json", None, "no file"),
        ("folder", "/", "not a file"),
        ("bad.json", "{", "not JSON"),
        ("deep.json", "[" * 5000, "not JSON"),
    ],
)
def test_a_file_that_holds_no_card_says_why(tmp_path: Path, name: str, text: str | None, says: str):
    path = tmp_path / name
    if text == "/":
        path.mkdir()
    elif text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(AgentCardError, match=says) as caught:
        load_agent_card_from_file(path)
    assert type(caught.value) is AgentCardError


@pytest.mark.anyio
async def test_a_card_is_fetched_from_an_address():
    async with agent(lambda _: FULL) as server:
        assert await fetch_agent_card_from_url(server.url) == parse_agent_card_from_dict(FULL)
        guarded = HttpFetcher()
        with pytest.raises(AgentCardFetchError, match="Plain http"):
            await fetch_agent_card_from_url(server.url, guarded)
        await guarded.close()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (lambda _: web.Response(status=404, text="gone"), 404, "gone"),
        (lambda _: web.Response(text="plain"), 200, "plain"),
    ],
)
async def test_an_answer_that_is_no_card_keeps_status_and_body(answer: Any, status: int, body: str):
    async with agent(answer) as server:
        with pytest.raises(AgentCardFetchError) as caught:
            await fetch_agent_card_from_url(server.url)
    assert (caught.value.status_code, caught.value.response_body) == (status, body)


@pytest.mark.anyio
async def test_an_address_nobody_answers_and_one_with_something_else_are_told_apart():
    async with agent(lambda _: {"name": "x"}) as server:
        with pytest.raises(AgentCardValidationError):
            await fetch_agent_card_from_url(server.url)
    with pytest.raises(AgentCardFetchError, match="could not be fetched") as caught:
        await fetch_agent_card_from_url(server.url)
    assert caught.value.status_code is None
