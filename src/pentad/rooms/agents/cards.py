"""The cards of hosted agents: one document that readers of AgentVault, A2A 0.3 and A2A 1.0 all understand.

Its URL speaks all dialects. AgentVault's readers accept only https and `http://localhost`, so a server on a loopback
address calls itself localhost.
"""

import hashlib
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from typing import Any, Final

import msgspec

from pentad.kernel.principal import Principal
from pentad.rooms.agents.card_signing import CardSigner
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent

CARD_PATH: Final = "/.well-known/agent-card.json"
KEYS_PATH: Final = "/.well-known/jwks.json"
MAX_AGE: Final = 300
_ANY_MODE: Final = ("text/plain", "application/json", "*/*")
_MADE_MODES: Final = ("text/plain", "application/json")
_KEY: Final = {"location": "header", "name": "X-Api-Key"}
_SCHEMES: Final = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "apiKeySecurityScheme": _KEY},
    "bearer": {"type": "http", "scheme": "bearer", "httpAuthSecurityScheme": {"scheme": "Bearer"}},
}
_AUTH: Final = [
    {"scheme": "apiKey", "description": "An API key in the header X-Api-Key."},
    {"scheme": "bearer", "description": "An API key or a token in the header Authorization."},
]
_MAX_CACHED: Final = 512


class Card:
    """A card as it is served."""

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
        self._cache: dict[tuple[str, str], Card] = {}

    def sign_with(self, signer: CardSigner, since: float) -> None:
        """Sign cards again with a key that is in use since `since`."""
        self.signer = signer
        self._started = max(self._started, float(int(since)))
        self._cache.clear()

    def served(self, agent: HostedAgent, site: str) -> Card:
        """The public card as bytes."""
        cached = self._cache.get((agent.name, site))
        if cached is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            cached = Card(msgspec.json.encode(self.public(agent, site)), self._started)
            self._cache[agent.name, site] = cached
        return cached

    def public(self, agent: HostedAgent, site: str) -> dict[str, Any]:
        """The public card."""
        return self._signed(self._card(agent, site), site)

    def extended(self, agent: HostedAgent, site: str, caller: Principal) -> dict[str, Any]:
        """The extended card: also lists custom methods, and what the caller may do."""
        card = self._card(agent, site)
        for name in agent.methods:
            skill = {"id": name, "name": name, "description": f"The method {name}, called by its name."}
            card["skills"] = [*card["skills"], {**skill, "tags": ["method"]}]
        allowed = [action for action in ("read", "write", "admin") if caller.may("agents", action)]
        card["tags"] = [*card.get("tags", []), *(f"may:{action}" for action in allowed)]
        return self._signed(card, site)

    def extensions_of(self, agent: HostedAgent) -> list[Mapping[str, Any]]:
        """The extensions of the room and of the agent."""
        own: Sequence[Mapping[str, Any]] = getattr(agent.agent, "extensions", ())
        return [*self._extensions, *own]

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
            "supportedInterfaces": _interfaces(url),
            "provider": {"name": organization, "organization": organization, "url": self._provider.get("url", site)},
            "capabilities": self._capabilities(agent),
            "defaultInputModes": list(input_modes(agent) or _ANY_MODE),
            "defaultOutputModes": list(getattr(agent.agent, "output_modes", ()) or _MADE_MODES),
            "skills": _skills(agent, title, description),
            "supportsAuthenticatedExtendedCard": self.has_extended,
            **self._access(),
        }
        if agent.tags:
            card["tags"] = list(agent.tags)
        return card

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
            found["extensions"] = [_declared(one) for one in declared]
        return found

    def _access(self) -> dict[str, Any]:
        if not self.has_extended:
            return {"authSchemes": [{"scheme": "none"}]}
        return {
            "authSchemes": _AUTH,
            "securitySchemes": _SCHEMES,
            "security": [{name: []} for name in _SCHEMES],
            "securityRequirements": [{"schemes": {name: {}}} for name in _SCHEMES],
        }


def input_modes(agent: HostedAgent) -> Sequence[str]:
    """The content types an agent accepts; empty if it accepts all."""
    return getattr(agent.agent, "input_modes", ())


def takes(modes: Sequence[str], media_type: str) -> bool:
    """Whether a type is in the list, which may contain `text/*` and `*/*`."""
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
    return {**given, **named, "tags": list(given.get("tags") or agent.tags or [agent.name])}


def _declared(given: Mapping[str, Any]) -> dict[str, Any]:
    """An extension without members at their default."""
    return {name: value for name, value in given.items() if value not in (None, "", False)}


def _slug(text: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split()) or "pentad"


def required_extensions(declared: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    """The extensions by URI, and whether they are required."""
    return {str(one["uri"]): bool(one.get("required")) for one in declared if "uri" in one}
