"""Cards of hosted agents: one document that AgentVault, A2A 0.3 and A2A 1.0 clients all understand.

Its URL accepts all dialects. AgentVault's clients accept only https and `http://localhost`, so a server on a loopback
address calls itself localhost. Clients that ask for A2A 1.0 get only the members of 1.0.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from pentad.kernel.principal import Principal
from pentad.rooms.agents.card_signing import CardSigner, v10_members
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent

CARD_PATH: Final = "/.well-known/agent-card.json"
KEYS_PATH: Final = "/.well-known/jwks.json"
MAX_AGE: Final = 300
_ANY_MODE: Final = ("text/plain", "application/json", "*/*")
_MADE_MODES: Final = ("text/plain", "application/json")
_KEY: Final = {"location": "header", "name": "X-Api-Key"}
_SCHEMES: Final = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "apiKeySecurityScheme": _KEY},
    "bearer": {"type": "http", "scheme": "bearer", "httpAuthSecurityScheme": {"scheme": "bearer"}},
}
"""Each in the form of 0.3 and of 1.0. The values must be the same: some readers of 1.0 convert the form of 0.3 before
they verify the signature."""
_AUTH: Final = [
    {"scheme": "apiKey", "description": "An API key in the header X-Api-Key."},
    {"scheme": "bearer", "description": "An API key or a token in the header Authorization."},
]
_RIGHTS_URI: Final = "urn:pentad:a2a:rights:v1"
_MAX_CACHED: Final = 512


class Card:
    """A card, ready to serve."""

    __slots__ = ("body", "etag", "modified")

    def __init__(self, body: bytes, modified: float) -> None:
        self.body = body
        self.etag = b'"%b"' % hashlib.sha256(body).hexdigest()[:32].encode()
        self.modified = formatdate(modified, usegmt=True).encode()


class Cards:
    """Creates and caches the cards of hosted agents."""

    def __init__(
        self,
        signer: CardSigner | None,
        *,
        protected: bool,
        started: float,
        provider: Mapping[str, str] | None = None,
        extensions: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.signer = signer
        self.has_extended = protected
        """Whether authenticated callers get an extended card. A server without login has none."""
        self._started = float(int(started))
        self._provider = provider or {}
        self._extensions = extensions
        self._cache: dict[tuple[str, str, bool], Card] = {}
        self._required: dict[str, tuple[dict[str, bool], bool]] = {}
        self._grpc: Callable[[str], str] | None = None

    def sign_with(self, signer: CardSigner, since: float) -> None:
        """Sign cards again with a key in use since `since`."""
        self.signer = signer
        self._started = max(self._started, float(int(since)))
        self._cache.clear()

    def announce_grpc(self, port: int, address: str | None, public_url: str | None) -> None:
        """Put the gRPC address on cards: the one the operator set, or the host of the card's URL. Behind a public URL,
        only the operator knows the port's address.
        """
        if address is not None:
            self._grpc = lambda _site: address
        elif public_url is None:
            self._grpc = lambda site: f"{urlsplit(site).hostname}:{port}"
        self.forget()

    def forget(self) -> None:
        """Drop cached cards because an agent has changed."""
        self._cache.clear()
        self._required.clear()

    def served(self, agent: HostedAgent, site: str, *, v10_only: bool = False) -> Card:
        """The public card as bytes."""
        key = (agent.name, site, v10_only)
        cached = self._cache.get(key)
        if cached is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            card = msgspec.json.encode(self.public(agent, site, v10_only=v10_only))
            cached = self._cache[key] = Card(card, self._started)
        return cached

    def public(self, agent: HostedAgent, site: str, *, v10_only: bool = False) -> dict[str, Any]:
        """The public card."""
        card = self._card(agent, site)
        return self._signed(v10_members(card) if v10_only else card, site)

    def extended(self, agent: HostedAgent, site: str, caller: Principal, *, v10_only: bool = False) -> dict[str, Any]:
        """The extended card, which also lists custom methods and the caller's rights."""
        card = self._card(agent, site)
        for name in agent.methods:
            skill = {"id": name, "name": name, "description": f"The method {name}, called by its name."}
            card["skills"] = [*card["skills"], {**skill, "tags": ["method"]}]
        allowed = [action for action in ("read", "write", "admin") if caller.may("agents", action)]
        if not v10_only:
            card["tags"] = [*card.get("tags", []), *(f"may:{action}" for action in allowed)]
            return self._signed(card, site)
        card = v10_members(card)
        rights = {"uri": _RIGHTS_URI, "description": "What you may do here.", "params": {"may": allowed}}
        card["capabilities"]["extensions"] = [*card["capabilities"].get("extensions", ()), rights]
        return self._signed(card, site)

    def extensions_of(self, agent: HostedAgent) -> list[Mapping[str, Any]]:
        """The extensions of the room and of the agent."""
        own: Sequence[Mapping[str, Any]] = getattr(agent.agent, "extensions", ())
        return [*self._extensions, *own]

    def required_extensions(self, agent: HostedAgent) -> tuple[dict[str, bool], bool]:
        """The extensions by URI with whether each is required, and whether any is."""
        if (known := self._required.get(agent.name)) is None:
            declared = {str(one["uri"]): bool(one.get("required")) for one in self.extensions_of(agent) if "uri" in one}
            known = self._required[agent.name] = declared, any(declared.values())
        return known

    def _signed(self, card: dict[str, Any], site: str) -> dict[str, Any]:
        return card if self.signer is None else self.signer.signed(card, site + KEYS_PATH)

    def _card(self, agent: HostedAgent, site: str) -> dict[str, Any]:
        url, title = f"{site}/agents/{agent.name}", agent.title or agent.name
        description = agent.description or f"The agent {title}."
        organization = self._provider.get("organization", "Pentad")
        card: dict[str, Any] = {
            "schemaVersion": "1.0",
            "humanReadableId": f"{_slug(organization)}/{agent.name}",
            "agentVersion": agent.version,
            "name": title,
            "description": description,
            "version": agent.version,
            "url": url,
            "protocolVersion": "0.3.0",
            "protocolVersions": ["1.0", "0.3"],
            "preferredTransport": "JSONRPC",
            "additionalInterfaces": [{"url": url, "transport": "JSONRPC"}],
            "supportedInterfaces": [*_interfaces(url), *self._grpc_interface(agent, site)],
            "provider": {"name": organization, "organization": organization, "url": self._provider.get("url", site)},
            "capabilities": self._capabilities(agent),
            "defaultInputModes": list(input_modes(agent) or _ANY_MODE),
            "defaultOutputModes": list(getattr(agent.agent, "output_modes", ()) or _MADE_MODES),
            "skills": _skills(agent, title, description),
            "supportsAuthenticatedExtendedCard": self.has_extended,
            **self._access(site),
        }
        if agent.tags:
            card["tags"] = list(agent.tags)
        return card

    def _grpc_interface(self, agent: HostedAgent, site: str) -> list[dict[str, str]]:
        if self._grpc is None:
            return []
        where = {"url": self._grpc(site), "tenant": agent.name}
        return [{**where, "protocolBinding": "GRPC", "protocolVersion": "1.0"}]

    def _capabilities(self, agent: HostedAgent) -> dict[str, Any]:
        found: dict[str, Any] = {
            "a2aVersion": "1.0",
            "mcpVersion": "1.0",
            "supportedMessageParts": ["text", "file", "data"],
            "supportsPushNotifications": True,
            "streaming": True,
            "pushNotifications": True,
            "extendedAgentCard": self.has_extended,
        }
        if declared := self.extensions_of(agent):
            found["extensions"] = [_without_defaults(one) for one in declared]
        return found

    def _access(self, site: str) -> dict[str, Any]:
        if not self.has_extended:
            return {"authSchemes": [{"scheme": "none"}]}
        return {
            "authSchemes": [{**one, "service_identifier": service_identifier(site)} for one in _AUTH],
            "securitySchemes": _SCHEMES,
            "security": [{name: []} for name in _SCHEMES],
            "securityRequirements": [{"schemes": {name: {}}} for name in _SCHEMES],
        }


def service_identifier(site: str) -> str:
    """The name under which AgentVault's clients keep their key for a server. One key is valid for all agents of a
    server, and no other server's card may ask for it, so the name is derived from the host. It can be part of an
    environment variable's name.
    """
    return re.sub(r"[^a-z0-9]+", "_", urlsplit(site).netloc.lower()).strip("_")


def input_modes(agent: HostedAgent) -> Sequence[str]:
    """The content types an agent accepts; empty if it accepts all."""
    return getattr(agent.agent, "input_modes", ())


def accepts_type(modes: Sequence[str], media_type: str) -> bool:
    """Whether the list, which may contain `text/*` and `*/*`, accepts a type."""
    plain = media_type.partition(";")[0].strip().lower()
    return any(mode in (plain, "*/*", f"{plain.partition('/')[0]}/*") for mode in modes)


def _interfaces(url: str) -> list[dict[str, str]]:
    return [
        {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
    ]


def _skills(agent: HostedAgent, title: str, description: str) -> list[dict[str, Any]]:
    """Readers require at least one skill with tags; an agent without skills gets one for itself."""
    if not agent.skills:
        return [{"id": agent.name, "name": title, "description": description, "tags": list(agent.tags) or [agent.name]}]
    return [_skill(one, agent) for one in agent.skills]


def _skill(given: Mapping[str, Any], agent: HostedAgent) -> dict[str, Any]:
    name = str(given.get("name") or given.get("id") or agent.name)
    named = {"id": str(given.get("id") or name), "name": name, "description": str(given.get("description") or name)}
    skill = {**_without_defaults(given), **named, "tags": list(given.get("tags") or agent.tags or [agent.name])}
    return _with_both_securities(skill)


def _with_both_securities(skill: dict[str, Any]) -> dict[str, Any]:
    """A skill with its security requirements in both the 0.3 and the 1.0 form."""
    if "security" in skill:
        old: list[dict[str, list[str]]] = skill["security"]
        new = [{"schemes": {name: {"list": scopes} if scopes else {} for name, scopes in one.items()}} for one in old]
        return {"securityRequirements": new, **skill}
    if "securityRequirements" in skill:
        new = skill["securityRequirements"]
        old = [{name: one.get("list", []) for name, one in each.get("schemes", {}).items()} for each in new]
        return {"security": old, **skill}
    return skill


def _without_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """A skill or extension without members at their default value, which readers leave out to verify a signature."""
    return {name: value for name, value in given.items() if value not in (None, "", False, [], ())}


def _slug(text: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split()) or "pentad"
