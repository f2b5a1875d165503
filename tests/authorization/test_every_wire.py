"""What holds for every wire, tested once on each: tokens of several issuers, no secrets in errors and cards."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from grpc import aio

from pentad.settings.model import IssuerSettings, TokenSettings
from tests.access.issuer_server import issuer_server
from tests.access.issuing import AUDIENCE, EC, RSA, claims, key_set, signed
from tests.authorization.house import Caller, House, open_house
from tests.authorization.probes import Probe
from tests.behaviour.clients import LEGACY, MODERN
from tests.behaviour.http_wire import send
from tests.rooms.agents.registry.cards import agentvault_card
from tests.rooms.directory.interface.grpc.site import Wire, ref

pytestmark = pytest.mark.anyio

READ: Final[dict[str, tuple[str, dict[str, Any], str]]] = {
    "MCP": ("tool agents_list", {}, MODERN),
    "MCP before": ("tool agents_list", {}, LEGACY[-1]),
    "MCP of OpenRegister": ("endpoint /api/mcp", {"body": {"jsonrpc": "2.0", "id": 1, "method": "initialize"}}, MODERN),
    "REST": ("route GET /api/registers", {}, MODERN),
    "A2A": ("rpc ListTasks", {}, MODERN),
    "A2A as JSON": ("app GET /agents/echo/tasks", {}, MODERN),
    "AgentVault": ("app POST /av", {"body": {"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}}, MODERN),
    "gRPC": ("grpc /agntcy.dir.search.v1.SearchService/CountRecords", {}, MODERN),
    "console": ("route GET /console/agents", {}, MODERN),
}
"""Something that each wire lets a reader do."""
ONE, TWO = "https://one.example", "https://two.example"


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with issuer_server() as server:
        server.documents.update({"/one": key_set(RSA), "/two": key_set(EC)})
        staff = {"staff": ("reader",)}
        second = IssuerSettings(issuer=TWO, audience=(AUDIENCE,), jwks_url=server.url("/two"), roles=staff)
        jwt = TokenSettings(issuer=ONE, audience=(AUDIENCE,), jwks_url=server.url("/one"), issuers=(second,))
        async with open_house(tmp_path_factory.mktemp("house"), None, jwt=jwt) as opened:
            yield opened


@pytest.mark.parametrize("wire", READ)
@pytest.mark.requirement("access:jwt:issuers", "access:jwt:private-jwks", "access:jwt:mapping")
async def test_a_token_counts_on_every_wire_by_its_own_issuers_keys_and_mapping(house: House, wire: str) -> None:
    subject, row, revision = READ[wire]

    async def verdict(issuer: str, key: Any, **more: Any) -> str:
        now = house.app.clock.now()
        token = signed(claims(now, iss=issuer, scope=None, **more), key, "RS256" if key is RSA else "ES256")
        caller = Caller("ada", {"authorization": f"Bearer {token}"}, {})
        return await Probe(house, caller, revision).judge(subject, row, "shared")

    assert await verdict(ONE, RSA, roles=["reader"]) == "ok"
    assert await verdict(TWO, EC, roles=["staff"]) == "ok"
    assert await verdict(TWO, EC, roles=["reader"]) == ("ok" if wire in ANY_LOGIN else "scope"), "not in its mapping"
    assert await verdict(ONE, EC, roles=["reader"]) == "login"
    assert await verdict(TWO, RSA, roles=["staff"]) == "login"
    assert await verdict("https://three.example", RSA, roles=["reader"]) == "login"


ANY_LOGIN: Final = {"MCP of OpenRegister"}
"""Where every login may start; its calls are judged one by one."""


SECRET: Final = "ghp_" + "A1b2C3d4E5" * 3


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def get(room: str) -> dict[str, Any]:
    return rpc("tools/call", name=room, arguments={"action": "get", "id": SECRET})


QUOTING: Final[dict[str, tuple[str, str, dict[str, Any] | None]]] = {
    "MCP, a tool": ("POST", "/mcp", get("registers")),
    "MCP, a method": ("POST", "/mcp", rpc(SECRET)),
    "MCP of OpenRegister, a tool": ("POST", "/api/mcp", get("registers")),
    "MCP of OpenRegister, a method": ("POST", "/api/mcp", rpc(SECRET)),
    "REST": ("GET", f"/api/registers/{SECRET}", None),
    "REST, no such route": ("GET", f"/nowhere/{SECRET}", None),
    "A2A, a task": ("POST", "/agents/echo", rpc("GetTask", id=SECRET)),
    "A2A, a method": ("POST", "/agents/echo", rpc(SECRET)),
    "A2A as JSON": ("GET", f"/agents/echo/tasks/{SECRET}", None),
    "AgentVault, a task": ("POST", "/av", rpc("tasks/get", id=SECRET)),
    "AgentVault, a card": ("GET", f"/api/v1/agent-cards/{SECRET}", None),
    "console": ("GET", f"/console/registers/{SECRET}", None),
}
"""Requests whose refusal quotes what they name."""


@pytest.mark.parametrize("wire", QUOTING)
@pytest.mark.requirement("secrets:errors")
async def test_an_error_quotes_no_secret_on_any_wire(house: House, wire: str) -> None:
    method, path, body = QUOTING[wire]
    headers = {"content-type": "application/json", **house.callers["admin"].headers}
    if path == "/api/mcp":
        begun = send(house.front, "POST", path, headers, json.dumps(rpc("initialize")).encode())
        await begun.body()
        headers["mcp-session-id"] = begun.headers["mcp-session-id"]
    answer = send(house.front, method, path, headers, b"" if body is None else json.dumps(body).encode())
    said = (await answer.body()).decode()
    assert SECRET not in said
    assert "[redacted:github-token]" in said


@pytest.mark.requirement("secrets:errors")
async def test_an_error_quotes_no_secret_over_grpc(house: House) -> None:
    async with aio.insecure_channel(f"127.0.0.1:{house.app.settings.grpc_port}") as channel:
        wire = Wire(channel, list(house.callers["admin"].headers.items()))
        for method in ("StoreService/Lookup", "StoreService/Pull"):
            refused = await wire.refused(method, ref(SECRET))
            assert refused.text.endswith(": record not found: [redacted:github-token]"), method


@pytest.mark.requirement("agents:registry:secrets")
async def test_no_wire_publishes_the_secret_in_a_card(house: House) -> None:
    card_id = await house.thing("card", house.callers["writer"].principals["own"])
    headers = {"content-type": "application/json", **house.callers["writer"].headers}
    address = f"https://acme.example/a2a?api_key={SECRET}"
    card = agentvault_card(readable="acme/leaky", url=address)
    call = rpc("tools/call", name="agents_register_card", arguments={"card": card})
    change = rpc("tools/call", name="agents_register_card", arguments={"card": {"url": address}, "card_id": card_id})
    for method, path, body in (
        ("POST", "/mcp", call),
        ("POST", "/mcp", change),
        ("POST", "/api/v1/agent-cards", {"card_data": card}),
        ("PUT", f"/api/v1/agent-cards/{card_id}", {"card_data": {"url": address}}),
    ):
        answer = send(house.front, method, path, headers, json.dumps(body).encode())
        said = (await answer.body()).decode()
        assert "looks like a secret" in said
        assert SECRET not in said
    shown = send(house.front, "GET", "/api/v1/agent-cards?search=acme", {})
    assert SECRET not in (await shown.body()).decode()
