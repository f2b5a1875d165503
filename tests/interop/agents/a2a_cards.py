"""The official A2A library reads cards of Pentad and verifies their signatures: `a2a_cards.py SITE [KEY]`.

A line of JSON for each place a card can be read from: where, what is wrong with it (null if nothing), and what the
structural check of the test kit (CARD-STRUCT-001) says: required members that are missing, and members that no message
of 1.0 knows. With a key, the extended cards are read over each binding too.
"""

import asyncio
import json
import sys
import warnings
from collections.abc import AsyncGenerator
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import AgentCard, GetExtendedAgentCardRequest
from a2a.utils.signing import create_signature_verifier
from google.protobuf.json_format import ParseDict, ParseError
from jwt import PyJWK

AGENTS = ("dressed", "echo", "tool-proxy")
PLACES = (
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/a2a/agent-card.json",
    "/a2a/1.0/.well-known/agent-card.json",
    *(f"/agents/{name}{path}" for name in AGENTS for path in (
        "/.well-known/agent-card.json", "/agent-card.json", "/agent-card.json?a2a-version=1.0",
        "/1.0/.well-known/agent-card.json",
    )),
)  # fmt: skip
REQUIRED = {
    "name", "description", "version", "capabilities", "skills", "supportedInterfaces", "defaultInputModes",
    "defaultOutputModes",
}  # fmt: skip
BINDINGS = (("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"))


async def verified(site: str, key: str) -> AsyncGenerator[dict[str, Any]]:
    async with httpx.AsyncClient(timeout=20, headers={"X-Api-Key": key} if key else {}) as http:
        keys = {one["kid"]: one for one in (await http.get(f"{site}/.well-known/jwks.json")).json()["keys"]}
        verify = create_signature_verifier(lambda kid, _jku: PyJWK(keys[kid or ""]), ["ES256"])
        for version in ({}, {"A2A-Version": "1.0"}):
            for place in PLACES:
                extra = {"http_kwargs": {"headers": version}}
                fault = await tried(
                    A2ACardResolver(http, site).get_agent_card(place, **extra, signature_verifier=verify)
                )
                card = (await http.get(f"{site}{place}", headers=version)).json()
                asked = bool(version) or "1.0" in place
                yield {"where": f"{place} {version or ''}", "fault": fault, "v10": asked, "extra": unknown(card)}
        for name in AGENTS if key else ():
            card = await A2ACardResolver(http, site).get_agent_card(f"/agents/{name}/agent-card.json")
            for binding, version in BINDINGS:
                client = ClientFactory(config(http, binding)).create(narrowed(card, binding, version))
                request = GetExtendedAgentCardRequest()
                fault = await tried(client.get_extended_agent_card(request, signature_verifier=verify))
                yield {"where": f"extended {name} {binding} {version}", "fault": fault, "v10": True, "extra": []}


async def tried(reading: Any) -> str | None:
    try:
        await reading
    except Exception as error:  # noqa: BLE001  whatever is wrong with a card is the report about it
        return f"{type(error).__name__}: {error}"
    return None


def config(http: httpx.AsyncClient, binding: str) -> ClientConfig:
    return ClientConfig(httpx_client=http, supported_protocol_bindings=[binding])


def narrowed(card: AgentCard, binding: str, version: str) -> AgentCard:
    """The card with only one interface."""
    found = AgentCard()
    found.CopyFrom(card)
    offered = [(one.protocol_binding, one.protocol_version) for one in card.supported_interfaces]
    only = card.supported_interfaces[offered.index((binding, version))]
    del found.supported_interfaces[:]
    found.supported_interfaces.append(only)
    return found


def unknown(card: Any) -> list[str]:
    """The verdict of a strict reader of 1.0: every member of every object is known, and nothing required is missing."""
    try:
        ParseDict(card, AgentCard())
    except ParseError as error:
        return [str(error)]
    return sorted(REQUIRED - set(card))


async def main(site: str, key: str = "") -> None:
    async for line in verified(site, key):
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asyncio.run(main(*sys.argv[1:]))
