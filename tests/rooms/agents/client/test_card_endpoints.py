"""What cards say about how to talk to an agent."""

from typing import Any

import pytest

from pentad.agentvault.credentials import Scheme
from pentad.kernel.errors import InvalidInput
from pentad.rooms.agents.client.card_endpoints import Interface, agent_name, best_interface, interfaces, schemes

URL = "https://agent.example/a2a"
V10 = {
    "name": "Ten",
    "supportedInterfaces": [
        {"url": "https://agent.example/grpc", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        {"url": f"{URL}/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0", "tenant": "t1"},
        {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": f"{URL}/old", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        {"url": f"{URL}/two", "protocolBinding": "JSONRPC", "protocolVersion": "2.0"},
        {"protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        "nonsense",
    ],
}
V03 = {"name": "Three", "protocolVersion": "0.3.0", "url": URL}
VAULT = {"humanReadableId": "acme/vault", "url": URL, "capabilities": {"a2aVersion": "1.0"}}


@pytest.mark.parametrize(
    ("card", "found"),
    [
        (
            V10,
            [
                Interface(URL, "1.0"),
                Interface(f"{URL}/rest", "1.0", "HTTP+JSON", "t1"),
                Interface(f"{URL}/old", "0.3"),
            ],
        ),
        (V03, [Interface(URL, "0.3")]),
        (V03 | {"preferredTransport": "GRPC"}, []),
        (
            V03 | {"preferredTransport": "GRPC", "additionalInterfaces": [{"url": URL, "transport": "JSONRPC"}]},
            [Interface(URL, "0.3")],
        ),
        (VAULT, [Interface(URL, "agentvault")]),
        (
            V10 | V03 | VAULT,
            [
                Interface(URL, "1.0"),
                Interface(f"{URL}/rest", "1.0", "HTTP+JSON", "t1"),
                Interface(f"{URL}/old", "0.3"),
                Interface(URL, "0.3"),
                Interface(URL, "agentvault"),
            ],
        ),
        ({}, []),
        ({"supportedInterfaces": "x", "url": 5, "capabilities": []}, []),
    ],
)
def test_places_are_found_best_first(card: dict[str, Any], found: list[Interface]):
    assert interfaces(card) == found


def test_the_best_place_is_taken_or_the_refusal_says_what_there_is():
    assert best_interface(V10 | VAULT).dialect == "1.0"
    assert best_interface(V10 | VAULT, "agentvault") == Interface(URL, "agentvault")
    with pytest.raises(InvalidInput, match=r"acme/vault offers agentvault \(JSONRPC\)"):
        best_interface(VAULT, "1.0")
    with pytest.raises(InvalidInput, match="no dialect that is spoken here"):
        best_interface({})
    assert agent_name({}) == "the agent"


KEY10 = {"apiKeySecurityScheme": {"location": "header", "name": "X-Own"}}
OAUTH10 = {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://t.example/"}}}}


@pytest.mark.parametrize(
    ("card", "found"),
    [
        (V03, [Scheme("none", "agent.example")]),
        (VAULT | {"authSchemes": [{"scheme": "bearer"}]}, [Scheme("bearer", "acme/vault")]),
        (
            VAULT
            | {
                "authSchemes": [
                    {"scheme": "oauth2", "tokenUrl": "https://t.example/", "scopes": ["a"], "service_identifier": "s"}
                ]
            },
            [Scheme("oauth2", "s", token_url="https://t.example/", scopes=("a",))],
        ),
        (
            V10 | {"securitySchemes": {"k": KEY10}, "securityRequirements": [{"schemes": {"k": {}}}]},
            [Scheme("apiKey", "agent.example", header="X-Own")],
        ),
        (
            V10 | {"securitySchemes": {"o": OAUTH10}, "securityRequirements": [{"schemes": {"o": {"list": ["r"]}}}]},
            [Scheme("oauth2", "agent.example", token_url="https://t.example/", scopes=("r",))],
        ),
        (
            V03
            | {
                "securitySchemes": {
                    "k": {"type": "apiKey", "in": "header", "name": "X-Own"},
                    "b": {"type": "http", "scheme": "Bearer"},
                    "q": {"type": "apiKey", "in": "query", "name": "key"},
                },
                "security": [{"b": []}, {"k": []}, {"q": []}],
            },
            [Scheme("bearer", "agent.example"), Scheme("apiKey", "agent.example", header="X-Own")],
        ),
        (V03 | {"securitySchemes": {"x": {"type": "mutualTLS"}}, "security": [{"x": []}]}, []),
    ],
)
def test_ways_to_log_in_are_read_from_every_kind_of_card(card: dict[str, Any], found: list[Scheme]):
    assert schemes(card) == found
    assert all(one.service == "mine" for one in schemes(card, "mine"))
